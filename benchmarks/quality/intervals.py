"""How often 95% intervals of AutoClassifier and its report cover what rows show that come later.

FEWLABEL_DATA=folder python -m benchmarks.quality.intervals [few groups time classes] [--draws 2]

Each draw takes a table, hides most labels, fits AutoClassifier, and compares its headline interval with the AUC of the
same model on rows that it has not seen: other rows (`few`), new groups (`groups`), later rows (`time`). With three
classes or more (`classes`) these are the mean AUC of one class against the rest, the share of right predictions, the
balanced accuracy and the recall of each class. intervals.csv has the results; draws that are in it are not run again.
"""

import argparse
import zlib
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.harness.data import as_numbers, binary, multiclass
from benchmarks.harness.resume import run_missing
from fewlabel import AutoClassifier
from fewlabel.auto.weights import auc, score_ranks
from fewlabel.reporting.curves import confusion

TABLES = (
    *("pima", "credit-g", "vehicle0", "kr-vs-kp", "mushroom", "ring", "twonorm", "default-credit-card"),
    *("surgical-deepnet", "unsw-nb15-test", "cod-rna-59k", "waveform", "optdigits", "pendigits", "tic-tac-toe"),
    *("ssl-USPS", "insurance-30pct", "nsl-kdd-20pct", "splice", "fourclass"),
)
STRUCTURED = (
    *("pima", "vehicle0", "ring", "twonorm", "default-credit-card", "surgical-deepnet", "unsw-nb15-test"),
    *("cod-rna-59k", "waveform", "pendigits"),
)
OF_CLASSES = (
    *("wine", "iris", "dermatology", "vowel", "svmguide4", "glass", "autos", "car", "anneal", "waveform"),
    *("pendigits", "optdigits", "dna", "letter"),
)
# Members of several families that are quick enough for hundreds of fits.
MEMBERS = ("logistic regression", "linear discriminant", "RBF-SVM", "extra trees + components")
KEYS = ("part", "table", "draw")
COLUMNS = ("labels", "figure", "value", "low", "high", "truth")
MOST_UNLABELED, MOST_TESTED = 300, 3000
LEAST = 3  # labels of each class
LEAST_OF_CLASS = 100  # tested rows that a recall is based on: with fewer it is not known well enough itself
NOISE = 0.1  # standard deviations between the rows of a group


def draw_rows(y, n_labels, rng):
    """Labeled, unlabeled and tested rows in random order; each class has `LEAST` labels."""
    while True:
        order = rng.permutation(len(y))
        if np.bincount(y[order[:n_labels]], minlength=2).min() >= LEAST:
            break
    rest = order[n_labels:]
    n_unlabeled = min(MOST_UNLABELED, len(rest) // 3)
    return order[:n_labels], rest[:n_unlabeled], rest[n_unlabeled:][:MOST_TESTED]


def few(X, y, rng):
    """15 to 60 labels; tested on other rows."""
    n_labels = int(rng.integers(15, 61))
    labeled, unlabeled, tested = draw_rows(y, n_labels, rng)
    rows = np.r_[labeled, unlabeled]
    few = np.r_[y[labeled], np.full(len(unlabeled), -1)]
    return (X[rows], few, {}), (X[tested], y[tested]), n_labels


def groups(X, y, rng):
    """20 to 60 labeled groups of 2 to 6 rows that differ by noise; tested on new groups."""
    n_groups = int(rng.integers(20, 61))
    labeled, unlabeled, tested = draw_rows(y, n_groups, rng)
    spread = np.nanstd(X, axis=0)
    rows = np.r_[labeled, unlabeled[:100]]
    group = np.repeat(np.arange(len(rows)), rng.integers(2, 7, len(rows)))
    repeated = X[rows][group] + NOISE * spread * rng.normal(size=(len(group), X.shape[1]))
    few = np.where(group < n_groups, y[rows][group], -1)
    new = X[tested] + NOISE * spread * rng.normal(size=X[tested].shape)
    return (repeated, few, {"groups": group}), (new, y[tested]), n_groups


def in_time(X, y, rng):
    """40 to 120 labels among the first 60% of the rows in the order of a drifting column; tested on the next 20%."""
    n_labels = int(rng.integers(40, 121))
    rows = rng.permutation(len(y))[:6000]
    varies = [len(np.unique(column)) for column in X[rows].T]
    column = X[rows, int(np.argmax(varies))]
    drift = (column - np.nanmean(column)) / np.nanstd(column) + rng.normal(size=len(rows))
    rows = rows[np.argsort(drift, kind="stable")]
    n_past = int(0.6 * len(rows))
    while True:
        labeled = np.sort(rng.permutation(n_past)[:n_labels])
        halves = np.array_split(y[rows[labeled]], 2)
        if min(np.bincount(half, minlength=2).min() for half in halves) >= LEAST:
            break
    unlabeled = np.setdiff1d(rng.permutation(n_past)[: 2 * MOST_UNLABELED], labeled)[:MOST_UNLABELED]
    moments = np.r_[labeled, unlabeled]
    few = np.r_[y[rows[labeled]], np.full(len(unlabeled), -1)]
    later = rows[n_past : int(0.8 * len(rows))]
    return (X[rows[moments]], few, {"time": moments}), (X[later], y[later]), n_labels


def classes(X, y, rng):
    """8 to 15 labels per class on the mean; tested on other rows."""
    n_labels = int(rng.integers(8, 16)) * (y.max() + 1)
    order = rng.permutation(len(y))
    labeled = order[:n_labels]
    rest = order[n_labels:]
    n_unlabeled = min(MOST_UNLABELED, len(rest) // 3)
    unlabeled = rest[:n_unlabeled]
    tested = rest[n_unlabeled:][:MOST_TESTED]
    few = np.r_[y[labeled], np.full(n_unlabeled, -1)]
    return (X[np.r_[labeled, unlabeled]], few, {}), (X[tested], y[tested]), n_labels


PARTS = {
    "few": (few, TABLES),
    "groups": (groups, STRUCTURED),
    "time": (in_time, STRUCTURED),
    "classes": (classes, OF_CLASSES),
}


def run(part, table, draw):
    """The figures of one draw, their intervals, and what they should cover."""
    X, y = load(table, multiclass if part == "classes" else binary)
    rng = np.random.default_rng([draw, zlib.crc32(f"{part} {table}".encode())])
    (rows, labels, how), (new, truth), n_labels = PARTS[part][0](X, y, rng)
    model = AutoClassifier(list(MEMBERS), random_state=draw).fit(rows, labels, **how)
    head = [model.headline_[name] for name in ("score", "low", "high")]
    if part != "classes":
        return [[n_labels, "AUC", *head, roc_auc_score(truth, model.decision_function(new))]]
    probability = model.predict_proba(new)
    place = {kind: k for k, kind in enumerate(model.classes_)}
    is_known = np.isin(truth, model.classes_)
    codes = np.array([place[kind] for kind in truth[is_known]])
    found = [[n_labels, "AUC", *head, score_ranks(probability[is_known], codes, auc)]]
    is_right = model.predict(new) == truth
    own = np.array([place[kind] for kind in labels[model.labeled_rows_]])
    names = [str(kind) for kind in model.classes_]
    claimed = confusion(own, model.out_of_fold_.argmax(axis=1), names, model.training_share_)
    found.append([n_labels, "accuracy", *claimed["correct"], is_right.mean()])
    by_class = [is_right[truth == kind].mean() for kind in np.intersect1d(model.classes_, truth)]
    found.append([n_labels, "balanced accuracy", *claimed["balanced"], np.mean(by_class)])
    for name, recall in zip(claimed["names"], claimed["recall"]):
        of_class = truth.astype(str) == name
        if recall is not None and of_class.sum() >= LEAST_OF_CLASS:
            found.append([n_labels, "recall", *recall, is_right[of_class].mean()])
    return found


def load(table, read=binary):
    """Columns as numbers, and 1 for the positive class, or codes of the classes."""
    data, y = read(table)
    X = as_numbers(data, np.arange(len(data)), fill=False)
    return X[:, np.nanstd(X, axis=0) > 0], y


def show(found):
    """Coverage and width by part and figure."""
    found = found.assign(
        covered=(found.low <= found.truth) & (found.truth <= found.high),
        below=found.truth < found.low,
        above=found.truth > found.high,
        width=found.high - found.low,
        error=found.value - found.truth,
    )
    by = found.groupby(["part", "figure"])
    counts = by[["below", "above"]].sum().assign(tables=by["table"].nunique(), runs=by.size())
    print(counts.join(by[["covered", "width", "truth", "error"]].mean()).round(3).to_string())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="few, groups, time, classes")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    keys = []
    for draw, part in product(range(options.draws), options.parts):
        keys += [(part, table, draw) for table in PARTS[part][1]]
    show(run_missing(options.out, KEYS, COLUMNS, keys, run))


if __name__ == "__main__":
    main()
