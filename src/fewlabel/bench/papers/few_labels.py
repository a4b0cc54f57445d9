"""Our own table: real binary tables with few labels, and what ranks their test rows best."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

import fewlabel
from fewlabel.bench.suite import Curve, Problem, Suite, as_numbers, binary

_MOST_ROWS = 3000  # of a training and of a test part: label spreading keeps a matrix of all pairs of rows
_LEAST = 5  # labels of each class


class FewLabelsSuite(Suite):
    """Which method to use when labels are few."""

    name = "few-labels"
    title = "Few labels: which method ranks best?"
    datasets = (
        *("autos", "breast-cancer", "bupa", "car", "colic", "credit-g", "default-credit-card", "dermatology"),
        *("fourclass", "german.numer", "glass1", "heart-statlog", "hypothyroid", "ionosphere", "kr-vs-kp", "letter"),
        *("monk-2", "nsl-kdd-20pct", "optdigits", "pima", "ringnorm", "sick", "sonar", "splice", "tic-tac-toe"),
        *("twonorm", "unsw-nb15-test", "vehicle0", "vote", "waveform", "wdbc", "wisconsin"),
    )
    settings = ("1% labeled", "5% labeled", "15% labeled")
    methods = (
        *(
            "PNU-AUCBoost",
            "RankBoost",
            "PNUAB",
            "linear AUC",
            "LS-AUC (SAMULT)",
            "SSMAB",
            "ASSEMBLE",
            "path neighbors",
        ),
        *("cross-training", "tri-training", "logistic regression", "random forest", "extra trees"),
        *("histogram boosting", "XGBoost", "LightGBM", "self-training", "label spreading", "AutoClassifier"),
    )
    curves = (
        Curve(
            *("Learning curves", "Mean test AUC by the share of labels kept.", "labels kept, percent"),
            {"1% labeled": 1, "5% labeled": 5, "15% labeled": 15},
            mean=True,
            log=True,
        ),
    )
    needs = {"XGBoost": "xgboost", "LightGBM": "lightgbm"}
    repeats = 10
    protocol = (
        "70% of the rows to learn from, 30% to be judged by, stratified; at most 3,000 of each. Of the training "
        "labels 1, "
        "5 or 15% of each class are kept, at least 5 of each. Tables with several classes: the rarest with at least 20 "
        "rows (or the paper's) against the rest. Categories one-hot, gaps filled by the training median. All "
        "methods with "
        "their defaults; columns scaled for the linear, neighbor and kernel methods. Methods that cannot use "
        "unlabeled "
        "rows see the labeled ones alone. Where no label reaches a row, label spreading (which would answer 0 / 0) "
        "gives it the mean score of the training rows that one does."
    )

    def problem(self, dataset, setting, repeat):
        data, y = binary(dataset, _positive(dataset))
        rows = np.random.default_rng(repeat).permutation(len(y))
        train, test = train_test_split(rows, test_size=0.3, stratify=y[rows], random_state=repeat)
        train, test = _stratified_head(train, y), _stratified_head(test, y)
        X = as_numbers(data, train)
        few = keep_labels(y[train], float(setting.split("%")[0]) / 100, repeat)
        return Problem(X, y, train, few, test, name=dataset, setting=setting)

    def outcome(self, problem, method, seed):
        model, uses_all = make(method, seed)
        part = slice(None) if uses_all else problem.known
        model.fit(problem.X[problem.train][part], problem.few[part])
        return rank_scores(model, problem.X[problem.test])

    def measure(self, problem, outcome):
        return {"score": roc_auc_score(problem.y[problem.test], outcome)}


def make(method, seed):
    """A method with its defaults, and whether it learns from unlabeled rows."""
    scaled = lambda model: make_pipeline(StandardScaler(), model)  # noqa: E731
    ours = {
        "PNU-AUCBoost": lambda: fewlabel.PNUAUCBoostClassifier(random_state=seed),
        "RankBoost": lambda: fewlabel.RankBoostClassifier(random_state=seed),
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
        "AutoClassifier": lambda: fewlabel.AutoClassifier(random_state=seed),
    }
    if method in ours:
        return ours[method](), True
    return _supervised(method, seed), False


class Spreading(LabelSpreading):
    """Label spreading that has an answer for rows which no label reaches: the mean of the training rows it does reach.

    Such rows have neighbors in a part of the graph without labels, or too many steps from one.
    """

    def predict_proba(self, X):
        with np.errstate(invalid="ignore"):
            found = super().predict_proba(X)
        reached = self.label_distributions_[self.label_distributions_.any(axis=1)]
        return np.where(np.isnan(found), reached.mean(axis=0), found)


def _supervised(method, seed):
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
    """What a model ranks rows by."""
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


def _stratified_head(rows, y):
    if len(rows) <= _MOST_ROWS:
        return rows
    return train_test_split(rows, train_size=_MOST_ROWS, stratify=y[rows], random_state=0)[0]


def _positive(dataset):
    """The rarest class with enough rows to hide labels of, where the papers name none."""
    known = fewlabel.datasets.registry()[dataset]
    if "positive" in known:
        return known["positive"]
    enough = {c: n for c, n in known["classes"].items() if n >= 20}
    return min(enough, key=lambda c: enough[c])
