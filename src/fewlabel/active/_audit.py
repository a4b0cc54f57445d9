"""AuditQuery: rows to label so that the AUC of the unlabeled rows is known, whoever chose the labels so far."""

from typing import Any

import numpy as np

from fewlabel.active._draws import class_shares
from fewlabel.active._model import class_probability, likeness
from fewlabel.active._query import AUDIT, Query, QueryStrategy
from fewlabel.types import Seed

_LEAST_PROBABILITY = 0.002


class AuditQuery(QueryStrategy):
    r"""Draw unlabeled rows with known probability, so that a few answers show how good a ranking of the others is.

    Answers to rows that somebody chose say little about the rows that nobody did. Rows of an audit are drawn by the
    computer, with a probability :math:`\pi_i` that is stored beside the answer. Weighted by :math:`1 / \pi_i`, the
    answers stand for all rows that were unlabeled, whatever chose the labels before, and whatever is wrong with the
    model.

    A third of the probability is uniform, so that no weight is larger than three times that of a uniform draw. A third
    favors rows of classes that the model predicts rarely: few rows then hold both classes. With two classes a third
    favors rows that move the AUC most, as in active testing [1]_: the square root of the expected squared influence,

    .. math:: p_i \frac{(V_i^+ - A)^2}{P^2} + (1 - p_i) \frac{(V_i^- - A)^2}{N^2} ,

    where :math:`p_i` is the predicted probability of a positive, :math:`V_i^+` the expected share of negatives below
    row i, :math:`V_i^-` that of positives above it, :math:`A` the expected AUC, and :math:`P` and :math:`N` are the
    expected numbers of positives and negatives. Rows are drawn along the order of the scores by the pivotal method
    [2]_: the number of rows is fixed, each row has exactly its probability, and every part of the ranking has its rows.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier whose probabilities are used, unless `query` is given some. By default extremely randomized trees.
    random_state : int, RandomState instance or None, default=None
        Draws the rows and seeds the models.

    See Also
    --------
    fewlabel.AutoClassifier.fit : Takes the probabilities as `label_probability`.
    BatchQuery : Rows that improve the model most.

    Notes
    -----
    `Query.probability` has the probability of a single draw, :math:`\pi_i / n`. After :math:`k` answers of one or of
    several audits, a row has been drawn with probability :math:`k` times that.

    Probabilities in proportion to the influence alone were worse in our trials than the three parts together: models of
    labels that somebody chose are too often sure and wrong.

    References
    ----------
    .. [1] J. Kossen, S. Farquhar, Y. Gal, T. Rainforth. Active testing: sample-efficient model evaluation. ICML, 2021.
    .. [2] J.-C. Deville, Y. Tillé. Unequal probability sampling without replacement through a splitting method.
       Biometrika 85, 1998.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import AutoClassifier
    >>> from fewlabel.active import AuditQuery
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> known = np.where(X[:, 0] > 17, y, -1)  # somebody labeled the large ones
    >>> found = AuditQuery(random_state=0).query(X, known, n=40)
    >>> known[found.rows] = y[found.rows]  # the answers
    >>> chance = found.label_probability(len(y))
    >>> model = AutoClassifier("small", random_state=0).fit(X, known, label_probability=chance)
    >>> model.selection_.audited
    40
    """

    def __init__(self, estimator: Any = None, *, random_state: Seed = None) -> None:
        self.estimator = estimator
        self.random_state = random_state

    def _query(self, now, n, probability, order):
        pool = now.candidates
        if probability is None:
            probability = self._quick_probability(now)
        share = class_shares(len(pool), None if probability is None else probability[pool])
        along = np.zeros(len(pool)) if probability is None else probability[pool, -1]
        by_score = np.lexsort((now.rng.random(len(pool)), along))
        if probability is not None and probability.shape[1] == 2:
            # `class_shares` is half uniform: each of the three parts has a third.
            share *= 2 / 3
            share[by_score] += influence_shares(along[by_score]) / 3
        chances = inclusion(share, n)
        drawn = by_score[pivotal(chances[by_score], now.rng)]
        # In a random order: if only the first rows are answered, these are a sample, too.
        drawn = now.rng.permutation(drawn)
        return Query(order[pool[drawn]], chances[drawn] / n, [AUDIT] * len(drawn))

    def _quick_probability(self, now):
        """Probabilities of a model of the labels; from one class only, how much rows look like it."""
        if len(now.classes) == 0:
            return None
        if len(now.classes) > 1:
            return class_probability(self.estimator, now)
        every_row = np.arange(len(now.X))
        like = likeness(now, every_row)
        return np.column_stack([1 - like, like])


def influence_shares(positive: np.ndarray) -> np.ndarray:
    """Shares of a draw in proportion to how far the answer of a row is expected to move the AUC.

    Parameters
    ----------
    positive : ndarray of shape (n_rows,)
        Predicted probability of the positive class, in ascending order.

    Returns
    -------
    ndarray of shape (n_rows,)
        They sum to 1.
    """
    # A model that is sure of a row may be wrong, and a class that it never predicts may be there.
    positive = np.clip(positive, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    negative = 1 - positive
    n_positive = positive.sum()
    n_negative = negative.sum()
    negatives_below = (np.cumsum(negative) - negative / 2) / n_negative
    positives_above = 1 - (np.cumsum(positive) - positive / 2) / n_positive
    auc = positive @ negatives_below / n_positive
    influence = positive * ((negatives_below - auc) / n_positive) ** 2
    influence += negative * ((positives_above - auc) / n_negative) ** 2
    share = np.sqrt(influence)
    return share / share.sum()


def inclusion(share: np.ndarray, n: int) -> np.ndarray:
    """Probabilities of being among `n` rows, proportional to `share`, as far as none exceeds 1."""
    chances = np.zeros(len(share))
    certain = np.zeros(len(share), dtype=bool)
    while True:
        n_left = n - certain.sum()
        chances[certain] = 1.0
        chances[~certain] = n_left * share[~certain] / share[~certain].sum() if n_left else 0.0
        above = chances > 1.0
        if not above.any():
            return chances
        certain |= above


def pivotal(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw rows with these probabilities by duels of neighbors, so that neighbors are seldom drawn together.

    Parameters
    ----------
    chances : ndarray of shape (n_rows,)
        In [0, 1]; their sum is a whole number, the number of rows to draw.
    rng : Generator

    Returns
    -------
    ndarray of int
        Positions, ascending.
    """
    luck = rng.random(len(chances))
    drawn = []
    rival = 0
    mass = float(chances[0])
    for row in range(1, len(chances)):
        own = float(chances[row])
        total = mass + own
        if total < 1:
            # One of the two is out, and the other has the chances of both.
            if luck[row] * total >= mass:
                rival = row
            mass = total
        else:
            # One of the two is drawn, and the other keeps what is left.
            first_is_drawn = luck[row] * (2 - total) < 1 - own
            drawn.append(rival if first_is_drawn else row)
            if first_is_drawn:
                rival = row
            mass = total - 1
    # What is left is 0 or 1, but for rounding.
    if mass > 0.5:
        drawn.append(rival)
    return np.sort(np.array(drawn, dtype=np.int64))
