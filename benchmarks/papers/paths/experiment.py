"""NMSNN (Huang, 2011, chapter 6): neighbors by shortest paths (Tables 6.2 to 6.6, Figures 6.3 to 6.5 and 6.7)."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import fewlabel
from benchmarks.harness.data import home_file, multiclass
from benchmarks.harness.experiment import Experiment, Figure, Problem, Setting, Suite, published

_PUBLISHED = published(__file__)
_PREFIX = "ssl-"  # of the datasets of the benchmark
_GENERATED = {"two-moons": fewlabel.make_two_moons, "three-circles": fewlabel.make_three_circles}
_THESIS_K = {"two-moons": 10, "three-circles": 6}
_NMSNN = ("NMSNN", "NMSNN, as published")
_MSNN = ("MSNN", "MSNN, graph of NMSNN")
_EARLY = "LLGC, 2 steps"
_PRINTED = (*_NMSNN, *_MSNN, "1-NN", "LLGC", _EARLY)  # methods of the thesis's tables
_OFFICIAL = (10, 100)  # labeled rows of the splits of the benchmark


@dataclass(frozen=True)
class Labeled(Setting):
    """Number of labeled rows."""

    n: int

    def __str__(self):
        return f"{self.n} labeled rows"


@dataclass(frozen=True)
class Neighbors(Setting):
    """Number of neighbors in the graph, K; None: that of the thesis for the set."""

    k: int | None = None

    def __str__(self):
        return f"K = {self.k}" if self.k else ""


class Paths(Experiment):
    """Path neighbors and their competitors, evaluated on the unlabeled training rows."""

    metric = "error on unlabeled rows in percent"
    higher_is_better = False
    digits = ".1f"
    repeats = 12

    def outcome(self, problem, setting, method, seed):
        k = self.neighbors(problem, setting)
        model = {
            "NMSNN": lambda: fewlabel.PathNeighborsClassifier(**k),
            "NMSNN, as published": lambda: fewlabel.PathNeighborsClassifier.thesis(**k),
            "MSNN": lambda: fewlabel.PathNeighborsClassifier(cost="length", scale="range"),
            "MSNN, graph of NMSNN": lambda: fewlabel.PathNeighborsClassifier.thesis(**k, cost="length"),
            "1-NN": lambda: KNeighborsClassifier(1),
            "LLGC": LocalAndGlobalConsistency,
            _EARLY: lambda: LocalAndGlobalConsistency(n_steps=2),
            "label spreading, 10 neighbors": lambda: LabelSpreading(
                kernel="knn", n_neighbors=10, alpha=0.99, max_iter=1000
            ),
            "SVM, rbf": lambda: SVC(),
            "SVM, linear": lambda: SVC(kernel="linear"),
        }[method]()
        rows = problem.X[problem.train]
        if method.startswith(("1-NN", "SVM")):
            known = problem.known
            return model.fit(rows[known], problem.few[known]).predict(problem.X[problem.test])
        return model.fit(rows, problem.few).transduction_[np.searchsorted(problem.train, problem.test)]

    def neighbors(self, problem, setting):
        """Parameters for the number of neighbors; none: each method's own."""
        return {}

    def measure(self, problem, setting, outcome):
        return {"score": 100 * float(np.mean(outcome != problem.y[problem.test]))}

    def warm_up(self, problem, setting, method):
        """Only the path kernels are compiled, and any table will do."""
        if method.startswith(("NMSNN", "MSNN")):
            rows = problem.known
            fewlabel.PathNeighborsClassifier().fit(problem.X[rows], problem.few[rows])


class LocalAndGlobalConsistency:
    """LLGC with the thesis's sigma and alpha, for small tables: the fixed point of its iteration, or `n_steps` of it.

    References
    ----------
    .. [1] D. Zhou, O. Bousquet, T. N. Lal, J. Weston, B. Schoelkopf. Learning with local and global consistency.
       Advances in Neural Information Processing Systems 16, 2004.
    """

    def __init__(self, sigma=0.15, alpha=0.99, n_steps=None):
        self.sigma = sigma
        self.alpha = alpha
        self.n_steps = n_steps

    def fit(self, X, y):
        affinity = np.exp(-euclidean_distances(X, squared=True) / (2 * self.sigma**2))
        np.fill_diagonal(affinity, 0.0)
        root = np.sqrt(np.maximum(affinity.sum(axis=0), np.finfo(float).tiny))
        affinity /= root * root[:, None]
        classes = np.unique(y[y >= 0])
        start = (y[:, None] == classes).astype(float)
        scores = start
        if self.n_steps is None:
            scores = np.linalg.solve(np.eye(len(y)) - self.alpha * affinity, start)
        for _ in range(self.n_steps or 0):
            scores = self.alpha * affinity @ scores + (1 - self.alpha) * start
        self.transduction_ = classes[scores.argmax(axis=1)]
        return self


def _benchmark(dataset, n_labeled, repeat, data_home):
    """A set of the semi-supervised benchmark: an official split with 10 or 100 labeled rows, or a draw."""
    data, y = multiclass(dataset, data_home)
    X = MaxAbsScaler().fit_transform(data) if issparse(data) else MinMaxScaler().fit_transform(data.to_numpy(float))
    if n_labeled in _OFFICIAL:
        with np.load(home_file("ssl-splits.npz", data_home)) as splits:
            chosen = splits[f"{dataset.removeprefix(_PREFIX)}_l{n_labeled}"][repeat]
        few = np.full(len(y), -1)
        few[chosen] = y[chosen]
    else:
        few = fewlabel.hide_labels(y, n_labeled, random_state=np.random.RandomState(repeat))
    return Problem(X, y, np.arange(len(y)), few, np.flatnonzero(few < 0), name=dataset)


def _generated(dataset, repeat):
    data, few, y = _GENERATED[dataset](return_true=True, random_state=np.random.RandomState(repeat))
    X = MinMaxScaler().fit_transform(data)
    return Problem(X, y, np.arange(len(y)), few, np.flatnonzero(few < 0), name=dataset)


class Benchmark(Paths):
    """The sets of the semi-supervised benchmark."""

    name = "Tables 6.2 to 6.6"
    covers = ("Table 6.2", "Table 6.3", "Table 6.4", "Table 6.5", "Table 6.6")
    datasets = tuple(_PREFIX + name for name in ("Digit1", "USPS", "COIL", "BCI", "g241c", "g241d", "Text"))
    settings = tuple(Labeled(n) for n in _PUBLISHED["labeled"])
    methods = (*_PRINTED, "label spreading, 10 neighbors", "SVM, rbf", "SVM, linear")
    compared = (("NMSNN", "NMSNN, as published"), ("NMSNN", "1-NN"), ("NMSNN", "LLGC"))

    def has(self, dataset, setting, method):
        printed = dataset.removeprefix(_PREFIX) in _PUBLISHED and method in _PRINTED
        return setting.n in _OFFICIAL or printed

    def problem(self, dataset, setting, repeat, data_home=None):
        return _benchmark(dataset, setting.n, repeat, data_home)

    def paper(self, dataset, setting, method):
        rows = _PUBLISHED.get(dataset.removeprefix(_PREFIX), {})
        name = {_EARLY: "LLGC"}.get(method, method)
        name = "NMSNN" if method in _NMSNN else "MSNN" if method in _MSNN else name
        if name not in rows:
            return None
        mean, sd = rows[name][_PUBLISHED["labeled"].index(setting.n)]
        return 100 - mean, sd


class Agreement(Paths):
    """On how many rows NMSNN and MSNN agree if they search the same graph."""

    name = "NMSNN and MSNN on one graph"
    metric = "unlabeled rows to which both give the same class, in percent"
    higher_is_better = True
    comparable = False
    datasets = Benchmark.datasets
    settings = tuple(Labeled(n) for n in _OFFICIAL)
    methods = ("NMSNN", "NMSNN, as published")

    def problem(self, dataset, setting, repeat, data_home=None):
        return _benchmark(dataset, setting.n, repeat, data_home)

    def outcome(self, problem, setting, method, seed):
        make = fewlabel.PathNeighborsClassifier
        make = make.thesis if "published" in method else make
        found = [make(cost=cost).fit(problem.X, problem.few).transduction_ for cost in ("exponential", "length")]
        return (found[0] == found[1])[problem.test]

    def measure(self, problem, setting, outcome):
        return {"score": 100 * float(np.mean(outcome))}


class Generated(Paths):
    """Two moons and three circles, with the thesis's number of neighbors."""

    name = "Figures 6.3 and 6.4"
    covers = ("Figure 6.3", "Figure 6.4")
    datasets = tuple(_GENERATED)
    settings = (Neighbors(),)
    methods = (*_NMSNN, "1-NN")

    def problem(self, dataset, setting, repeat, data_home=None):
        return _generated(dataset, repeat)

    def neighbors(self, problem, setting):
        return {"n_neighbors": _THESIS_K[problem.name]}

    def paper(self, dataset, setting, method):
        return (0.0, np.nan) if method in _NMSNN else None


class ByNeighbors(Paths):
    """Error by the number of neighbors in the graph."""

    settings = tuple(Neighbors(k) for k in (3, 5, 10, 20, 40, 80, 160))
    methods = _NMSNN
    tables = False

    def __init__(self, name, covers, datasets):
        self.name, self.covers, self.datasets = name, covers, datasets
        self.figures = (Figure(name, "K, neighbors in the graph", "k", log=True),)
        self.constants = {"n_labeled": 100}

    def problem(self, dataset, setting, repeat, data_home=None):
        if dataset in _GENERATED:
            return _generated(dataset, repeat)
        return _benchmark(dataset, 100, repeat, data_home)

    def neighbors(self, problem, setting):
        return {"n_neighbors": setting.k}


SUITE = Suite(
    "paths",
    "Neighbors by shortest paths",
    (
        Benchmark(),
        Agreement(),
        Generated(),
        ByNeighbors("Figures 6.3 and 6.4 by K", (), tuple(_GENERATED)),
        ByNeighbors("Figure 6.5", ("Figure 6.5",), ("ssl-Digit1", "ssl-USPS", "ssl-COIL")),
        ByNeighbors("Figure 6.7", ("Figure 6.7",), ("ssl-g241c", "ssl-g241d", "ssl-Text")),
    ),
    __file__,
)
