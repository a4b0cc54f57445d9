"""The class prior of positive-unlabelled data: how many of the unlabelled rows are positive."""

import math
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import ndimage
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import check_array, check_consistent_length, check_random_state

from fewlabel.exceptions import LabelError, PriorWarning
from fewlabel.labels import read_binary, read_pu

__all__ = ["PriorEstimate", "estimate_class_prior", "largest_prior"]

_METHODS = ("auto", "bbe", "dedpul", "km2", "en", "energy")
_SETTINGS = ("case-control", "censoring")
_DISAGREE = 0.1
_N_TREES_ROWS = 200  # boosted trees are tried on tables with at least so many rows
_N_BOOTSTRAP = 100
_LARGEST_SAMPLE = 20_000  # rows of a group beyond this add nothing to an estimate of one number


class PriorEstimate(NamedTuple):
    """An estimate of the class prior.

    Attributes
    ----------
    prior : float
        P(y = positive) among the unlabelled rows.
    low, high : float
        An interval: 90% by bootstrap of the out-of-fold scores, widened to hold the answers of all the methods that the
        estimate is made of. It knows the chance in the scores, not the upward bias where the classes overlap everywhere.
    methods : dict
        Every method's answer.
    population : float
        P(y = positive) among all the rows the sample stands for: `prior` itself in the case-control setting; in the
        censoring setting the labelled positives are counted too.
    """

    prior: float
    low: float
    high: float
    methods: dict
    population: float


def estimate_class_prior(X, y, method="auto", *, setting="case-control", random_state=None):
    r"""Estimate the share of positives among the unlabelled rows.

    Only the largest prior that the data allow can be known: if every positive could also be a negative, any smaller
    prior explains the rows as well. All methods therefore assume that some region is (nearly) purely positive, and lean
    upwards if there is none.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows. NaN is allowed; the logistic scores then stand back for those of trees.
    y : array-like of shape (n_samples,)
        Positive-unlabelled labels: positives and markers (``-1``, ``None``, ``NaN``), or two classes of which the last
        is positive and the other unlabelled. For ``method="energy"`` rows of both classes and markers.
    method : {"auto", "bbe", "dedpul", "km2", "en", "energy"}, default="auto"
        - "bbe" (best bin estimation): the smallest ratio, with its error bar, of unlabelled to labelled rows above a score;
        - "dedpul": expectation maximisation with the ratio of the densities of the scores;
        - "km2": how far the unlabelled rows can be moved away from the positives before they leave the convex hull of
          the rows, in a kernel space; no classifier, at most 200 rows a group;
        - "en" (Elkan and Noto): from the mean score of the positives; too large unless the classes are apart;
        - "energy": energy distances; needs labelled negatives, and is then the best;
        - "auto": the mean of "bbe" and "dedpul", and a warning if the methods differ by more than 0.1. "km2" is asked too.
    setting : {"case-control", "censoring"}, default="case-control"
        How the sample came about: positives drawn apart from the unlabelled rows, or one sample some of whose positives
        were labelled. It matters for "en" and for `population`; for the rest the unlabelled rows are a mixture either way.
    random_state : int, RandomState instance or None, default=None
        Draws folds, subsamples and the bootstrap.

    Returns
    -------
    PriorEstimate

    Warns
    -----
    PriorWarning
        If the methods differ by more than 0.1, or there are too few rows for any of them.

    Notes
    -----
    Scores are out of fold (5 folds, fewer with fewer rows than that), from logistic regression or, with 200 rows or more,
    boosted trees, whichever has the smaller balanced log-loss.

    References
    ----------
    .. [1] Garg, Wu, Smola, Balakrishnan, Lipton. Mixture Proportion Estimation and PU Learning. NeurIPS, 2021 (BBE).
    .. [2] Ivanov. DEDPUL: Difference-of-Estimated-Densities-based PU Learning. ICMLA, 2020.
    .. [3] Ramaswamy, Scott, Tewari. Mixture Proportion Estimation via Kernel Embeddings of Distributions. ICML, 2016 (KM2).
    .. [4] Elkan, Noto. Learning Classifiers from Only Positive and Unlabeled Data. KDD, 2008.
    .. [5] Kawakubo, du Plessis, Sugiyama. Computationally Efficient Class-Prior Estimation under Class Balance Change Using
       Energy Distance. IEICE Transactions, 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import estimate_class_prior, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_pu = hide_labels(y, labeled=100, mechanism="positives-only", random_state=0)
    >>> estimate = estimate_class_prior(X, y_pu, random_state=0)
    >>> bool(abs(estimate.prior - y[y_pu == -1].mean()) < 0.1)
    True
    """
    for name, value, choices in (("method", method, _METHODS), ("setting", setting, _SETTINGS)):
        if value not in choices:
            raise ValueError(f"{name}={value!r} should be one of {', '.join(map(repr, choices))}")
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
    rng = check_random_state(random_state)
    if method == "energy":
        return _by_energy(X, y, setting, rng)
    positive = read_pu(y).positive
    check_consistent_length(X, positive)
    P, U = (_sample(X[rows], rng) for rows in (positive, ~positive))
    counts = np.count_nonzero(positive), np.count_nonzero(~positive)
    answers, interval = _answers(P, U, counts, method, setting, rng)
    prior = float(np.mean([answers["bbe"], answers["dedpul"]])) if method == "auto" else answers[method]
    if max(answers.values()) - min(answers.values()) > _DISAGREE:
        told = ", ".join(f"{name} {value:.2f}" for name, value in answers.items())
        warnings.warn(
            f"methods disagree on the class prior ({told}): there may be no region of positives alone, or too few rows. "
            "Try a range of priors; too small is safer than too large",
            PriorWarning,
            stacklevel=2,
        )
    members = answers.values() if method == "auto" else [prior]
    low, high = min(interval[0], *members), max(interval[1], *members)
    return PriorEstimate(prior, float(low), float(high), answers, _population(prior, counts, setting))


# Scores --------------------------------------------------------------------------------------------------------------


def _scores(P, U, rng):
    """Out-of-fold probabilities of being labelled, groups balanced, by the better of two kinds of model; None if few."""
    n_p, n_u = P.shape[0], U.shape[0]
    n_folds = min(5, n_p, n_u)
    if n_folds < 2:
        return None
    X = sp.vstack([P, U], format="csr") if sp.issparse(P) else np.vstack([P, U])
    s = np.r_[np.ones(n_p), np.zeros(n_u)]
    weight = np.where(s > 0, 0.5 / n_p, 0.5 / n_u)
    seed = rng.randint(np.iinfo(np.int32).max)
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, s))
    best, best_loss = None, math.inf
    for model in _models(X, seed):
        p = np.empty(len(s))
        for train, test in folds:
            balance = weight[train] / weight[train].mean()
            step = model.steps[-1][0] if hasattr(model, "steps") else None
            model.fit(X[train], s[train], **{f"{step}__sample_weight" if step else "sample_weight": balance})
            p[test] = model.predict_proba(X[test])[:, 1]
        p = np.clip(p, 1e-6, 1 - 1e-6)
        loss = -float(weight @ np.where(s > 0, np.log(p), np.log1p(-p)))
        if loss < best_loss:
            best, best_loss = p, loss
    return best[:n_p], best[n_p:]


def _models(X, seed):
    sparse = sp.issparse(X)
    missing = not sparse and np.isnan(X).any()
    if not missing:
        yield make_pipeline(MaxAbsScaler() if sparse else StandardScaler(), LogisticRegression(max_iter=300))
    if missing or (not sparse and len(X) >= _N_TREES_ROWS):
        yield HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False, random_state=seed
        )


def _sample(rows, rng):
    n = rows.shape[0]
    return rows if n <= _LARGEST_SAMPLE else rows[np.sort(rng.choice(n, _LARGEST_SAMPLE, replace=False))]


# Methods -------------------------------------------------------------------------------------------------------------


def _bbe(p, u, p_count=None, u_count=None, delta=0.1, gamma=0.01):
    """Best bin: the score above which the ratio of unlabelled to labelled rows, with its error bar, is smallest."""
    pooled = np.concatenate([p, u])
    order = np.argsort(-pooled, kind="stable")
    of_p = np.r_[np.ones(len(p)) if p_count is None else p_count, np.zeros(len(u))][order]
    of_u = np.r_[np.zeros(len(p)), np.ones(len(u)) if u_count is None else u_count][order]
    last = np.r_[np.diff(pooled[order]) < 0, True]  # a threshold takes in all rows of equal score
    q_p, q_u = np.cumsum(of_p)[last] / len(p), np.cumsum(of_u)[last] / len(u)
    q_p, q_u = q_p[q_p > 0], q_u[q_p > 0]
    bar = (1 + gamma) * (math.sqrt(math.log(4 / delta) / (2 * len(u))) + math.sqrt(math.log(4 / delta) / (2 * len(p))))
    k = np.argmin((q_u + bar) / q_p)
    return float(min(1.0, q_u[k] / q_p[k]))


def _dedpul(p, u, p_count=None, u_count=None):
    """Expectation maximisation with the density ratio of positives to unlabelled rows along the score."""
    x_p, x_u = logit(p), np.sort(logit(u))
    u_count = np.ones(len(u)) if u_count is None else u_count[np.argsort(u, kind="stable")]
    x_u, u_count = x_u[u_count > 0], u_count[u_count > 0]
    f_p, f_u = _density(x_p, p_count, x_u, 0.1), _density(x_u, u_count, x_u, 0.05)
    ratio = np.minimum(f_p / np.maximum(f_u, 1e-300), 50.0)
    ratio = ndimage.median_filter(ratio, 11, mode="nearest")
    middle = logit(0.5 * (p.mean() + u.mean()))
    above = x_u > middle
    ratio[above] = np.maximum.accumulate(ratio[above])
    ratio = ndimage.median_filter(ratio, 2 * (len(x_u) // 20) + 1, mode="nearest")
    ratio = np.sort(ratio)
    share = u_count / u_count.sum()
    prior = 1.0
    for _ in range(10_000):
        following = float(share @ np.minimum(1.0, prior * ratio))
        if abs(following - prior) < 1e-5:
            break
        prior = following
    grid = np.arange(0.001, 1.0, 0.001)
    gap = grid - np.minimum(1.0, grid[:, None] * ratio) @ share
    bend = np.where(gap[1:-1] < 0.05, np.diff(gap, 2), -np.inf)
    other = float(grid[1 + np.argmax(bend)])
    return prior if prior > other and prior > 0.002 else other


def _density(x, count, at, factor):
    """Gaussian kernel density on a grid, by linear interpolation; the bandwidth is `factor` standard deviations."""
    count = np.ones(len(x)) if count is None else count
    mean = np.average(x, weights=count)
    width = factor * max(math.sqrt(np.average((x - mean) ** 2, weights=count)), 1e-6)
    low, high = min(x.min(), at.min()) - 3 * width, max(x.max(), at.max()) + 3 * width
    n = int(np.clip(4 * (high - low) / width, 512, 8192))
    counts, edges = np.histogram(x, bins=n, range=(low, high), weights=count)
    step = edges[1] - edges[0]
    smooth = ndimage.gaussian_filter1d(counts, width / step, mode="constant", truncate=6)
    return np.interp(at, edges[:-1] + step / 2, smooth / (count.sum() * step))
