"""Thesis, chapter 5: SSMAB and its rivals on a weak tree and naive Bayes (Tables 5.2, 5.3, Figures 5.3, 5.4)."""

import re

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
from fewlabel.bench.suite import Curve, Problem, Suite, as_numbers, multiclass

_TREE = "10% labeled"
_BAYES = "naive Bayes, 10% labeled"
_LARGE = ("optdigits", "pendigits", "letter", "anneal", "car")
_BOOSTERS = ("SAMME", "ASSEMBLE", "SSMAB")


class SSMABSuite(Suite):
    """Boosting with pseudo-labels."""

    name = "ssmab"
    title = "SSMAB and ASSEMBLE: Tables 5.2 and 5.3, Figures 5.3 and 5.4 of the thesis, rerun"
    metric = "test accuracy in percent"
    datasets = (
        *("wine", "iris", "optdigits", "pendigits", "vote", "ionosphere", "sonar", "dermatology", "soybean", "letter"),
        *("anneal", "audiology", "autos", "car", "colic", "glass", "pima", "sick", "wisconsin"),
    )
    settings = (_TREE, _BAYES)
    methods = ("tree", "naive Bayes", *_BOOSTERS, "SSMAB, damped", "1-NN", "random forest")
    curves = (
        Curve(
            "Figure 5.3",
            "Accuracy by the share of labels. The thesis: SSMAB is best on most sets, most clearly with few labels.",
            "labels, percent",
            {f"{share}% labeled": share for share in (3, 5, 9, 15, 21, 29)},
        ),
        Curve(
            "Figure 5.4",
            "Accuracy by the least number of rows in a leaf, 10% labeled. The thesis: the tree and SAMME fall fast, "
            "SSMAB hardly changes.",
            "rows a leaf",
            {f"{rows} rows a leaf": rows for rows in (4, 10, 16, 22, 28, 34)},
        ),
    )
    protocol = (
        "Ten random 75/25 splits, stratified; 10% of the training labels are kept, at least one of each class. "
        "The base classifier is a decision tree with at least 20 rows a leaf, or naive Bayes. Tree, naive Bayes, "
        "SAMME, 1-NN and forest see the labeled rows alone."
    )
    deviations = (
        "The thesis's trees are Weka's J48, ours scikit-learn's; categories are one-hot, gaps filled by the "
        "training median.",
        "Naive Bayes is ours after Weka's: Gaussians no narrower than a sixth of the mean gap between a column's "
        "values, and frequencies of categories.",
        "ecoli, segment and vehicle of the thesis's 21 sets are not at hand; wisconsin lacks the 16 rows with gaps. "
        "iris is not in the thesis's tables. audiology has classes of one row, and is split without strata; "
        "its 24 classes have about one label each, so a tree of one leaf names the first of equals, mostly wrong.",
        "The thesis names only four of the six sets in its figures, and says that they are large and have more than "
        "two classes; ours are the five largest such sets at hand. It does not print all places on the axes: ours "
        "are six within its range.",
        "Where scikit-learn's SAMME refuses a base no better than chance, the base itself stands in its column.",
    )

    def has(self, dataset, setting, method):
        if setting == _BAYES:
            return method in ("naive Bayes", *_BOOSTERS)
        if setting == _TREE:
            return method != "naive Bayes"
        return dataset in _LARGE and method in ("tree", *_BOOSTERS)

    def problem(self, dataset, setting, repeat):
        data, y = multiclass(dataset)
        strata = y if np.bincount(y).min() > 1 else None
        train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=repeat, stratify=strata)
        share = re.search(r"(\d+)%", setting)
        few = fewlabel.hide_labels(y[train], labeled=int(share[1]) / 100 if share else 0.1, random_state=repeat)
        return Problem(as_numbers(data, train), y, train, few, test, name=dataset, setting=setting)

    def outcome(self, problem, method, seed):
        leaf = re.match(r"(\d+) rows a leaf", problem.setting)
        base = DecisionTreeClassifier(min_samples_leaf=int(leaf[1]) if leaf else 20, random_state=seed)
        if problem.setting == _BAYES:
            base = NaiveBayes(_kinds(multiclass(problem.name)[0]))
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

    def measure(self, problem, outcome):
        return {"score": 100 * float(np.mean(outcome == problem.y[problem.test]))}

    def paper(self, dataset, setting, method):
        rows = self.numbers["bayes" if setting == _BAYES else "tree"]
        name = "tree" if method == "naive Bayes" else method
        if name not in self.numbers["columns"] or dataset not in rows:
            return None
        return tuple(rows[dataset][self.numbers["columns"].index(name)])


def _kinds(data):
    """For each column of `as_numbers`: -1 for a number, else which category it was made of."""
    text = [c for c in data if not pd.api.types.is_numeric_dtype(data[c])]
    sizes = [data.shape[1] - len(text), *(pd.get_dummies(data[c]).shape[1] for c in text)]
    return np.repeat(np.arange(-1, len(text)), sizes)


class NaiveBayes(ClassifierMixin, BaseEstimator):
    """Weka's naive Bayes for weighted rows: Gaussians for numbers, shares for one-hot categories, a row added to each.

    `kinds` are those of `_kinds`. A gap (no category at all) says nothing.
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
