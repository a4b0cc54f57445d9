"""Seed paper of BSSEL: what unlabeled rows add on imbalanced credit tables (Tables 1 to 3, Figures 1 to 3)."""

from functools import lru_cache

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC

import fewlabel
from fewlabel.bench.suite import Curve, Problem, Suite, table

# Rows of the majority and minority that are labeled, and the ratios u / l, of each experiment.
_EXPERIMENTS = {
    "simulation": ((200, 10), (0, 0.5, 1, 2.5, 5, 10, 15)),
    "empirical": ((1000, 50), (0, 0.5, 1, 2.5)),  # a quarter of the paper's 4000 and 200
}
_SIMULATION = {f"simulation, u/l = {ratio:g}": ratio for ratio in _EXPERIMENTS["simulation"][1]}
# Figure 1 has other numbers of groups than 20 as well, with 20 and 7 rows of the majority for 10 of the minority.
_GROUPS = tuple(f"{name}, {n} groups" for name in ("BSSEL-LS", "BSSEL-SVM") for n in (10, 30))
_GROUP_SETTINGS = {f"Figure 1, u/l = {ratio}": float(ratio) for ratio in (0, 5, 15)}
_PENALTIES = {"none": (0.0, 0.0), "within": (0.0, 0.1), "between": (0.1, 0.0)}
_ROUNDS = 2  # of the 50 that the paper allows, to save time
_N_VIEWS = 4  # as the paper
_MOST_TESTED = 400  # of the minority


class BSSELSuite(Suite):
    """Balanced multi-view ensembles and what they are compared with."""

    name = "bssel"
    title = "BSSEL: Tables 1 to 3 and Figures 1 to 3, rerun"
    datasets = ("generator", "default-credit-card", "give-me-some-credit", "creditcard-fraud")
    settings = tuple(f"{name}, u/l = {ratio:g}" for name, (_, ratios) in _EXPERIMENTS.items() for ratio in ratios)
    methods = (
        *("BSSEL-LS", "BSSEL-SVM", "MVL-LS", "MVL-LS, balanced weights", *(f"BSSEL-LS, {p}" for p in _PENALTIES)),
        *("silver standard", "gold standard", "quasi-bagging", "LDA", "naive Bayes", "logistic regression", "SVM"),
        *("random forest", "histogram boosting", *_GROUPS),
    )
    curves = (
        Curve(
            "Figure 1",
            "BSSEL as unlabeled rows are added. A group has the 10 labeled rows of the minority, and of the majority "
            "10 (unless said otherwise), 20 (10 groups) or 7 (30 groups). The paper: 10 and 10 are best.",
            "u / l",
            {**_SIMULATION, **_GROUP_SETTINGS},
            ("BSSEL-LS", "BSSEL-SVM", *_GROUPS),
        ),
        Curve(
            "Figure 2",
            "The same beside MVL and models of the labeled rows, which do not depend on u / l and have one dot, at 0. "
            "The paper: BSSEL gains as unlabeled rows are added, and MVL is below it. Ours: BSSEL gains about .01 at "
            "most; MVL is far below it on the generator, and by .00 to .03 elsewhere.",
            "u / l",
            _SIMULATION,
            ("BSSEL-LS", "BSSEL-SVM", "MVL-LS", "LDA", "naive Bayes", "logistic regression", "SVM"),
        ),
        Curve(
            "Figure 3",
            "BSSEL beside the gold standard (all labels known), the silver standard (known when rows are dealt into "
            "groups) and MVL. The paper: gold is best, BSSEL is about level with silver, MVL is worst. "
            "Ours: the same, but MVL is level with BSSEL on give-me-some-credit.",
            "u / l",
            _SIMULATION,
            ("BSSEL-LS", "BSSEL-SVM", "MVL-LS", "silver standard", "gold standard"),
        ),
    )
    protocol = (
        "A draw takes l labeled rows (200 and 10 in the simulation, 1,000 and 50 in the empirical experiment), u "
        "rows whose "
        "labels are hidden, and test rows, all at 20 : 1; what is added as u / l grows comes on top of what was "
        "there. Columns "
        "are imputed and made normal by their ranks over the training rows, and four views are found in them, "
        "both without "
        "labels. No method is tuned. Gold: the hidden labels are known; silver: they are known to the first guess."
    )
    deviations = (
        "The bank's data are not public: our generator and three public tables stand in, so the published numbers (in "
        "bssel.toml) are not comparable and none stands beside ours.",
        "1,000 + 50 labeled rows instead of 4,000 + 200, and 2 of 50 iterations, to save time.",
        "Figure 1 has 10 and 30 groups at three places of the axis only, to save time.",
    )

    def has(self, dataset, setting, method):
        if method in _GROUPS or setting in _GROUP_SETTINGS:
            return method in _GROUPS and setting in _GROUP_SETTINGS
        experiment, ratio = _read(setting)
        if method in _SUPERVISED:
            return ratio == 0
        if method.endswith("standard") or method in ("BSSEL-LS, within", "BSSEL-LS, between"):
            return experiment == "simulation"
        return True

    def problem(self, dataset, setting, repeat):
        experiment, ratio = _read(setting)
        labeled, _ = _EXPERIMENTS[experiment]
        values, truth, n_free, n_known, views = _draw(dataset, experiment, repeat)
        sizes = [round(ratio * n) for n in labeled]
        free = np.r_[: sizes[0], n_free[0] : n_free[0] + sizes[1]] + n_known
        train = np.r_[:n_known, free].astype(int)
        few = np.r_[truth[:n_known], np.full(len(free), -1)]
        X = pd.DataFrame(values)
        X.attrs["views"] = views
        return Problem(
            X, truth, train, few, np.arange(n_known + sum(n_free), len(truth)), name=dataset, setting=setting
        )

    def outcome(self, problem, method, seed):
        values, views = problem.X.to_numpy(), problem.X.attrs["views"]
        rows, tests = values[problem.train], values[problem.test]
        known = problem.known
        if method in _SUPERVISED:
            model = _supervised(method, seed).fit(rows[known], problem.few[known])
            ranks = hasattr(model, "decision_function")
            return model.decision_function(tests) if ranks else model.predict_proba(tests)[:, 1]
        few, options = problem.few, {"views": views, "random_state": seed}
        if method.startswith("MVL"):
            weights = "balanced" if method.endswith("weights") else None
            model = fewlabel.MultiviewKernelClassifier(
                approximation="nystroem", n_components=100, class_weight=weights, **options
            )
            return model.fit(rows, few).decision_function(tests)
        hidden = problem.y[problem.train][few == -1]  # for the two standards only
        options |= {"max_iter": _ROUNDS, "initial": fewlabel.QuasiBaggingClassifier(random_state=seed)}
        if method == "silver standard":
            options |= {"initial": Known(np.eye(2)[hidden]), "max_iter": 1}
        if method == "gold standard":
            few = np.r_[few[known], hidden]
        kind, _, form = method.partition(", ")
        if form in _PENALTIES:
            options |= dict(zip(("gamma_B", "gamma_W"), _PENALTIES[form]))
        elif form:
            options["n_groups"] = int(form.split()[0])
        loss = "hinge" if kind == "BSSEL-SVM" else "squared"
        return fewlabel.BalancedMultiviewClassifier(loss, **options).fit(rows, few).decision_function(tests)

    def measure(self, problem, outcome):
        return {"score": roc_auc_score(problem.y[problem.test], outcome)}

    def warm_up(self, problem, method):
        """Nothing of these methods is compiled but the hinge loss, which compiles at import."""


_SUPERVISED = (
    "quasi-bagging",
    "LDA",
    "naive Bayes",
    "logistic regression",
    "SVM",
    "random forest",
    "histogram boosting",
)


def _supervised(method, seed):
    return {
        "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "naive Bayes": GaussianNB(),
        "logistic regression": LogisticRegression(max_iter=1000),
        "SVM": SVC(),
        "random forest": RandomForestClassifier(200, random_state=seed),
        "histogram boosting": HistGradientBoostingClassifier(random_state=seed),
        "quasi-bagging": fewlabel.QuasiBaggingClassifier(random_state=seed),
    }[method]


class Known(ClassifierMixin, BaseEstimator):
    """A classifier that answers with what it was given, whatever it learns: the first guess of the silver standard."""

    def __init__(self, answer=None):
        self.answer = answer

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return self.answer


def _read(setting):
    experiment, ratio = setting.split(", u/l = ")
    return "simulation" if setting in _GROUP_SETTINGS else experiment, float(ratio)


@lru_cache(maxsize=4)
def _draw(dataset, experiment, seed):
    """Prepared rows of a draw (labeled, hidden of both classes, tested), their classes, and the views of the "
    "columns."""
    data, y = _load(dataset)
    labeled, ratios = _EXPERIMENTS[experiment]
    rng = np.random.default_rng(seed)
    good, bad = (rng.permutation(np.flatnonzero(y == k)) for k in (0, 1))
    ratio, n_free = labeled[0] / labeled[1], [round(max(ratios) * n) for n in labeled]
    spare = len(bad) - labeled[1] - n_free[1], (len(good) - labeled[0] - n_free[0]) / ratio
    n_bad = int(min(_MOST_TESTED, *spare))
    free = [good[labeled[0] :][: n_free[0]], bad[labeled[1] :][: n_free[1]]]
    train = np.r_[good[: labeled[0]], bad[: labeled[1]], *free]
    rows = np.r_[train, good[::-1][: int(n_bad * ratio)], bad[::-1][:n_bad]]
    steps = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True),
        QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0),
    )
    X = steps.fit(data.iloc[train]).transform(data.iloc[train])
    labels = fewlabel.VariableClusterer(_N_VIEWS, categorical_features=[], random_state=seed).fit(X).labels_
    views = [np.flatnonzero(labels == v).tolist() for v in range(labels.max() + 1)]
    return steps.transform(data.iloc[rows]), y[rows], [len(part) for part in free], sum(labeled), views


@lru_cache(maxsize=2)
def _load(dataset):
    if dataset == "generator":
        X, _, y = fewlabel.make_multiview_credit(60_000, return_true=True, random_state=0)
        return pd.DataFrame(X), y
    found = table(dataset)
    return pd.get_dummies(found.data, dtype=float), (found.target == found.positive).to_numpy().astype(int)
