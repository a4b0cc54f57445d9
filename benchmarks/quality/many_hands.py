"""Many hands: labels combined from several people, and planted errors found, beside crowd-kit and cleanlab.

FEWLABEL_DATA=folder python -m benchmarks.quality.many_hands [--tables 5] [--out many_hands.csv]

300 rows of each table. Combined labels: five people who are right with probability .6 to .95, two or three of whom
answer each row; share of right labels. Planted errors: 10, 20 or 30% of the labels are flipped; precision among as many
rows as there are errors. crowd-kit and cleanlab are installed separately. Runs in the file are not made again.
"""

import argparse
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.resume import run_missing
from benchmarks.quality.chosen_labels import LEAST, TABLES, load
from fewlabel.active import combine_answers, label_confidence
from fewlabel.active.raters import combine_with_model

N_ROWS = 300
N_PEOPLE = 5


def answers(y, n_each, rng):
    """What each person says about each row, -1 if they were not asked."""
    skill = rng.uniform(0.6, 0.95, N_PEOPLE)
    votes = np.full((len(y), N_PEOPLE), -1)
    for row in range(len(y)):
        for person in rng.choice(N_PEOPLE, n_each, replace=False):
            votes[row, person] = y[row] if rng.random() < skill[person] else 1 - y[row]
    return votes


def combined(X, y, n_each, rng):
    """Share of right labels by method."""
    from crowdkit.aggregation import DawidSkene, MajorityVote

    votes = answers(y, n_each, rng)
    rows, people = np.nonzero(votes >= 0)
    table = pd.DataFrame({"task": rows, "worker": people, "label": votes[rows, people]})
    labels = {
        "majority": MajorityVote().fit_predict(table).sort_index(),
        "crowd-kit Dawid-Skene": DawidSkene(n_iter=100).fit_predict(table).sort_index(),
        "combine_answers": combine_answers(votes, 2).codes,
        "with the model": combine_with_model(votes, 2, X).codes,
    }
    return {name: float(np.mean(np.asarray(found) == y)) for name, found in labels.items()}


def planted(X, y, share, rng):
    """Precision among the rows with the lowest confidence by method."""
    from cleanlab.rank import get_label_quality_scores

    flipped = rng.random(len(y)) < share
    codes = np.where(flipped, 1 - y, y)
    if np.bincount(codes, minlength=2).min() < LEAST:
        return {}
    linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))
    trees = ExtraTreesClassifier(100, random_state=0)
    quality = {"label_confidence": label_confidence(X, codes)}
    for name, model in {"cleanlab, logistic regression": linear, "cleanlab, extra trees": trees}.items():
        own = cross_val_predict(model, X, codes, cv=5, method="predict_proba")
        quality[name] = get_label_quality_scores(codes, own)
    return {name: float(flipped[np.argsort(values)[: flipped.sum()]].mean()) for name, values in quality.items()}


def measure(name):
    """All tasks and methods on one table."""
    X, y = load(name)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rows = rng.permutation(len(y))[:N_ROWS]
    runs = []
    for n_each in (2, 3):
        for method, value in combined(X[rows], y[rows], n_each, rng).items():
            runs.append([f"{n_each} answers", method, value])
    for share in (0.1, 0.2, 0.3):
        for method, value in planted(np.nan_to_num(X[rows]), y[rows], share, rng).items():
            runs.append([f"{share:.0%} errors", method, value])
    return runs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=len(TABLES))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    keys = [(name,) for name in TABLES[: options.tables]]
    found = run_missing(options.out, ["table"], ["task", "method", "value"], keys, measure)
    print(found.pivot_table(index="method", columns="task", values="value").round(3).to_string())


if __name__ == "__main__":
    main()
