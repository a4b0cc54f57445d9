"""Labels that somebody chose: whether it is said, and whether the estimates hold for the unlabeled rows.

FEWLABEL_DATA=folder python -m benchmarks.quality.chosen_labels [--draws 1] [--out chosen_labels.csv]

Rows are labeled at random, by one column, by an old scorecard, by noisy top scores, or (without overlap) on one side of
a column. The AUC, the share of positives and the precision at the threshold are compared with those of the unlabeled
rows, with the correction (`labels_drawn="auto"`) and without it ("random"). Runs in the file are not made again.
"""

import argparse
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import as_numbers, binary
from fewlabel import AutoClassifier
from fewlabel.decisions import Evidence

TABLES = [
    "default-credit-card",
    "give-me-some-credit",
    "surgical-deepnet",
    "cod-rna-59k",
    "insurance-30pct",
    "unsw-nb15-test",
    "nsl-kdd-20pct",
    "sick",
    "kr-vs-kp",
    "twonorm",
]
# Strength: how much more often the highest row is labeled than the lowest, as a logarithm; noise of the top scores.
WAYS = {
    "random": None,
    "column, weak": 2.0,
    "column, strong": 5.0,
    "scorecard, weak": 2.0,
    "scorecard, strong": 5.0,
    "top scores, weak": 0.6,
    "top scores, strong": 0.25,
    "one side": None,
}
LABELS = (250,)
MEMBERS = ["logistic regression", "extra trees"]  # two families that are quick enough for hundreds of fits
N_ROWS = 2500
LEAST = 5  # labels of each class
N_KNOWN = 80  # rows that an old scorecard was fitted to
COLUMNS = ["table", "way", "labels", "draw", "drawn", "chosen", "told", "auc", "low", "high", "truth"]
COLUMNS += ["prior", "prior_truth", "precision", "precision_low", "precision_high", "precision_truth"]


def load(name):
    """At most 2,500 rows as numbers, and 1 for the positive class."""
    data, y = binary(name)
    rows = np.random.default_rng(0).permutation(len(y))[:N_ROWS]
    return as_numbers(data.iloc[rows], np.arange(len(rows))), y[rows]


def liking(X, y, way, rng):
    """What the labeled rows are chosen by: ranks from 0 to 1."""
    scaled = np.clip(StandardScaler().fit_transform(X), -3, 3)
    if way.startswith(("column", "one")):
        strength = [abs(roc_auc_score(y, column) - 0.5) for column in scaled.T]
        values = scaled[:, int(np.argmax(strength))]
    else:
        known = rng.permutation(len(y))[:N_KNOWN]
        while len(np.unique(y[known])) < 2:
            known = rng.permutation(len(y))[:N_KNOWN]
        columns = rng.permutation(X.shape[1])[: max(2, X.shape[1] // 2)]
        card = LogisticRegression(C=0.1, max_iter=500).fit(scaled[np.ix_(known, columns)], y[known])
        values = card.decision_function(scaled[:, columns])
    return rankdata(values + 1e-9 * rng.normal(size=len(values))) / len(values)


def choose(X, y, way, n, rng):
    """Positions of the labeled rows."""
    if way == "random":
        return rng.permutation(len(y))[:n]
    likes = liking(X, y, way, rng)
    if way == "one side":
        return rng.permutation(np.flatnonzero(likes > 0.5))[:n]
    if way.startswith("top"):
        return np.argsort(-(likes + WAYS[way] * rng.normal(size=len(y))))[:n]
    # Drawn without replacement, with weights exp(strength * liking).
    return np.argsort(-(WAYS[way] * likes + rng.gumbel(size=len(y))))[:n]


def measure(X, y, labeled, drawn, seed):
    """What is said, what is estimated, and what is true of the unlabeled rows."""
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    model = AutoClassifier(MEMBERS, n_repeats=1, labels_drawn=drawn, random_state=seed).fit(X, few)
    hidden = few < 0
    scores = model.decision_function(X[hidden])
    evidence = Evidence(
        few[model.labeled_rows_] == 1,
        model.out_of_fold_,
        scores,
        sample_weight=model.model_.evidence.weight,
        training_share=model.training_share_,
    )
    precision = evidence.at(0.0)["precision"]
    flagged = scores > 0
    head = model.headline_
    # What is not told to the user is measured all the same, by the row of the leaderboard.
    own = model.leaderboard_.set_index("method").loc["AutoClassifier"]
    estimates = [own["score"], own["low"], own["high"], roc_auc_score(y[hidden], scores)]
    shares = [
        evidence.prior.value,
        y[hidden].mean(),
        *precision,
        y[hidden][flagged].mean() if flagged.any() else np.nan,
    ]
    return [model.selection_.chosen, head["reason"] is None, *estimates, *shares]


def show(runs):
    """Coverage and errors by way of labeling, as Markdown."""
    runs = runs.assign(
        covered=(runs.low <= runs.truth) & (runs.truth <= runs.high),
        error=runs.auc - runs.truth,
        width=runs.high - runs.low,
        held=(runs.precision_low <= runs.precision_truth) & (runs.precision_truth <= runs.precision_high),
        prior_error=(runs.prior - runs.prior_truth).abs(),
    )
    kind = runs.way.str.split(",").str[0]
    for by in ([kind, "labels", "drawn"], [kind.where(kind.isin(["random", "one side"]), "chosen"), "drawn"]):
        table = runs.groupby(by, sort=False).agg(
            runs=("auc", "size"),
            chosen=("chosen", "mean"),
            told=("told", "mean"),
            covered=("covered", "mean"),
            width=("width", "mean"),
            bias=("error", "mean"),
            rmse=("error", lambda e: np.sqrt((e**2).mean())),
            precision=("held", "mean"),
            prior_error=("prior_error", "mean"),
        )
        print(table.round(3).to_string(), "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("chosen_labels.csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    done = set()
    if options.out.exists():
        known = pd.read_csv(options.out)
        done = set(known[["table", "way", "labels", "draw", "drawn"]].itertuples(index=False, name=None))
    for draw in range(options.draws):
        for name in TABLES:
            X, y = load(name)
            for way in WAYS:
                for n in LABELS:
                    rng = np.random.default_rng([draw, n, zlib.crc32(f"{name} {way}".encode())])
                    labeled = choose(X, y, way, n, rng)
                    if min(y[labeled].sum(), (1 - y[labeled]).sum()) < LEAST:
                        continue
                    for drawn in ("auto", "random"):
                        if (name, way, n, draw, drawn) in done:
                            continue
                        row = [name, way, n, draw, drawn, *measure(X, y, labeled, drawn, draw)]
                        table = pd.DataFrame([row], columns=COLUMNS).round(6)
                        table.to_csv(options.out, mode="a", header=not options.out.exists(), index=False)
    show(pd.read_csv(options.out))


if __name__ == "__main__":
    main()
