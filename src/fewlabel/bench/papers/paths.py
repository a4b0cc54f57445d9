"""Thesis, chapter 6: neighbours by shortest paths on the semi-supervised benchmark (Tables 6.2 to 6.6)."""

import os
from pathlib import Path

import numpy as np
from scipy.sparse import issparse
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import fewlabel
from fewlabel.bench.suite import Problem, Suite, multiclass


class PathsSuite(Suite):
    """NMSNN, MSNN and label spreading, transductively."""

    name = "paths"
    title = "Neighbours by shortest paths: Tables 6.2 to 6.6 of the thesis, rerun"
    metric = "error on unlabelled rows in percent"
    higher_is_better = False
    datasets = ("ssl-Digit1", "ssl-USPS", "ssl-COIL", "ssl-BCI", "ssl-g241c", "ssl-g241d", "ssl-Text")
    settings = ("10 labelled rows", "100 labelled rows")
    methods = (
        *("NMSNN", "NMSNN, thesis's form", "MSNN", "1-NN", "LLGC", "label spreading, rbf", "SVM, rbf", "SVM, linear"),
    )
    repeats = 12
    protocol = (
        "The seven sets of the benchmark of Chapelle, Schoelkopf and Zien with its 12 official splits; a repeat "
        "is a split. "
        "Columns scaled to [0, 1] over all rows for every method, no parameter tuned."
    )
    deviations = (
        "The thesis drew 10 splits of its own, so its numbers are comparable in the mean only; BCI and Text are "
        "not in it.",
        "LLGC is scikit-learn's LabelSpreading with 10 neighbours and alpha 0.99.",
    )

    def has(self, dataset, setting, method):
        return not (dataset == "ssl-Text" and method == "label spreading, rbf")  # its kernel takes no sparse rows

    def problem(self, dataset, setting, repeat):
        data, y = multiclass(dataset)
        X = MaxAbsScaler().fit_transform(data) if issparse(data) else MinMaxScaler().fit_transform(data.to_numpy(float))
        file = Path(os.environ.get("FEWLABEL_DATA", "")) / "ssl-splits.npz"
        with np.load(file) as splits:
            chosen = splits[f"{dataset.removeprefix('ssl-')}_l{setting.split()[0]}"][repeat]
        few = np.full(len(y), -1)
        few[chosen] = y[chosen]
        return Problem(X, y, np.arange(len(y)), few, np.flatnonzero(few < 0), name=dataset, setting=setting)

    def outcome(self, problem, method, seed):
        model = {
            "NMSNN": lambda: fewlabel.PathNeighborsClassifier(),
            "NMSNN, thesis's form": lambda: fewlabel.PathNeighborsClassifier.thesis(),
            "MSNN": lambda: fewlabel.PathNeighborsClassifier(cost="length"),
            "1-NN": lambda: KNeighborsClassifier(1),
            "LLGC": lambda: LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.99, max_iter=1000),
            "label spreading, rbf": lambda: LabelSpreading(gamma=1 / (2 * 0.15**2), alpha=0.99, max_iter=100),
            "SVM, rbf": lambda: SVC(),
            "SVM, linear": lambda: SVC(kernel="linear"),
        }[method]()
        rows = problem.X[problem.train]
        if method.startswith(("1-NN", "SVM")):
            known = problem.known
            return model.fit(rows[known], problem.few[known]).predict(problem.X[problem.test])
        return model.fit(rows, problem.few).transduction_[np.searchsorted(problem.train, problem.test)]

    def measure(self, problem, outcome):
        return {"score": 100 * float(np.mean(outcome != problem.y[problem.test]))}

    def warm_up(self, problem, method):
        """Nothing to compile but the path kernels, and they take the first fit of any table."""
        if method.startswith(("NMSNN", "MSNN")):
            rows = problem.known
            fewlabel.PathNeighborsClassifier().fit(problem.X[rows], problem.few[rows])

    def paper(self, dataset, setting, method):
        rows = self.numbers.get(dataset.removeprefix("ssl-"), {})
        if method not in rows:
            return None
        mean, sd = rows[method][self.numbers["labeled"].index(int(setting.split()[0]))]
        return 100 - mean, sd
