"""Thesis, chapter 3: subset selection by local relief, judged by two classifiers (Tables 3.2 to 3.6)."""

from functools import lru_cache

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from fewlabel.bench.suite import Problem, Suite, multiclass, published

_FOLDS = 10
_COUNTS = "number of columns"
_SAME = "M = 20 and K = 1"  # for all sets


class FSCRFSuite(Suite):
    """FSCRF, CFS, LVF and ReliefF, with the selection inside the fold."""

    name = "fscrf"
    title = "FSCRF: Tables 3.2 to 3.6 of the thesis, rerun"
    metric = "test accuracy in percent"
    datasets = (
        *("breast-cancer", "pima", "heart-statlog", "lung-cancer", "mushroom", "optdigits", "promoters", "sonar"),
        *("soybean", "splice", "twonorm", "waveform"),
    )
    settings = (_COUNTS, "naive Bayes", "decision tree", f"naive Bayes, {_SAME}", f"decision tree, {_SAME}")
    methods = ("all", "CFS", "LVF", "Relief, top 3", "Relief, top 5", "Relief, top 8", "Relief", "FSCRF")
    metrics = {_COUNTS: "columns kept in a fold"}
    repeats = 100
    published_repeats = 100
    protocol = (
        "10 x 10 folds, stratified: a repeat is a fold. The selectors see the training part only. In the first three "
        "tables (3.2 to 3.4) FSCRF and Relief have the thesis's number of sampled rows M and neighbors K for each "
        "set, and Relief takes as many columns as FSCRF took in that fold. The last two (3.5 and 3.6) set M = 20 and "
        "K = 1 for all sets, and beside that Relief stand its best 3, 5 and 8 columns."
    )
    deviations = (
        "The thesis seems to select once on all rows and then to fold; here the selection is made anew in each fold, "
        "so the number of columns is a mean over the folds.",
        "Naive Bayes is Gaussian for numbers and categorical for categories; the tree is scikit-learn's with at "
        "least 2 rows a leaf on one-hot columns (the thesis's is Weka's J48, pruned).",
        "The thesis's own data on dementia (Tables 3.7 to 3.9, Figure 3.3) is not public.",
    )

    def has(self, dataset, setting, method):
        if setting == _COUNTS:
            return method in ("CFS", "LVF", "FSCRF")  # Relief is told how many
        return method in self.numbers["relief" if setting.endswith(_SAME) else "methods"]

    def problem(self, dataset, setting, repeat):
        data, y = multiclass(dataset)
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=repeat // _FOLDS).split(data, y)
        train, test = list(folds)[repeat % _FOLDS]
        return Problem(data, y, train, y[train], test, name=dataset, setting=setting)

    def outcome(self, problem, method, seed):
        same = problem.setting.endswith(_SAME)
        kept = _support_of_fold(problem.name, method, seed, tuple(problem.train.tolist()), same)
        if problem.setting == _COUNTS:
            return None, int(kept.sum())
        data = problem.X.loc[:, kept]
        classify = naive_bayes if problem.setting.startswith("naive Bayes") else _tree
        return classify(data, problem.few, problem.train, problem.test, seed), int(kept.sum())

    def measure(self, problem, outcome):
        predicted, n_columns = outcome
        if problem.setting == _COUNTS:
            return {"score": n_columns}
        return {"score": 100 * float(np.mean(predicted == problem.y[problem.test])), "n_columns": n_columns}

    def warm_up(self, problem, method):
        """The kernels compile on any rows."""
        X, y = np.random.default_rng(0).random((20, 3)), np.arange(20) % 2
        fewlabel.SubsetReliefSelector(random_state=0).fit(X, y)
        fewlabel.ReliefFSelector(1, random_state=0).fit(X, y)

    def paper(self, dataset, setting, method):
        if setting == _COUNTS:
            return self.numbers["sizes"][dataset][("CFS", "LVF", "FSCRF").index(method)], np.nan
        rows, columns = "bayes" if setting.startswith("naive Bayes") else "tree", "methods"
        if setting.endswith(_SAME):
            rows, columns = f"{rows}-relief", "relief"
        return tuple(self.numbers[rows][dataset][self.numbers[columns].index(method)])


@lru_cache(maxsize=64)
def _support_of_fold(name, method, seed, train, same):
    """Columns that a selector keeps; the same for both classifiers."""
    data, y = multiclass(name)
    n_sampled, n_neighbors = (20, 1) if same else published("fscrf")["sizes"][name][-2:]
    return support(data.iloc[list(train)], y[list(train)], method, seed, max_samples=n_sampled, n_neighbors=n_neighbors)


def support(X, y, method, seed, **sample):
    """Mask of the columns that a method keeps; `sample` are the parameters of FSCRF and ReliefF."""
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
    elif method.startswith("Relief, top"):
        selector = fewlabel.ReliefFSelector(min(int(method.split()[-1]), X.shape[1]), **options)
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

    `y` holds the classes of the training rows. Without any column it is the largest class.
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
