"""Whether another estimate of the AUC needs fewer audited rows than the weighted AUC of these rows.

FEWLABEL_DATA=folder python -m benchmarks.quality.audit_estimators [--draws 8] [--out audit_estimators.csv]

Tables and labels are those of audit.py. The model is a logistic regression, fitted again with the answers; audited rows
are scored by models of other rows. The AUC of the rows that are still unlabeled is estimated by

- `plain`: audited rows, each with its weight;
- `difference`: as `plain`, but each unlabeled row counts as a positive by its probability m, and audited rows correct
  the sum by y - m. It is right whatever m is;
- `model`: the same without the correction. It is right if the log-odds of a positive are linear in the score;
- `curve`: as `model`, with the curve that fewlabel fits to the ranks of its scores, since its ensembles have no others;
- `half`, `half of curve`: the mean of `plain` and `model`, and of `plain` and `curve`.

In the others, m is the sigmoid of the score that is fitted to the weighted audited rows.
"""

import argparse
import warnings
import zlib
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.resume import run_missing
from benchmarks.quality.audit import QUERIES, labeled_rows
from benchmarks.quality.chosen_labels import LEAST, TABLES, load
from benchmarks.quality.doubly_robust import curve_probability, robust_auc
from fewlabel.auto.intervals import BELIEFS, RARER
from fewlabel.auto.weights import auc
from fewlabel.metrics.angles import from_angle, to_angle
from fewlabel.rows import effective_number

WAYS = ["column, strong", "scorecard, strong", "top scores, strong", "one side", "easy"]
N_AUDITED = 50
N_SPLITS = 5
LEAST_OF_A_CLASS = 2
MOST_CERTAIN = 0.99
Z = norm.isf(0.025)
KEYS = ["table", "way", "draw", "rows"]
ESTIMATES = ["plain", "difference", "model", "curve"]
COLUMNS = ["positives", "truth", *ESTIMATES]


def logistic():
    return LogisticRegression(max_iter=300)


def ranks_among(scores, population):
    """Share of a population below each score; a tie counts one half."""
    ordered = np.sort(population)
    places = np.searchsorted(ordered, scores, side="left") + np.searchsorted(ordered, scores, side="right")
    return places / (2 * len(ordered))


def estimates(table, y, labeled, audited, weight, unlabeled, seed):
    """The estimates of the AUC of the unlabeled rows, by audited rows that stand for them."""
    known = np.r_[labeled, audited]
    is_audited = np.arange(len(known)) >= len(labeled)
    scores = np.empty(len(known))
    ranks = np.empty(len(known))
    of_unlabeled = []
    splits = StratifiedKFold(N_SPLITS, shuffle=True, random_state=seed).split(known, 2 * y[known] + is_audited)
    for train, test in splits:
        model = logistic().fit(table[known[train]], y[known[train]])
        population = model.decision_function(table[unlabeled])
        scores[test] = model.decision_function(table[known[test]])
        ranks[test] = ranks_among(scores[test], population)
        of_unlabeled.append((population, ranks_among(population, population)))
    unlabeled_scores, unlabeled_ranks = np.mean(of_unlabeled, axis=0)
    answers = y[audited]
    curve = logistic().fit(scores[is_audited, None], answers, sample_weight=weight / weight.mean())
    m = curve.predict_proba(scores[is_audited, None])[:, 1]
    unlabeled_m = curve.predict_proba(unlabeled_scores[:, None])[:, 1]
    counted = weight * (len(unlabeled) / weight.sum())
    known_of = (answers, ranks[is_audited], m)
    size = weight * (effective_number(weight) / weight.sum())
    of_ranks = curve_probability(answers == 1, ranks[is_audited], unlabeled_ranks, unlabeled_ranks, size)
    nothing = np.zeros(len(audited))
    return [
        roc_auc_score(answers, ranks[is_audited], sample_weight=weight),
        robust_auc(*known_of, counted, unlabeled_ranks, unlabeled_m),
        robust_auc(*known_of, nothing, unlabeled_ranks, unlabeled_m),
        robust_auc(*known_of, nothing, unlabeled_ranks, of_ranks),
    ]


def measure(name, way, draw, kind):
    """The row of one run; NaN where answers lack a class, none where the labels do."""
    X, y = load(name)
    rng = np.random.default_rng([draw, zlib.crc32(f"{name} {way}".encode())])
    labeled = labeled_rows(X, y, way, rng)
    if labeled is None or min(y[labeled].sum(), (1 - y[labeled]).sum()) < LEAST:
        return []
    table = np.clip(StandardScaler().fit_transform(X), -5, 5)
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    query = QUERIES[kind](logistic(), random_state=draw) if kind == "audit" else QUERIES[kind](random_state=draw)
    found = query.query(table, few, n=N_AUDITED)
    answers = y[found.rows]
    n_positives = int(answers.sum())
    if min(n_positives, N_AUDITED - n_positives) < LEAST_OF_A_CLASS:
        return [[n_positives, *[np.nan] * (len(COLUMNS) - 1)]]
    chance = np.minimum(found.label_probability(len(y))[found.rows], MOST_CERTAIN)
    few[found.rows] = answers
    unlabeled = np.flatnonzero(few < 0)
    final = logistic().fit(table[few >= 0], few[few >= 0])
    truth = roc_auc_score(y[unlabeled], final.decision_function(table[unlabeled]))
    known = (labeled, found.rows, (1 - chance) / chance, unlabeled)
    return [[n_positives, truth, *estimates(table, y, *known, draw)]]


def calibrated(runs, angle):
    """Ends of intervals whose variance is fitted to the other tables, with what models have on other tables as prior.

    The variance is c (1/(P - 2) + 1/(N - 2)) + b, as in `fewlabel.auto.intervals`, with c and b by maximum likelihood.
    """
    belief = BELIEFS[auc]
    positives = runs["positives"].to_numpy()
    rarer = np.clip(np.minimum(positives, N_AUDITED - positives), *RARER)
    expected = belief.middle + belief.growth * np.log(rarer / 12)
    per_class = 1 / np.maximum(positives - 2, 1) + 1 / np.maximum(N_AUDITED - positives - 2, 1)
    squared = (angle - to_angle(runs["truth"].to_numpy())) ** 2
    ends = np.empty((2, len(runs)))
    for name in runs["table"].unique():
        own = (runs["table"] == name).to_numpy()

        def loss(logarithms, others=~own):
            variance = np.exp(logarithms[0]) * per_class[others] + np.exp(logarithms[1])
            return (np.log(variance) + squared[others] / variance).sum()

        c, b = np.exp(minimize(loss, [-1.0, -5.0], method="Nelder-Mead").x)
        precision = 1 / (c * per_class[own] + b)
        variance = 1 / (precision + belief.spread**-2)
        middle = variance * (precision * angle[own] + expected[own] / belief.spread**2)
        ends[:, own] = np.clip(middle + np.outer([-Z, Z], np.sqrt(variance)), 0, np.pi)
    return ends


def summary(runs):
    """By estimate and kind of rows: squared error and rows for the same width, over those of random rows as they are.

    Squared errors are those of the angle, and ratios are means over tables: geometric ones of the errors.
    """
    told = runs.dropna(subset=["truth"])
    # Where a kind of rows lacks a class, it says nothing at all.
    n_kinds = told.groupby(["table", "way", "draw"])["rows"].transform("nunique")
    told = told[n_kinds == len(QUERIES)].reset_index(drop=True)
    truth = told["truth"].to_numpy()
    angles = {name: to_angle(told[name].to_numpy()) for name in ESTIMATES}
    angles["half"] = (angles["plain"] + angles["model"]) / 2
    angles["half of curve"] = (angles["plain"] + angles["curve"]) / 2
    found = {}
    for (name, angle), kind in product(angles.items(), ["random", "audit"]):
        of_kind = told["rows"] == kind
        own = told[of_kind].reset_index(drop=True)
        low, high = calibrated(own, angle[of_kind])
        squared = pd.Series((angle - to_angle(truth))[of_kind] ** 2).groupby(own["table"]).mean()
        width = pd.Series(np.log(high - low)).groupby(own["table"]).mean()
        inside = (from_angle(low) <= own["truth"]) & (own["truth"] <= from_angle(high) + 1e-9)
        found[name, kind] = squared, width, inside.mean()
    base_squared, base_width, _ = found["plain", "random"]
    rows = {}
    for key, (squared, width, covered) in found.items():
        error = np.exp(np.log(squared / base_squared).mean())
        rows[key] = {"squared error": error, "rows": np.exp(2 * (width - base_width)).mean(), "covered": covered}
    return pd.DataFrame(rows).T


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    keys = [(name, way, draw, kind) for draw, name, way, kind in product(range(options.draws), TABLES, WAYS, QUERIES)]
    runs = run_missing(options.out, KEYS, COLUMNS, keys, measure)
    print(runs[runs["truth"].isna()].groupby("rows").size().to_string(), "runs lack a class\n")
    print(summary(runs).round(3).to_string())


if __name__ == "__main__":
    main()
