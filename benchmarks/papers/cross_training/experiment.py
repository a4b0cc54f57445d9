"""Cross-training (Huang, 2011, chapter 4) and its competitors (Tables 4.2 to 4.5, Figures 4.4 and 4.5)."""

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

import fewlabel
from benchmarks.harness.data import as_numbers, multiclass
from benchmarks.harness.experiment import Experiment, Figure, Problem, Setting, Suite, published
from benchmarks.papers.weka import PrunedTree

_PUBLISHED = published(__file__)
_THESIS_NAMES = {"pima": "diabetes", "credit-g": "german"}


@dataclass(frozen=True)
class Labeled(Setting):
    """Percentage of the training labels that are kept."""

    percent: int

    def __str__(self):
        return f"{self.percent}% labeled"


class CrossTraining(Experiment):
    """NC-T, ICT, co-training, self-training and tri-training with one base classifier."""

    metric = "test accuracy in percent"
    digits = ".1f"
    datasets = (
        *("bupa", "colic", "pima", "credit-g", "hypothyroid", "ionosphere", "iris", "kr-vs-kp", "sick", "tic-tac-toe"),
        *("vote", "wdbc"),
    )
    settings = tuple(Labeled(percent) for percent in (20, 40, 60, 80))
    own_constants = {"Se-T": {"learn_from": "own"}}
    methods = (
        "labels only",
        "vote of 3",
        "NC-T, guard",
        "NC-T",
        "NC-T, balanced",
        "ICT",
        "Co-T",
        "Se-T",
        "tri-training",
    )
    compared = tuple((method, "labels only") for method in methods[1:])

    def __init__(self, name, covers, figure, base):
        self.name, self.covers, self.base = name, covers, base
        self.figures = (Figure(figure, "labels, percent", "percent", mean=True),)
        self.constants = {"base": {"tree": "pruned tree"}.get(base, base), "test_share": 0.25}

    def problem(self, dataset, setting, repeat, data_home=None):
        data, y = multiclass(dataset, data_home)
        train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=repeat, stratify=y)
        few = fewlabel.hide_labels(y[train], labeled=setting.percent / 100, random_state=np.random.RandomState(repeat))
        X = as_numbers(data, train)
        return Problem(StandardScaler().fit(X[train]).transform(X), y, train, few, test, name=dataset)

    def outcome(self, problem, setting, method, seed):
        base = RBFNetwork(random_state=seed)
        if self.base == "tree":
            base = PrunedTree(random_state=seed)
        rows, tests = problem.X[problem.train], problem.X[problem.test]
        if method in ("labels only", "vote of 3"):
            model = base if method == "labels only" else BaggingClassifier(base, n_estimators=3, random_state=seed)
            return model.fit(rows[problem.known], problem.few[problem.known]).predict(tests)
        exhausted = {"stop": "exhausted", "random_state": seed}
        model = {
            "NC-T": lambda: fewlabel.CrossTrainingClassifier(base, **exhausted),
            "NC-T, balanced": lambda: fewlabel.CrossTrainingClassifier(base, balance=True, **exhausted),
            "ICT": lambda: fewlabel.CrossTrainingClassifier(base, n_parts=2, **exhausted),
            "Se-T": lambda: fewlabel.CrossTrainingClassifier(base, learn_from="own", **exhausted),
            "Co-T": lambda: fewlabel.CoTrainingClassifier(base, **exhausted),
            "NC-T, guard": lambda: fewlabel.CrossTrainingClassifier(base, random_state=seed),
            "tri-training": lambda: fewlabel.TriTrainingClassifier(base, **exhausted),
        }[method]()
        return model.fit(rows, problem.few).predict(tests)

    def measure(self, problem, setting, outcome):
        return {"score": 100 * float(np.mean(outcome == problem.y[problem.test]))}

    def paper(self, dataset, setting, method):
        rows, columns = _PUBLISHED[self.base][str(setting.percent)], _PUBLISHED["columns"]
        name = _THESIS_NAMES.get(dataset, dataset)
        column = "NC-T" if method == "NC-T, balanced" else method
        return (rows[name][columns.index(column)], np.nan) if column in columns and name in rows else None


def one_split(column, name, n_rows, shares=(0.2, 0.3)):
    """The number of test rows that explains most accuracies of a column of the thesis as a count of one test split.

    The mean over several splits of m rows is a multiple of 1/m only by chance.

    Parameters
    ----------
    column : str
    name : str
        Dataset, as the thesis calls it.
    n_rows : int
    shares : (float, float), default=(0.2, 0.3)
        Range of the shares of test rows that are tried.

    Returns
    -------
    n_test, n_explained, n_printed : int
        The number of test rows, and how many of the printed accuracies are a multiple of 1/`n_test` after rounding.
    """
    place = _PUBLISHED["columns"].index(column)
    printed = [_PUBLISHED[base][share][name][place] for base in ("rbf", "tree") for share in ("20", "40", "60", "80")]
    explained = {
        m: sum(round(100 * round(value * m / 100) / m, 1) == value for value in printed)
        for m in range(int(shares[0] * n_rows), int(shares[1] * n_rows) + 1)
    }
    best = max(explained, key=lambda m: explained[m])
    return best, explained[best], len(printed)


class RBFNetwork(ClassifierMixin, BaseEstimator):
    """Gaussians on two k-means clusters of each class, normalized to sum to 1, and logistic regression on them.

    Each Gaussian has a deviation of its own for every column, at least 0.1 of the (standardized) column's.
    """

    def __init__(self, n_centers=2, random_state=None):
        self.n_centers = n_centers
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        clusters = []
        for c in self.classes_:
            rows = X[y == c]
            means = KMeans(min(self.n_centers, len(rows)), n_init=1, random_state=self.random_state).fit(rows)
            clusters += [rows[means.labels_ == k] for k in np.unique(means.labels_)]
        self._centers = np.array([rows.mean(axis=0) for rows in clusters])
        self._deviations = np.array([np.maximum(rows.std(axis=0), 0.1) for rows in clusters])
        self._logs = np.log([len(rows) / len(X) for rows in clusters]) - np.log(self._deviations).sum(axis=1)
        self._top = LogisticRegression(C=100.0, max_iter=200).fit(self._bumps(X), y)
        return self

    def _bumps(self, X):
        parts = zip(self._logs, self._centers, self._deviations)
        return softmax(np.transpose([log - (((X - m) / s) ** 2).sum(axis=1) / 2 for log, m, s in parts]), axis=1)

    def predict_proba(self, X):
        return self._top.predict_proba(self._bumps(X))

    def predict(self, X):
        return self._top.predict(self._bumps(X))


SUITE = Suite(
    "cross-training",
    "Cross-training and its competitors",
    (
        CrossTraining("Tables 4.2 and 4.3", ("Table 4.2", "Table 4.3", "Figure 4.4"), "Figure 4.4", "rbf"),
        CrossTraining("Tables 4.4 and 4.5", ("Table 4.4", "Table 4.5", "Figure 4.5"), "Figure 4.5", "tree"),
    ),
    __file__,
)
