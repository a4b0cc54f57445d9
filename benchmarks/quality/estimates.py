"""Whether figures with two classes hold on rows that come later: AUC, average precision, probabilities.

FEWLABEL_DATA=folder python -m benchmarks.quality.estimates CELLS [--draws 20] [--members quick|usual]

Labels are drawn at random: 15, 40, 100 or 300 of a table, at least 3 of each class. Members are observed cell by cell
into the folder CELLS, so that a run can be continued; from them functions of `AutoClassifier` compute its estimates,
with weights by the experience of other tables. The truth are up to 1,500 unlabeled rows. estimates.csv has the results;
runs that are in it are not made again. `--draws 0` compares other intervals without a fit.

The constants of the intervals (`TableBelief`) maximize the likelihood of the true AUCs given the out-of-fold ones; for
each table they are learned on the other tables. The last line has those of all tables, which are in the package.
"""

import argparse
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import truncnorm
from sklearn.metrics import log_loss, roc_auc_score

from benchmarks.quality.cells import SAME_ROWS, observe
from benchmarks.quality.experience import experience_without
from benchmarks.quality.intervals import LEAST, TABLES, load
from fewlabel.auto import default_members
from fewlabel.auto.crossfit import usual_repeats
from fewlabel.auto.intervals import RARER, TableBelief, angle_variance, distribution_free, posterior
from fewlabel.auto.members import BINARY, select_members
from fewlabel.auto.weights import auc, average_precision, weigh
from fewlabel.calibration import sigmoid_from_few
from fewlabel.files import atomic_write
from fewlabel.metrics.angles import to_angle
from fewlabel.rows import Rows

KEYS = ["table", "labels", "draw"]
LABELS = (15, 40, 100, 300)
MOST_UNLABELED = 1500
LEAST_UNLABELED = 150
QUICK = ("logistic regression", "linear discriminant", "RBF-SVM", "extra trees + components")
TRAINING_SHARE = 0.8
RANK_EDGE = 1e-6
WIDER_SPREAD = 1.25  # deviation over tables, for tables unlike those that the intervals were learned from
# Columns of the out-of-fold score and of the true one, and by how much more noise is assumed.
SCORES = {"auc": ("out_of_fold", "truth", 1.1), "precision": ("precision_out_of_fold", "precision_truth", 1.2)}


ENDS = {"auc": ("score", "low", "high"), "precision": ("precision_score", "precision_low", "precision_high")}


def draw_rows(y, n_labels, rng):
    """Labeled rows first; None if a table is too small, or its classes too unequal."""
    if len(y) < n_labels + LEAST_UNLABELED:
        return None
    for _ in range(2000):
        order = rng.permutation(len(y))
        if np.bincount(y[order[:n_labels]], minlength=2).min() >= LEAST:
            return order[: n_labels + MOST_UNLABELED]
    return None


def run(folder, n_draws, members, known):
    """Write the cells that are not there, but those of known runs."""
    folder.mkdir(parents=True, exist_ok=True)
    loaded = {}
    for draw in range(n_draws):
        for name in TABLES:
            for n_labels in LABELS:
                path = folder / f"{name}_{n_labels}_{draw}.npz"
                if path.exists() or (name, n_labels, draw) in known:
                    continue
                if name not in loaded:
                    loaded[name] = load(name)
                X, y = loaded[name]
                rng = np.random.default_rng([draw, n_labels, zlib.crc32(name.encode())])
                rows = draw_rows(y, n_labels, rng)
                if rows is not None:
                    about = {"table": name, "labels": n_labels, "draw": draw}
                    _write_cell(path, about, X[rows], y[rows], members)


def _write_cell(path, about, X, y, members):
    few = np.where(np.arange(len(y)) < about["labels"], y, -1)
    varies = np.nanstd(X, axis=0) > 0
    chosen = select_members(list(members), BINARY, True)[0]
    found = list(observe(BINARY, X[:, varies], few, chosen, about["draw"], usual_repeats(about["labels"])))
    with atomic_write(path) as file:
        np.savez_compressed(
            file,
            about=json.dumps({**about, "members": [name for name, *_ in found]}),
            y=y[few >= 0],
            hidden=y[few < 0],
            oof_ranks=np.array([ranks for _, ranks, *_ in found], dtype=np.float32),
            ranks=np.array([ranks[few < 0] for *_, ranks, _ in found], dtype=np.float32),
        )


def read_cell(path):
    """Arrays of a cell, and what they are about."""
    with np.load(path) as arrays:
        cell = {name: arrays[name] for name in arrays.files}
    return cell, json.loads(str(cell["about"]))


def measure(cell, about):
    """What a fit claims, and what is true."""
    rows = Rows(None, cell["y"].astype(int), np.arange(2))
    experience = experience_without(about["table"]).of(about["members"])
    weighing = weigh(rows, cell["oof_ranks"].astype(float), auc, experience, 0)
    ranks = (weighing.weights[:, None] * cell["ranks"][:, :, 0].astype(float)).sum(axis=0)
    scores = logit(np.clip(ranks, RANK_EDGE, 1 - RANK_EDGE))
    held_out = logit(np.clip(weighing.out_of_fold[:, 0], RANK_EDGE, 1 - RANK_EDGE))
    positive = rows.codes == 1
    truth = cell["hidden"] == 1
    slope, intercept = sigmoid_from_few(held_out, positive)
    # The interval that was used before there was a prior over tables.
    _, former_low, former_high = distribution_free(rows, weighing.out_of_fold, TRAINING_SHARE)
    return {
        **{name: about[name] for name in KEYS},
        "positives": int(positive.sum()),
        "negatives": int((~positive).sum()),
        "out_of_fold": roc_auc_score(positive, held_out),
        "former_width": former_high - former_low,
        "truth": roc_auc_score(truth, scores),
        "precision_out_of_fold": average_precision(positive, held_out),
        "precision_truth": average_precision(truth, scores),
        "log_loss": log_loss(truth, expit(slope * scores + intercept)),
    }


def learn(found, score="auc"):
    """The belief that makes the true scores likely, given the out-of-fold ones."""
    out_of_fold, truth, wider_noise = SCORES[score]
    found = found.dropna(subset=[truth])
    labels = found[["positives", "negatives"]].to_numpy(float)
    rarer = np.log(np.clip(labels.min(axis=1), *RARER) / 12)
    seen = to_angle(found[out_of_fold].to_numpy())
    true = to_angle(found[truth].to_numpy())
    unit = np.array([angle_variance(*counts, 1.0) for counts in labels])

    def loss(parameters):
        middle, growth, log_spread, log_noise = parameters
        prior = np.exp(-2 * log_spread)
        data = 1 / (np.exp(log_noise) * unit)
        expected = middle + growth * rarer
        observed = seen - growth * np.log(TRAINING_SHARE)
        mean = (prior * expected + data * observed) / (prior + data)
        deviation = (prior + data) ** -0.5
        ends = (np.array([[0.0], [np.pi]]) - mean) / deviation
        return -truncnorm.logpdf(true, *ends, loc=mean, scale=deviation).mean()

    start = [2.5, 0.15, np.log(0.4), np.log(0.4)]
    best = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-7, "maxiter": 2000})
    middle, growth, log_spread, log_noise = best.x
    spread = WIDER_SPREAD * np.exp(log_spread)
    noise = wider_noise * np.exp(log_noise)
    return TableBelief(*(round(float(value), 4) for value in (middle, growth, spread, noise)))


def with_intervals(found):
    """The runs with score and interval, by what the other tables say."""
    parts = []
    for name, part in found.groupby("table"):
        related = {name}.union(*(same for same in SAME_ROWS if name in same))
        others = found[~found["table"].isin(related)]
        for score, names in ENDS.items():
            belief = learn(others, score)
            values = part[[SCORES[score][0], "positives", "negatives"]].to_numpy(float)
            ends = np.full((len(part), len(names)), np.nan)
            # Some runs have no average precision.
            for k in np.flatnonzero(np.isfinite(values[:, 0])):
                ends[k] = posterior(*values[k], belief, share=TRAINING_SHARE)
            part = part.assign(**dict(zip(names, ends.T)))
        parts.append(part)
    return pd.concat(parts)


def summarize(found):
    """Coverage, misses on either side and widths by number of labels."""
    frame = found.assign(
        covers=(found["low"] <= found["truth"]) & (found["truth"] <= found["high"]),
        below=found["truth"] < found["low"],
        above=found["truth"] > found["high"],
        width=found["high"] - found["low"],
        error=(found["score"] - found["truth"]) ** 2,
    )
    names = ["covers", "width", "former_width", "truth", "log_loss"]
    by_labels = frame.groupby("labels")
    summary = by_labels[names].mean()
    counts = by_labels[["below", "above"]].sum().astype(int)
    return summary.assign(runs=by_labels.size(), **counts, error=by_labels["error"].mean() ** 0.5)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--members", choices=("quick", "usual"), default="quick")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".csv"))
    options = parser.parse_args()
    stored = pd.read_csv(options.out) if options.out.exists() else pd.DataFrame(columns=KEYS)
    members = QUICK if options.members == "quick" else default_members()
    run(options.folder, options.draws, members, set(stored[KEYS].itertuples(index=False, name=None)))
    new = pd.DataFrame([measure(*read_cell(path)) for path in sorted(options.folder.glob("*.npz"))])
    found = with_intervals(pd.concat([new, stored]).drop_duplicates(KEYS).sort_values(KEYS)).round(4)
    found.to_csv(options.out, index=False)
    print(summarize(found).round(3).to_string())
    told = found.dropna(subset=["precision_truth"])
    covers = (told["precision_low"] <= told["precision_truth"]) & (told["precision_truth"] <= told["precision_high"])
    width = (told["precision_high"] - told["precision_low"]).groupby(told["labels"]).mean()
    print(pd.DataFrame({"average precision covers": covers.groupby(told["labels"]).mean(), "width": width}).round(3))
    print(*(learn(found, score) for score in SCORES), sep="\n")


if __name__ == "__main__":
    main()
