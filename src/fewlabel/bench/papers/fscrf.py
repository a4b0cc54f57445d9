"""FSCRF (Huang, 2011, chapter 3): subset selection by local relief, with two classifiers (Tables 3.2 to 3.6)."""

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from fewlabel.bench.data import multiclass
from fewlabel.bench.experiment import Experiment, Problem, Suite, published

_PUBLISHED = published("fscrf")
_FOLDS = 10
_SELECTORS = ("CFS", "LVF", "FSCRF")
_TOP = {"Relief, top 3": 3, "Relief, top 5": 5, "Relief, top 8": 8}
_SAME = (20, 1)  # sampled rows M and neighbors K of Tables 3.5 and 3.6, for all sets


class Selection(Experiment):
    """Columns are selected inside each fold, then counted or used by a classifier.

    Parameters
    ----------
    name : str
    methods : sequence of str
    classify : callable, default=None
        Classifier of the selected columns; None: the columns are counted.
    published : str, default=None
        Table of the published file; None: the numbers of columns.
    same : bool, default=False
        Whether all sets have the same M and K, rather than those that the thesis chose for each.
    """

    datasets = (
        *("breast-cancer", "pima", "heart-statlog", "lung-cancer", "mushroom", "optdigits", "promoters", "sonar"),
        *("soybean", "splice", "twonorm", "waveform"),
    )
    digits = ".1f"
    repeats = published_repeats = 100

    def __init__(self, name, methods, classify=None, published=None, *, same=False):
        self.name, self.methods, self.covers = name, tuple(methods), (name,)
        self.classify, self.published, self.same = classify, published, same
        self.comparable = classify is not None
        self.metric = "columns kept in a fold" if classify is None else "test accuracy in percent"
        self.compared = () if classify is None else (("FSCRF", "Relief"), *((("FSCRF", m)) for m in methods[:2]))
        self.constants = {"folds": _FOLDS, "sampled_and_neighbors": _SAME if same else "of the thesis"}

    def problem(self, dataset, setting, repeat, data_home=None):
        data, y = multiclass(dataset, data_home)
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=repeat // _FOLDS).split(data, y)
        train, test = list(folds)[repeat % _FOLDS]
        return Problem(data, y, train, y[train], test, name=dataset)

    def outcome(self, problem, setting, method, seed):
        n_sampled, n_neighbors = _SAME if self.same else _PUBLISHED["sizes"][problem.name][-2:]
        kept = _support_of_fold(problem, method, seed, n_sampled, n_neighbors)
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
        if self.published is None:
            return _PUBLISHED["sizes"][dataset][_SELECTORS.index(method)], np.nan
        columns = _PUBLISHED["relief" if self.same else "methods"]
        return tuple(_PUBLISHED[self.published][dataset][columns.index(method)])


_kept: dict[tuple, np.ndarray] = {}  # columns by fold and method: the tables share them


def _support_of_fold(problem, method, seed, n_sampled, n_neighbors):
    key = (problem.name, method, seed, n_sampled, n_neighbors, hash(problem.train.tobytes() + problem.few.tobytes()))
    if key not in _kept:
        rows = problem.X.iloc[problem.train]
        _kept[key] = support(rows, problem.few, method, seed, max_samples=n_sampled, n_neighbors=n_neighbors)
    return _kept[key]


def support(X, y, method, seed, **sample):
    """Mask of the columns that a method keeps; `sample` holds the parameters of FSCRF and ReliefF."""
    text = [c for c in X.columns if not pd.api.types.is_numeric_dtype(X[c])]
    nominal = np.array(text, dtype=object) if text else "auto"
    options = dict(nominal_features=nominal, random_state=seed, **sample)
    if method == "all":
        return np.ones(X.shape[1], dtype=bool)
    if method == "CFS":
        selector = fewlabel.CorrelationSubsetSelector(nominal_features=nominal)
    elif method == "LVF":
        selector = fewlabel.ConsistencySubsetSelector(nominal_features=nominal)
    elif method == "Relief":  # as many columns as FSCRF
        n_columns = max(support(X, y, "FSCRF", seed, **sample).sum(), 1)
        selector = fewlabel.ReliefFSelector(int(n_columns), **options)
    elif method in _TOP:
        selector = fewlabel.ReliefFSelector(min(_TOP[method], X.shape[1]), **options)
    else:
        selector = fewlabel.SubsetReliefSelector(**options)
    return selector.fit(X, y).get_support()


def _parts(data, train):
    """Numbers with gaps filled by the training median, and categories as codes with the gap a code of its own."""
    numeric = data.select_dtypes("number")
    numeric = numeric.fillna(numeric.iloc[train].median()).fillna(0.0)
    nominal = data[[c for c in data.columns if c not in numeric]]
    return numeric, nominal.apply(lambda c: pd.Series(pd.factorize(c)[0] + 1, index=c.index))


def naive_bayes(data, y, train, test, seed=None):
    """Classes of the test rows by both kinds of columns: log-likelihoods add up, the class prior is counted once.

    `y` holds the classes of the training rows. Without any column the largest class is returned.
    """
    numeric, codes = _parts(data, train)
    classes = np.unique(y)
    log_share = np.log(np.bincount(y)[classes] / len(y))
    joint = np.tile(log_share, (len(test), 1))
    for columns in (numeric, codes):
        if columns.shape[1]:
            model = GaussianNB(var_smoothing=1e-6)
            if columns is codes:
                model = CategoricalNB(min_categories=codes.max().to_numpy() + 1)
            values = columns.to_numpy()
            joint += model.fit(values[train], y).predict_joint_log_proba(values[test]) - log_share
    return classes[joint.argmax(axis=1)]


def _tree(data, y, train, test, seed):
    if data.shape[1] == 0:
        return naive_bayes(data, y, train, test)
    numeric, codes = _parts(data, train)
    dummies = pd.get_dummies(codes.astype("category"), dtype=float) if codes.shape[1] else codes
    values = pd.concat([numeric, dummies], axis=1).to_numpy(dtype=float)
    return DecisionTreeClassifier(min_samples_leaf=2, random_state=seed).fit(values[train], y).predict(values[test])


SUITE = Suite(
    "fscrf",
    "FSCRF: subset selection by local relief",
    (
        Selection("Table 3.2", _SELECTORS),
        Selection("Table 3.3", _PUBLISHED["methods"], naive_bayes, "bayes"),
        Selection("Table 3.4", _PUBLISHED["methods"], _tree, "tree"),
        Selection("Table 3.5", _PUBLISHED["relief"], naive_bayes, "bayes-relief", same=True),
        Selection("Table 3.6", _PUBLISHED["relief"], _tree, "tree-relief", same=True),
    ),
    "fscrf",
)
