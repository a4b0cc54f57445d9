"""Estimation of the class prior: the choice of the method, the interval, and the warnings."""

import warnings
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_consistent_length, check_random_state

from fewlabel.base import check_weights
from fewlabel.checks import check_choice
from fewlabel.exceptions import PriorWarning
from fewlabel.labels import read_binary, read_pu
from fewlabel.prior._energy import energy
from fewlabel.prior._kernel_embedding import km2
from fewlabel.prior._rows import N_BOOTSTRAP, has_missing, redraw, subsample
from fewlabel.prior._score_methods import bbe, dedpul, elkan_noto, gaussian_mixture
from fewlabel.prior._scores import out_of_fold_scores
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

Setting = Literal["case-control", "censoring"]
_DISAGREE = 0.1
_N_KM2_ROWS = 30  # with fewer rows per group the kernel method is not informative


class PriorEstimate(NamedTuple):
    """An estimate of the class prior.

    Attributes
    ----------
    prior : float
        P(y = positive) among the unlabeled rows.
    low, high : float
        A 90% interval of the prior: from the lowest to the highest end of the bootstrap intervals (95%) of best bin
        estimation, DEDPUL and a mixture of two normal distributions of the scores. The first two are too large where
        the classes overlap everywhere, the last one is too small, so the interval is wide there: the data do not say
        more.
    methods : dict
        The estimate of each method.
    population : float
        P(y = positive) in the population: equal to `prior` in the case-control setting; in the censoring setting the
        labeled positives are included.
    """

    prior: float
    low: float
    high: float
    methods: dict
    population: float


def estimate_class_prior(
    X: MatrixLike,
    y: ArrayLike,
    method: str = "auto",
    *,
    setting: Setting = "case-control",
    sample_weight: ArrayLike | None = None,
    random_state: Seed = None,
) -> PriorEstimate:
    r"""Estimate the share of positives among the unlabeled rows.

    Only the largest prior that is consistent with the data can be identified: if every positive could also be a
    negative, any smaller prior explains the rows as well. All methods therefore assume that some region contains
    (almost) only positives, and overestimate the prior if there is none.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows. NaN is allowed except for "km2" and "energy".
    y : array-like of shape (n_samples,)
        Positive-unlabeled labels: positives and markers (``-1``, ``None``, ``NaN``), or two classes of which the last
        is positive and the other unlabeled. For ``method="energy"`` rows of both classes and markers.
    method : {"auto", "bbe", "dedpul", "km2", "en", "energy"}, default="auto"
        - "bbe" (best bin estimation [1]_): the smallest ratio, with its error bar, of unlabeled to labeled rows above
          a score;
        - "dedpul" [2]_: expectation maximization with the ratio of the densities of the scores;
        - "km2" [3]_: how far the unlabeled rows can be moved away from the positives before they leave the convex hull
          of the rows, in a kernel space; no classifier, at most 150 rows per group;
        - "en" (Elkan and Noto [4]_): from the mean score of the positives; too large if the classes overlap;
        - "energy" [5]_: energy distances; needs labeled negatives and is then the most accurate;
        - "auto": the mean of "bbe" and "dedpul", with a warning if these and "km2" differ by more than 0.1.
    setting : {"case-control", "censoring"}, default="case-control"
        How the sample was drawn: positives drawn separately from the unlabeled rows, or one sample in which some
        positives were labeled. It affects "en" and `population` only; for the other methods the unlabeled rows are a
        mixture in both settings.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows, on any scale: the estimate is the weighted share. Rows of weight 0 are left out.
    random_state : int, RandomState instance or None, default=None
        Draws folds, subsamples and the bootstrap.

    Returns
    -------
    PriorEstimate
        The estimate, its interval and the estimate of each method.

    Warns
    -----
    PriorWarning
        If the methods differ by more than 0.1, or there are too few rows for any of them.

    See Also
    --------
    fewlabel.prior.largest_prior : Upper bound of the prior.

    Notes
    -----
    Scores are out of fold (5 folds, or the size of the smaller group), from logistic regression or, with 200 rows or
    more, boosted trees, whichever has the smaller balanced log loss. At most 10,000 rows per group are used.

    References
    ----------
    .. [1] Garg, S., Wu, Y., Smola, A., Balakrishnan, S. and Lipton, Z. C. "Mixture proportion estimation and PU
       learning: a modern approach." Advances in Neural Information Processing Systems 34, 2021.
    .. [2] Ivanov, D. "DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning." IEEE International
       Conference on Machine Learning and Applications, 2020.
    .. [3] Ramaswamy, H. G., Scott, C. and Tewari, A. "Mixture proportion estimation via kernel embeddings of
       distributions." International Conference on Machine Learning, 2016.
    .. [4] Elkan, C. and Noto, K. "Learning classifiers from only positive and unlabeled data." ACM SIGKDD International
       Conference on Knowledge Discovery and Data Mining, 2008.
    .. [5] Kawakubo, H., du Plessis, M. C. and Sugiyama, M. "Computationally efficient class-prior estimation under
       class balance change using energy distance." IEICE Transactions on Information and Systems E99-D(1), 2016.

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
    check_choice("method", method, ("auto", "bbe", "dedpul", "km2", "en", "energy"))
    check_choice("setting", setting, get_args(Setting))
    X = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite="allow-nan")
    rng = check_random_state(random_state)
    check_consistent_length(X, y)
    weight = np.ones(X.shape[0]) if sample_weight is None else check_weights(sample_weight, X)
    used = weight > 0
    X = X[used]
    weight = weight[used]
    # The only method that learns from labeled negatives.
    if method == "energy":
        signs = read_binary(y).signs[used]
        prior, low, high = energy(X, signs, weight, rng)
        answers = {"energy": prior}
        positive = signs > 0
        unlabeled = signs == 0
    else:
        positive = read_pu(y).positive[used]
        unlabeled = ~positive
        answers, (low, high) = _answers(X, positive, weight, method, setting, rng)
        if method == "auto":
            prior = float(np.mean([answers["bbe"], answers["dedpul"]]))
        else:
            prior = answers[method]
    # The interval contains the estimates of all methods: they may differ more than the draws of one.
    lowest = min(answers.values())
    highest = max(answers.values())
    if highest - lowest > _DISAGREE:
        listed = ", ".join(f"{name} {value:.2f}" for name, value in answers.items())
        warnings.warn(
            f"methods disagree on the class prior ({listed}), so any of them may be far off: there may be no region "
            "with positives only, or too few rows. Try a range of priors; too small is safer than too large",
            PriorWarning,
            stacklevel=2,
        )
    population = prior
    # The labeled positives were taken out of one sample, and belong to its population.
    if setting == "censoring":
        n_labeled = weight[positive].sum()
        n_unlabeled = weight[unlabeled].sum()
        population = (n_labeled + prior * n_unlabeled) / (n_labeled + n_unlabeled)
    return PriorEstimate(prior, float(min(low, lowest)), float(max(high, highest)), answers, population)


def class_prior(X, positive, random_state, weight=None):
    """Estimate the prior as ``method="auto"`` does, without interval and warnings.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The rows.
    positive : ndarray of bool of shape (n_samples,)
        The labeled positives; all other rows are unlabeled.
    random_state : int, RandomState instance or None
        Draws folds and subsamples.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the rows, above 0.

    Returns
    -------
    float
        The prior; 0.5, with a warning, if a group has a single row.

    Examples
    --------
    >>> from fewlabel.datasets import make_pu
    >>> from fewlabel.prior import class_prior
    >>> X, y = make_pu(500, prior=0.4, labeled=50, separation=4.0, random_state=0)
    >>> bool(0.2 < class_prior(X, y == 1, random_state=0) < 0.5)
    True
    """
    if weight is None:
        weight = np.ones(len(positive))
    groups = _scored_groups(X, positive, weight, check_random_state(random_state))
    if groups.scores is None:
        return 0.5
    counts = (groups.p_weight, groups.u_weight)
    return 0.5 * (bbe(*groups.scores, *counts) + dedpul(*groups.scores, *counts))


class Groups(NamedTuple):
    """Labeled positives and unlabeled rows, their weights, and their scores; None if a group has a single row."""

    P: MatrixLike
    U: MatrixLike
    p_weight: np.ndarray
    u_weight: np.ndarray
    scores: tuple | None


def _scored_groups(X, positive, weight, rng):
    p_rows = subsample(np.flatnonzero(positive), rng)
    u_rows = subsample(np.flatnonzero(~positive), rng)
    groups = (X[p_rows], X[u_rows], weight[p_rows], weight[u_rows])
    scores = out_of_fold_scores(*groups, rng)
    if scores is None:
        warnings.warn(
            "the class prior cannot be estimated from a single labeled positive, or a single unlabeled row: 0.5 is "
            "used instead, which may be far off. Label more rows, or set the prior yourself",
            PriorWarning,
            stacklevel=caller_level(),
        )
    return Groups(*groups, scores)


def _answers(X, positive, weight, method, setting, rng):
    """Estimates of the requested methods (and of km2 for "auto"), and the interval."""
    groups = _scored_groups(X, positive, weight, rng)
    names = ("bbe", "dedpul") if method == "auto" else (method,)
    if groups.scores is None:
        return dict.fromkeys(names, 0.5), (0.0, 1.0)
    scores = groups.scores
    weights = (groups.p_weight, groups.u_weight)
    answers = {}
    if "bbe" in names:
        answers["bbe"] = bbe(*scores, *weights)
    if "dedpul" in names:
        answers["dedpul"] = dedpul(*scores, *weights)
    if "en" in names:
        n_p = weight[positive].sum()
        n_u = weight[~positive].sum()
        answers["en"] = elkan_noto(scores[0], weights[0], n_p, n_u, setting)
    enough = min(map(len, weights)) >= _N_KM2_ROWS and not has_missing(groups.P, groups.U)
    if method == "km2" or (method == "auto" and enough):
        answers["km2"] = km2(groups.P, groups.U, *weights, rng)
    return answers, _bootstrap_interval(scores, weights, rng)


def _bootstrap_interval(scores, weights, rng):
    """The hull of the 95% intervals of three methods, whose errors differ in sign where the classes overlap."""
    p_counts = []
    u_counts = []
    by_bbe = []
    by_dedpul = []
    for _ in range(N_BOOTSTRAP):
        counts = [redraw(weight, rng) for weight in weights]
        p_counts.append(counts[0])
        u_counts.append(counts[1])
        by_bbe.append(bbe(*scores, *counts))
        by_dedpul.append(dedpul(*scores, *counts))
    # The mixture takes all draws at once.
    by_mixture = gaussian_mixture(*scores, np.array(p_counts), np.array(u_counts))
    draws = [by_bbe, by_dedpul, by_mixture]
    low, high = np.quantile(draws, [0.025, 0.975], axis=1)
    return low.min(), high.max()
