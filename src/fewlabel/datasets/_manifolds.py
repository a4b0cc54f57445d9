"""Synthetic classes on curves, with a few labeled rows each."""

import numbers

import numpy as np
from sklearn.datasets import make_moons

from fewlabel.labels import UNLABELED
from fewlabel.random_streams import own_stream
from fewlabel.types import Seed

_RADII = np.array([0.5, 1.0, 1.5])  # of the three circles


def make_two_moons(
    n_samples: int | tuple[int, ...] = (254, 246),
    *,
    noise: float = 0.05,
    labeled_per_class: int = 3,
    return_true: bool = False,
    random_state: Seed = None,
) -> tuple:
    """Generate two interleaving half circles with a few labeled rows each.

    Sizes and labels are those of Figure 6.3 of [1]_, which does not report the noise.

    Parameters
    ----------
    n_samples : int or tuple of two ints, default=(254, 246)
        Number of rows, in total or per class.
    noise : float, default=0.05
        Standard deviation of the Gaussian noise; the circles have radius 1.
    labeled_per_class : int, default=3
        Number of labeled rows of each class, drawn at random.
    return_true : bool, default=False
        Whether to return the true classes too.
    random_state : int, RandomState instance or None, default=None
        Draws the data. Pass an int for the same data in every call.

    Returns
    -------
    X : ndarray of shape (n_rows, 2)
        The rows.
    y : ndarray of shape (n_rows,)
        0 or 1 for labeled rows, -1 for unlabeled ones.
    y_true : ndarray of shape (n_rows,)
        The class of every row; only if `return_true`.

    References
    ----------
    .. [1] Huang, D. "Research on feature selection and semi-supervised classification methods." PhD thesis, Huazhong
       University of Science and Technology, 2011 (in Chinese).

    Examples
    --------
    >>> from fewlabel.datasets import make_two_moons
    >>> X, y = make_two_moons(random_state=0)
    >>> X.shape, int((y == 0).sum()), int((y == 1).sum()), int((y == -1).sum())
    ((500, 2), 3, 3, 494)
    """
    rng = own_stream(random_state, "make_two_moons")
    X, true = make_moons(n_samples, noise=noise, random_state=rng)
    return _with_labels(X, true, labeled_per_class, return_true, rng)


def make_three_circles(
    n_samples: int = 1203,
    *,
    noise: float = 0.05,
    labeled_per_class: int = 4,
    return_true: bool = False,
    random_state: Seed = None,
) -> tuple:
    """Generate circles with radii 0.5, 1 and 1.5, one per class, with a few labeled rows each.

    Sizes and labels are those of Figure 6.4 of [1]_, which does not report the radii and the noise.

    Parameters
    ----------
    n_samples : int, default=1203
        Number of rows, distributed evenly over the circles.
    noise : float, default=0.05
        Standard deviation of the Gaussian noise.
    labeled_per_class : int, default=4
        Number of labeled rows of each class, drawn at random.
    return_true : bool, default=False
        Whether to return the true classes too.
    random_state : int, RandomState instance or None, default=None
        Draws the data. Pass an int for the same data in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The rows.
    y : ndarray of shape (n_samples,)
        0, 1 or 2 for labeled rows, from the innermost circle outward; -1 for unlabeled ones.
    y_true : ndarray of shape (n_samples,)
        The class of every row; only if `return_true`.

    References
    ----------
    .. [1] Huang, D. "Research on feature selection and semi-supervised classification methods." PhD thesis, Huazhong
       University of Science and Technology, 2011 (in Chinese).

    Examples
    --------
    >>> from fewlabel.datasets import make_three_circles
    >>> X, y, y_true = make_three_circles(return_true=True, random_state=0)
    >>> X.shape, [int((y_true == c).sum()) for c in range(3)], int((y != -1).sum())
    ((1203, 2), [401, 401, 401], 12)
    """
    n_circles = len(_RADII)
    if not isinstance(n_samples, numbers.Integral) or n_samples < n_circles:
        raise ValueError(f"n_samples={n_samples!r} should be an int, at least one row per circle")
    rng = own_stream(random_state, "make_three_circles")
    # The first circles have one row more if the rows cannot be distributed evenly.
    sizes = n_samples // n_circles + (np.arange(n_circles) < n_samples % n_circles)
    true = np.repeat(np.arange(n_circles), sizes)
    # Without the end, which is the start of the circle again.
    angles = [np.linspace(0, 2 * np.pi, size, endpoint=False) for size in sizes]
    angle = np.concatenate(angles)
    radius = _RADII[true]
    X = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    X += rng.normal(scale=noise, size=X.shape)
    order = rng.permutation(n_samples)
    return _with_labels(X[order], true[order], labeled_per_class, return_true, rng)


def _with_labels(X, true, labeled_per_class, return_true, rng):
    y = np.full(len(true), UNLABELED)
    for code, size in enumerate(np.bincount(true)):
        if not isinstance(labeled_per_class, numbers.Integral) or not 0 < labeled_per_class <= size:
            raise ValueError(f"labeled_per_class={labeled_per_class!r} should be an int from 1 to {size}")
        of_class = np.flatnonzero(true == code)
        y[rng.choice(of_class, labeled_per_class, replace=False)] = code
    return (X, y, true) if return_true else (X, y)
