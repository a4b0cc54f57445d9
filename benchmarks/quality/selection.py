"""What unlabeled rows add to a selection of columns.

FEWLABEL_DATA=folder python -m benchmarks.quality.selection [DRAWS]
"""

import sys

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import fewlabel
from benchmarks.harness.data import as_numbers, multiclass

TABLES = [
    "breast-cancer",
    "colic",
    "credit-g",
    "dermatology",
    "german.numer",
    "glass",
    "heart-statlog",
    "ionosphere",
    "pima",
    "promoters",
    "sonar",
    "soybean",
    "splice",
    "svmguide4",
    "vehicle0",
    "vote",
    "vowel",
    "wdbc",
    "wine",
    "wisconsin",
]


def unlabeled(n_draws):
    """Test accuracy with 30% of the columns, selected with 4 labels per class, with unlabeled rows, with all labels.

    20 tables; half of the rows for training. The classifier, extra trees or naive Bayes, learns from the few labels.
    """
    rows = []
    for name in TABLES:
        data, y = multiclass(name)
        kept = np.isin(y, np.flatnonzero(np.bincount(y) >= 12))
        data, y = data[kept], pd.factorize(y[kept], sort=True)[0]
        for draw in range(n_draws):
            train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=draw)
            few = np.full(len(train), -1)
            for code in np.unique(y):
                own = np.random.default_rng(draw).permutation(np.flatnonzero(y[train] == code))[:4]
                few[own] = code
            table, known = data.iloc[train], few >= 0
            relief = fewlabel.ReliefFSelector(0.3, random_state=draw)
            selections = {
                "labels": lambda: relief.fit(table, few),  # noqa: B023
                "pseudo-labels": lambda: fewlabel.PseudoLabelSelector(relief, random_state=draw).fit(table, few),  # noqa: B023
                "LSDF": lambda: fewlabel.GraphScoreSelector("lsdf", n_features_to_select=0.3).fit(table, few),  # noqa: B023
                "all labels": lambda: relief.fit(table, y[train]),  # noqa: B023
            }
            for method, select in selections.items():
                chosen = as_numbers(data.loc[:, select().get_support()], train)
                for classifier in (ExtraTreesClassifier(100, random_state=0), GaussianNB()):
                    model = classifier.fit(chosen[train[known]], few[known])
                    accuracy = 100 * model.score(chosen[test], y[test])
                    rows.append((name, draw, method, type(classifier).__name__, accuracy))
    frame = pd.DataFrame(rows, columns=["table", "draw", "method", "classifier", "accuracy"])
    for classifier, part in frame.groupby("classifier"):
        means = part.pivot_table(index="table", columns="method", values="accuracy")
        print(f"{classifier}, {len(means)} tables, {n_draws} draws: {means.mean().round(1).to_dict()}")
        for method in ("pseudo-labels", "LSDF"):
            difference = means[method] - means["labels"]
            error = difference.std() / np.sqrt(len(difference))
            print(f"  {method} less labels only: {difference.mean():+.2f} ± {error:.2f}; better on ", end="")
            print(
                f"{(difference > 0).sum()} of {len(means)}; Wilcoxon p = {wilcoxon(difference).pvalue:.3f}", flush=True
            )


if __name__ == "__main__":
    unlabeled(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
