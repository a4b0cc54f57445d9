"""Positive-unlabeled data with a known prior."""

from typing import Literal, get_args

import numpy as np

from fewlabel.checks import check_choice, check_share
from fewlabel.labels import UNLABELED
from fewlabel.random_streams import own_stream
from fewlabel.types import Seed

Setting = Literal["case-control", "censoring"]


def make_pu(
    n_samples: int = 1000,
    *,
    n_features: int = 10,
    n_informative: int = 5,
    prior: float = 0.3,
    labeled: float = 0.2,
    separation: float = 2.0,
    setting: Setting = "censoring",
    bias: float = 0.0,
    return_true: bool = False,
    random_state: Seed = None,
) -> tuple:
    r"""Generate positive-unlabeled rows: two classes of two Gaussian clusters each.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows; in the case-control setting the number of unlabeled rows, to which the labeled positives are
        added.
    n_features : int, default=10
        Number of columns.
    n_informative : int, default=5
        Number of columns in which the classes differ; the others are noise.
    prior : float, default=0.3
        P(y = positive) in the population.
    labeled : float or int, default=0.2
        Labeled positives: a share of the positives (case-control: of their expected number), or a count.
    separation : float, default=2.0
        Distance between the centers of the classes, in standard deviations of a cluster.
    setting : {"censoring", "case-control"}, default="censoring"
        One sample in which some positives are labeled, or labeled positives drawn separately from the unlabeled rows.
    bias : float, default=0.0
        0 draws the labeled positives at random. A larger value labels easy positives more often, with odds multiplied
        by :math:`e^{bias}` per standard deviation toward the positive side, which violates the assumption of PU
        methods.
    return_true : bool, default=False
        Whether to return the true classes too.
    random_state : int, RandomState instance or None, default=None
        Draws the data. Pass an int for the same data in every call.

    Returns
    -------
    X : ndarray of shape (n_rows, n_features)
        The rows.
    y : ndarray of shape (n_rows,)
        1 for the labeled positives, -1 for unlabeled rows.
    y_true : ndarray of shape (n_rows,)
        1 for positives, 0 for negatives; only if `return_true`.

    Examples
    --------
    >>> from fewlabel.datasets import make_pu
    >>> X, y, y_true = make_pu(500, prior=0.4, labeled=50, return_true=True, random_state=0)
    >>> int((y == 1).sum()), bool((y_true[y == 1] == 1).all())
    (50, True)
    """
    check_share("prior", prior)
    check_choice("setting", setting, get_args(Setting))
    if not 1 <= n_informative <= n_features:
        raise ValueError(f"n_informative={n_informative!r} should be an int from 1 to n_features={n_features!r}")
    rng = own_stream(random_state, "make_pu")
    apart = rng.normal(size=n_informative)
    apart *= separation / np.linalg.norm(apart)
    # Half the distance between the two clusters of each class.
    spread = rng.normal(size=(2, n_informative))
    n_positive = round(prior * n_samples)
    n_labeled = labeled
    if isinstance(labeled, float):
        n_labeled = round(labeled * n_positive)
    if n_labeled < 1 or (setting == "censoring" and n_labeled > n_positive):
        raise ValueError(f"labeled={labeled!r} would label {n_labeled} of {n_positive} positives: raise or lower it")
    true = np.zeros(n_samples, dtype=int)
    positives = rng.permutation(n_samples)[:n_positive]
    true[positives] = 1
    pool = np.flatnonzero(true)
    if setting == "case-control":
        # With a bias the labeled positives are chosen from many more.
        n_pool = 20 * n_labeled if bias else n_labeled
        true = np.append(true, np.ones(n_pool, dtype=int))
        pool = np.arange(n_samples, len(true))
    X = rng.normal(size=(len(true), n_features))
    cluster = rng.choice([-1.0, 1.0], size=len(true))
    centers = np.outer(true, apart) + cluster[:, None] * spread[true]
    X[:, :n_informative] += centers
    # With a separation of 0 no positive is easier than another.
    direction = apart / max(np.linalg.norm(apart), 1e-300)
    ease = X[pool, :n_informative] @ direction
    # The largest odds are 1, so that a large bias does not overflow.
    odds = np.exp(bias * (ease - ease.max()))
    chosen = rng.choice(pool, n_labeled, replace=False, p=odds / odds.sum())
    y = np.full(len(true), UNLABELED)
    y[chosen] = 1
    rows = np.arange(n_samples)
    if setting == "case-control":
        rows = np.append(rows, np.sort(chosen))
    return (X[rows], y[rows], true[rows]) if return_true else (X[rows], y[rows])
