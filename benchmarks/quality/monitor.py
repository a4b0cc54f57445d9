"""The AUC that `fewlabel monitor` expects on new rows, beside NannyML's, on shifted batches of 10 tables.

FEWLABEL_DATA=folder python -m benchmarks.quality.monitor --nannyml PYTHON [--labels 100 300 1000] [--draws 2]

A model is fitted to half of a table, with few labels drawn at random; batches of the other half are drawn at random
(none), by a column, along a direction of several columns that grows with time, or by the class (prior). NannyML's
CBPE is given the out-of-fold probabilities and the labels of the labeled rows, and the model's probabilities of the
batch; it runs in an environment of its own, whose interpreter `--nannyml` names. Runs in the file are not made again.
"""

import numpy as np

from fewlabel import load_dataset

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
    "creditcard-fraud",
    "dna",
    "hypothyroid",
    "letter",
    "mushroom",
    "optdigits",
    "pendigits",
    "splice",
    "twonorm",
    "waveform",
]
MOST_ROWS = 12_000
BATCH = 1000
# Log-odds of being in the batch change by these per standard deviation; with a prior, those of the class.
STRENGTHS = {"none": (0.0,), "column": (1.0, 2.0, 1.0, 2.0), "time": (0.5, 1.0, 1.5), "prior": (-1.1, 1.1)}


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
