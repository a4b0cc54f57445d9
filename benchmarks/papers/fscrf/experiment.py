"""FSCRF (Huang, 2011, chapter 3): subset selection by local relief (Tables 3.2 to 3.6, 3.8, Figure 3.3, a model)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabel
from benchmarks.harness.data import as_numbers, multiclass
from benchmarks.harness.experiment import Experiment, Problem, Setting, Suite, published
from benchmarks.papers.weka import CorrelationSelector, NaiveBayes, PrunedTree, kinds_of_columns

_PUBLISHED = published(__file__)
_FOLDS = 10
_SELECTORS = ("CFS", "LVF", "FSCRF")
_THESIS = "FSCRF, as published"
_AS_PUBLISHED = {"search": "best-first", "guard": False}  # the thesis's search, and no test against shuffled labels
_READINGS = {  # FSCRF without the guard: equations 3.1 and 3.2 with the search of Figure 3.2, and one of them only
    "distances and search as printed": {"distance_norm": "rms", "search": "greedy", "guard": False},
    "search as printed": {"search": "greedy", "guard": False},
    "distances as printed": {"distance_norm": "rms", "search": "best-first", "guard": False},
    _THESIS: _AS_PUBLISHED,
}
_TOP = {"Relief, top 3": 3, "Relief, top 5": 5, "Relief, top 8": 8}
_SAME = (20, 1)  # sampled rows M and neighbors K of Tables 3.5 and 3.6, for all sets
_DEMENTIA = (120, 3)  # those of Table 3.8 and Figure 3.3


@dataclass(frozen=True)
class Where(Setting):
    """Which rows the selectors see: the training part of each fold, or all rows before the folds are made."""

    rows: str

    def __str__(self):
        return f"columns selected on the {self.rows} rows"


INSIDE, BEFORE = Where("training"), Where("whole table's")


@dataclass(frozen=True)
class Fold(Problem):
    """A fold with the classes that the selectors see.

    Attributes
    ----------
    seen : ndarray of int
        Rows that the selectors see.
    seen_classes : ndarray of int
        Their classes. If these are all rows, the test labels are among them: the accuracy is then too high, as it
        probably is in the thesis.
    draw : int
        Number of the division into folds.
    """

    seen: np.ndarray | None = None
    seen_classes: np.ndarray | None = None
    draw: int = 0


class Selection(Experiment):
    """Columns are selected, then counted or used by a classifier.

    Parameters
    ----------
    name : str
    methods : sequence of str
    classify : callable, default=None
        Classifier of the selected columns; None: the columns are counted.
    published : str, default=None
        Table of the published file; None: the numbers of columns.
    sample : (int, int), default=None
        Sampled rows M and neighbors K of all sets; None: those that the thesis chose for each.
    """

    datasets: Sequence[str] = (
        *("breast-cancer", "pima", "heart-statlog", "lung-cancer", "mushroom", "optdigits", "promoters", "sonar"),
        *("soybean", "splice", "twonorm", "waveform"),
    )
    digits = ".1f"
    settings: Sequence[Setting] = (INSIDE, BEFORE)
    repeats = published_repeats = 100
    own_constants = {_THESIS: _AS_PUBLISHED, "Relief": {"as_many_as": _THESIS}}

    def __init__(self, name, methods, classify=None, published=None, *, sample=None):
        self.name, self.methods, self.covers = name, (*methods, _THESIS), (name,)
        self.classify, self.published, self.sample = classify, published, sample
        self.comparable = classify is not None
        self.metric = "columns kept in a fold" if classify is None else "test accuracy in percent"
        others = () if classify is None else ("Relief", *methods[:2], "FSCRF")
        self.compared = tuple((_THESIS, other) for other in others)
        self.constants = {"folds": _FOLDS, "sampled_and_neighbors": sample or "of the thesis"}

    def problem(self, dataset, setting, repeat, data_home=None):
        data, y = multiclass(dataset, data_home)
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=repeat // _FOLDS).split(data, y)
        train, test = list(folds)[repeat % _FOLDS]
        seen = train if setting == INSIDE else np.arange(len(y))
        few, draw = y[train], repeat // _FOLDS
        return Fold(data, y, train, few, test, name=dataset, seen=seen, seen_classes=y[seen], draw=draw)

    def outcome(self, problem, setting, method, seed):
        n_sampled, n_neighbors = self.sample or _PUBLISHED["sizes"][problem.name][-2:]
        # Columns that all folds share depend on the division into folds only.
        drawn = seed if setting == INSIDE else problem.draw
        kept = _support_of_fold(problem, method, drawn, n_sampled, n_neighbors)
        if self.classify is None:
            return None, int(kept.sum())
        predicted = self.classify(problem.X.loc[:, kept], problem.few, problem.train, problem.test, seed)
        return predicted, int(kept.sum())

    def measure(self, problem, setting, outcome):
        predicted, n_columns = outcome
        if self.classify is None:
            return {"score": n_columns}
        return {"score": 100 * float(np.mean(predicted == problem.y[problem.test])), "n_columns": n_columns}

    def warm_up(self, problem, setting, method):
        """The kernels compile on any rows."""
        X, y = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2
        fewlabel.SubsetReliefSelector(random_state=0).fit(X, y)
        fewlabel.ReliefFSelector(1, random_state=0).fit(X, y)

    def paper(self, dataset, setting, method):
        name = "FSCRF" if method == _THESIS else method
        if self.published is None:
            return _PUBLISHED["sizes"][dataset][_SELECTORS.index(name)], np.nan
        columns = _PUBLISHED["relief" if self.sample else "methods"]
        return tuple(_PUBLISHED[self.published][dataset][columns.index(name)])


class Readings(Selection):
    """Table 3.2 with the distances and the search that the thesis prints; a draw is a sample of rows of the table."""

    settings = (BEFORE,)
    repeats = 5
    own_constants = _READINGS

    def __init__(self):
        super().__init__("Table 3.2, readings of FSCRF", tuple(_READINGS)[:-1])
        self.covers = ()

    def problem(self, dataset, setting, repeat, data_home=None):
        return super().problem(dataset, setting, repeat * _FOLDS, data_home)

    def paper(self, dataset, setting, method):
        return super().paper(dataset, setting, _THESIS)


class StandIn(Selection):
    """The chapter's data on dementia are not public: 34 clinical signs of six skin diseases in their place."""

    datasets = ("dermatology",)

    def paper(self, dataset, setting, method):
        return None


class Expressions(StandIn):
    """A logistic regression of all rows on the columns of FSCRF, as one expression per class (equations 3.4 to 3.9)."""

    settings = (BEFORE,)
    repeats = published_repeats = 1

    def __init__(self):
        super().__init__("Equations 3.4 to 3.9", (), sample=_DEMENTIA)
        self.metric, self.comparable = "accuracy in percent on the rows of the fit", False
        self.constants = {"sampled_and_neighbors": _DEMENTIA, "penalty": "l1"}

    def problem(self, dataset, setting, repeat, data_home=None):
        data, y = multiclass(dataset, data_home)
        rows = np.arange(len(y))
        return Fold(data, y, rows, y, rows, name=dataset, seen=rows, seen_classes=y)

    def outcome(self, problem, setting, method, seed):
        """The columns kept, the coefficients and the constant of each class, and all expressions at all rows."""
        kept = _support_of_fold(problem, method, seed, *self.sample)
        values = problem.X.loc[:, kept].apply(lambda c: c.cat.codes if c.dtype == "category" else c).astype(float)
        values = values.fillna(values.median())  # grades are numbers
        model = LogisticRegression(l1_ratio=1.0, solver="saga", max_iter=10_000, random_state=seed)
        model.fit(values, problem.few)
        return list(values.columns), model.coef_, model.intercept_, model.decision_function(values)

    def measure(self, problem, setting, outcome):
        names, coefficients, constants, expressions = outcome
        printed = [_expression(names, *of_class) for of_class in zip(coefficients, constants)]
        lines = [f"- F_{k}(x) = {expression}" for k, expression in enumerate(printed, 1)]
        largest = expressions.argmax(axis=1)  # equation 3.9
        return {"score": 100 * float(np.mean(largest == problem.y)), "text": "\n".join(lines)}


def _expression(names, coefficients, constant):
    """An expression as the thesis prints it; coefficients that are 0 to two digits are left out."""
    terms = [f"{'-' if b < 0 else '+'} {abs(b):.2f} [{name}]" for name, b in zip(names, coefficients)]
    return " ".join([f"{constant:.2f}", *(term for term in terms if " 0.00 " not in term)])


_kept: dict[tuple, np.ndarray] = {}  # columns by fold and method: the tables share them


def _support_of_fold(problem, method, seed, n_sampled, n_neighbors):
    told = hash(problem.seen.tobytes() + problem.seen_classes.tobytes())
    key = (problem.name, method, seed, n_sampled, n_neighbors, told)
    if key not in _kept:
        options = dict(max_samples=n_sampled, n_neighbors=n_neighbors)
        if method == "Relief":
            options["n_columns"] = _support_of_fold(problem, _THESIS, seed, n_sampled, n_neighbors).sum()
        _kept[key] = support(problem.X.iloc[problem.seen], problem.seen_classes, method, seed, **options)
    return _kept[key]


def support(X, y, method, seed, n_columns=None, **sample):
    """Mask of the columns that a method keeps; `sample` holds the parameters of FSCRF and ReliefF.

    `n_columns` is the number of those that FSCRF as published keeps, which Relief keeps too; None: found here.
    """
    text = [c for c in X.columns if not pd.api.types.is_numeric_dtype(X[c])]
    nominal = np.array(text, dtype=object) if text else "auto"
    options = dict(categorical_features=nominal, random_state=seed, **sample)
    if method == "all":
        return np.ones(X.shape[1], dtype=bool)
    if method == "CFS":
        selector = CorrelationSelector(categorical_features=nominal)
    elif method == "LVF":
        selector = fewlabel.ConsistencySubsetSelector(categorical_features=nominal)
    elif method == "Relief":
        n_columns = support(X, y, _THESIS, seed, **sample).sum() if n_columns is None else n_columns
        selector = fewlabel.ReliefFSelector(max(int(n_columns), 1), **options)
    elif method in _TOP:
        selector = fewlabel.ReliefFSelector(min(_TOP[method], X.shape[1]), **options)
    else:
        selector = fewlabel.SubsetReliefSelector(**options, **_READINGS.get(method, {}))
    return selector.fit(X, y).get_support()


def naive_bayes(data, y, train, test, seed=None):
    """Classes of the test rows by Weka's naive Bayes; `y` holds the classes of the training rows."""
    return _predict(NaiveBayes(kinds_of_columns(data)), data, y, train, test)


def _tree(data, y, train, test, seed):
    if data.shape[1] == 0:  # naive Bayes then gives the largest class
        return naive_bayes(data, y, train, test)
    return _predict(PrunedTree(random_state=seed), data, y, train, test)


def _logistic(data, y, train, test, seed):
    return _predict(make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)), data, y, train, test)


def _predict(model, data, y, train, test):
    values = as_numbers(data, train)
    return model.fit(values[train], y).predict(values[test])


SUITE = Suite(
    "fscrf",
    "FSCRF: subset selection by local relief",
    (
        Selection("Table 3.2", _SELECTORS),
        Readings(),
        Selection("Table 3.3", _PUBLISHED["methods"], naive_bayes, "bayes"),
        Selection("Table 3.4", _PUBLISHED["methods"], _tree, "tree"),
        Selection("Table 3.5", _PUBLISHED["relief"], naive_bayes, "bayes-relief", sample=_SAME),
        Selection("Table 3.6", _PUBLISHED["relief"], _tree, "tree-relief", sample=_SAME),
        StandIn("Table 3.8", (*_SELECTORS, "Relief"), sample=_DEMENTIA),
        StandIn("Figure 3.3", _PUBLISHED["methods"], _logistic, sample=_DEMENTIA),
        Expressions(),
    ),
    __file__,
)
