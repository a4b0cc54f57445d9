"""The AUC of many classes."""

import itertools

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_consistent_length

from fewlabel.kernels.ranks import placements
from fewlabel.labels import read


def hand_till_score(y_true: ArrayLike, y_score: ArrayLike) -> float:
    r"""Hand and Till's M: the mean AUC over all pairs of classes.

    .. math::

        M = \frac{2}{K (K - 1)} \sum_{i < j} \frac{A(i \mid j) + A(j \mid i)}{2},

    where :math:`A(i \mid j)` is the probability that a row of class i has a higher score of class i than a row of
    class j, with ties counted one half. It does not depend on the shares of the classes. Unlike scikit-learn's
    ``roc_auc_score(multi_class="ovo")`` it takes scores that are not probabilities, and ignores unlabeled rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        The class of each row; unlabeled rows are ignored.
    y_score : array-like of shape (n_samples, n_classes)
        Scores with one column per class, in the sorted order of the classes; with two classes also of shape
        (n_samples,), the score of the second.

    Returns
    -------
    float

    References
    ----------
    .. [1] Hand, D. J. and Till, R. J. "A simple generalisation of the area under the ROC curve for multiple class
       classification problems." Machine Learning 45(2), 171-186, 2001, equation 7.

    Examples
    --------
    >>> from fewlabel.metrics import hand_till_score
    >>> hand_till_score(["a", "b", "c"], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.4, 0.3]])
    1.0
    """
    labels = read(y_true)
    scores = np.asarray(y_score, dtype=np.float64)
    check_consistent_length(labels.codes, scores)
    n_classes = len(labels.classes)
    if n_classes == 2 and scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    if n_classes < 2 or scores.ndim != 2 or scores.shape[1] != n_classes:
        raise ValueError(
            f"y_score has shape {scores.shape} and y_true {n_classes} classes: pass two classes or more, and scores "
            "with one column per class"
        )
    if not np.isfinite(scores[labels.codes >= 0]).all():
        raise ValueError("y_score holds NaN or infinity: replace them, or drop these rows")
    # A(i | j) and A(j | i) differ: each ranks by the score of its own class.
    by_class = [scores[labels.codes == k] for k in range(n_classes)]
    aucs = []
    for i, j in itertools.permutations(range(n_classes), 2):
        psi, _ = placements(by_class[i][:, i], by_class[j][:, i])
        aucs.append(psi.mean())
    return float(np.mean(aucs))
