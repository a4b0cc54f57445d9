"""Whether rows that are flagged at a promised precision have it, among rows that come later.

FEWLABEL_DATA=folder python -m benchmarks.quality.promises [--labels 40 100 300] [--draws 5]

What `fewlabel fit --at-precision 0.8` does, with four quick members: labels drawn at random from 20 tables, 1,000 rows
beside them unlabeled, all others new. The class to find is the rarer one. A fit that promises nothing flags no row.
promises.csv has the runs; those that are in it are not made again.
"""

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.harness.resume import run_missing
from benchmarks.quality.decisions import KEYS, TABLES, encoded
from benchmarks.quality.experience import experience_without
from benchmarks.quality.intervals import MEMBERS
from fewlabel import AutoClassifier, TableClassifier
from fewlabel.tables import choose_threshold

PRECISION = 0.8
UNLABELED = 1000
LEAST_NEW = 100
COLUMNS = ["positives", "new", "flagged", "claimed", "precision", "recall"]


def measure(name, n_labels, draw):
    """The rows that one fit flags, and how many of them are positive."""
    X, y = encoded(name)
    order = np.random.default_rng([draw, n_labels]).permutation(len(y))
    # Of a small table, half of the other rows are new.
    n_known = n_labels + min(UNLABELED, (len(y) - n_labels) // 2)
    rows = order[:n_known]
    new = order[n_known:]
    if len(new) < LEAST_NEW:
        return []
    few = np.where(np.arange(n_known) < n_labels, y[rows], -1)
    n_positive = int((few == 1).sum())
    nothing = [[n_positive, len(new), 0, np.nan, np.nan, np.nan]]
    # A fit needs two labels of each class.
    if min(n_positive, n_labels - n_positive) < 2:
        return nothing
    auto = AutoClassifier(list(MEMBERS), experience=experience_without(name), random_state=draw)
    model = TableClassifier(auto, positive=1)
    table = model.encode(X[rows], few)
    model.fit_encoded(table)
    try:
        decision = choose_threshold(model, table, precision=PRECISION)
    except ValueError as error:
        if "cannot promise" not in str(error):
            raise
        return nothing
    flagged = model.predict(X[new]) == 1
    claimed = decision.yields["precision"].value
    if not flagged.any():
        return [[n_positive, len(new), 0, claimed, np.nan, np.nan]]
    found = y[new][flagged]
    return [[n_positive, len(new), int(flagged.sum()), claimed, found.mean(), found.sum() / y[new].sum()]]


def summarize(runs):
    """By number of labels: how often a fit flags rows, and how often these have the promised precision."""
    flags = runs[runs["flagged"] > 0]
    by = flags.assign(kept=flags["precision"] >= PRECISION).groupby("labels")
    n_runs = runs.groupby("labels").size()
    found = by[["kept", "precision", "claimed", "recall"]].mean()
    return found.assign(runs=n_runs, promises=by.size(), tables=by["table"].nunique())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[40, 100, 300])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    keys = product(TABLES, options.labels, range(options.draws))
    print(summarize(run_missing(options.out, KEYS, COLUMNS, keys, measure)).round(3).to_string())


if __name__ == "__main__":
    main()
