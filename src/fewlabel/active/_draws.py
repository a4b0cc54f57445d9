"""Random draws with known probability, and the weights with which they represent the whole table."""

import numpy as np
from numpy.typing import ArrayLike

# Share of the uniform distribution in a draw: no weight exceeds twice that of a uniform draw.
_UNIFORM = 0.5


def class_shares(n_rows: int, probability: np.ndarray | None) -> np.ndarray:
    """Probabilities of a draw that favors rare classes.

    Half of the probability is uniform; the other half goes to the classes in equal parts, and within each class to the
    rows in proportion to their predicted probability of it.

    Parameters
    ----------
    n_rows : int
    probability : ndarray of shape (n_rows, n_classes) or None
        Predicted class probabilities; None for uniform draws.

    Returns
    -------
    ndarray of shape (n_rows,)
        They sum to 1.
    """
    share = np.full(n_rows, 1 / n_rows)
    if probability is None:
        return share
    mass = probability.sum(axis=0)
    # A class without labels so far has probability 0 everywhere.
    predicted = mass > 0
    of_classes = probability[:, predicted] / mass[predicted]
    return _UNIFORM * share + (1 - _UNIFORM) * of_classes.mean(axis=1)


def draw_rows(n: int, n_rows: int, probability: np.ndarray | None, rng: np.random.Generator):
    """Draw rows one after the other, without replacement, with the probabilities of `class_shares`.

    Parameters
    ----------
    n : int
        Number of draws.
    n_rows : int
    probability : ndarray of shape (n_rows, n_classes) or None
        Predicted class probabilities; None for uniform draws.
    rng : Generator

    Returns
    -------
    rows : ndarray of int of shape (n,)
        In the order of the draws.
    chances : ndarray of shape (n,)
        The probability with which each draw gave its row, among the rows that were left.
    """
    share = class_shares(n_rows, probability)
    rows = np.empty(n, dtype=np.int64)
    chances = np.empty(n)
    for k in range(n):
        # Among the rows that are left.
        share = share / share.sum()
        row = rng.choice(n_rows, p=share)
        rows[k] = row
        chances[k] = share[row]
        share[row] = 0.0
    return rows, chances


def draw_weights(random: ArrayLike, probability: ArrayLike) -> np.ndarray:
    r"""Weights with which labeled rows represent the whole table, although most of them were chosen by a rule.

    At each random draw :math:`t \in R`, the rows labeled before it stand for themselves, and the row that is drawn
    with probability :math:`q_t` stands for the :math:`1/q_t` rows that were left. Averaged over the random draws, row
    :math:`i` has the weight

    .. math:: w_i = \frac{1}{|R|} \Big(|\{t \in R : t > i\}| + \frac{1(i \in R)}{q_i}\Big) .

    Weighted sums are unbiased for the sums over all rows of the table, whatever rule chose the other rows [1]_.

    Parameters
    ----------
    random : array-like of bool of shape (n_labeled,)
        Which rows were drawn at random; in the order in which the rows were chosen. Rows that were labeled from the
        beginning come first, as not random.
    probability : array-like of shape (n_labeled,)
        The probability with which each random draw gave its row, among the rows that were left then; ignored
        elsewhere.

    Returns
    -------
    ndarray of shape (n_labeled,)
        Weights, for instance for :func:`fewlabel.metrics.auc_confidence_interval`. Their sum is about the number of
        rows of the table. Rows chosen by rule after the last random draw have weight 0.

    See Also
    --------
    BatchQuery : Chooses rows and returns these probabilities.

    References
    ----------
    .. [1] Farquhar, S., Gal, Y. and Rainforth, T. "On statistical bias in active learning: how and when to fix it."
       International Conference on Learning Representations, 2021. Here only the random draws are averaged over, since a
       rule that is certain of its choice gives other rows no chance.

    Examples
    --------
    Of 10 rows, two are drawn at random; a rule chose the row between them:

    >>> from fewlabel.active import draw_weights
    >>> draw_weights([True, False, True], [1 / 10, 1, 1 / 8])
    array([5.5, 0.5, 4. ])
    """
    random = np.asarray(random, dtype=bool)
    chances = np.asarray(probability, dtype=np.float64)
    if random.ndim != 1 or random.shape != chances.shape:
        raise ValueError(
            f"random and probability should have one value per labeled row, got shapes {random.shape} and "
            f"{chances.shape}"
        )
    if not random.any():
        raise ValueError("no row was drawn at random: nothing represents the rows that no rule chose; draw some")
    drawn = chances[random]
    if not ((drawn > 0) & (drawn <= 1)).all():
        raise ValueError("probability should be above 0 and at most 1 for every row that was drawn at random")
    weights = (random.sum() - np.cumsum(random)).astype(np.float64)
    weights[random] += 1 / drawn
    return weights / random.sum()
