"""SSMAB (Huang, 2011, chapter 5): boosting a weak tree and naive Bayes (Tables 5.2 and 5.3, Figures 5.3 and 5.4)."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from fewlabel.bench.data import as_numbers, multiclass
from fewlabel.bench.experiment import Experiment, Figure, Problem, Setting, Suite, published

_PUBLISHED = published("ssmab")
_LARGE = ("optdigits", "pendigits", "letter", "anneal", "car")
_BOOSTERS = ("SAMME", "ASSEMBLE", "SSMAB")


@dataclass(frozen=True)
class Base(Setting):
    """Percentage of labels, and the weak learner: a tree with some samples per leaf, or naive Bayes (None)."""

    percent: int = 10
    leaf: int | None = 20

    def __str__(self):
        return f"{self.percent}% labeled, {f'{self.leaf} samples per leaf' if self.leaf else 'naive Bayes'}"


@dataclass(frozen=True)
class Rows(Problem):
    """A problem whose one-hot columns are known: see `_kinds`."""

    kinds: np.ndarray | None = None


class Boosting(Experiment):
    """Boosting with pseudo-labels beside its base classifier and supervised peers."""

    metric = "test accuracy in percent"
    digits = ".1f"

    def __init__(self, name, datasets, settings, methods, *, published=None, figures=(), compared=()):
        self.name, self.covers, self.datasets, self.methods = name, (name,), datasets, methods
        self.settings, self.published, self.compared = settings, published, compared
        self.figures, self.tables = figures, not figures
        self.constants = {"test_share": 0.25, "n_estimators": 30}

    def problem(self, dataset, setting, repeat, data_home=None):
        data, y = multiclass(dataset, data_home)
        strata = y if np.bincount(y).min() > 1 else None
        train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=repeat, stratify=strata)
        few = fewlabel.hide_labels(y[train], labeled=setting.percent / 100, random_state=repeat)
        return Rows(as_numbers(data, train), y, train, few, test, name=dataset, kinds=_kinds(data))

    def outcome(self, problem, setting, method, seed):
        base = NaiveBayes(problem.kinds)
        if setting.leaf:
            base = DecisionTreeClassifier(min_samples_leaf=setting.leaf, random_state=seed)
        model, uses_all = {
            "tree": (base, False),
            "naive Bayes": (base, False),
            "SAMME": (AdaBoostClassifier(base, n_estimators=30, random_state=seed), False),
            "ASSEMBLE": (fewlabel.AssembleClassifier(base, random_state=seed), True),
            "SSMAB": (fewlabel.SemiSupervisedAdaBoostClassifier(base, random_state=seed), True),
            "SSMAB, damped": (
                fewlabel.SemiSupervisedAdaBoostClassifier(base, update="damped", random_state=seed),
                True,
            ),
            "1-NN": (make_pipeline(MinMaxScaler(), KNeighborsClassifier(1)), False),
            "random forest": (RandomForestClassifier(random_state=seed), False),
        }[method]
        part = slice(None) if uses_all else problem.known
        rows, few = problem.X[problem.train][part], problem.few[part]
        try:
            model.fit(rows, few)
        except ValueError:
            if method != "SAMME":
                raise
            model = base.fit(rows, few)
        return model.predict(problem.X[problem.test])

    def measure(self, problem, setting, outcome):
        return {"score": 100 * float(np.mean(outcome == problem.y[problem.test]))}

    def paper(self, dataset, setting, method):
        name = "tree" if method == "naive Bayes" else method
        if self.published is None or name not in _PUBLISHED["columns"] or dataset not in _PUBLISHED[self.published]:
            return None
        return tuple(_PUBLISHED[self.published][dataset][_PUBLISHED["columns"].index(name)])


def _kinds(data):
    """For each column of `as_numbers`: -1 for a number, else the number of the categorical column it belongs to."""
    text = [c for c in data if not pd.api.types.is_numeric_dtype(data[c])]
    sizes = [data.shape[1] - len(text), *(pd.get_dummies(data[c]).shape[1] for c in text)]
    return np.repeat(np.arange(-1, len(text)), sizes)


class NaiveBayes(ClassifierMixin, BaseEstimator):
    """Weka's naive Bayes for weighted rows: Gaussians for numbers, Laplace-smoothed shares for one-hot categories.

    `kinds` are those of `_kinds`. A gap (no category at all) is ignored.
    """

    def __init__(self, kinds):
        self.kinds = kinds

    def fit(self, X, y, sample_weight=None):
        self.classes_, codes = np.unique(y, return_inverse=True)
        weight = np.ones(len(X)) if sample_weight is None else sample_weight * (len(X) / np.sum(sample_weight))
        members = weight * (codes == np.arange(len(self.classes_))[:, None])
        mass = members.sum(axis=1)
        self._log_prior = np.log((mass + 1) / (mass + 1).sum())
        values, one_hot = self._parts(X)
        share = members / np.maximum(mass, 1e-300)[:, None]
        self._means = share @ values
        spreads = [np.sqrt(part @ (values - mean) ** 2) for part, mean in zip(share, self._means)]
        gaps = [np.ptp(column) / max(len(np.unique(column)) - 1, 1) or 1.0 for column in values.T]
        self._spreads = np.maximum(spreads, np.array(gaps) / 6)
        counts, groups = members @ one_hot + 1, self.kinds[self.kinds >= 0]
        totals = [np.bincount(groups, row)[groups] for row in counts]
        self._log_shares = np.log(counts / np.array(totals))
        return self

    def predict(self, X):
        values, one_hot = self._parts(X)
        joint = self._log_prior + one_hot @ self._log_shares.T
        for k, (mean, spread) in enumerate(zip(self._means, self._spreads)):
            joint[:, k] -= (((values - mean) / spread) ** 2).sum(axis=1) / 2 + np.log(spread).sum()
        return self.classes_[joint.argmax(axis=1)]

    def _parts(self, X):
        return X[:, self.kinds < 0], X[:, self.kinds >= 0]


_SETS = (
    *("wine", "iris", "optdigits", "pendigits", "vote", "ionosphere", "sonar", "dermatology", "soybean", "letter"),
    *("anneal", "audiology", "autos", "car", "colic", "glass", "pima", "sick", "wisconsin"),
)
_AGAINST = ("tree", "SAMME", "ASSEMBLE", "1-NN", "random forest")
SUITE = Suite(
    "ssmab",
    "SSMAB and ASSEMBLE: boosting with pseudo-labels",
    (
        Boosting(
            "Table 5.2",
            _SETS,
            (Base(),),
            ("tree", *_BOOSTERS, "SSMAB, damped", "1-NN", "random forest"),
            published="tree",
            compared=tuple(("SSMAB", other) for other in _AGAINST),
        ),
        Boosting(
            "Table 5.3",
            _SETS,
            (Base(leaf=None),),
            ("naive Bayes", *_BOOSTERS),
            published="bayes",
            compared=tuple(("SSMAB", other) for other in ("naive Bayes", "SAMME", "ASSEMBLE")),
        ),
        Boosting(
            "Figure 5.3",
            _LARGE,
            tuple(Base(percent=percent) for percent in (3, 5, 9, 15, 21, 29)),
            ("tree", *_BOOSTERS),
            figures=(Figure("Figure 5.3", "labels, percent", "percent"),),
        ),
        Boosting(
            "Figure 5.4",
            _LARGE,
            tuple(Base(leaf=leaf) for leaf in (4, 10, 16, 22, 28, 34)),
            ("tree", *_BOOSTERS),
            figures=(Figure("Figure 5.4", "samples per leaf", "leaf"),),
        ),
    ),
    "ssmab",
)
