"""PathNeighborsClassifier: the time of a fit beside its graph. The thesis's tables are ``make papers SUITE=paths``.

python -m benchmarks.speed.paths [--rows 200000]
FEWLABEL_DATA=folder python -m benchmarks.speed.paths --orders 3   # classes that change with the order of the rows
"""

import argparse
import platform
import resource
import time

import numpy as np
import pandas as pd
import sklearn
from sklearn.neighbors import NearestNeighbors

import fewlabel
from benchmarks.harness.data import multiclass

CATEGORICAL = [
    "audiology",
    "breast-cancer",
    "car",
    "dermatology",
    "kr-vs-kp",
    "lung-cancer",
    "promoters",
    "soybean",
    "tic-tac-toe",
    "vote",
]


def scale(n_rows, n_columns=20, n_classes=2):
    """The graph alone, then a fit, of ten Gaussian clusters; each once, after the kernels are compiled."""
    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3, size=(10, n_columns))
    part = rng.integers(10, size=n_rows)
    X = centers[part] + rng.normal(size=(n_rows, n_columns))
    y = np.full(n_rows, -1)
    labeled = rng.choice(n_rows, 200, replace=False)
    y[labeled] = part[labeled] % n_classes
    fewlabel.PathNeighborsClassifier().fit(X[labeled], y[labeled])
    graph = timed(lambda: NearestNeighbors(n_neighbors=10).fit(X).kneighbors_graph(mode="distance"))[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fit, model = timed(lambda: fewlabel.PathNeighborsClassifier(algorithm="exact").fit(X, y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    error = np.mean(model.transduction_ != part % n_classes)
    print(f"{n_rows:,} x {n_columns}, seconds (of CPU): graph alone {graph[0]:.1f} ({graph[1]:.1f}), ", end="")
    print(f"fit {fit[0]:.1f} ({fit[1]:.1f}), ratio {fit[0] / graph[0]:.3f} ({fit[1] / graph[1]:.3f}). ", end="")
    print(f"Peak memory: {before:.0f} MB after the graph, {peak:.0f} MB after the fit; ", end="")
    print(f"the table is {X.nbytes / 2**20:.0f} MB. Error {100 * error:.2f}%")


def orders(n_orders, share=0.2):
    """Share of the classes that change if the rows are permuted, on ten tables of categories."""
    for name in CATEGORICAL:
        data, y = multiclass(name)
        codes = data.apply(lambda column: pd.factorize(column)[0]).to_numpy(float)
        codes = np.where(codes < 0, np.nan, codes)
        few = fewlabel.hide_labels(y, labeled=share, mechanism="per-class", random_state=np.random.RandomState(0))
        for family in (fewlabel.PathNeighborsClassifier, fewlabel.LabelSpreadingClassifier):
            model = family(categorical_features=range(codes.shape[1]))
            found, changed = model.fit(codes, few).transduction_, 0
            for seed in range(n_orders):
                order = np.random.default_rng(seed).permutation(len(y))
                changed += np.count_nonzero(model.fit(codes[order], few[order]).transduction_ != found[order])
            print(
                f"{name}, {len(y)} rows, {family.__name__}: {changed} of {n_orders * len(y)} classes change", flush=True
            )


def timed(work):
    """Seconds on the clock and of CPU that some work takes, and what it returns."""
    start = time.perf_counter(), time.process_time()
    result = work()
    return (time.perf_counter() - start[0], time.process_time() - start[1]), result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--orders", type=int)
    arguments = parser.parse_args()
    if arguments.orders:
        orders(arguments.orders)
        return
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}")
    scale(arguments.rows)


if __name__ == "__main__":
    main()
