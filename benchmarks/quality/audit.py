"""Audits: how narrow and how right the headline is after rows were labeled that were drawn with known probability.

FEWLABEL_DATA=folder python -m benchmarks.quality.audit [--draws 1] [--out audit.csv]

250 rows are labeled that somebody chose: by a column, an old scorecard or top scores, on one side of a column, the easy
ones (by a score and the class itself, which nobody can see in the table), or positives only. Then `AuditQuery` or
`RandomQuery` draws rows, which are labeled, and the model is fitted again. The headline is compared with the AUC of the
rows that are still unlabeled, the band of the precision with the share of positives above the threshold. Runs in the
file are not made again.
"""

import argparse
import warnings
import zlib
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from benchmarks.harness.resume import run_missing
from benchmarks.quality.chosen_labels import LEAST, MEMBERS, TABLES, choose, liking, load
from fewlabel import AutoClassifier
from fewlabel.active import AuditQuery, RandomQuery
from fewlabel.decisions import Evidence

WAYS = ["column, strong", "scorecard, strong", "top scores, strong", "one side", "easy", "positives"]
QUERIES = {"audit": AuditQuery, "random": RandomQuery}
NUMBERS = (50,)
N_LABELS = 250
KEYS = ["table", "way", "draw", "rows", "n"]
EASY = 3.0  # logarithm of how much more often the easiest row is labeled than the hardest
COLUMNS = ["positives", "auc", "low", "high", "truth"]
COLUMNS += ["precision", "precision_low", "precision_high", "precision_truth"]


def labeled_rows(X, y, way, rng):
    """Positions of the rows that somebody labeled; of positives only, more often with a high column."""
    if way == "positives":
        positives = np.flatnonzero(y == 1)
        likes = 3.0 * liking(X, y, "column", rng)[positives]
        return positives[np.argsort(-(likes + rng.gumbel(size=len(positives))))[: min(N_LABELS, len(positives) // 3)]]
    if way == "easy":
        ease = (2 * y - 1) * (liking(X, y, "scorecard", rng) - 0.5)
        return np.argsort(-(EASY * rankdata(ease) / len(y) + rng.gumbel(size=len(y))))[:N_LABELS]
    return choose(X, y, way, N_LABELS, rng)


def measure(X, y, labeled, query, n, seed):
    """The estimates after an audit, and the truth."""
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    found = query.query(X, few, n=n)
    few[found.rows] = y[found.rows]
    chance = found.label_probability(len(y))
    model = AutoClassifier(MEMBERS, n_repeats=1, random_state=seed).fit(X, few, label_probability=chance)
    n_positives = int(y[found.rows].sum())
    if not model.selection_.audited:
        return [n_positives, *[np.nan] * (len(COLUMNS) - 1)]
    weight = model.model_.evidence.weight
    counted = weight > 0
    answers = few[model.labeled_rows_[counted]]
    scores = model.out_of_fold_[counted]
    hidden = few < 0
    of_hidden = model.decision_function(X[hidden])
    evidence = Evidence(
        answers == 1, scores, of_hidden, sample_weight=weight[counted], training_share=model.training_share_
    )
    flagged = of_hidden > 0
    head = model.headline_
    return [
        n_positives,
        head["score"],
        head["low"],
        head["high"],
        roc_auc_score(y[hidden], of_hidden),
        *evidence.at(0.0)["precision"],
        y[hidden][flagged].mean() if flagged.any() else np.nan,
    ]


def audit(name, way, draw, kind, n):
    """The row of one run; none where the labels have too few rows of a class."""
    X, y = load(name)
    rng = np.random.default_rng([draw, zlib.crc32(f"{name} {way}".encode())])
    labeled = labeled_rows(X, y, way, rng)
    if labeled is None:
        return []
    if way != "positives" and min(y[labeled].sum(), (1 - y[labeled]).sum()) < LEAST:
        return []
    return [measure(X, y, labeled, QUERIES[kind](random_state=draw), n, draw)]


def show(runs):
    """Coverage and width by number and kind of rows, and how many audited rows equal random ones."""
    told = runs.dropna(subset=["auc"])
    told = told.assign(
        covered=(told.low <= told.truth) & (told.truth <= told.high),
        width=told.high - told.low,
        error=told.auc - told.truth,
        held=(told.precision_low <= told.precision_truth) & (told.precision_truth <= told.precision_high),
    )
    measures = ["covered", "width", "held", "error", "positives"]
    print(told.groupby(["rows", "n"])[measures].mean().round(3).to_string(), "\n")
    print(told.groupby(["rows", "way"])[measures].mean().round(3).to_string(), "\n")
    print("audited rows per random row at the same width:", *equal_widths(told).round(2))


def equal_widths(told):
    """For each table: audited rows over random ones with an interval as narrow; widths fall with the root of rows."""
    # Where random rows lack a class, they say nothing at all.
    both = told.groupby(["table", "way", "draw", "n"])["rows"].transform("nunique") == len(QUERIES)
    means = np.log(told["width"][both]).groupby([told["table"], told["rows"]]).mean().unstack()
    ratios = np.exp(2 * (means["audit"] - means["random"]))
    return pd.concat([ratios, pd.Series({"mean": ratios.mean()})])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--ways", nargs="*", default=WAYS)
    parser.add_argument("--numbers", type=int, nargs="*", default=NUMBERS)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    wanted = product(range(options.draws), options.numbers, TABLES, options.ways, QUERIES)
    keys = [(name, way, draw, kind, n) for draw, n, name, way, kind in wanted]
    show(run_missing(options.out, KEYS, COLUMNS, keys, audit))


if __name__ == "__main__":
    main()
