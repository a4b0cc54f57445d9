"""Scores of every estimator on fixed data, to show that a change of structure changes no model.

``python tests/golden/models.py`` writes ``scores.json`` again, which only a deliberate change of a model calls for.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.naive_bayes import GaussianNB

import fewlabel

FILE = Path(__file__).with_name("scores.json")
N_ROWS = 12  # rows whose outputs are kept
# Named one by one, so that the outputs do not depend on which optional packages are installed. No trees of scikit-learn
# here and below: another release may grow them in another way, and the file is to hold what this package computes.
MEMBERS = [
    "logistic regression",
    "linear discriminant",
    "naive Bayes",
    "RankBoost",
    "nearest neighbors",
    "quadratic SVM",
    "RBF-SVM",
    "RBF least-squares AUC",
    "PNU-AUCBoost",
    "SAMULT",
    "path neighbors",
    "logistic regression on graph features",
    "RBF-SVM on graph features",
]
WITH_A_BASE = (
    "AssembleClassifier",
    "CoTrainingClassifier",
    "CrossTrainingClassifier",
    "QuasiBaggingClassifier",
    "SemiSupervisedAdaBoostClassifier",
    "TriTrainingClassifier",
)
ARGUMENTS = {
    "AutoClassifier": dict(portfolio=MEMBERS, n_repeats=1),
    **{name: dict(estimator=GaussianNB()) for name in WITH_A_BASE},
    "PseudoLabelSelector": dict(teacher=GaussianNB()),
    "PUAdaBoostClassifier": dict(prior=0.4),
    "LinearPUClassifier": dict(prior=0.4),
}
POSITIVES_ONLY = ("LinearPUClassifier", "NeuralPUClassifier", "PUAdaBoostClassifier", "TreePUBoostClassifier")
MANY_CLASSES = (
    "AssembleClassifier",
    "LabelSpreadingClassifier",
    "OneVsRestRankingClassifier",
    "PathNeighborsClassifier",
    "SemiSupervisedAdaBoostClassifier",
)


def numbers(n=240, n_classes=2):
    """A table of numbers, its labels, and the same with most of them hidden."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, n_classes, n)
    X = rng.normal(size=(n, 8)) + np.outer(y, [1.0, -0.7, 0.5, 0, 0, 0.3, 0, 0])
    X[:, 6] = np.round(X[:, 6])
    few = np.where(rng.random(n) < 0.25, y, -1)
    return X, y, few


def columns(n=160):
    """A table with text, dates, booleans, categories and gaps."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, n)
    table = pd.DataFrame(
        {
            "amount": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(size=n) + y),
            "city": np.array(["Rome", "Oslo", "Lima"])[(rng.integers(0, 2, n) + y) % 3],
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, n) + 60 * y, unit="D"),
            "member": np.where(rng.random(n) < 0.3 + 0.4 * y, "yes", "no"),
            "note": [f"order {'late' if v and k % 3 else 'fine'} number {k % 17}" for k, v in enumerate(y)],
        }
    )
    target = pd.Series(np.where(rng.random(n) < 0.4, np.where(y, "bad", "good"), None), name="outcome")
    return table, target


def outputs():
    """Outputs of every estimator, as lists of floats."""
    found = {}
    for name, kind in fewlabel.all_estimators():
        if name in ("NeuralPUClassifier", "TableClassifier", "TableEncoder"):
            continue  # PyTorch is not always there; tables follow below
        arguments = {**ARGUMENTS.get(name, {})}
        if "random_state" in kind().get_params():
            arguments["random_state"] = 0
        X, _, few = numbers(n_classes=3 if name in MANY_CLASSES else 2)
        if name in POSITIVES_ONLY:
            few = np.where(few == 1, 1, -1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = kind(**arguments).fit(X, few)
        found[name] = _outputs(model, X[:N_ROWS])
    table, target = columns()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        inner = fewlabel.AutoClassifier(["logistic regression", "RankBoost"], random_state=0)
        model = fewlabel.TableClassifier(inner, random_state=0).fit(table, target)
        found["TableClassifier"] = _outputs(model, table[:N_ROWS])
        X, _, few = numbers()
        prior = fewlabel.estimate_class_prior(X, np.where(few == 1, 1, -1), random_state=0)
    found["estimate_class_prior"] = {"prior": [float(prior.prior)]}
    return found


def _outputs(model, X):
    if hasattr(model, "get_support"):
        return {"support": [int(k) for k in np.flatnonzero(model.get_support())]}
    if not hasattr(model, "predict_proba"):
        return {"labels": [int(k) for k in model.labels_]}
    found = {"probability": model.predict_proba(X).ravel().tolist()}
    if hasattr(model, "decision_function"):
        found["decision"] = np.ravel(model.decision_function(X)).tolist()
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(outputs(), indent=1) + "\n")
