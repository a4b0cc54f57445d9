"""Random parameters of every estimator, and tables that they are fitted to."""

import importlib.util
import inspect

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

import fewlabel

_STUMPS = {
    "n_estimators": (3, 10),
    "max_bins": (8, 16, 255),
    "learning_rate": (0.1, 0.5, 1.0),
    "max_features": (0.3, 1.0, 1),
}
_TREES = {
    "n_estimators": (3, 10),
    "max_depth": (1, 3, 6),
    "learning_rate": (0.02, 0.3),
    "l2_regularization": (0.0, 0.5, 3.0),
    "splitter": ("mixed", "random", "best"),
    "split_noise": (0.0, 1.0),
    "bootstrap": (True, False),
    "max_bins": (16, 64),
    "max_features": ("sqrt", 1.0),
}
_STOPPING = {"early_stopping": (False, False, True), "n_iter_no_change": (2, 5)}
_PU = {"prior": (0.2, 0.4, 0.7), "threshold": ("prior", "zero")}
_GRAPH = {"n_neighbors": (3, 10), "scale": (True, False, "range")}
_MULTIVIEW = {
    "loss": ("squared", "hinge"),
    "gamma_A": (0.01, 1.0),
    "gamma_B": (0.1, 1.0),
    "gamma_W": (0.0, 0.1),
    "n_neighbors": (3, 10),
    "scale": (True, False),
}
_FOREST = RandomForestClassifier(5, random_state=0)  # the default base is a forest of 50 trees
_BASES = (_FOREST, GaussianNB(), LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0))
_WRAPPER = {"estimator": _BASES, "stop": ("out-of-fold", "exhausted"), "max_iter": (2, 4)}
_SELECTORS = (None, fewlabel.ReliefFSelector(n_features_to_select=1), fewlabel.GraphScoreSelector())
PARAMETERS = {
    "PNUAUCBoostClassifier": {
        **_STUMPS,
        **_STOPPING,
        "gamma": (0.5, 0.95, 1.0),
        "rho": (0.0, 0.02),
        "step": ("exact", "bound"),
    },
    "PNUAdaBoostClassifier": {**_STUMPS, **_STOPPING, "gamma": (0.5, 0.95), "scheme": ("labeled", "pu-un")},
    "PUAdaBoostClassifier": {
        **_STUMPS,
        **_PU,
        "init": ("zero", "prior"),
        "correction": (0.3, 0.7),
        "splitter": ("best", "random"),
        "non_negative": (True, False),
    },
    "TreeAUCBoostClassifier": {**_TREES, "loss": ("logistic", "exponential"), "gamma": (0.9, 1.0)},
    "TreePUBoostClassifier": {**_TREES, **_PU, "correction": (0.3, 0.7)},
    "LinearAUCClassifier": {
        "alpha": (1e-2, 1.0),
        "loss": ("hinge", "squared_hinge"),
        "tol": (1e-8,),
        "max_iter": (2000,),
    },
    "LinearAUCClassifierCV": {"alphas": ((0.01, 1.0),), "cv": (3,), "tol": (1e-8,), "max_iter": (2000,)},
    "OneVsRestRankingClassifier": {
        "estimator": (fewlabel.LinearAUCClassifier(1e-2, loss="squared_hinge", tol=1e-9, max_iter=2000),)
    },
    "LeastSquaresAUCClassifier": {
        "risk": ("pn", "samult", "pnu"),
        "alpha": (1e-2, 1.0),
        "basis": ("linear", "rbf", "nystroem"),
        "n_components": (10,),
    },
    "LinearPUClassifier": {
        **_PU,
        "risk": ("upu", "nnpu"),
        "loss": ("logistic", "squared"),
        "alpha": (1e-2, 1.0),
        "tol": (1e-10,),
        "max_iter": (3000,),
    },
    "NeuralPUClassifier": {**_PU, "hidden_layer_sizes": ((5,),), "max_iter": (5,), "risk": ("upu", "nnpu")},
    "PathNeighborsClassifier": {
        **_GRAPH,
        "cost": ("exponential", "length"),
        "path": ("cheapest", "shortest"),
        "directed": (True, False),
    },
    "LabelSpreadingClassifier": {
        **_GRAPH,
        "alpha": (0.5, 0.99),
        "width": (0.35, 1.0),
        "class_balance": ("rows", "degree", "auto", None),
    },
    "MultiviewKernelClassifier": {
        **_MULTIVIEW,
        "class_weight": (None, "balanced"),
        "approximation": ("auto", None),
    },
    "BalancedMultiviewClassifier": {**_MULTIVIEW, "n_groups": (2, "balanced"), "max_iter": (2,)},
    "QuasiBaggingClassifier": {"estimator": _BASES, "n_groups": (2, "balanced")},
    "CrossTrainingClassifier": {**_WRAPPER, "n_parts": (2, 3), "k_best": (2, 10), "balance": (True, False)},
    "CoTrainingClassifier": {**_WRAPPER, "views": (None, [[0], [1]]), "k_best": (1, 4), "pool_size": (10, 75)},
    "TriTrainingClassifier": _WRAPPER,
    "AssembleClassifier": {
        "estimator": _BASES[-1:],
        "n_estimators": (2, 5),
        "n_neighbors": (1, 3),
        "resample": (True, False),
    },
    "SemiSupervisedAdaBoostClassifier": {
        "estimator": _BASES[-1:],
        "n_estimators": (2, 5),
        "n_neighbors": (1, 3),
        "update": ("samme", "damped"),
    },
    "AutoClassifier": {"portfolio": (["logistic regression", "naive Bayes"],), "n_repeats": (1,)},
    "TableClassifier": {"estimator": (fewlabel.PNUAUCBoostClassifier(5, random_state=0),)},
    "TableEncoder": {},
    "ReliefFSelector": {"n_features_to_select": (None, 1, 0.5), "n_neighbors": (3, 10), "max_samples": (None, 20)},
    "SubsetReliefSelector": {
        "n_neighbors": (3, 10),
        "distance_norm": ("sum", "rms"),
        "search": ("greedy", "best-first"),
        "max_samples": (None, 20),
    },
    "CorrelationSubsetSelector": {},
    "ConsistencySubsetSelector": {"search": ("best-first", "las-vegas"), "max_tries": (20,)},
    "GraphScoreSelector": {
        "criterion": ("lsdf", "laplacian", "constraint"),
        "n_features_to_select": (1, 0.5),
        "n_neighbors": (3, 10),
    },
    "PseudoLabelSelector": {
        "selector": _SELECTORS,
        "teacher": (None, GaussianNB(), ExtraTreesClassifier(5), DecisionTreeClassifier(max_depth=2)),
    },
    "StabilitySelector": {"selector": _SELECTORS, "n_draws": (2, 8), "min_frequency": (0.1, 0.5)},
    "VariableClusterer": {"n_clusters": (None, 2), "n_init": (2,), "n_bootstraps": (3,), "max_iter": (20,)},
}
POSITIVES_ONLY = ("PUAdaBoostClassifier", "TreePUBoostClassifier", "LinearPUClassifier", "NeuralPUClassifier")
TABLES = ("TableClassifier", "TableEncoder")
MULTIVIEW = ("MultiviewKernelClassifier", "BalancedMultiviewClassifier")
WRAPPERS = ("CoTrainingClassifier", "CrossTrainingClassifier", "TriTrainingClassifier")
SLOW = ("AutoClassifier", "NeuralPUClassifier", "LinearAUCClassifierCV", *TABLES, *MULTIVIEW, *WRAPPERS)


def names():
    """Estimators that can be fitted here."""
    found = [name for name, _ in fewlabel.all_estimators()]
    return [name for name in found if name != "NeuralPUClassifier" or importlib.util.find_spec("torch")]


def draw_model(name, rng):
    """An estimator with random parameters."""
    model = getattr(fewlabel, name)()
    drawn = {key: values[int(rng.integers(len(values)))] for key, values in PARAMETERS.get(name, {}).items()}
    if "random_state" in model.get_params(deep=False):
        drawn["random_state"] = int(rng.integers(100))
    return model.set_params(**drawn)


def takes_weights(model):
    return "sample_weight" in inspect.signature(model.fit).parameters


def draw_data(model, rng):
    """A table with ties and copies, gaps where the model takes them; labels of which half are hidden."""
    name, tags = type(model).__name__, get_tags(model)
    n, d = int(rng.choice([40, 70])), int(rng.choice([2, 5]))
    X = rng.normal(size=(n, d))
    X[:, 0] = np.round(X[:, 0])
    X[-3:] = X[:3]  # copies
    true = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
    multi = name not in POSITIVES_ONLY and (tags.classifier_tags is None or tags.classifier_tags.multi_class)
    if multi and rng.random() < 0.3:
        true[X[:, 1] > 0.8] = 2
    if tags.input_tags.allow_nan and rng.random() < 0.5:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = np.where(rng.random(n) < 0.5, true, -1)
    y[:12] = [*range(true.max() + 1)] * (12 // (true.max() + 1))
    if name in POSITIVES_ONLY:
        y = np.where(y == 1, 1, -1)
    return (_as_table(X, rng) if name in TABLES else X), y


def _as_table(X, rng):
    """The numbers as a table with categories and dates."""
    table = pd.DataFrame(X).add_prefix("x")
    city = np.array(["Oslo", "Graz", "Lima"])[rng.integers(3, size=len(X))]
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(400, size=len(X)), unit="D")
    return table.assign(city=city, day=day.strftime("%Y-%m-%d"))
