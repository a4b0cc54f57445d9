"""The members of the portfolio: the estimator, what it sees of the table, and which labels it is for."""

import importlib.util
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fewlabel.auto.attempts import reasons

LABELED, ALL = "labeled", "all"
BINARY, MULTICLASS, POSITIVE_UNLABELED = "binary", "multiclass", "positive-unlabeled"
_CLASSES = (BINARY, MULTICLASS)
_POSITIVES = (POSITIVE_UNLABELED,)
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

    @property
    def quick(self):
        """Whether it belongs to the small portfolio."""
        return self.name in _QUICK

    def without_unlabeled(self):
        """The same member, which learns nothing from unlabeled rows."""
        return self._replace(learns=LABELED, fits_unlabeled=False)

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
    """

    seed: int
    n_trees: int
    task: str
    n_labeled: int
    n_columns: int
    prior: float | None = None

    @property
    def balance(self):
        """Class weights: in positive-unlabeled data both groups have the same total weight."""
        return "balanced" if self.task == POSITIVE_UNLABELED else None


def _logistic(strength):
    def make(context):
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=strength, max_iter=500, class_weight=context.balance)

    return make


def _discriminant(context):
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    return LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")


def _svm(**parameters):
    def make(context):
        from sklearn.svm import SVC

        return SVC(**parameters, class_weight=context.balance, random_state=context.seed)

    return make


def _least_squares(risk, **parameters):
    def make(context):
        from fewlabel.linear import LeastSquaresAUCClassifier

        return LeastSquaresAUCClassifier(risk, basis="nystroem", **parameters, random_state=context.seed)

    return make


_kernel_auc = _least_squares("pn", alpha="cv", cv=4)


def _forest(name, **parameters):
    def make(context):
        from sklearn import ensemble

        # Unlabeled rows are fitted as negatives and scored later: small leaves would memorize them.
        leaf = int(np.clip(context.n_labeled // 50, 5, 50)) if context.task == POSITIVE_UNLABELED else 1
        return getattr(ensemble, name)(
            context.n_trees,
            min_samples_leaf=leaf,
            class_weight=context.balance,
            random_state=context.seed,
            **parameters,
        )

    return make


def _hist_boosting(context):
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        max_iter=100,
        learning_rate=0.08,
        max_leaf_nodes=8,
        min_samples_leaf=int(np.clip(context.n_labeled // 20, 2, 20)),
        l2_regularization=1.0,
        max_features=0.5,
        early_stopping=False,
        random_state=context.seed,
    )


def _xgboost(context):
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=120,
        learning_rate=0.08,
        max_depth=4,
        subsample=0.8,
        colsample_bytree=0.6,
        n_jobs=1,
        tree_method="hist",
        base_score=0.5,
        random_state=context.seed,
    )


def _lightgbm(context):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=120,
        learning_rate=0.08,
        num_leaves=8,
        min_child_samples=int(np.clip(context.n_labeled // 20, 2, 20)),
        subsample=0.8,
        subsample_freq=1,
        colsample_bytree=0.6,
        n_jobs=1,
        deterministic=True,
        force_row_wise=True,
        verbose=-1,
        random_state=context.seed,
    )


def _catboost(context):
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        # With few labels as good as the defaults of 1000 trees, 254 borders and all columns, and several times as fast.
        iterations=min(2 * context.n_trees, 200),
        border_count=context.n_trees // 4,  # 15 in the folds, 50 in the fit to all rows
        rsm=min(1.0, np.clip(context.n_columns / 2, 10, 20) / context.n_columns),  # 10 to 20 columns for each level
        auto_class_weights="Balanced" if context.balance else None,
        thread_count=1,
        verbose=False,
        allow_writing_files=False,
        random_seed=context.seed,
    )


def _pretrained(package):
    def make(context):
        from fewlabel.auto.pretrained import PretrainedClassifier

        return PretrainedClassifier(package, random_state=context.seed)

    return make


def _tree_boosting(context):
    from fewlabel.boosting import TreeAUCBoostClassifier

    rounds = _ROUNDS_PER_TREE * context.n_trees
    return TreeAUCBoostClassifier(rounds, learning_rate=_TOTAL_STEP / rounds, n_jobs=1, random_state=context.seed)


def _pu_tree_boosting(context):
    from fewlabel.boosting import TreePUBoostClassifier

    return TreePUBoostClassifier(prior=context.prior, n_jobs=1, random_state=context.seed)


def _rank_boosting(context):
    from fewlabel.boosting import PNUAUCBoostClassifier

    return PNUAUCBoostClassifier(n_jobs=1, random_state=context.seed)


def _pnu_boosting(context):
    from fewlabel.boosting import PNUAUCBoostClassifier

    return PNUAUCBoostClassifier(gamma=0.95, n_jobs=1, random_state=context.seed)


def _bayes(context):
    from sklearn.naive_bayes import GaussianNB

    return GaussianNB(var_smoothing=1e-2)


def _neighbors(context):
    from sklearn.neighbors import KNeighborsClassifier

    k = int(np.clip(round(np.sqrt(context.n_labeled)), 3, 25))
    return KNeighborsClassifier(k, weights="distance", algorithm="brute")


def _paths(context):
    from fewlabel.graph import PathNeighborsClassifier

    return PathNeighborsClassifier(scale=False)


def _spreading(context):
    from fewlabel.graph import LabelSpreadingClassifier

    return LabelSpreadingClassifier(scale=False)


def _pu_boosting(context):
    from fewlabel.boosting import PUAdaBoostClassifier

    return PUAdaBoostClassifier(prior=context.prior, random_state=context.seed)


def _pu_linear(context):
    from fewlabel.linear import LinearPUClassifier

    return LinearPUClassifier("nnpu", prior=context.prior, random_state=context.seed)


# From simple to complex: of two that do equally well, the upper one is preferred.
PORTFOLIO = (
    Member("logistic regression", "linear", "scaled", LABELED, _logistic(0.3), _CLASSES + _POSITIVES),
    Member("linear discriminant", "linear", "scaled", LABELED, _discriminant, _CLASSES),
    Member("naive Bayes", "bayes", "scaled", LABELED, _bayes, _CLASSES),
    Member("RankBoost", "boosting", "raw", LABELED, _rank_boosting, (BINARY,)),
    Member("nearest neighbors", "neighbor", "scaled", LABELED, _neighbors, _CLASSES),
    Member("quadratic SVM", "kernel", "scaled", LABELED, _svm(kernel="poly", degree=2, coef0=1.0), _CLASSES),
    Member("RBF-SVM", "kernel", "scaled", LABELED, _svm(), _CLASSES),
    Member(
        "RBF least-squares AUC",
        "kernel",
        "scaled",
        LABELED,
        _least_squares("pn", alpha="cv", cv=4),
        (BINARY, *_POSITIVES),
    ),
    Member("random forest", "forest", "scaled", LABELED, _forest("RandomForestClassifier"), _CLASSES),
    Member("extra trees", "forest", "scaled", LABELED, _forest("ExtraTreesClassifier"), _CLASSES + _POSITIVES),
    Member("histogram boosting", "boosting", "raw", LABELED, _hist_boosting, _CLASSES + _POSITIVES),
    Member("XGBoost", "boosting", "raw", LABELED, _xgboost, _CLASSES, package="xgboost"),
    Member("LightGBM", "boosting", "raw", LABELED, _lightgbm, _CLASSES, package="lightgbm"),
    Member("CatBoost", "boosting", "raw", LABELED, _catboost, _CLASSES + _POSITIVES, package="catboost"),
    Member("TabICL", _PRETRAINED, "raw", LABELED, _pretrained("tabicl"), _CLASSES, package="tabicl"),
    Member("TabPFN", _PRETRAINED, "raw", LABELED, _pretrained("tabpfn"), _CLASSES, package="tabpfn"),
    Member("tree AUC boosting", "boosting", "raw", ALL, _tree_boosting, (BINARY,), fits_unlabeled=True),
    Member("PNU-AUCBoost", "boosting", "raw", ALL, _pnu_boosting, (BINARY,), True, needs_unlabeled=True),
    Member(
        *("SAMULT", "kernel", "scaled", ALL, _least_squares("samult", n_components=100), (BINARY,), True),
        needs_unlabeled=True,
    ),
    Member("path neighbors", "graph", "scaled", ALL, _paths, _CLASSES, True, 1500, needs_unlabeled=True),
    Member("label spreading", "graph", "scaled", ALL, _spreading, _CLASSES, True, 3000, needs_unlabeled=True),
    Member("logistic regression on graph features", "graph", "spectral", ALL, _logistic(0.3), _CLASSES),
    Member("RBF-SVM on graph features", "graph", "spectral", ALL, _svm(C=3.0), _CLASSES),
    Member("extra trees + components", "forest", "components", ALL, _forest("ExtraTreesClassifier"), _CLASSES),
    Member("tree AUC boosting + components", "boosting", "components", ALL, _tree_boosting, (BINARY,), True),
    Member("CatBoost + components", "boosting", "components", ALL, _catboost, _CLASSES, package="catboost"),
    Member("extra trees + graph features", "graph", "spectral", ALL, _forest("ExtraTreesClassifier"), _CLASSES),
    Member("Ada-PU", "boosting", "raw", ALL, _pu_boosting, _POSITIVES, fits_unlabeled=True),
    Member("tree PU boosting", "boosting", "raw", ALL, _pu_tree_boosting, _POSITIVES, fits_unlabeled=True),
    Member("nnPU", "linear", "scaled", ALL, _pu_linear, _POSITIVES, fits_unlabeled=True),
)


TRIED_FIRST = (
    *("logistic regression", "extra trees", "tree AUC boosting + components"),
    *("extra trees + components", "RBF least-squares AUC"),
)
# With two classes or more the others are as good without these: in `python -m benchmarks experience` leaving them out
# changes the mean AUC of the ensemble by less than .001.
_BY_NAME_ONLY = (
    *("naive Bayes", "RankBoost", "nearest neighbors", "quadratic SVM", "random forest", "extra trees", "XGBoost"),
    *("LightGBM", "tree AUC boosting", "PNU-AUCBoost", "SAMULT", "label spreading"),
)
_NOT_FOR_TWO_CLASSES = ("histogram boosting",)  # for these there is the tree booster
ADDITIVE = ("RankBoost", "PNU-AUCBoost", "Ada-PU")  # sums of step functions, one per column
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
    if task == POSITIVE_UNLABELED:
        return True
    return member.name not in _BY_NAME_ONLY + (_NOT_FOR_TWO_CLASSES if task == BINARY else ())


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
    return None if member.installed else f"not installed: {member.package}"


def select_members(wanted, task, has_unlabeled, *, additive=False):
    """The members that the parameter `portfolio` of `AutoClassifier` stands for.

    Parameters
    ----------
    wanted : "auto", "small" or sequence of str
    task : {"binary", "multiclass", "positive-unlabeled"}
    has_unlabeled : bool
    additive : bool, default=False
        Whether at least one has to be additive; "auto" and "small" then stand for the additive members, too.

    Returns
    -------
    members : list of Member
    left_out : dict
        Why other members are left out: those that were named, or that would be tried if a package were installed
        (pretrained ones need large downloads, and are not mentioned).
    """
    members, left_out = _select(wanted, task, has_unlabeled)
    if additive and wanted in ("auto", "small"):
        members = [m for m in available(task, has_unlabeled) if m in members or m.name in ADDITIVE]
    if additive and not any(m.name in ADDITIVE for m in members):
        raise ValueError(
            "interpretable=True: none of the methods for these labels is additive. It needs two classes or positives "
            f"only, and portfolio='auto', 'small' or a list with one of {', '.join(ADDITIVE)}"
        )
    return members, left_out


def _select(wanted, task, has_unlabeled):
    obstacles = {m: _obstacle(m, task, has_unlabeled) for m in PORTFOLIO}
    if wanted == "small":
        return [m for m, why in obstacles.items() if why is None and m.quick], {}
    members = [m for m, why in obstacles.items() if why is None]
    if wanted == "auto":
        usual = {m: why for m, why in obstacles.items() if _is_usual(m, task)}
        not_installed = {
            m: w for m, w in usual.items() if w == f"not installed: {m.package}" and m.family != _PRETRAINED
        }
        return [m for m, why in usual.items() if why is None], not_installed
    choose_from = f"choose from {', '.join(repr(m.name) for m in members)}"
    unknown = sorted(set(wanted) - {m.name for m in PORTFOLIO})
    if unknown:
        raise ValueError(f"portfolio: {unknown[0]!r} is not known; {choose_from}")
    chosen = [m for m in members if m.name in wanted]
    left_out = {m: why for m, why in obstacles.items() if why is not None and m.name in wanted}
    if not chosen:
        raise ValueError(f"portfolio: {reasons(left_out) or 'it is empty'}; {choose_from}")
    return chosen, left_out
