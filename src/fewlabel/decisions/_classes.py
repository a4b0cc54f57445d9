"""The class to decide for, by probabilities of three classes or more and what errors cost."""

import numpy as np
from numpy.typing import ArrayLike


def best_class(
    probability: ArrayLike, *, shares: ArrayLike | None = None, costs: ArrayLike | None = None
) -> np.ndarray:
    r"""Position of the class to decide for, row by row.

    Without `shares` and `costs` it is the most likely class, which has the best expected accuracy. With the shares
    :math:`\pi_k` of the classes it is :math:`\arg\max_k p_k / \pi_k`, for balanced accuracy (the mean recall of the
    classes). With costs :math:`C_{jk}` of deciding for k where the class is j, it is
    :math:`\arg\min_k \sum_j p_j C_{jk}`.

    Parameters
    ----------
    probability : array-like of shape (n_rows, n_classes)
        What `predict_proba` returns.
    shares : array-like of shape (n_classes,), default=None
        Share of each class among the rows that the probabilities are for, such as the labeled ones.
    costs : array-like of shape (n_classes, n_classes), default=None
        Rows are true classes, columns decisions.

    Returns
    -------
    ndarray of int of shape (n_rows,)

    Examples
    --------
    >>> from fewlabel.decisions import best_class
    >>> probability = [[0.5, 0.3, 0.2]]
    >>> best_class(probability).tolist(), best_class(probability, shares=[0.8, 0.1, 0.1]).tolist()
    ([0], [1])
    >>> best_class(probability, costs=[[0, 1, 1], [1, 0, 1], [9, 9, 0]]).tolist()
    [2]
    """
    probability = np.asarray(probability, dtype=float)
    if shares is not None and costs is not None:
        raise ValueError("shares and costs decide differently: give one of them")
    n_classes = probability.shape[1]
    if shares is not None:
        shares = np.asarray(shares, dtype=float)
        if shares.shape != (n_classes,) or not (shares > 0).all():
            raise ValueError(f"shares: expected {n_classes} numbers greater than 0, one per class")
        return (probability / shares).argmax(axis=1)
    if costs is not None:
        costs = np.asarray(costs, dtype=float)
        if costs.shape != (n_classes, n_classes):
            raise ValueError(
                f"costs has shape {costs.shape}: expected {n_classes} true classes by {n_classes} decisions"
            )
        return (probability @ costs).argmin(axis=1)
    return probability.argmax(axis=1)
