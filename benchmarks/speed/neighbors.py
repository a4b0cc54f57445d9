"""Graphs of nearest neighbors: ours beside other libraries, in time, recall and memory; then whole fits on many rows.

python -m benchmarks.speed.neighbors libraries [--rows 100000]   # each library in a process of its own, one thread
python -m benchmarks.speed.neighbors fits [--rows 1000000]       # the graph, and fits of the two classifiers on it

Rows are ten Gaussian clusters in 30 columns; 10 neighbors. Libraries that are not installed are left out: pip install
pynndescent hnswlib usearch faiss-cpu. Recall is the share of the true neighbors of 500 rows that are found.
"""

import argparse
import os
import platform
import resource
import subprocess
import sys
import time

N_COLUMNS, K = 30, 10
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


def clusters(n_rows):
    """Rows, and the cluster of each."""
    import numpy as np

    rng = np.random.default_rng(0)
    centers = rng.normal(scale=3, size=(10, N_COLUMNS))
    part = rng.integers(10, size=n_rows)
    return centers[part] + rng.normal(size=(n_rows, N_COLUMNS)), part


def ours(X):
    from fewlabel.neighbors import RowSearch

    return RowSearch(X, "euclidean", "approximate", K, None, 0).graph()[0]


def exact(X):
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X).kneighbors(return_distance=False)


def pynndescent(X):
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=K + 1, n_jobs=1, random_state=0).neighbor_graph[0][:, 1:]


def pynndescent_longer(X):
    from pynndescent import NNDescent

    return NNDescent(X, n_neighbors=30, n_jobs=1, random_state=0).neighbor_graph[0][:, 1 : K + 1]


def hnswlib(X):
    import hnswlib

    index = hnswlib.Index("l2", X.shape[1])
    index.init_index(len(X), M=16, ef_construction=200, random_seed=0)
    index.add_items(X, num_threads=1)
    index.set_ef(100)
    return index.knn_query(X, K + 1, num_threads=1)[0][:, 1:]


def usearch(X):
    import numpy as np
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32", connectivity=16, expansion_add=200, expansion_search=100)
    index.add(np.arange(len(X)), X.astype(np.float32), threads=1)
    return index.search(X.astype(np.float32), K + 1, threads=1).keys[:, 1:]


def faiss_hnsw(X):
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 200, 100
    return _faiss(index, X)


def faiss_cells(X):
    import faiss

    n_cells = int(4 * len(X) ** 0.5)
    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_cells)
    index.nprobe = n_cells // 16
    return _faiss(index, X)


def _faiss(index, X):
    import faiss

    faiss.omp_set_num_threads(1)
    X = X.astype("float32")
    index.train(X)
    index.add(X)
    return index.search(X, K + 1)[1][:, 1:]


METHODS = (exact, ours, pynndescent, pynndescent_longer, hnswlib, usearch, faiss_hnsw, faiss_cells)


def measure(name, n_rows):
    """One library: build the graph of all rows once, after a small one that loads and compiles."""
    build = {method.__name__: method for method in METHODS}[name]
    X, _ = clusters(n_rows)
    build(X[:2000])
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = build(X)
    seconds = time.process_time() - start
    peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return f"| {name} | {seconds:.1f} | {recall(X, found):.3f} | {peak:.0f} |"


def recall(X, found):
    """Share of the true neighbors of 500 rows."""
    import numpy as np

    rows = np.random.default_rng(1).choice(len(X), 500, replace=False)
    squares = (X**2).sum(axis=1)
    hits = 0
    for row in rows:
        distance = squares - 2 * (X @ X[row])
        distance[row] = np.inf
        hits += np.isin(np.argpartition(distance, K)[:K], found[row]).sum()
    return hits / (K * len(rows))


def libraries(n_rows):
    environment = {**os.environ, **dict.fromkeys(THREADS, "1")}
    print(f"{n_rows:,} x {N_COLUMNS}, one thread\n\n| library | CPU s | recall | more memory, MB |")
    print("| --- | --- | --- | --- |", flush=True)
    for method in METHODS:
        command = [sys.executable, __file__, "one", "--rows", str(n_rows), "--library", method.__name__]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        print(done.stdout.strip() or f"| {method.__name__} | {done.stderr.strip().splitlines()[-1]} | | |", flush=True)


class OneGraph:
    """Mixin: the first fit builds the graph and notes its time; the others take it over."""

    search, seconds = None, None

    def _make_search(self):
        if OneGraph.search is None:
            start = clock()
            search = super()._make_search()
            found = search.graph()
            OneGraph.seconds = clock() - start
            search.graph = lambda: found
            OneGraph.search = search
        return OneGraph.search


def clock():
    import numpy as np

    return np.array([time.process_time(), time.perf_counter()])


def fits(n_rows, n_jobs):
    """The graph, its recall on 500 rows, whole fits of the two classifiers, scikit-learn's exact graph if it can be."""
    import numpy as np

    import fewlabel

    X, part = clusters(n_rows)
    y = np.full(n_rows, -1)
    labeled = np.random.default_rng(2).choice(n_rows, 200, replace=False)
    y[labeled] = part[labeled] % 2
    few = np.where(np.arange(2000) < 20, part[:2000] % 2, -1)
    print(f"{n_rows:,} x {N_COLUMNS}, {n_jobs} threads; CPU s (s on the clock)", flush=True)
    for family in fewlabel.PathNeighborsClassifier, fewlabel.LabelSpreadingClassifier:
        family(algorithm="approximate", random_state=0).fit(X[:2000], few)  # compiles
        model = type(family.__name__, (OneGraph, family), {"__init__": family.__init__})(n_jobs=n_jobs, random_state=0)
        first, start = OneGraph.search is None, clock()
        model.fit(X, y)
        total = clock() - start + (0 if first else OneGraph.seconds)
        if first:
            found = recall(OneGraph.search.rows, OneGraph.search.graph()[0])
            print(f"graph {show(OneGraph.seconds)}, recall {found:.3f}, said to be {model.recall_:.3f}")
        error = np.mean(model.transduction_ != part % 2)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(
            f"{family.__name__}: {show(total)}, {total[0] / OneGraph.seconds[0]:.3f} of the graph's CPU time, ", end=""
        )
        print(f"error {100 * error:.2f}%, peak so far {peak:.2f} GiB", flush=True)
    if n_rows <= 100_000:
        exact(X[:2000])
        start = clock()
        exact(X)
        print(f"scikit-learn's exact graph {show(clock() - start)}")


def show(seconds):
    return f"{seconds[0]:.1f} ({seconds[1]:.1f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("libraries", "fits", "one"))
    parser.add_argument("--rows", type=int)
    parser.add_argument("--library")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.what == "one":
        print(measure(arguments.library, arguments.rows))
        return
    print(f"Python {platform.python_version()}")
    if arguments.what == "libraries":
        libraries(arguments.rows or 100_000)
    else:
        fits(arguments.rows or 1_000_000, arguments.threads)


if __name__ == "__main__":
    main()
