"""The members of the portfolio: the estimator, what it sees of the table, and which labels it is for."""

import importlib
import importlib.util
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewlabel.auto.attempts import reasons

# What a view is learned from.
LABELED = "labeled"
ALL = "all"
# Tasks.
BINARY = "binary"
MULTICLASS = "multiclass"
POSITIVE_UNLABELED = "positive-unlabeled"
_TWO = (BINARY,)
_CLASSES = (BINARY, MULTICLASS)
_POSITIVES = (POSITIVE_UNLABELED,)
_ANY = _CLASSES + _POSITIVES
_PRETRAINED = "pretrained"
_ROUNDS_PER_TREE = 3  # rounds of the tree booster for each tree of a forest
_TOTAL_STEP = 20.0  # rounds of the tree booster times its learning rate


class Member(NamedTuple):
    """One learner of the portfolio.

    Attributes
    ----------
    name : str
        As the leaderboard shows it.
    family : str
        "linear", "kernel", "forest", "boosting", "neighbor", "bayes", "graph" or "pretrained".
    view : str
        The table that it sees: "raw" (with missing values), "scaled", "components" or "spectral".
    learns : str
        The rows that the view is learned from: "labeled" or "all".
    make : callable
        ``make(context)`` gives the unfitted estimator.
    tasks : tuple of str
        Labels that it is for: "binary", "multiclass", "positive-unlabeled".
    fits_unlabeled : bool
        Whether `fit` is given the unlabeled rows, marked ``-1``.
    most_unlabeled : int
        Unlabeled rows beyond this number are left out of `fit`.
    package : str
        A package that has to be installed.
    needs_unlabeled : bool
        Whether it is only for tables with unlabeled rows.
    least_labels : int
        Labels of each class without which it is not tried.
    most_columns : float
        Columns of a table beyond which it is not tried.
    """

    name: str
    family: str
    view: str
    learns: str
    make: Callable
    tasks: tuple
    fits_unlabeled: bool = False
    most_unlabeled: int = 10_000
    package: str = "sklearn"
    needs_unlabeled: bool = False
    least_labels: int = 1
    most_columns: float = np.inf

    @property
    def installed(self):
        """Whether its package is installed."""
        return importlib.util.find_spec(self.package) is not None


class Context(NamedTuple):
    """What a member may adapt to.

    Attributes
    ----------
    seed : int
    n_trees : int
        Size of forests.
    task : str
        See `Member`.
    n_labeled : int
    n_columns : int
        Columns that the member sees.
    prior : float or None
        Share of positives among the unlabeled rows, for positive-unlabeled data.
    monotone : ndarray of int of shape (n_columns,) or None
        Direction of each column, for the members that are sums of step functions.
    """

    seed: int
    n_trees: int
    task: str
    n_labeled: int
    n_columns: int
    prior: float | None = None
    monotone: np.ndarray | None = None


# Parameters of estimators that depend on the rows.
def _seed(context):
    return context.seed


def _prior(context):
    return context.prior


def _monotone(context):
    return context.monotone


def _balance(context):
    """Class weights: in positive-unlabeled data both groups have the same total weight."""
    return "balanced" if context.task == POSITIVE_UNLABELED else None


def _n_trees(context):
    return context.n_trees


def _forest_leaf(context):
    """Unlabeled rows are fitted as negatives and scored later: small leaves would memorize them."""
    if context.task != POSITIVE_UNLABELED:
        return 1
    return int(np.clip(context.n_labeled // 50, 5, 50))


def _smooth_leaf(context):
    """Leaves of single rows fit the noise of their labels; with very few labels larger ones would be the whole tree."""
    return 3 if context.task == BINARY and context.n_labeled >= 10 else _forest_leaf(context)


def _booster_leaf(context):
    return int(np.clip(context.n_labeled // 20, 2, 20))


def _n_rounds(context):
    return _ROUNDS_PER_TREE * context.n_trees


def _step(context):
    return _TOTAL_STEP / _n_rounds(context)


def _n_neighbors(context):
    return int(np.clip(round(np.sqrt(context.n_labeled)), 3, 25))


def _column_share(context):
    """10 to 20 columns for each level of a tree."""
    return min(1.0, np.clip(context.n_columns / 2, 10, 20) / context.n_columns)


def _new(path, **parameters):
    """A factory of estimators, whose packages are imported when it is called.

    Parameters
    ----------
    path : str
        Module and name of the class.
    **parameters
        Values, or functions of the `Context`.
    """
    module, name = path.rsplit(".", 1)

    def make(context):
        values = {key: value(context) if callable(value) else value for key, value in parameters.items()}
        return getattr(importlib.import_module(module), name)(**values)

    return make


_LOGISTIC = _new("sklearn.linear_model.LogisticRegression", C=0.3, max_iter=500, class_weight=_balance)
_FOREST = dict(n_estimators=_n_trees, min_samples_leaf=_forest_leaf, class_weight=_balance, random_state=_seed)
_EXTRA_TREES = _new("sklearn.ensemble.ExtraTreesClassifier", **_FOREST)
_SMOOTH_TREES = _new("sklearn.ensemble.ExtraTreesClassifier", **_FOREST | dict(min_samples_leaf=_smooth_leaf))
_SVM = dict(class_weight=_balance, random_state=_seed)
_BOOSTER = dict(n_jobs=1, random_state=_seed)
_STUMPS = dict(monotone=_monotone, **_BOOSTER)
# Alone a larger penalty ranks better; beside smooth members, trees that follow the labels more closely do.
_TREES = dict(l2_regularization=0.5, **_BOOSTER)
_TREE_BOOSTING = _new("fewlabel.boosting.TreeAUCBoostClassifier", n_estimators=_n_rounds, learning_rate=_step, **_TREES)
# Few bins: as good as more of them, and a scorecard has fewer rows.
_STEPS = dict(max_depth=1, max_bins=16, monotone=_monotone, **_TREES)
_ADDITIVE_BOOSTING = _new(
    "fewlabel.boosting.TreeAUCBoostClassifier", n_estimators=_n_rounds, learning_rate=_step, **_STEPS
)
# Where single columns say much, at many places: ten times as far from the start.
_LONG_BOOSTING = _new(
    "fewlabel.boosting.TreeAUCBoostClassifier",
    n_estimators=lambda context: 3 * _n_rounds(context),
    learning_rate=lambda context: min(10 / 3 * _step(context), 1.0),
    **_STEPS,
)
_OTHER_BOOSTER = dict(n_estimators=120, learning_rate=0.08, subsample=0.8, colsample_bytree=0.6, **_BOOSTER)
_LEAST_SQUARES = dict(basis="nystroem", random_state=_seed)
_CATBOOST = _new(
    "catboost.CatBoostClassifier",
    # With few labels as good as the defaults of 1000 trees, 254 borders and all columns, and several times as fast.
    iterations=lambda context: min(2 * context.n_trees, 200),
    # 15 in the folds, 50 in the fit to all rows.
    border_count=lambda context: context.n_trees // 4,
    rsm=_column_share,
    auto_class_weights=lambda context: "Balanced" if _balance(context) else None,
    thread_count=1,
    verbose=False,
    allow_writing_files=False,
    random_seed=_seed,
)
_HIST_BOOSTING = _new(
    "sklearn.ensemble.HistGradientBoostingClassifier",
    max_iter=100,
    learning_rate=0.08,
    max_leaf_nodes=8,
    min_samples_leaf=_booster_leaf,
    l2_regularization=1.0,
    max_features=0.5,
    early_stopping=False,
    random_state=_seed,
)
_XGBOOST = _new("xgboost.XGBClassifier", max_depth=4, tree_method="hist", base_score=0.5, **_OTHER_BOOSTER)
_LIGHTGBM = _new(
    "lightgbm.LGBMClassifier",
    num_leaves=8,
    min_child_samples=_booster_leaf,
    subsample_freq=1,
    deterministic=True,
    force_row_wise=True,
    verbose=-1,
    **_OTHER_BOOSTER,
)
_PNU = "fewlabel.boosting.PNUAUCBoostClassifier"
_SVC = "sklearn.svm.SVC"
_AUC = "fewlabel.linear.LeastSquaresAUCClassifier"
_NETWORK = "fewlabel.auto.pretrained.PretrainedClassifier"
_DISCRIMINANT = _new("sklearn.discriminant_analysis.LinearDiscriminantAnalysis", solver="lsqr", shrinkage="auto")
_BAYES = _new("sklearn.naive_bayes.GaussianNB", var_smoothing=1e-2)
_NEIGHBORS = _new(
    "sklearn.neighbors.KNeighborsClassifier", n_neighbors=_n_neighbors, weights="distance", algorithm="brute"
)
_QUADRATIC = _new(_SVC, kernel="poly", degree=2, coef0=1.0, **_SVM)
_RBF_AUC = _new(_AUC, risk="pn", alpha="cv", cv=4, **_LEAST_SQUARES)
_RANDOM_FOREST = _new("sklearn.ensemble.RandomForestClassifier", **_FOREST)
_SAMULT = _new(_AUC, risk="samult", n_components=100, **_LEAST_SQUARES)
_PATHS = _new("fewlabel.graph.PathNeighborsClassifier", scale=False)
_SPREADING = _new("fewlabel.graph.LabelSpreadingClassifier", scale=False)
_ADA_PU = _new("fewlabel.boosting.PUAdaBoostClassifier", prior=_prior, monotone=_monotone, random_state=_seed)
_TREE_PU = _new("fewlabel.boosting.TreePUBoostClassifier", prior=_prior, **_BOOSTER)
_NNPU = _new("fewlabel.linear.LinearPUClassifier", risk="nnpu", prior=_prior, random_state=_seed)
_TABICL = _new(_NETWORK, package="tabicl", random_state=_seed)
_TABPFN = _new(_NETWORK, package="tabpfn", random_state=_seed)

# Distances between rows of 3,000 columns took a third of the time of a fit.
_WIDEST = 1024

# From simple to complex: of two that do equally well, the upper one is preferred.
PORTFOLIO = (
    Member("logistic regression", "linear", "scaled", LABELED, _LOGISTIC, _ANY),
    # One row of a class has no covariance: with three, each fold learns from two. Its time grows with the cube of the
    # columns, and with more of them than labels it is about the same as logistic regression.
    Member(
        *("linear discriminant", "linear", "scaled", LABELED, _DISCRIMINANT, _CLASSES),
        least_labels=3,
        most_columns=500,
    ),
    Member("naive Bayes", "bayes", "scaled", LABELED, _BAYES, _CLASSES),
    Member("RankBoost", "boosting", "raw", LABELED, _new(_PNU, **_STUMPS), _TWO),
    Member("nearest neighbors", "neighbor", "scaled", LABELED, _NEIGHBORS, _CLASSES),
    Member("quadratic SVM", "kernel", "scaled", LABELED, _QUADRATIC, _CLASSES),
    Member("RBF-SVM", "kernel", "scaled", LABELED, _new(_SVC, **_SVM), _CLASSES),
    Member("RBF least-squares AUC", "kernel", "scaled", LABELED, _RBF_AUC, _TWO + _POSITIVES),
    Member("random forest", "forest", "scaled", LABELED, _RANDOM_FOREST, _CLASSES),
    Member("extra trees", "forest", "scaled", LABELED, _EXTRA_TREES, _ANY),
    Member("histogram boosting", "boosting", "raw", LABELED, _HIST_BOOSTING, _ANY),
    Member("XGBoost", "boosting", "raw", LABELED, _XGBOOST, _CLASSES, package="xgboost"),
    Member("LightGBM", "boosting", "raw", LABELED, _LIGHTGBM, _CLASSES, package="lightgbm"),
    Member("CatBoost", "boosting", "raw", LABELED, _CATBOOST, _ANY, package="catboost"),
    Member("TabICL", _PRETRAINED, "raw", LABELED, _TABICL, _CLASSES, package="tabicl"),
    Member("TabPFN", _PRETRAINED, "raw", LABELED, _TABPFN, _CLASSES, package="tabpfn"),
    Member("additive boosting", "boosting", "raw", ALL, _ADDITIVE_BOOSTING, _TWO, True),
    Member("long additive boosting", "boosting", "raw", ALL, _LONG_BOOSTING, _TWO, True, least_labels=50),
    Member("tree AUC boosting", "boosting", "raw", ALL, _TREE_BOOSTING, _TWO, True),
    Member("PNU-AUCBoost", "boosting", "raw", ALL, _new(_PNU, gamma=0.95, **_STUMPS), _TWO, True, needs_unlabeled=True),
    Member("SAMULT", "kernel", "scaled", ALL, _SAMULT, _TWO, True, needs_unlabeled=True),
    Member(
        *("path neighbors", "graph", "scaled", ALL, _PATHS, _CLASSES, True, 1500),
        needs_unlabeled=True,
        most_columns=_WIDEST,
    ),
    Member(
        *("label spreading", "graph", "scaled", ALL, _SPREADING, _CLASSES, True, 3000),
        needs_unlabeled=True,
        most_columns=_WIDEST,
    ),
    Member(
        "logistic regression on graph features", "graph", "spectral", ALL, _LOGISTIC, _CLASSES, most_columns=_WIDEST
    ),
    Member(
        "RBF-SVM on graph features", "graph", "spectral", ALL, _new(_SVC, C=3.0, **_SVM), _CLASSES, most_columns=_WIDEST
    ),
    Member("extra trees + components", "forest", "components", ALL, _SMOOTH_TREES, _CLASSES),
    Member("tree AUC boosting + components", "boosting", "components", ALL, _TREE_BOOSTING, _TWO, True),
    Member("CatBoost + components", "boosting", "components", ALL, _CATBOOST, _CLASSES, package="catboost"),
    Member("extra trees + graph features", "graph", "spectral", ALL, _EXTRA_TREES, _CLASSES, most_columns=_WIDEST),
    Member("Ada-PU", "boosting", "raw", ALL, _ADA_PU, _POSITIVES, True),
    Member("tree PU boosting", "boosting", "raw", ALL, _TREE_PU, _POSITIVES, True),
    Member("nnPU", "linear", "scaled", ALL, _NNPU, _POSITIVES, True),
)


TRIED_FIRST = (
    *("logistic regression", "extra trees", "tree AUC boosting + components"),
    *("extra trees + components", "RBF least-squares AUC"),
)
# With two classes or more the others are as good without these: in `benchmarks.quality.experience` adding them changes
# the mean AUC of the ensemble by less than .001.
_NO_GAIN = (
    *("naive Bayes", "RankBoost", "nearest neighbors", "quadratic SVM", "extra trees", "XGBoost", "LightGBM"),
    *("tree AUC boosting", "PNU-AUCBoost", "SAMULT", "label spreading", "histogram boosting"),
    *("additive boosting", "long additive boosting"),
)
# Relatives of other members, with two fifths of the CPU time: with two classes the ensemble is as good without them.
_RELATIVES = ("logistic regression on graph features", "CatBoost + components", "extra trees + graph features")
# Members that are tried if `portfolio` names them. Of many classes a forest's probabilities are among the best.
_BY_NAME_ONLY = {
    BINARY: (*_NO_GAIN, *_RELATIVES, "random forest"),
    MULTICLASS: _NO_GAIN,
    POSITIVE_UNLABELED: (),
}
_BEST_ADDITIVE = (
    "additive boosting",
    "long additive boosting",
    "Ada-PU",
)  # over tables, see `python -m benchmarks.quality.scorecards`
ADDITIVE = (*_BEST_ADDITIVE, "RankBoost", "PNU-AUCBoost")  # sums of step functions, one per column
_QUICK = ("logistic regression", "naive Bayes", "extra trees", "path neighbors", "nnPU")


def portfolio():
    """All members, whether or not their packages are installed.

    Returns
    -------
    list of Member
    """
    return list(PORTFOLIO)


def default_members():
    """Names of the members for two classes that `AutoClassifier` tries by default, installed or not.

    Returns
    -------
    list of str
    """
    return [m.name for m in PORTFOLIO if BINARY in m.tasks and _is_usual(m, BINARY)]


def _is_usual(member, task):
    """Whether a member is tried by default."""
    return member.name not in _BY_NAME_ONLY[task]


def available(task, has_unlabeled=True):
    """Members for a task whose packages are installed; without unlabeled rows, those that need none.

    Parameters
    ----------
    task : {"binary", "multiclass", "positive-unlabeled"}
    has_unlabeled : bool, default=True

    Returns
    -------
    list of Member
    """
    return [m for m in PORTFOLIO if _obstacle(m, task, has_unlabeled) is None]


def _obstacle(member, task, has_unlabeled):
    """Why a member cannot be tried; None if it can."""
    if task not in member.tasks:
        return f"skipped: not for {task} labels"
    if member.needs_unlabeled and not has_unlabeled and task != POSITIVE_UNLABELED:
        return "skipped: no unlabeled rows"
    return None if member.installed else _not_installed(member)


def _not_installed(member):
    return f"not installed: {member.package}"


def select_members(wanted, task, has_unlabeled, *, additive=False):
    """The members that the parameter `portfolio` of `AutoClassifier` stands for.

    Parameters
    ----------
    wanted : "auto", "small" or sequence of str
    task : {"binary", "multiclass", "positive-unlabeled"}
    has_unlabeled : bool
    additive : bool, default=False
        Whether at least one has to be additive; "auto" and "small" then stand for the best additive members, too.

    Returns
    -------
    members : list of Member
    left_out : dict
        Why other members are left out: those that were named, or that would be tried if a package were installed
        (pretrained ones need large downloads, and are not mentioned).
    """
    members, left_out = _select(wanted, task, has_unlabeled)
    if additive and wanted in ("auto", "small"):
        members = [m for m in available(task, has_unlabeled) if m in members or m.name in _BEST_ADDITIVE]
    if additive and not any(m.name in ADDITIVE for m in members):
        raise ValueError(
            "interpretable=True: none of the methods for these labels is additive. It needs two classes or positives "
            f"only, and portfolio='auto', 'small' or a list with one of {', '.join(ADDITIVE)}"
        )
    return members, left_out


def unfit_members(members, counts, n_columns):
    """Why members are left out that need more labels of a class, or fewer columns to be done in time.

    Parameters
    ----------
    members : list of Member
    counts : ndarray of int
        Labels of each class.
    n_columns : int

    Returns
    -------
    dict
    """
    fewest = int(counts[counts > 0].min())
    reasons = {}
    for member in members:
        if member.least_labels > fewest:
            reasons[member] = f"skipped: a class has fewer than {member.least_labels} labels"
        elif member.most_columns < n_columns:
            reasons[member] = f"skipped: more than {member.most_columns} columns"
    return reasons


def _select(wanted, task, has_unlabeled):
    obstacles = {m: _obstacle(m, task, has_unlabeled) for m in PORTFOLIO}
    possible = [m for m, obstacle in obstacles.items() if obstacle is None]
    if wanted == "small":
        return [m for m in possible if m.name in _QUICK], {}
    if wanted == "auto":
        not_installed = {}
        for member, obstacle in obstacles.items():
            if _is_usual(member, task) and member.family != _PRETRAINED and obstacle == _not_installed(member):
                not_installed[member] = obstacle
        return [m for m in possible if _is_usual(m, task)], not_installed
    choose_from = f"choose from {', '.join(repr(m.name) for m in possible)}"
    unknown = sorted(set(wanted) - {m.name for m in PORTFOLIO})
    if unknown:
        raise ValueError(f"portfolio: {unknown[0]!r} is not known; {choose_from}")
    chosen = [m for m in possible if m.name in wanted]
    left_out = {m: why for m, why in obstacles.items() if why is not None and m.name in wanted}
    if not chosen:
        raise ValueError(f"portfolio: {reasons(left_out) or 'it is empty'}; {choose_from}")
    return chosen, left_out
