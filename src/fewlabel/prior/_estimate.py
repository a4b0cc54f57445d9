"""Estimation of the class prior: the choice of the method, the interval, and the warnings."""

import warnings
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score
from sklearn.utils import check_array, check_consistent_length, check_random_state

from fewlabel.base import check_weights
from fewlabel.checks import check_choice
from fewlabel.exceptions import PriorWarning
from fewlabel.labels import read_binary, read_pu
from fewlabel.population import effective_number
from fewlabel.prior._belief import believe_prior
from fewlabel.prior._energy import energy
from fewlabel.prior._rows import subsample
from fewlabel.prior._score_methods import bbe, dedpul, elkan_noto, ratio_bound, ratio_rise
from fewlabel.prior._scores import out_of_fold_scores
from fewlabel.row_order import value_order
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

Setting = Literal["case-control", "censoring"]
_WIDE = 0.3  # on other tables, half of the estimates with wider intervals were off by more than 0.1, and 4% of the rest


class PriorEstimate(NamedTuple):
    """An estimate of the class prior.

    Attributes
    ----------
    prior : float
        P(y = positive) among the unlabeled rows.
    low, high : float
        A 90% interval of the prior. It is wide where labeled positives and unlabeled rows overlap: the data do not say
        more.
    methods : dict
        What each method gives by itself.
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
    setting: Setting = "censoring",
    sample_weight: ArrayLike | None = None,
    random_state: Seed = None,
) -> PriorEstimate:
    r"""Estimate the share of positives among the unlabeled rows.

    Only the largest prior that is consistent with the data can be identified: if every positive could also be a
    negative, any smaller prior explains the rows as well. All methods therefore assume that some region contains
    (almost) only positives, and overestimate the prior if there is none; "auto" corrects them by how far they were off
    on other tables. And all assume that labeled positives are a random sample of the positives.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The rows. NaN is allowed except for "energy".
    y : array-like of shape (n_samples,)
        Positive-unlabeled labels: positives and markers (``-1``, ``None``, ``NaN``), or two classes of which the last
        is positive and the other unlabeled. For ``method="energy"`` rows of both classes and markers.
    method : {"auto", "bbe", "dedpul", "en", "energy"}, default="auto"
        - "bbe" (best bin estimation [1]_): the smallest ratio, with its error bar, of unlabeled to labeled rows above
          a score;
        - "dedpul" [2]_: expectation maximization with the ratio of the densities of the scores;
        - "en" (Elkan and Noto [3]_): from the mean score of the positives; too large if the classes overlap;
        - "energy" [4]_: energy distances; needs labeled negatives and is then the most accurate;
        - "auto": the posterior mean, given "bbe", "dedpul", the AUC of labeled positives against unlabeled rows, and
          the true shares on 43 other tables.
    setting : {"censoring", "case-control"}, default="censoring"
        How the sample was drawn: one sample in which some positives were labeled, or positives drawn separately from
        the unlabeled rows. It affects "en" and `population` only; for the other methods the unlabeled rows are a
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
        If the interval is wider than 0.3, or there are too few rows for any method.

    See Also
    --------
    fewlabel.prior.largest_prior : Upper bound of the prior.

    Notes
    -----
    Scores are out of fold (5 folds, or the size of the smaller group), from logistic regression or, with 200 rows or
    more, boosted trees, whichever has the smaller balanced log loss. At most 10,000 rows per group are used. The order
    of the rows does not matter. :class:`fewlabel.AutoClassifier` with the same `random_state` uses the same estimate.

    References
    ----------
    .. [1] Garg, S., Wu, Y., Smola, A., Balakrishnan, S. and Lipton, Z. C. "Mixture proportion estimation and PU
       learning: a modern approach." Advances in Neural Information Processing Systems 34, 2021.
    .. [2] Ivanov, D. "DEDPUL: difference-of-estimated-densities-based positive-unlabeled learning." IEEE International
       Conference on Machine Learning and Applications, 2020.
    .. [3] Elkan, C. and Noto, K. "Learning classifiers from only positive and unlabeled data." ACM SIGKDD International
       Conference on Knowledge Discovery and Data Mining, 2008.
    .. [4] Kawakubo, H., du Plessis, M. C. and Sugiyama, M. "Computationally efficient class-prior estimation under
       class balance change using energy distance." IEICE Transactions on Information and Systems E99-D(1), 2016.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import estimate_class_prior, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_pu = hide_labels(y, labeled=100, mechanism="positives-only", random_state=0)
    >>> estimate = estimate_class_prior(X, y_pu, random_state=0)
    >>> print(f"at most {estimate.high:.2f}, in truth {y[y_pu == -1].mean():.2f}")
    at most 0.63, in truth 0.55
    """
    check_choice("method", method, ("auto", "bbe", "dedpul", "en", "energy"))
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
        groups = _scored_groups(X, positive, weight, rng)
        answers, (prior, low, high) = _believed(groups)
        if method != "auto":
            sizes = (weight[positive].sum(), weight[unlabeled].sum())
            prior = _by_method(method, groups, answers, setting, sizes)
            answers = {method: prior}
    # From 0 to 1 without any score, of which there was a warning already.
    if _WIDE < high - low < 1:
        known = f"at most {high:.2f}" if low == 0 else f"{low:.2f} to {high:.2f}"
        warnings.warn(
            f"the data say little about the class prior ({known}). Label 50 random rows of the table, or try a range "
            "of priors; too small is safer than too large",
            PriorWarning,
            stacklevel=2,
        )
    population = prior
    # The labeled positives were taken out of one sample, and belong to its population.
    if setting == "censoring":
        n_labeled = weight[positive].sum()
        n_unlabeled = weight[unlabeled].sum()
        population = (n_labeled + prior * n_unlabeled) / (n_labeled + n_unlabeled)
    return PriorEstimate(prior, float(min(low, prior)), float(max(high, prior)), answers, population)


def class_prior(X, positive, random_state, weight=None):
    """Estimate the prior as ``method="auto"`` does, without warnings of a wide interval.

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
    PriorEstimate

    Examples
    --------
    >>> from fewlabel.datasets import make_pu
    >>> from fewlabel.prior import class_prior
    >>> X, y = make_pu(500, prior=0.4, labeled=50, separation=4.0, random_state=0)
    >>> bool(0.2 < class_prior(X, y == 1, random_state=0).prior < 0.5)
    True
    """
    if weight is None:
        weight = np.ones(len(positive))
    answers, (prior, low, high) = _believed(_scored_groups(X, positive, weight, check_random_state(random_state)))
    return PriorEstimate(prior, low, high, answers, prior)


class Groups(NamedTuple):
    """Labeled positives and unlabeled rows, their weights, and their scores; None if a group has a single row."""

    P: MatrixLike
    U: MatrixLike
    p_weight: np.ndarray
    u_weight: np.ndarray
    scores: tuple | None


def _scored_groups(X, positive, weight, rng):
    # Folds and subsamples are drawn by position.
    order = value_order(X, positive, weight)
    X = X[order]
    positive = positive[order]
    weight = weight[order]
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


def _believed(groups):
    """Estimates of two methods, and the prior and its interval given these."""
    if groups.scores is None:
        return {"bbe": 0.5, "dedpul": 0.5}, (0.5, 0.0, 1.0)
    weights = (groups.p_weight, groups.u_weight)
    answers = {"bbe": bbe(*groups.scores, *weights), "dedpul": dedpul(*groups.scores, *weights)}
    is_labeled = np.repeat([1, 0], [len(group) for group in weights])
    auc = roc_auc_score(is_labeled, np.concatenate(groups.scores), sample_weight=np.concatenate(weights))
    numbers = [effective_number(weight) for weight in weights]
    rise = ratio_rise(*groups.scores, *weights)
    bound = ratio_bound(*groups.scores, *weights)
    return answers, believe_prior(list(answers.values()), auc, rise, bound, *numbers)


def _by_method(method, groups, answers, setting, sizes):
    """The estimate of one method by itself."""
    if method in answers or groups.scores is None:
        return answers.get(method, 0.5)
    return elkan_noto(groups.scores[0], groups.p_weight, *sizes, setting)
