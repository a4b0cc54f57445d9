"""Cuts and bands of `fewlabel.decisions` on test rows of 20 tables.

FEWLABEL_DATA=folder python -m benchmarks.quality.decisions [--labels 300] [--draws 5] [--out decisions.csv]

Extra trees are fitted to labels drawn at random; their out-of-fold scores are the evidence, all other rows the test.
Runs in the file are not made again; benchmarks/quality/decisions.csv has those that docs/decide.md is based on.
"""

import argparse
import warnings
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.harness.resume import run_missing
from fewlabel import TableEncoder, load_dataset
from fewlabel.decisions import Costs, Evidence

TABLES = [
    "cod-rna-59k",
    "credit-g",
    "default-credit-card",
    "fourclass",
    "give-me-some-credit",
    "hypothyroid",
    "insurance-30pct",
    "kr-vs-kp",
    "mushroom",
    "nsl-kdd-20pct",
    "pima",
    "ringnorm",
    "sick",
    "ssl-Digit1",
    "ssl-USPS",
    "surgical-deepnet",
    "tic-tac-toe",
    "twonorm",
    "unsw-nb15-test",
    "vehicle0",
]
MOST_ROWS = 12_000
RATIOS = (1, 5, 20, 100)  # cost of a miss, in alarms
TOPS = (20, 50, 100, 200, 500)
KEYS = ["table", "labels", "draw"]
COLUMNS = ["what", "value", "other", "covers", "width"]


@lru_cache(maxsize=1)
def encoded(name):
    """The table as numbers, and whether each row is of the rarer class."""
    data = load_dataset(name)
    rows = np.random.default_rng(0).permutation(len(data.target))[:MOST_ROWS]
    X = np.nan_to_num(np.asarray(TableEncoder(random_state=0).fit_transform(data.data.iloc[rows])))
    return X, (data.target.iloc[rows] == data.target.value_counts().idxmin()).to_numpy()


def scored(X, y, n_labels, draw):
    """Labels and out-of-fold scores of the labeled rows; labels and scores of the others."""
    order = np.random.default_rng([draw, n_labels]).permutation(len(y))
    labeled, test = order[:n_labels], order[n_labels:]
    if y[labeled].sum() < 5:
        return None
    model = ExtraTreesClassifier(100, min_samples_leaf=2, random_state=draw)
    folds = StratifiedKFold(5, shuffle=True, random_state=draw)
    held_out = cross_val_predict(model, X[labeled], y[labeled], cv=folds, method="predict_proba")[:, 1]
    return y[labeled], held_out, y[test], model.fit(X[labeled], y[labeled]).predict_proba(X[test])[:, 1]


def least_cost(y, scores, costs):
    """Cost per row of the best threshold, chosen with all labels."""
    order = np.argsort(-scores, kind="stable")
    found = np.r_[0, np.cumsum(y[order])]
    cost = costs.miss * (y.sum() - found) + costs.alarm * (np.arange(len(y) + 1) - found)
    return cost[np.r_[True, np.diff(scores[order]) < 0, True]].min() / len(y)


def measure(name, n_labels, draw):
    """One row per ratio of costs and one per number of reviewed rows."""
    X, y = encoded(name)
    found = scored(X, y, n_labels, draw) if len(y) > 2 * n_labels else None
    if found is None:
        return []
    labels, held_out, y, scores = found
    evidence = Evidence(labels, held_out, scores, training_share=0.8)
    rows = []
    for ratio in RATIOS:
        costs = Costs(ratio, 1)
        threshold = evidence.cost_threshold(costs)
        flagged = scores > threshold
        cost = (ratio * np.sum(y & ~flagged) + np.sum(~y & flagged)) / len(y)
        band = evidence.at(threshold, costs)["cost"]
        covers = band.low <= cost <= band.high
        rows.append((f"cost {ratio}:1", cost, least_cost(y, scores, costs), covers, np.nan))
    order = np.argsort(-scores, kind="stable")
    for n in TOPS:
        if 2 * n <= len(y):
            band = evidence.at_top(n)["precision"]
            truth = y[order[:n]].mean()
            width = band.high - band.low
            rows.append((f"top {n}", truth, band.value, band.low <= truth <= band.high, width))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("decisions.csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    keys = product(TABLES, options.labels, range(options.draws))
    print(summarize(run_missing(options.out, KEYS, COLUMNS, keys, measure)).round(3).to_string())


def summarize(table):
    """Coverage and width of the bands, and the cost above that of the best threshold, by labels and kind of figure."""
    costs = table[table["what"].str.startswith("cost")].groupby(["labels", "what", "table"])[["value", "other"]].mean()
    costs = costs.groupby(["labels", "what"]).agg(["sum", "count"])
    summary = table.groupby(["labels", "what"]).agg(
        runs=("covers", "size"), covers=("covers", "mean"), width=("width", "mean")
    )
    summary["cost above the least"] = costs["value", "sum"] / costs["other", "sum"] - 1
    return summary


if __name__ == "__main__":
    main()
