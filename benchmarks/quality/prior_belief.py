"""The constants of `fewlabel.prior._belief`: how far estimates of the class prior are off, learned on many tables.

FEWLABEL_DATA=folder python -m benchmarks.quality.prior_belief [--draws 10] [--out prior_belief.csv]

Each draw takes positives and unlabeled rows of a table, in numbers and with a share of positives that vary. The errors
of best bin estimation and DEDPUL, on the scale of log-odds, are normal with a mean and a deviation that depend on what
a user can see. Printed are the constants by maximum likelihood, tables weighted equally, and the errors with each table
left out in turn; then how often the share is at most the upper end. The constants are learned from the stored draws
from 100 on, without an upper bound; in those from 1000 on, 10% to 50% of the positives of one sample are labeled. The
upper end is checked on the other draws, with constants that are learned without their table.
"""

import argparse
import warnings
import zlib
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from benchmarks.harness.data import as_numbers, binary
from benchmarks.harness.resume import run_missing
from fewlabel.datasets import list_datasets
from fewlabel.prior._belief import _CHANCE, _ESTIMATES, _LARGEST, _LARGEST_FROM, _POSITIVES
from fewlabel.prior._score_methods import bbe, dedpul, ratio_bound, ratio_rise
from fewlabel.prior._scores import out_of_fold_scores

COLUMNS = ["positives", "unlabeled", "share", "bbe", "dedpul", "auc", "rise", "bound"]
LEARNED_FROM = 100  # draws from this one on
WIDER = 1.15 * 1.645  # deviations, as in the package
LEAST_ROWS = 150
LEAST_POSITIVES = 8


def draw_rows(name, draw):
    """Labeled positives, unlabeled rows, and the share of positives among these; None if the table is too small."""
    data, y = binary(name)
    rng = np.random.default_rng([draw, zlib.crc32(name.encode())])
    positives = rng.permutation(np.flatnonzero(y == 1))
    negatives = rng.permutation(np.flatnonzero(y == 0))
    n_unlabeled = int(rng.choice([250, 600, 1500, 2500]))
    n_labeled = int(min(np.exp(rng.uniform(np.log(8), np.log(400))), 0.6 * len(positives)))
    share = np.exp(rng.uniform(np.log(0.01), np.log(0.65)))
    if rng.random() < 0.35 and 0.02 < y.mean() < 0.6:
        share = y.mean()
    n_unlabeled = int(min(n_unlabeled, (len(positives) - n_labeled) / share, len(negatives) / (1 - share)))
    n_hidden = round(n_unlabeled * share)
    if n_labeled < LEAST_POSITIVES or n_unlabeled < 100 or n_hidden < 2:
        return None
    rows = np.concatenate([positives[: n_labeled + n_hidden], negatives[: n_unlabeled - n_hidden]])
    X = as_numbers(data.iloc[rows], np.arange(len(rows)))
    return X[:n_labeled], X[n_labeled:], n_hidden / n_unlabeled


def measure(name, draw):
    """The row of one draw: what a user can see of it, and the share; none if the table is too small."""
    drawn = draw_rows(name, draw)
    if drawn is None:
        return []
    P, U, share = drawn
    weights = (np.ones(len(P)), np.ones(len(U)))
    scores = out_of_fold_scores(P, U, *weights, np.random.RandomState(draw))
    auc = roc_auc_score(np.repeat([1, 0], [len(P), len(U)]), np.concatenate(scores))
    groups = (*scores, *weights)
    seen = [bbe(*groups), dedpul(*groups), auc, ratio_rise(*groups), ratio_bound(*groups)]
    return [[len(P), len(U), share, *seen]]


def designs(runs):
    """The columns of the mean and of the logarithm of the deviation, as in `believe_prior`."""
    middle = (logit(runs.bbe.clip(*_ESTIMATES)) + logit(runs.dedpul.clip(*_ESTIMATES))) / 2
    largest = logit((2 * (1 - runs.auc)).clip(*_LARGEST))
    overlap = (runs.rise.clip(0, 2) + _CHANCE / np.sqrt(runs.positives)).clip(0, 1)
    positives = np.log(runs.positives.clip(*_POSITIVES) / 40)
    one = np.ones(len(runs))
    of_mean = np.column_stack([one, middle, overlap, overlap * (largest - _LARGEST_FROM).clip(lower=0)])
    return of_mean, np.column_stack([one, largest, positives, overlap])


def learn(runs):
    """Constants by maximum likelihood; every table has the same weight."""
    of_mean, of_spread = designs(runs)
    truth = logit(runs.share.clip(lower=0.003)).to_numpy()
    weight = 1 / runs.groupby("table").table.transform("count").to_numpy()

    def loss(constants):
        spread = of_spread @ constants[4:]
        residual = truth - of_mean @ constants[:4]
        return np.average(spread + 0.5 * residual**2 * np.exp(-2 * spread), weights=weight)

    return minimize(loss, [0.0, 0.8, *[0.0] * 6], method="L-BFGS-B").x


def show(runs):
    """Print the constants and the errors on tables that they were not learned from; the table of the page."""
    is_learned = runs.draw >= LEARNED_FROM
    learned = runs[is_learned]
    print("mean and logarithm of the deviation:", learn(learned).round(3).tolist())
    estimates = pd.Series(0.0, index=runs.index)
    distances = pd.Series(0.0, index=runs.index)
    largest = pd.Series(0.0, index=runs.index)
    for name, own in runs.groupby("table"):
        constants = learn(learned[learned.table != name])
        of_mean, of_spread = designs(own)
        middle = of_mean @ constants[:4]
        spread = np.exp(of_spread @ constants[4:])
        estimates[own.index] = expit(middle)
        distances[own.index] = (logit(own.share.clip(lower=0.003)) - middle) / spread
        largest[own.index] = np.maximum(expit(middle + WIDER * spread), own.bound.fillna(0.0))
    plain = (runs.bbe + runs.dedpul) / 2
    for name, among in (("learned from", is_learned), ("others", ~is_learned)):
        error = (estimates - runs.share)[among]
        print(f"{name}: {among.sum()} draws of {runs.table[among].nunique()} tables", end=", ")
        print(
            f"mean absolute error {error.abs().mean():.3f}, mean error {error.mean():+.3f}, of the plain mean", end=" "
        )
        print(f"{(plain - runs.share)[among].abs().mean():.3f}; within 1.15 x 1.645 deviations", end=" ")
        print(f"{(distances.abs() < WIDER)[among].mean():.3f}")
    table = by_labels(runs.assign(largest=largest)[~is_learned])
    print(table)
    return table


def by_labels(runs):
    """A table in Markdown: how often the largest share, `largest`, is one, and how far it is from the share."""
    classes = {"8 to 40 positives": runs.positives <= 40, "41 to 100": runs.positives.between(41, 100)}
    classes["101 to 400"] = runs.positives > 100
    auc = (runs.auc - runs.share / 2) / (1 - runs.share)
    classes |= {"AUC below .9": auc < 0.9, "AUC from .9 on": auc >= 0.9, "all": runs.positives > 0}
    lines = [["draws with", "draws", "mean share", "mean upper end", "share is at most the upper end"]]
    lines.append(["---", *["--:"] * 4])
    for name, among in classes.items():
        some = runs[among]
        means = [f"{mean:.2f}".lstrip("0") for mean in (some.share.mean(), some.largest.mean())]
        lines.append([name, str(len(some)), *means, f"{(some.share <= some.largest).mean():.0%}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--tables", nargs="*")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("prior_belief.csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    known = list_datasets()
    found = known[(known["where"] == "data home") & (known["rows"] >= LEAST_ROWS) & (known["columns"] < 1000)]
    keys = [(name, draw) for draw, name in product(range(options.draws), options.tables or found.index)]
    show(run_missing(options.out, ["table", "draw"], COLUMNS, keys, measure))


if __name__ == "__main__":
    main()
