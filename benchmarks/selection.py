"""The speed of the subset search of FSCRF, and what unlabeled rows add to a selection.

python benchmarks/selection.py             # speed; the thesis's tables are ``fewlabel bench fscrf``
FEWLABEL_DATA=folder python benchmarks/selection.py unlabeled [DRAWS]
"""

import resource
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

import fewlabel
from fewlabel.bench.data import as_numbers, multiclass

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


def noisy_table(n, d):
    """Uniform columns; every tenth is a little informative."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.random((n, d))
    X[:, : d // 10] += 0.3 * y[:, None]
    return X, y


def beside_the_reference(n=5_000, d=200, m=200, rounds=10, n_queries=5):
    """CPU seconds of `rounds` steps of the search and of the naive scores of the same candidates, on one thread.

    The naive side is timed on `n_queries` query rows of one candidate of each size, and multiplied up to all `m` query
    rows and all candidates of that size: a score is a sum over query rows, and costs the same for every candidate.
    """
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from reference.selection import subset_score

    X, y = noisy_table(n, d)
    options = dict(stop=None, max_samples=m, random_state=0)
    fewlabel.SubsetReliefSelector(2, **options).fit(X[:50], y[:50])  # compiles
    start = time.process_time()
    model = fewlabel.SubsetReliefSelector(rounds, **options).fit(X, y)
    ours = time.process_time() - start
    values, nominal, naive = (X - X.min(0)) / np.ptp(X, axis=0), np.zeros(d, dtype=bool), 0.0
    for size in range(1, rounds + 1):
        start = time.process_time()
        subset_score(values, nominal, y, model.path_[:size], range(n_queries), 10)
        naive += (time.process_time() - start) / n_queries * m * (d - size + 1)
    print(f"{n:,} x {d:,}, {m} sampled rows, {rounds} columns: {ours:.2f} s of one core")
    print(f"naive reference, extrapolated: {naive:.0f} s, {naive / ours:.0f} times as long", flush=True)


def whole_search(n=20_000, d=1_000):
    """The defaults, to the end of the search."""
    X, y = noisy_table(n, d)
    start, cpu = time.perf_counter(), time.process_time()
    model = fewlabel.SubsetReliefSelector(random_state=0, verbose=1).fit(X, y)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = np.count_nonzero(model.path_ < d // 10)
    print(f"{n:,} x {d:,}, defaults: {len(model.path_)} columns, {found} of the {d // 10} informative ones")
    print(f"{wall:.0f} s, {cpu:.0f} s of one core; peak memory {peak:.0f} MB, the table is {X.nbytes / 2**20:.0f} MB")


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
    if "unlabeled" in sys.argv:
        unlabeled(int(sys.argv[2]) if len(sys.argv) > 2 else 5)
    else:
        beside_the_reference()
        whole_search()
