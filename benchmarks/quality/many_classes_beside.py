"""Three classes or more: AutoClassifier beside plain CatBoost, forests and logistic regression, each with its defaults.

FEWLABEL_DATA=folder python -m benchmarks.quality.many_classes_beside [--draws 1]

Tables of the registry, 3 and 10 labels of each class with at least 20 rows; the unlabeled rows are the test.
AutoClassifier has the experience of its package, in which most of these tables are among 47. Runs in
many_classes_beside.csv are not made again.
"""

import argparse
import warnings
from itertools import product
from pathlib import Path

from catboost import CatBoostClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.resume import run_missing
from benchmarks.quality.cells import LABELS, MANY_CLASSES, MULTICLASS, problem
from fewlabel import AutoClassifier

OURS = "AutoClassifier"
KEYS = ("table", "labels", "draw")
COLUMNS = ("method", "balanced_accuracy", "log_loss")


def methods(seed):
    """The methods by name; all but ours learn from the labeled rows."""
    catboost = CatBoostClassifier(thread_count=1, verbose=False, allow_writing_files=False, random_seed=seed)
    return {
        OURS: AutoClassifier(random_state=seed),
        "CatBoost": catboost,
        "extra trees": make_pipeline(SimpleImputer(), ExtraTreesClassifier(random_state=seed)),
        "random forest": make_pipeline(SimpleImputer(), RandomForestClassifier(random_state=seed)),
        "logistic regression": make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=1000)),
    }


def measure(name, n_labels, draw):
    """Balanced accuracy and log-loss of each method."""
    # Every table is one of the registry: no other folder is read.
    X, few, codes = problem(MULTICLASS, name, n_labels, draw, Path())
    is_labeled = few >= 0
    truth = codes[~is_labeled]
    rows = []
    for method, model in methods(draw).items():
        if method == OURS:
            model.fit(X, few)
        else:
            model.fit(X[is_labeled], few[is_labeled])
        probability = model.predict_proba(X[~is_labeled])
        predicted = model.classes_[probability.argmax(axis=1)]
        loss = log_loss(truth, probability, labels=model.classes_)
        rows.append((method, balanced_accuracy_score(truth, predicted), loss))
    return rows


def summarize(runs):
    """Means and mean ranks by number of labels; every table counts the same."""
    means = runs.groupby(["labels", "table", "method"])[["balanced_accuracy", "log_loss"]].mean()
    cells = means.groupby(["labels", "table"])
    means["rank_of_accuracy"] = cells["balanced_accuracy"].rank(ascending=False)
    means["rank_of_loss"] = cells["log_loss"].rank()
    return means.groupby(["labels", "method"]).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    keys = [(name, labels, draw) for draw, name, labels in product(range(options.draws), MANY_CLASSES, LABELS)]
    print(summarize(run_missing(options.out, KEYS, COLUMNS, keys, measure)).round(3).to_string())


if __name__ == "__main__":
    main()
