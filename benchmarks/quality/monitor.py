"""The AUC that `fewlabel monitor` expects on new rows, beside NannyML's, on shifted batches of 10 tables.

FEWLABEL_DATA=folder python -m benchmarks.quality.monitor --nannyml PYTHON [--labels 100 300 1000] [--draws 1]

A model is fitted to half of a table, with few labels drawn at random; batches of the other half are drawn at random
(none), by a column, along a direction of several columns that grows with time, or by the class (prior). NannyML's
CBPE is given the out-of-fold probabilities and the labels of the labeled rows, and the model's probabilities of the
batch; it runs in an environment of its own, whose interpreter `--nannyml` names. Runs in the file are not made again.
"""

import argparse
import subprocess
import tempfile
import warnings
from functools import lru_cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from benchmarks.harness.resume import run_missing
from fewlabel import AutoClassifier, TableClassifier, load_dataset
from fewlabel.monitor import monitor_rows

TABLES = [
    "cod-rna-59k",
    "default-credit-card",
    "give-me-some-credit",
    "insurance-30pct",
    "kr-vs-kp",
    "nsl-kdd-20pct",
    "ringnorm",
    "sick",
    "surgical-deepnet",
    "unsw-nb15-test",
]
OTHERS = [
    "dna",
    "hypothyroid",
    "letter",
    "mushroom",
    "optdigits",
    "pendigits",
    "splice",
    "twonorm",
]
KEYS = ["table", "labels", "draw"]
COLUMNS = ["shift", "strength", "auc", "nannyml", "at_fit", "precision"]
COLUMNS += [f"{figure}_{end}" for figure in ("auc", "precision") for end in ("value", "low", "high")]
MOST_ROWS = 12_000
BATCH = 1000
# Log-odds of being in the batch change by these per standard deviation; with a prior, those of the class.
STRENGTHS = {"none": (0.0,), "column": (1.0, 2.0, 1.0, 2.0), "time": (0.5, 1.0, 1.5), "prior": (-1.1, 1.1)}


@lru_cache(maxsize=1)
def read(name):
    """A table in random order, and whether each row is of the rarest class with enough rows."""
    data = load_dataset(name)
    rows = np.random.default_rng(0).permutation(len(data.target))[:MOST_ROWS]
    counts = data.target.value_counts()
    rarest = counts[counts >= 0.03 * len(data.target)].idxmin() if len(counts) > 2 else counts.idxmin()
    return data.data.iloc[rows].reset_index(drop=True), (data.target.iloc[rows] == rarest).to_numpy()


def batches(features, y, rng):
    """Kind, strength and rows of each batch of the rows that no model has seen."""
    standard = np.nan_to_num((features - np.nanmean(features, axis=0)) / (np.nanstd(features, axis=0) + 1e-12))
    varying = np.flatnonzero(standard.std(axis=0) > 0.5)
    size = min(BATCH, len(y) // 2)
    for kind, strengths in STRENGTHS.items():
        # Time goes on in one direction; every other batch has a direction of its own.
        direction = rng.normal(size=3)
        several = standard[:, rng.choice(varying, 3)] @ direction / np.linalg.norm(direction)
        for strength in strengths:
            toward = several
            if kind == "column":
                toward = rng.choice([-1, 1]) * standard[:, rng.choice(varying)]
            if kind == "prior":
                toward = y.astype(float)
            weight = np.exp(strength * np.clip(toward, -3, 3))
            chosen = rng.choice(len(y), size, replace=False, p=weight / weight.sum())
            if 5 <= y[chosen].sum() <= size - 5:
                yield kind, strength, chosen


def fit(X, y, n_labels, rng):
    """A model of half of the rows with few labels, and the other half."""
    order = rng.permutation(len(y))
    known, new = np.split(order, [len(y) // 2])
    is_labeled = np.arange(len(known)) < n_labels
    target = pd.Series(np.where(is_labeled, y[known].astype(str), None), dtype=object)
    n_rarer = min(y[known[:n_labels]].sum(), (~y[known[:n_labels]]).sum())
    if n_rarer < 5 or 2 * n_labels > len(known):
        return None, new
    model = TableClassifier(AutoClassifier(n_jobs=1, random_state=0), positive="True", random_state=0)
    return model.fit(X.iloc[known].reset_index(drop=True), target), new


def by_nannyml(python, model, probability, chosen):
    """The AUC that CBPE expects of each batch."""
    baseline = model.model_.evidence.baseline
    slope, intercept = model.estimator_.calibration_
    saved = {"held_out": expit(slope * baseline.scores + intercept), "positive": baseline.positive}
    saved |= {"probability": probability, "batches": np.array(chosen)}
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder, "batches.npz"), **saved)
        script = Path(__file__).with_name("monitor_nannyml.py")
        subprocess.run([python, script, folder], check=True, env={"NML_DISABLE_USAGE_LOGGING": "1"})
        return pd.read_csv(Path(folder, "batches.csv"))["value"].tolist()


def measure(python, name, n_labels, draw):
    """One row per batch: the true AUC, what each expected, and the precision at the threshold."""
    X, y = read(name)
    rng = np.random.default_rng([n_labels, draw, 7])
    model, new = fit(X, y, n_labels, rng)
    if model is None:
        return []
    features = np.asarray(model.encoder_.transform(X.iloc[new]))
    found = list(batches(features, y[new], rng))
    probability = model.positive_proba(X.iloc[new])
    nannyml = by_nannyml(python, model, probability, [rows for *_, rows in found])
    flagged = np.asarray(model.predict(X.iloc[new])) == "True"
    records = []
    for (kind, strength, rows), theirs in zip(found, nannyml):
        truth = y[new[rows]]
        result = monitor_rows(model, X.iloc[new[rows]])
        record = {"shift": kind, "strength": strength}
        record |= {"auc": roc_auc_score(truth, probability[rows]), "nannyml": theirs}
        record["at_fit"] = result.at_fit.value
        record["precision"] = truth[flagged[rows]].mean() if flagged[rows].any() else np.nan
        for figure in ("auc", "precision"):
            estimate = result.expected.get(figure)
            for end in ("value", "low", "high"):
                record[f"{figure}_{end}"] = np.nan if estimate is None else getattr(estimate, end)
        records.append(record)
    return records


def summarize(runs):
    """Mean absolute errors of the AUC, and how often intervals contain the truth, by kind of shift and of all."""
    known = runs.dropna(subset=["auc_value"])
    both = pd.concat([known, known.assign(shift="all")])
    rows = {}
    for kind, group in both.groupby("shift"):
        flagged = group.dropna(subset=["precision"])
        rows[kind] = {
            "batches": len(group),
            "fewlabel": (group["auc_value"] - group["auc"]).abs().mean(),
            "NannyML": (group["nannyml"] - group["auc"]).abs().mean(),
            "AUC at fit": (group["at_fit"] - group["auc"]).abs().mean(),
            "AUC covered": group["auc"].between(group["auc_low"], group["auc_high"]).mean(),
            "AUC width": (group["auc_high"] - group["auc_low"]).mean(),
            "precision covered": flagged["precision"]
            .between(flagged["precision_low"], flagged["precision_high"])
            .mean(),
        }
    return pd.DataFrame(rows).T


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nannyml", metavar="PYTHON", help="Interpreter with NannyML; without it, only summarize.")
    parser.add_argument("--tables", nargs="+", default=[*TABLES, *OTHERS])
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 300, 1000])
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("monitor.csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore", category=UserWarning)
    keys = product(options.tables if options.nannyml else [], options.labels, range(options.draws))
    runs = run_missing(options.out, KEYS, COLUMNS, keys, partial(measure, options.nannyml))
    for title, tables in (("10 tables", TABLES), ("8 other tables", OTHERS)):
        print(title, summarize(runs[runs["table"].isin(tables)]).round(3).to_string(), sep="\n")


if __name__ == "__main__":
    main()
