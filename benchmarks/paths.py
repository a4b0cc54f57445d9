"""PathNeighborsClassifier (NMSNN, MSNN): errors beside the thesis's Tables 6.2 to 6.6, and time beside the bare graph.

The seven sets of the semi-supervised benchmark of Chapelle, Schoelkopf and Zien, with its 12 official splits of 10 and
of 100 labelled rows; the error is that of the unlabelled rows. The thesis drew 10 splits of its own, so its numbers are
comparable in the mean only. Columns are scaled to [0, 1] over all rows for every method, as in the thesis; no parameter
is tuned. `--scale` times a fit on 200,000 x 20 against building its graph, and takes the peak of the memory.

    FEWLABEL_DATA=/path/to/data python benchmarks/paths.py [--sets Digit1,...] [--scale] [--rows 200000]
"""

import argparse
import os
import platform
import resource
import sys
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from scipy.sparse import csr_matrix, issparse
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import fewlabel

PUBLISHED = tomllib.loads((Path(__file__).parent / "paths.toml").read_text())
SETS = ("Digit1", "USPS", "COIL", "BCI", "g241c", "g241d", "Text")
THESIS = ("NMSNN", "MSNN", "1-NN", "LLGC")


def load(name):
    """Rows with columns in [0, 1] (sparse ones divided by their largest value), and classes as 0, 1, ..."""
    folder = Path(os.environ["FEWLABEL_DATA"])
    if (folder / f"ssl-{name}.npz").exists():
        z = np.load(folder / f"ssl-{name}.npz")
        X, y = csr_matrix((z["data"], z["indices"], z["indptr"]), shape=tuple(z["shape"])), z["target"]
        return MaxAbsScaler().fit_transform(X), np.unique(y, return_inverse=True)[1]
    table = pd.read_parquet(folder / f"ssl-{name}.parquet")
    y = np.unique(table.pop("target").astype(str), return_inverse=True)[1]
    return MinMaxScaler().fit_transform(table.to_numpy(dtype=float)), y


def splits(name, n_labelled):
    return np.load(Path(os.environ["FEWLABEL_DATA"]) / "ssl-splits.npz")[f"{name}_l{n_labelled}"]


def transductive(model, X, few):
    return model.fit(X, few).transduction_


def supervised(model, X, few):
    return model.fit(X[few >= 0], few[few >= 0]).predict(X)


def methods(sparse):
    paths = fewlabel.PathNeighborsClassifier
    yield "NMSNN", paths(), transductive
    yield "NMSNN, thesis's form", paths.thesis(), transductive
    yield "MSNN", paths(cost="length"), transductive
    yield "1-NN", KNeighborsClassifier(1), supervised
    yield "LabelSpreading, knn", LabelSpreading(kernel="knn", n_neighbors=10, alpha=0.99, max_iter=1000), transductive
    if not sparse:  # scikit-learn's kernel does not take sparse rows
        yield "LabelSpreading, rbf", LabelSpreading(gamma=1 / (2 * 0.15**2), alpha=0.99, max_iter=100), transductive
    yield "SVM, rbf", SVC(), supervised
    yield "SVM, linear", SVC(kernel="linear"), supervised


def run(name):
    X, y = load(name)
    for n_labelled in (10, 100):
        for split, chosen in enumerate(splits(name, n_labelled)):
            few = np.full(len(y), -1)
            few[chosen] = y[chosen]
            for method, model, predict in methods(issparse(X)):
                wrong = predict(model, X, few)[few < 0] != y[few < 0]
                yield name, n_labelled, split, method, 100 * wrong.mean()


def report(results):
    for n_labelled, group in results.groupby("labeled"):
        print(f"\n### {n_labelled} labelled rows: error in percent, mean (sd) over the official splits\n")
        cells = group.groupby(["method", "set"], sort=False).error.agg(["mean", "std"])
        text = cells.apply(lambda cell: f"{cell['mean']:.1f} ({cell['std']:.1f})", axis=1).unstack("set")
        at = PUBLISHED["labeled"].index(n_labelled)
        published = {name: PUBLISHED[name] for name in text.columns if name in PUBLISHED}
        for row in THESIS:
            values = {name: table[row][at] for name, table in published.items()}
            text.loc[f"thesis: {row}"] = {name: f"{100 - mean:.1f} ({sd:.1f})" for name, (mean, sd) in values.items()}
        print(text.fillna("-").reset_index().to_markdown(index=False))


def scale(n_rows, n_columns=20, n_classes=2):
    """The graph alone, then a fit, of ten Gaussian clusters; each once, after the kernels are compiled."""
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3, size=(10, n_columns))
    part = rng.integers(10, size=n_rows)
    X = centres[part] + rng.normal(size=(n_rows, n_columns))
    y = np.full(n_rows, -1)
    labelled = rng.choice(n_rows, 200, replace=False)
    y[labelled] = part[labelled] % n_classes
    fewlabel.PathNeighborsClassifier().fit(X[labelled], y[labelled])
    graph = timed(lambda: NearestNeighbors(n_neighbors=10).fit(X).kneighbors_graph(mode="distance"))[0]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fit, model = timed(lambda: fewlabel.PathNeighborsClassifier().fit(X, y))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    error = np.mean(model.transduction_ != part % n_classes)
    print(f"{n_rows:,} x {n_columns}, seconds (of CPU): graph alone {graph[0]:.1f} ({graph[1]:.1f}), ", end="")
    print(f"fit {fit[0]:.1f} ({fit[1]:.1f}), ratio {fit[0] / graph[0]:.3f} ({fit[1] / graph[1]:.3f}). ", end="")
    print(f"Peak memory: {before:.0f} MB after the graph, {peak:.0f} MB after the fit; ", end="")
    print(f"the table is {X.nbytes / 2**20:.0f} MB. Error {100 * error:.2f}%")


def timed(work):
    """Seconds on the clock and of CPU that some work takes, and what it returns."""
    start = time.perf_counter(), time.process_time()
    result = work()
    return (time.perf_counter() - start[0], time.process_time() - start[1]), result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--scale", action="store_true", help="time a fit instead")
    parser.add_argument("--rows", type=int, default=200_000)
    arguments = parser.parse_args()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}")
    if arguments.scale:
        scale(arguments.rows)
        return
    if not os.environ.get("FEWLABEL_DATA"):
        print("skipped: set FEWLABEL_DATA to a folder with ssl-Digit1.parquet, ..., ssl-splits.npz")
        return
    warnings.filterwarnings("ignore", message="max_iter", category=sklearn.exceptions.ConvergenceWarning)
    warnings.filterwarnings("ignore", message="invalid value", category=RuntimeWarning)  # rows without weight in rbf
    rows = []
    for name in arguments.sets.split(","):
        rows += run(name)
        print(f"{name} done", file=sys.stderr)
    report(pd.DataFrame(rows, columns=["set", "labeled", "split", "method", "error"]))


if __name__ == "__main__":
    main()
