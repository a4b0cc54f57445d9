"""Few labels: which method ranks the test rows of real tables best, and whether AutoClassifier beats each of them."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.decomposition import PCA
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

import fewlabel
from benchmarks.harness.data import as_numbers, binary
from benchmarks.harness.experiment import Experiment, Figure, Problem, Setting, Suite
from benchmarks.quality.experience import experience_without

_MOST_ROWS = 3000  # of a training and of a test part: label spreading keeps a matrix of all pairs of rows
_LEAST = 5  # labels of each class
_AUTO, _PNU, _TREES = "AutoClassifier", "PNU-AUCBoost", "tree AUC boosting"
_LEFT_OUT = "AutoClassifier, table left out"  # of the experience that it starts from
_VERSION = "0.1.0"  # whose choice most cells of AutoClassifier are of; they would take hours to run again
_FORMER, _FORMER_LEFT_OUT = f"AutoClassifier {_VERSION}", f"AutoClassifier {_VERSION}, table left out"
_COMPONENTS = "extra trees + components"
_AUTOGLUON, _AUTOGLUON_PYTHON, _AUTOGLUON_SECONDS = "AutoGluon", "FEWLABEL_AUTOGLUON", 60
_NEEDS = {"XGBoost": "xgboost", "LightGBM": "lightgbm", "CatBoost": "catboost"}


@dataclass(frozen=True)
class Labeled(Setting):
    """Percentage of the labels that are kept."""

    percent: int

    def __str__(self):
        return f"{self.percent}% labeled"


class Ranking(Experiment):
    """Test AUC with few labels, all methods with their defaults."""

    needs = _NEEDS

    def outcome(self, problem, setting, method, seed):
        model, uses_all = self.make(_AUTO if method == _LEFT_OUT else method, seed)
        if method == _LEFT_OUT:
            model.set_params(experience=experience_without(problem.name))
        part = slice(None) if uses_all else problem.known
        model.fit(problem.X[problem.train][part], problem.few[part])
        return rank_scores(model, problem.X[problem.test])

    def make(self, method, seed):
        """A method with its defaults, and whether it learns from unlabeled rows."""
        return make(method, seed)

    def measure(self, problem, setting, outcome):
        return {"score": roc_auc_score(problem.y[problem.test], outcome)}


class AllMethods(Ranking):
    """All methods of the library and their peers at three shares of labels."""

    name = "All methods"
    datasets = (
        *("autos", "breast-cancer", "bupa", "car", "colic", "credit-g", "default-credit-card", "dermatology"),
        *("fourclass", "german.numer", "glass1", "heart-statlog", "hypothyroid", "ionosphere", "kr-vs-kp", "letter"),
        *("monk-2", "nsl-kdd-20pct", "optdigits", "pima", "ringnorm", "sick", "sonar", "splice", "tic-tac-toe"),
        *("twonorm", "unsw-nb15-test", "vehicle0", "vote", "waveform", "wdbc", "wisconsin"),
    )
    settings = tuple(Labeled(percent) for percent in (1, 5, 15))
    methods: Sequence[str] = (
        *(_PNU, "PNUAB", "linear AUC", "LS-AUC (SAMULT)", "SSMAB", "ASSEMBLE", "path neighbors"),
        *("cross-training", "tri-training", "logistic regression", "random forest", "extra trees"),
        *("histogram boosting", "XGBoost", "LightGBM", "CatBoost", "self-training", "label spreading"),
        *(_COMPONENTS, _TREES, _FORMER, _FORMER_LEFT_OUT),
    )
    former: Mapping[str, str] = {_FORMER: _VERSION, _FORMER_LEFT_OUT: _VERSION}
    figures: Sequence[Figure] = (Figure("Learning curves", "labels kept, percent", "percent", mean=True, log=True),)
    compared: Sequence[tuple[str, str]] = (
        *(
            (one, other)
            for one in (_FORMER, _FORMER_LEFT_OUT)
            for other in ("CatBoost", "extra trees", _COMPONENTS, _TREES)
        ),
        *((_TREES, "CatBoost"), (_TREES, "extra trees"), (_TREES, _PNU), (_PNU, "extra trees")),
    )
    repeats = 5
    constants = {"most_rows": _MOST_ROWS, "least_labels": _LEAST, "test_share": 0.3}

    def problem(self, dataset, setting, repeat, data_home=None):
        data, y = binary(dataset, data_home, _positive(dataset))
        rows = np.random.default_rng(repeat).permutation(len(y))
        train, test = train_test_split(rows, test_size=0.3, stratify=y[rows], random_state=repeat)
        train, test = _stratified_head(train, y, _MOST_ROWS), _stratified_head(test, y, _MOST_ROWS)
        few = keep_labels(y[train], setting.percent / 100, repeat)
        return Problem(as_numbers(data, train), y, train, few, test, name=dataset)


class BesideAutoGluon(AllMethods):
    """AutoClassifier beside AutoGluon, on the draws of `AllMethods`."""

    name = "AutoClassifier beside AutoGluon"
    methods = (_FORMER, "extra trees", _AUTOGLUON)
    figures = ()
    compared = ((_FORMER, _AUTOGLUON), ("extra trees", _AUTOGLUON))
    constants = {**AllMethods.constants, "autogluon_seconds": _AUTOGLUON_SECONDS}

    def why_not(self, method):
        if method == _AUTOGLUON and not os.environ.get(_AUTOGLUON_PYTHON):
            return f"{_AUTOGLUON_PYTHON} does not name the interpreter of an environment with AutoGluon"
        return super().why_not(method)

    def warm_up(self, problem, setting, method):
        if method != _AUTOGLUON:
            super().warm_up(problem, setting, method)


class PresentVersion(AllMethods):
    """AutoClassifier of the present version, on the draws of `AllMethods`."""

    name = "Present version"
    methods = (_LEFT_OUT,)
    former: Mapping[str, str] = {}
    figures = ()
    compared = ()
    repeats = 2


SUITE = Suite(
    "few-labels",
    "Few labels: which method ranks best?",
    (AllMethods(), PresentVersion(), BesideAutoGluon()),
    __file__,
)


def make(method, seed):
    """A method with its defaults, and whether it learns from unlabeled rows."""
    scaled = lambda model: make_pipeline(StandardScaler(), model)  # noqa: E731
    ours = {
        "PNU-AUCBoost": lambda: fewlabel.PNUAUCBoostClassifier(random_state=seed),
        "PNUAB": lambda: fewlabel.PNUAdaBoostClassifier(random_state=seed),
        "linear AUC": lambda: scaled(fewlabel.LinearAUCClassifierCV(random_state=seed)),
        "LS-AUC (SAMULT)": lambda: scaled(fewlabel.LeastSquaresAUCClassifier("samult", basis="rbf", random_state=seed)),
        "SSMAB": lambda: fewlabel.SemiSupervisedAdaBoostClassifier(random_state=seed),
        "ASSEMBLE": lambda: fewlabel.AssembleClassifier(random_state=seed),
        "path neighbors": lambda: fewlabel.PathNeighborsClassifier(),
        "cross-training": lambda: fewlabel.CrossTrainingClassifier(random_state=seed),
        "tri-training": lambda: fewlabel.TriTrainingClassifier(random_state=seed),
        "self-training": lambda: SelfTrainingClassifier(clone(scaled(LogisticRegression(max_iter=1000)))),
        "label spreading": lambda: scaled(Spreading(kernel="knn", n_neighbors=10, max_iter=100)),
        _COMPONENTS: lambda: WithComponents(ExtraTreesClassifier(random_state=seed)),
        _TREES: lambda: fewlabel.TreeAUCBoostClassifier(random_state=seed),
        "AutoClassifier": lambda: fewlabel.AutoClassifier(random_state=seed),
    }
    if method in ours:
        return ours[method](), True
    return _supervised(method, seed), False


class AutoGluon:
    """AutoGluon on one core, in an environment of its own: it needs other versions of scikit-learn and NumPy."""

    _PROGRAM = """
import sys
import numpy as np
import pandas as pd
from autogluon.tabular import TabularPredictor

folder, seconds = sys.argv[1], float(sys.argv[2])
data = np.load(folder + "/rows.npz")
table = pd.DataFrame(data["X"]).add_prefix("x").assign(y=data["y"])
predictor = TabularPredictor("y", eval_metric="roc_auc", path=folder + "/models", verbosity=0)
predictor.fit(table, presets="high_quality", time_limit=seconds, num_cpus=1)
scores = predictor.predict_proba(pd.DataFrame(data["new"]).add_prefix("x"))
np.save(folder + "/scores.npy", scores[scores.columns.max()].to_numpy())
"""

    def fit(self, X, y):
        self.X, self.y = X, y
        return self

    def decision_function(self, X):
        with TemporaryDirectory() as folder:
            np.savez(Path(folder) / "rows.npz", X=self.X, y=self.y, new=X)
            command = [os.environ[_AUTOGLUON_PYTHON], "-c", self._PROGRAM, folder, str(_AUTOGLUON_SECONDS)]
            own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
            subprocess.run(command, check=True, capture_output=True, env=own)
            return np.load(Path(folder) / "scores.npy")


class WithComponents(ClassifierMixin, BaseEstimator):
    """A classifier on the scaled columns and ten principal components, which are learned from all rows."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        known = y != -1
        columns = FunctionTransformer()
        self.view_ = make_pipeline(StandardScaler(), make_union(columns, PCA(min(10, *X.shape), random_state=0))).fit(X)
        self.model_ = clone(self.model).fit(self.view_.transform(X[known]), y[known])
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X):
        return self.model_.predict_proba(self.view_.transform(X))


class Spreading(LabelSpreading):
    """Label spreading with a score for rows that no label reaches: the mean of the training rows that one reaches.

    Such rows have their neighbors in a part of the graph without labels, or too many steps away from one.
    """

    def predict_proba(self, X):
        with np.errstate(invalid="ignore"):
            found = super().predict_proba(X)
        reached = self.label_distributions_[self.label_distributions_.any(axis=1)]
        return np.where(np.isnan(found), reached.mean(axis=0), found)


def _supervised(method, seed):
    if method == _AUTOGLUON:
        return AutoGluon()
    if method == "CatBoost":
        from catboost import CatBoostClassifier

        return CatBoostClassifier(thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False)
    if method == "XGBoost":
        from xgboost import XGBClassifier

        return XGBClassifier(n_jobs=1, random_state=seed)
    if method == "LightGBM":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1)
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "random forest": RandomForestClassifier(random_state=seed),
        "extra trees": ExtraTreesClassifier(random_state=seed),
        "histogram boosting": HistGradientBoostingClassifier(random_state=seed),
    }[method]


def rank_scores(model, X):
    """Scores that a model ranks rows by."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)[:, 1]


def keep_labels(y, share, seed):
    """Labels of a share of each class, at least 5 of each; the others are -1."""
    rng = np.random.default_rng(seed)
    few = np.full(len(y), -1)
    for c in np.unique(y):
        rows = np.flatnonzero(y == c)
        kept = rng.permutation(rows)[: max(_LEAST, round(share * len(rows)))]
        few[kept] = c
    return few


def _stratified_head(rows, y, most):
    if len(rows) <= most:
        return rows
    return train_test_split(rows, train_size=most, stratify=y[rows], random_state=0)[0]


def _positive(dataset):
    """The positive class of the papers, or else the rarest class with at least 20 rows."""
    known = fewlabel.datasets.registry()[dataset]
    if "positive" in known:
        return known["positive"]
    enough = {c: n for c, n in known["classes"].items() if n >= 20}
    return min(enough, key=lambda c: enough[c])
