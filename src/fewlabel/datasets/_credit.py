"""Synthetic imbalanced data with several views, like the customer data of a bank."""

import numbers

import numpy as np

from fewlabel.labels import UNLABELED
from fewlabel.random_streams import own_stream
from fewlabel.types import Seed


def make_multiview_credit(
    n_samples: int = 5000,
    *,
    n_features: tuple[int, ...] = (12, 10, 8, 6),
    n_nuisance: int = 4,
    imbalance: float = 20.0,
    separation: float = 1.0,
    noise: float = 0.7,
    overlap: float = 0.2,
    missing: float = 0.02,
    labeled: int = 210,
    return_true: bool = False,
    return_views: bool = False,
    random_state: Seed = None,
) -> tuple:
    r"""Generate imbalanced two-class rows whose columns form correlated blocks, one per view.

    A row of class y has three latent factors in each view v,

    .. math::

        a_v = \rho\, c + \sqrt{1 - \rho^2}\, e_v + y \cdot separation, \qquad
        b_v = \tfrac12 (a_v^2 - 1) + \epsilon_v, \qquad n_v \sim N(0, 1),

    where c is common to all views, :math:`\rho^2` is `overlap` and everything else is independent: given the class the
    views are only weakly dependent, as multi-view methods assume. A column is
    :math:`w_1 a_v + w_2 b_v + w_3 n_v + noise \cdot \epsilon` with its own weights. Only :math:`a_v` depends on
    the class; :math:`b_v` makes the block nonlinear, so that rows lie along a curve; :math:`n_v` is noise shared by the
    block.

    Parameters
    ----------
    n_samples : int, default=5000
        Number of rows.
    n_features : tuple of ints, default=(12, 10, 8, 6)
        Number of columns of each view; its length is the number of views.
    n_nuisance : int, default=4
        Number of noise columns that belong to no view.
    imbalance : float, default=20.0
        Number of rows of class 0 per row of class 1.
    separation : float, default=1.0
        Distance between the classes in the factor :math:`a_v`, whose standard deviation within a class is 1.
    noise : float, default=0.7
        Standard deviation of the noise of each column.
    overlap : float, default=0.2
        Correlation of :math:`a_v` between views within a class.
    missing : float, default=0.02
        Share of cells that are missing (NaN), at random.
    labeled : int, default=210
        Number of labeled rows, in the proportion of the classes, at least one of each.
    return_true : bool, default=False
        Whether to return the true classes too.
    return_views : bool, default=False
        Whether to return the view of each column too.
    random_state : int, RandomState instance or None, default=None
        Draws the data. Pass an int for the same data in every call.

    Returns
    -------
    X : ndarray of shape (n_samples, n_columns)
        Columns in random order.
    y : ndarray of shape (n_samples,)
        1 (default) or 0 for labeled rows, -1 for unlabeled ones.
    y_true : ndarray of shape (n_samples,)
        1 or 0; only if `return_true`.
    views : ndarray of shape (n_columns,)
        View of each column, -1 for noise; only if `return_views`.

    Examples
    --------
    >>> from fewlabel.datasets import make_multiview_credit
    >>> X, y, views = make_multiview_credit(2100, return_views=True, random_state=0)
    >>> X.shape, int((y == 1).sum()), int((y == 0).sum())
    ((2100, 40), 10, 200)
    >>> [int((views == v).sum()) for v in range(4)]
    [12, 10, 8, 6]
    """
    if not isinstance(n_samples, numbers.Integral) or n_samples < 2:
        raise ValueError(f"n_samples={n_samples!r} should be a number of rows, at least 2")
    if not imbalance >= 1:
        raise ValueError(f"imbalance={imbalance!r} should be at least 1, the ratio of class 0 to class 1")
    if not 0 <= overlap <= 1 or not 0 <= missing < 1:
        raise ValueError(f"overlap={overlap!r} and missing={missing!r} should be shares between 0 and 1")
    if not isinstance(labeled, numbers.Integral) or not 2 <= labeled <= n_samples:
        raise ValueError(f"labeled={labeled!r} should be a number of rows, 2 to n_samples={n_samples}")
    rng = own_stream(random_state, "make_multiview_credit")
    # Drawn before the rows, so that the columns are the same for any number of rows.
    loadings = [_loadings(n_columns, rng) for n_columns in n_features]
    order = rng.permutation(sum(n_features) + n_nuisance)
    n_default = max(1, round(n_samples / (imbalance + 1)))
    true = np.zeros(n_samples, dtype=np.int64)
    in_default = rng.permutation(n_samples)[:n_default]
    true[in_default] = 1
    common = rng.normal(size=n_samples)
    blocks = []
    for weights in loadings:
        # Shares of the variance of 1: `overlap` is common to all views.
        own = rng.normal(size=n_samples)
        a = np.sqrt(overlap) * common + np.sqrt(1 - overlap) * own + separation * true
        b = 0.5 * (a**2 - 1) + rng.normal(scale=0.3, size=n_samples)
        shared_noise = rng.normal(size=n_samples)
        columns = np.column_stack([a, b, shared_noise]) @ weights
        blocks.append(columns + noise * rng.normal(size=columns.shape))
    blocks.append(rng.normal(size=(n_samples, n_nuisance)))
    X = np.hstack(blocks)[:, order]
    is_missing = rng.uniform(size=X.shape) < missing
    X[is_missing] = np.nan
    n_positive = max(1, round(labeled * n_default / n_samples))
    n_positive = min(n_positive, n_default)
    y = np.full(n_samples, UNLABELED)
    # The positives first: another order would draw other rows.
    for code, n_labeled in ((1, n_positive), (0, labeled - n_positive)):
        of_class = np.flatnonzero(true == code)
        chosen = rng.choice(of_class, n_labeled, replace=False)
        y[chosen] = code
    results = [X, y]
    if return_true:
        results.append(true)
    if return_views:
        views = np.repeat([*range(len(n_features)), -1], [*n_features, n_nuisance])
        results.append(views[order])
    return tuple(results)


def _loadings(n_columns, rng):
    """Weights of the three factors in each column, with a random sign; the first has the largest weight."""
    weights = rng.uniform([[0.6], [0.2], [0.2]], [[1.0], [0.6], [0.6]], size=(3, n_columns))
    return weights * rng.choice([-1.0, 1.0], size=n_columns)
