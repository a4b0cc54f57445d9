"""The self-labeling wrappers on 20 tables: which base classifier is the default, and what the guard changes.

FEWLABEL_DATA=folder python -m benchmarks.quality.self_labeling bases   # base classifiers on the labeled rows alone
FEWLABEL_DATA=folder python -m benchmarks.quality.self_labeling guard [--bases NAME ...] [--out FILE.csv]

10 draws per table: 70% of the rows for training, of which 10% keep their labels (at least 3 per class). Accuracy on the
other rows, in percent; `guard` prints the change by the wrapper against its base classifier alone. The file is resumed.
"""

import argparse
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.harness.data import as_numbers, multiclass
from benchmarks.harness.resume import run_missing
from fewlabel import CrossTrainingClassifier, hide_labels

TABLES = [
    "breast-cancer",
    "bupa",
    "colic",
    "credit-g",
    "dermatology",
    "fourclass",
    "glass",
    "heart-statlog",
    "ionosphere",
    "iris",
    "monk-2",
    "pima",
    "sonar",
    "soybean",
    "tic-tac-toe",
    "vehicle0",
    "vote",
    "vowel",
    "wdbc",
    "wine",
]
BASES = {
    "tree, 5 per leaf": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
    "tree": DecisionTreeClassifier(random_state=0),
    "naive Bayes": GaussianNB(),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "extra trees": ExtraTreesClassifier(50, random_state=0),
}

N_DRAWS = 10


def draw_table(name, draw):
    """Training rows, their few labels, test rows and classes."""
    data, y = multiclass(name)
    kept = np.isin(y, np.flatnonzero(np.bincount(y) >= 10))
    data, y = data[kept], y[kept]
    train, test = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=draw)
    X = as_numbers(data, train)
    few = hide_labels(y[train], labeled=0.1, mechanism="per-class", random_state=np.random.RandomState(draw))
    for code in np.unique(y):  # at least three of each class
        own = np.flatnonzero(y[train] == code)
        more = np.random.default_rng(draw).permutation(own[few[own] < 0])
        few[more[: max(0, 3 - np.count_nonzero(few[own] >= 0))]] = code
    return X[train], few, X[test], y[test]


def accuracy(base, A, few, B, b):
    known = few >= 0
    return 100 * clone(base).fit(A[known], few[known]).score(B, b)


def bases():
    rows = []
    for name in TABLES:
        for draw in range(N_DRAWS):
            drawn = draw_table(name, draw)
            rows.append({"table": name} | {base: accuracy(model, *drawn) for base, model in BASES.items()})
    means = pd.DataFrame(rows).groupby("table").mean()
    ranks = means.rank(axis=1, ascending=False).mean()
    print(f"{len(means)} tables, 10 draws\n\n| base | mean accuracy | mean rank | best on |\n| --- | --- | --- | --- |")
    for base in BASES:
        best = (means[base] == means.max(axis=1)).sum()
        print(f"| {base} | {means[base].mean():.1f} | {ranks[base]:.2f} | {best} |")


def measure(base, table, draw):
    """The row of one run: accuracy of the base, how cross-training changes it, and whether it took labels."""
    A, few, B, b = draw_table(table, draw)
    alone = accuracy(BASES[base], A, few, B, b)
    model = CrossTrainingClassifier(BASES[base], random_state=draw).fit(A, few)
    return [[alone, 100 * model.score(B, b) - alone, model.best_iter_ > 0]]


def guard(names, out):
    keys = product(names, TABLES, range(N_DRAWS))
    frame = run_missing(out, ["base", "table", "draw"], ["alone", "change", "taken"], keys, measure)
    for base, part in frame.groupby("base"):
        by_table = part.groupby("table")["change"]
        means, errors = by_table.mean(), by_table.std() / np.sqrt(by_table.count())
        worse = means[means < -2 * errors]
        print(f"{base}: {len(part)} runs of {len(means)} tables; labels taken in {int(part['taken'].sum())}; ", end="")
        print(f"mean change {part['change'].mean():+.3f} points, worst run {part['change'].min():+.1f}; ", end="")
        print(f"tables worse by more than 2 standard errors: {', '.join(worse.index) or 'none'}", end="")
        changed = part.loc[part["change"] != 0, "change"]
        print(f"; Wilcoxon p = {wilcoxon(changed).pvalue:.2g}" if len(changed) > 5 else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("bases", "guard"))
    parser.add_argument("--bases", nargs="*", default=["tree, 5 per leaf", "tree", "naive Bayes"])
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("self_labeling.csv"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    bases() if arguments.what == "bases" else guard(arguments.bases, arguments.out)


if __name__ == "__main__":
    main()
