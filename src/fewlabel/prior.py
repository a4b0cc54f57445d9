"""The class prior of positive-unlabeled data: how many of the unlabeled rows are positive."""

import math
import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy import ndimage
from scipy.optimize import bisect
from scipy.special import logit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import check_array, check_consistent_length, check_random_state
from threadpoolctl import threadpool_limits

from fewlabel.exceptions import LabelError, PriorWarning
from fewlabel.labels import read_binary, read_pu

__all__ = ["PriorEstimate", "estimate_class_prior", "largest_prior"]

_METHODS = ("auto", "bbe", "dedpul", "km2", "en", "energy")
_SETTINGS = ("case-control", "censoring")
_DISAGREE = 0.1
_N_TREES_ROWS = 200  # boosted trees are tried on tables with at least so many rows
_N_BOOTSTRAP = 60
_DEDPUL_POINTS = 2000
_N_KM2_ROWS = 30  # rows a group below which the kernel method has nothing to say
_KM2_SAMPLE = 150
_LARGEST_SAMPLE = 10_000  # rows of a group beyond this add nothing to an estimate of one number


class PriorEstimate(NamedTuple):
    """An estimate of the class prior.

    Attributes
    ----------
    prior : float
        P(y = positive) among the unlabeled rows.
    low, high : float
        An interval: 90% by bootstrap of the out-of-fold scores, widened to hold the answers of all the methods that the
        estimate is made of. It knows the chance in the scores, not the upward bias where the classes overlap
        everywhere.
    methods : dict
        Every method's answer.
    population : float
        P(y = positive) among all the rows the sample stands for: `prior` itself in the case-control setting; in the
        censoring setting the labeled positives are counted too.
    """

    prior: float
    low: float
    high: float
    methods: dict
    population: float


def estimate_class_prior(X, y, method="auto", *, setting="case-control", random_state=None):
    r"""Estimate the share of positives among the unlabeled rows.

    Only the largest prior that the data allow can be known: if every positive could also be a negative, any smaller
    prior explains the rows as well. All methods therefore assume that some region is (nearly) purely positive, and lean
    upwards if there is none.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows. NaN is allowed, but for "km2" and "energy".
    y : array-like of shape (n_samples,)
        Positive-unlabeled labels: positives and markers (``-1``, ``None``, ``NaN``), or two classes of which the last
        is positive and the other unlabeled. For ``method="energy"`` rows of both classes and markers.
    method : {"auto", "bbe", "dedpul", "km2", "en", "energy"}, default="auto"
        - "bbe" (best bin estimation): the smallest ratio, with its error bar, of unlabeled to labeled rows above a
          score;
        - "dedpul": expectation maximization with the ratio of the densities of the scores;
        - "km2": how far the unlabeled rows can be moved away from the positives before they leave the convex hull of
          the rows, in a kernel space; no classifier, at most 200 rows a group;
        - "en" (Elkan and Noto): from the mean score of the positives; too large unless the classes are apart;
        - "energy": energy distances; needs labeled negatives, and is then the best;
        - "auto": the mean of "bbe" and "dedpul", and a warning if the methods differ by more than 0.1. "km2" is asked
          too.
    setting : {"case-control", "censoring"}, default="case-control"
        How the sample came about: positives drawn apart from the unlabeled rows, or one sample some of whose positives
        were labeled. It matters for "en" and for `population`; for the rest the unlabeled rows are a mixture either
        way.
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
    Scores are out of fold (5 folds, fewer with fewer rows than that), from logistic regression or, with 200 rows or
    more, boosted trees, whichever has the smaller balanced log-loss.

    References
    ----------
    .. [1] Garg, Wu, Smola, Balakrishnan, Lipton. Mixture Proportion Estimation and PU Learning. NeurIPS, 2021 (BBE).
    .. [2] Ivanov. DEDPUL: Difference-of-Estimated-Densities-based PU Learning. ICMLA, 2020.
    .. [3] Ramaswamy, Scott, Tewari. Mixture Proportion Estimation via Kernel Embeddings of Distributions. ICML, 2016
       (KM2).
    .. [4] Elkan, Noto. Learning Classifiers from Only Positive and Unlabeled Data. KDD, 2008.
    .. [5] Kawakubo, du Plessis, Sugiyama. Computationally Efficient Class-Prior Estimation under Class Balance Change
       Using Energy Distance. IEICE Transactions, 2016.

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
            f"methods disagree on the class prior ({told}): there may be no region of positives alone, or "
            "too few rows. "
            "Try a range of priors; too small is safer than too large",
            PriorWarning,
            stacklevel=2,
        )
    members = answers.values() if method == "auto" else [prior]
    low, high = min(interval[0], *members), max(interval[1], *members)
    return PriorEstimate(prior, float(low), float(high), answers, _population(prior, counts, setting))


def class_prior(X, positive, random_state):
    """The estimate of ``method="auto"`` alone, for classifiers that were given no prior."""
    rng = check_random_state(random_state)
    scores = _scores(_sample(X[positive], rng), _sample(X[~positive], rng), rng)
    return 0.5 if scores is None else 0.5 * (_bbe(*scores) + _dedpul(*scores))


def largest_prior(X, positive, confidence=0.99):
    r"""The largest prior that the columns allow, at the given confidence.

    Whatever the interval, it holds at least the prior's part of the unlabeled rows for each positive in it:
    :math:`\pi F_P \le F_U`. This is asked of both tails of every column, and of the rows' projection on the difference
    of the means; with the Dvoretzky-Kiefer-Wolfowitz bound for each.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
    positive : ndarray of bool
        The labeled positives; all other rows are unlabeled.
    confidence : float, default=0.99

    Returns
    -------
    float
        1 if every prior is possible.
    """
    rng = np.random.RandomState(0)
    P, U = (_sample(X[rows], rng) for rows in (positive, ~positive))
    n_p, n_u = P.shape[0], U.shape[0]
    views = [(P @ w, U @ w) for w in _directions(P, U)]
    if not sp.issparse(P):
        views += [(P[:, e], U[:, e]) for e in range(P.shape[1])]
    views = [(p[~np.isnan(p)], u[~np.isnan(u)]) for p, u in views]
    log_chance = math.log(2 * 2 * max(len(views), 1) / (1 - confidence))
    ceiling = 1.0
    for p, u in views:
        if len(p) < n_p or len(u) < n_u:  # values that are missing may be missing for a reason
            continue
        p_bar, u_bar = math.sqrt(log_chance / (2 * n_p)), math.sqrt(log_chance / (2 * n_u))
        p, u = np.sort(p), np.sort(u)
        below_p, below_u = np.arange(1, n_p + 1) / n_p, np.searchsorted(u, p, side="right") / n_u
        above_p, above_u = 1 - np.arange(n_p) / n_p, 1 - np.searchsorted(u, p, side="left") / n_u
        for q_p, q_u in ((below_p, below_u), (above_p, above_u)):
            sure = q_p > p_bar
            if sure.any():
                ceiling = min(ceiling, float(np.min((q_u[sure] + u_bar) / (q_p[sure] - p_bar))))
    return ceiling


def _directions(P, U):
    """The difference of the means in standard deviations; none if a value is missing."""
    if sp.issparse(P):
        mean_p, mean_u = (np.asarray(rows.mean(axis=0)).ravel() for rows in (P, U))
        variance = np.asarray(U.multiply(U).mean(axis=0)).ravel() - mean_u**2
    else:
        mean_p, mean_u, variance = P.mean(axis=0), U.mean(axis=0), U.var(axis=0)
    w = (mean_p - mean_u) / np.where(variance > 0, variance, np.inf)
    return [w] if np.isfinite(w).all() else []


def _answers(P, U, counts, method, setting, rng):
    """Every method's answer that costs little, the asked one among them, and a bootstrap interval of the asked one."""
    scores = _scores(P, U, rng)
    if scores is None:
        warnings.warn("too few rows to estimate the class prior; taken as 0.5", PriorWarning, stacklevel=3)
        return dict.fromkeys(("bbe", "dedpul") if method == "auto" else (method,), 0.5), (0.0, 1.0)
    p, u = scores
    of_scores = {
        "bbe": _bbe,
        "dedpul": _dedpul,
        "en": lambda p, u, *resampled: _elkan_noto(p, u, *resampled, counts=counts, setting=setting),
    }
    asked = ("bbe", "dedpul") if method == "auto" else (method,)
    answers = {name: of_scores[name](p, u) for name in asked if name in of_scores}
    if method == "km2" or (method == "auto" and min(counts) >= _N_KM2_ROWS and not _has_missing(P, U)):
        answers["km2"] = _km2(P, U, rng)
    draws = []
    for _ in range(_N_BOOTSTRAP if answers.keys() != {"km2"} else 0):
        again = (rng.multinomial(len(x), np.full(len(x), 1 / len(x))) for x in (p, u))
        resampled = p, u, *again
        draws.append(np.mean([of_scores[name](*resampled) for name in asked]))
    if not draws:
        return answers, (answers["km2"], answers["km2"])
    # The best of many noisy bins is biased downwards, once more in each resample: only the spread is taken from them.
    low, middle, high = np.quantile(draws, [0.05, 0.5, 0.95])
    point = np.mean([answers[name] for name in asked])
    return answers, np.clip((point + low - middle, point + high - middle), 0.0, 1.0)


def _population(prior, counts, setting):
    n_p, n_u = counts
    return prior if setting == "case-control" else (n_p + prior * n_u) / (n_p + n_u)


def _has_missing(*groups):
    return any(not sp.issparse(rows) and np.isnan(rows).any() for rows in groups)


# Scores --------------------------------------------------------------------------------------------------------------


def _scores(P, U, rng):
    """Out-of-fold probabilities of being labeled, groups balanced, by the better of two kinds of model; "
    "None if few."""
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
        with threadpool_limits(1):  # the fits are small: threads would wait for each other
            for train, test in folds:
                p[test] = model.fit(X[train], s[train]).predict_proba(X[test])[:, 1]
        p = np.clip(p, 1e-6, 1 - 1e-6)
        loss = -float(weight @ np.where(s > 0, np.log(p), np.log1p(-p)))
        if loss < best_loss:
            best, best_loss = p, loss
    return best[:n_p], best[n_p:]


def _models(X, seed):
    sparse = sp.issparse(X)
    missing = not sparse and np.isnan(X).any()
    balanced = {"class_weight": "balanced"}
    steps = [MaxAbsScaler()] if sparse else [StandardScaler()]
    if missing:
        steps.insert(0, SimpleImputer(strategy="median", keep_empty_features=True))
    yield make_pipeline(*steps, LogisticRegression(max_iter=300, **balanced))
    if not sparse and len(X) >= _N_TREES_ROWS:
        yield HistGradientBoostingClassifier(
            max_iter=60, max_leaf_nodes=8, min_samples_leaf=10, early_stopping=False, random_state=seed, **balanced
        )


def _sample(rows, rng):
    n = rows.shape[0]
    return rows if n <= _LARGEST_SAMPLE else rows[np.sort(rng.choice(n, _LARGEST_SAMPLE, replace=False))]


# Methods -------------------------------------------------------------------------------------------------------------


def _bbe(p, u, p_count=None, u_count=None, delta=0.1, gamma=0.01):
    """Best bin: the score above which the ratio of unlabeled to labeled rows, with its error bar, is smallest."""
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
    """Expectation maximization with the density ratio of positives to unlabeled rows along the score."""
    x_p, x_u = logit(p), np.sort(logit(u))
    u_count = np.ones(len(u)) if u_count is None else u_count[np.argsort(u, kind="stable")]
    x_u, u_count = x_u[u_count > 0], u_count[u_count > 0]
    every = max(1, len(x_u) // _DEDPUL_POINTS)
    all_u, all_counts, x_u, u_count = x_u, u_count, x_u[::every], u_count[::every]
    f_p, f_u = _density(x_p, p_count, x_u, 0.1), _density(all_u, all_counts, x_u, 0.05)
    ratio = np.minimum(f_p / np.maximum(f_u, 1e-300), 50.0)
    ratio = ndimage.median_filter(ratio, 11, mode="nearest")
    middle = logit(0.5 * (p.mean() + u.mean()))
    above = x_u > middle
    ratio[above] = np.maximum.accumulate(ratio[above])
    ratio = ndimage.median_filter(ratio, 2 * (len(x_u) // 20) + 1, mode="nearest")
    order = np.argsort(ratio, kind="stable")
    ratio, u_count = ratio[order], u_count[order]
    share = u_count / u_count.sum()
    sum_share, sum_ratio = np.r_[0.0, np.cumsum(share)], np.r_[0.0, np.cumsum(share * ratio)]

    def gap(prior):  # prior less the mean of min(1, prior * ratio): convex, zero at zero and at the fixed point
        k = np.searchsorted(ratio, 1.0 / prior)
        return prior - prior * sum_ratio[k] - (1.0 - sum_share[k])

    prior = 1.0 if gap(1.0) <= 1e-5 else bisect(lambda x: gap(x) - 1e-5, 1e-9, 1.0, xtol=1e-6)
    grid = np.arange(0.001, 1.0, 0.001)
    gap = gap(grid)
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


def _elkan_noto(p, u, p_count=None, u_count=None, *, counts, setting):
    """From the mean score c of the positives, which would be the chance of a label if the classes were apart."""
    n_p, n_u = counts
    if setting == "case-control":
        c = float(np.average(p, weights=p_count))
        return min(1.0, (1 - c) / c)
    labeled = p * n_p / (p * n_p + (1 - p) * n_u)  # balanced scores to the chance of a label
    everywhere = n_p / float(np.average(labeled, weights=p_count))
    return float(np.clip((everywhere - n_p) / n_u, 0.0, 1.0))


def _km2(P, U, rng, tolerance=0.04):
    """KM2: the distance of ``lambda U + (1 - lambda) P`` to the convex hull of the rows grows where "
    "negatives run out."""
    if _has_missing(P, U):
        raise ValueError("method='km2' does not take missing values: fill them in, or use 'bbe' or 'dedpul'")
    P, U = (rows[rng.permutation(rows.shape[0])[:_KM2_SAMPLE]] for rows in (P, U))
    P, U = (rows.toarray() if sp.issparse(rows) else rows for rows in (P, U))
    n_p, n_u = len(P), len(U)
    X = np.vstack([U, P])
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    K = _widest_kernel(X, n_u)
    of_u, of_p = np.r_[np.full(n_u, 1 / n_u), np.zeros(n_p)], np.r_[np.zeros(n_u), np.full(n_p, 1 / n_p)]
    step = 1.0 / np.linalg.norm(K, 2)
    hull = np.full(n_u + n_p, 1 / (n_u + n_p))
    least_slope = 1.0 / math.sqrt(min(n_p, n_u))
    low, high = 1.0, 8.0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        distances = []
        for extent in (middle - tolerance / 4, middle + tolerance / 4):
            hull, distance = _distance_to_hull(K, extent * of_u + (1 - extent) * of_p, hull, step)
            distances.append(distance)
        if (distances[1] - distances[0]) / (tolerance / 2) > least_slope:
            high = middle
        else:
            low = middle
    extent = 0.5 * (low + high)
    return (extent - 1) / extent


def _widest_kernel(X, n_u):
    """The Gaussian kernel under which the two groups are furthest apart."""
    squares = pairwise_distances(X, metric="sqeuclidean")
    width = math.sqrt(max(np.median(squares), 1e-12))
    kernels = [np.exp(-squares / (2 * (width * factor) ** 2)) for factor in (0.1, 0.32, 1.0, 3.2, 10.0)]

    def apart(K):  # without the diagonal, which would favor the narrowest kernel
        u, p = K[:n_u, :n_u], K[n_u:, n_u:]
        within = sum((part.sum() - len(part)) / (len(part) * max(len(part) - 1, 1)) for part in (u, p))
        return within - 2 * K[:n_u, n_u:].mean()

    return max(kernels, key=apart)


def _distance_to_hull(K, point, hull, step, n_steps=300):
    """Distance to the nearest convex combination of the rows, by accelerated projected gradient from `hull`."""
    ahead, momentum = hull, 1.0
    for _ in range(n_steps):
        following = _onto_simplex(ahead - step * (K @ (ahead - point)))
        if np.abs(following - hull).max() < 1e-9:
            hull = following
            break
        grown = 0.5 + math.sqrt(0.25 + momentum**2)
        ahead, hull, momentum = following + (momentum - 1) / grown * (following - hull), following, grown
    gap = hull - point
    return hull, math.sqrt(max(gap @ K @ gap, 0.0))


def _onto_simplex(v):
    ordered = np.sort(v)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)


def _by_energy(X, y, setting, rng):
    """The mixture of positives and negatives that is nearest to the unlabeled rows in energy distance."""
    signs = read_binary(y).signs
    check_consistent_length(X, signs)
    if not (signs == 0).any():
        raise LabelError("method='energy' compares labeled rows with unlabeled ones, and every row is labeled")
    if _has_missing(X):
        raise ValueError("method='energy' does not take missing values: fill them in first")
    P, U, N = (_energy_sample(X[signs == sign], rng) for sign in (1, 0, -1))
    scale = np.sqrt(np.maximum(_column_variance(X), 1e-300))
    P, U, N = ((rows.toarray() if sp.issparse(rows) else rows) / scale for rows in (P, U, N))
    pn, pp, nn, nu, pu = (
        pairwise_distances(a, b).mean() if a is not b else _mean_within(a)
        for a, b in ((P, N), (P, P), (N, N), (N, U), (P, U))
    )
    apart = 2 * pn - pp - nn
    prior = float(np.clip((pn - nn + nu - pu) / apart, 0.0, 1.0)) if apart > 0 else 0.5
    answers = {"energy": prior}
    # The unlabeled rows' own part of the chance: each of them has the value (|u - N| - |u - P|) / apart.
    of_rows = (pairwise_distances(U, N).mean(axis=1) - pairwise_distances(U, P).mean(axis=1)) / max(apart, 1e-300)
    error = 1.645 * of_rows.std() / math.sqrt(len(U))
    counts = np.count_nonzero(signs > 0), np.count_nonzero(signs == 0)
    return PriorEstimate(
        prior, max(prior - error, 0.0), min(prior + error, 1.0), answers, _population(prior, counts, setting)
    )


def _energy_sample(rows, rng, most=2000):
    return rows[rng.permutation(rows.shape[0])[:most]]


def _column_variance(X):
    if sp.issparse(X):
        return np.asarray(X.multiply(X).mean(axis=0)).ravel() - np.asarray(X.mean(axis=0)).ravel() ** 2
    return X.var(axis=0)


def _mean_within(rows):
    """Mean distance of two different rows."""
    n = len(rows)
    return pairwise_distances(rows).sum() / max(n * (n - 1), 1)
