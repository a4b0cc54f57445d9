"""How often the 95% interval of AutoClassifier covers the AUC on rows that come later.

python -m benchmarks.quality.intervals few groups time --draws 5 --out intervals.jsonl

Each draw takes a table, hides most labels, fits AutoClassifier, and compares its headline interval with the AUC of the
same model on rows that it has not seen: other rows (`few`), new groups (`groups`), later rows (`time`). Draws that are
in the file already are not run again; `--draws 0` prints the tables of a file. Data: FEWLABEL_DATA, as for the suites.
"""

import argparse
import json
import time
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.harness.data import as_numbers, binary
from fewlabel import AutoClassifier

TABLES = (
    *("pima", "credit-g", "vehicle0", "kr-vs-kp", "mushroom", "ring", "twonorm", "default-credit-card"),
    *("surgical-deepnet", "unsw-nb15-test", "cod-rna-59k", "waveform", "optdigits", "pendigits", "tic-tac-toe"),
    *("ssl-USPS", "insurance-30pct", "nsl-kdd-20pct", "splice", "fourclass"),
)
STRUCTURED = (
    *("pima", "vehicle0", "ring", "twonorm", "default-credit-card", "surgical-deepnet", "unsw-nb15-test"),
    *("cod-rna-59k", "waveform", "pendigits"),
)
# Members of several families that are quick enough for hundreds of fits.
MEMBERS = ("logistic regression", "linear discriminant", "naive Bayes", "nearest neighbors", "RBF-SVM", "extra trees",
           "path neighbors", "extra trees + components")  # fmt: skip
MOST_UNLABELED, MOST_TESTED = 300, 3000
LEAST = 3  # labels of each class
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


PARTS = {"few": (few, TABLES), "groups": (groups, STRUCTURED), "time": (in_time, STRUCTURED)}


def run(part, table, draw, X, y, members):
    """One draw: the interval, and the AUC that it should cover."""
    rng = np.random.default_rng([draw, zlib.crc32(f"{part} {table}".encode())])
    (rows, labels, how), (new, truth), n_labels = PARTS[part][0](X, y, rng)
    start = time.process_time()
    model = AutoClassifier(list(members), random_state=draw).fit(rows, labels, **how)
    own = model.leaderboard_.set_index("method").loc["AutoClassifier"]
    return {
        "part": part,
        "table": table,
        "draw": draw,
        "labels": n_labels,
        "score": float(own["score"]),
        "low": float(own["low"]),
        "high": float(own["high"]),
        "truth": float(roc_auc_score(truth, model.decision_function(new))),
        "seconds": time.process_time() - start,
        # To compute other intervals from the same fits.
        "y": labels[model.labeled_rows_].tolist(),
        "out_of_fold": np.round(model.out_of_fold_, 6).tolist(),
        "groups": how["groups"][model.labeled_rows_].tolist() if "groups" in how else None,
    }


def load(table):
    """Columns as numbers, and 1 for the positive class."""
    data, y = binary(table)
    return as_numbers(data, np.arange(len(data)), fill=False), y


def show(results):
    """Coverage and width by part and table, as Markdown."""
    frame = pd.DataFrame(results)
    frame["covered"] = (frame.low <= frame.truth) & (frame.truth <= frame.high)
    frame["below"], frame["above"] = frame.truth < frame.low, frame.truth > frame.high
    frame["width"], frame["error"] = frame.high - frame.low, frame.score - frame.truth
    for part, rows in frame.groupby("part", sort=False):
        missed = f"{rows.below.sum()} below, {rows.above.sum()} above"
        print(f"\n{part}: {rows.covered.mean():.1%} of {len(rows)} draws covered ({missed})\n")
        print("| table | draws | covered | mean width | mean AUC of new rows | mean score minus it |")
        print("| --- | --- | --- | --- | --- | --- |")
        for table, of_table in rows.groupby("table"):
            print(f"| {table} | {len(of_table)} | {of_table.covered.sum()} | {of_table.width.mean():.2f} "
                  f"| {of_table.truth.mean():.3f} | {of_table.error.mean():+.3f} |")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=list(PARTS), help="few, groups, time")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--tables", type=int, default=None, help="only the first ones")
    parser.add_argument("--members", nargs="*", default=MEMBERS)
    parser.add_argument("--out", type=Path, default=Path("intervals.jsonl"))
    options = parser.parse_args()
    results = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    done = {(r["part"], r["table"], r["draw"]) for r in results}
    loaded = {}
    for draw in range(options.draws):
        for part in options.parts:
            for table in PARTS[part][1][: options.tables]:
                if (part, table, draw) in done:
                    continue
                if table not in loaded:
                    loaded[table] = load(table)
                results.append(run(part, table, draw, *loaded[table], options.members))
                with options.out.open("a") as file:
                    file.write(json.dumps(results[-1]) + "\n")
    show(results)


if __name__ == "__main__":
    main()
