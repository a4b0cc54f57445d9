"""Cost of a round of symmetric trees beside CatBoost's, both sides in one run.

All columns and all cuts on both sides, depth 6, 16 bins, no bootstrap, one thread unless told otherwise. All rows are
labeled: ours boosts the pairwise logistic loss, CatBoost the logistic loss of rows. The cost of a round is the slope
between a short and a long fit, so that neither compilation nor binning is in it. Processor time, which other load on
the machine changes least.

    python -m benchmarks.speed.trees [--rows 1000000] [--columns 50] [--threads 1]
    python -m benchmarks.speed.trees --fits

`--fits` is for whole fits of few rows with the defaults of both sides, ours with out-of-fold calibration.
"""

import argparse
import platform
import time

import catboost
import numba
import numpy as np

import fewlabel
from benchmarks.speed.stumps import make_table
from fewlabel import TreeAUCBoostClassifier

DEPTH, BINS = 6, 16


class Ours:
    name = "fewlabel TreeAUCBoostClassifier"

    def __init__(self, X, y, threads, **parameters):
        self.X, self.y = X, y
        greedy = dict(splitter="best", split_noise=0.0, max_features=1.0, bootstrap=False)
        self.form = dict(max_depth=DEPTH, max_bins=BINS, n_jobs=threads, random_state=0) | greedy | parameters

    def fit(self, rounds):
        TreeAUCBoostClassifier(rounds, **self.form).fit_ranking(self.X, self.y)


class Defaults(Ours):
    name = "fewlabel TreeAUCBoostClassifier, defaults but for the bins"

    def __init__(self, X, y, threads):
        super().__init__(X, y, threads, splitter="mixed", split_noise=0.5, max_features="sqrt", bootstrap=True)


class CatBoost:
    name = f"CatBoost {catboost.__version__}"

    def __init__(self, X, y, threads):
        self.data = catboost.Pool(X, y)
        self.data.quantize(border_count=BINS - 1)
        self.form = dict(
            depth=DEPTH,
            boosting_type="Plain",
            bootstrap_type="No",
            random_strength=0,
            leaf_estimation_iterations=1,
            thread_count=threads,
            verbose=False,
            allow_writing_files=False,
        )

    def fit(self, rounds):
        catboost.CatBoostClassifier(rounds, **self.form).fit(self.data)


def seconds(work, *args):
    start = time.process_time()
    work(*args)
    return time.process_time() - start


def whole_fits(repeats, columns=20):
    """Default fits of few labeled rows, in turns; the least time of each counts."""
    print("| labeled rows | ours, CPU s | without calibration | CatBoost | ours / CatBoost |\n|---|---|---|---|---|")
    for n in (100, 300, 800, 1500):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, columns))
        y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)
        ours = TreeAUCBoostClassifier(random_state=0)
        peer = catboost.CatBoostClassifier(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)
        turns = [[seconds(fit, X, y) for fit in (ours.fit, ours.fit_ranking, peer.fit)] for _ in range(repeats + 1)]
        fit, ranking, of_peer = np.min(turns[1:], axis=0)  # the first is a warm-up
        print(f"| {n:,} | {fit:.2f} | {ranking:.2f} | {of_peer:.2f} | {fit / of_peer:.2f} |", flush=True)


def main(short=2, long=12):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--fits", action="store_true")
    arguments = parser.parse_args()
    if arguments.fits:
        whole_fits(arguments.repeats)
        return
    n, d, threads = arguments.rows, arguments.columns, arguments.threads
    X, y, _ = make_table(n, d)
    methods = [kind(X, y, threads) for kind in (Ours, CatBoost, Defaults)]
    times = {m.name: [] for m in methods}
    for turn in range(arguments.repeats + 1):  # the first is a warm-up; then methods take turns, and the least counts
        for m in methods:
            times[m.name].append((seconds(m.fit, short), seconds(m.fit, long if turn else short)))
    cost = {name: np.subtract(*np.min(t[1:], axis=0)[::-1]) / (long - short) for name, t in times.items()}
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}, "
        f"fewlabel {fewlabel.__version__}\n\n{n:,} x {d} float32, depth {DEPTH}, {BINS} bins, {threads} thread(s)\n"
    )
    print("| method | CPU ms per round | it / CatBoost |\n|---|---|---|")
    for name, value in cost.items():
        print(f"| {name} | {1e3 * value:.0f} | {value / cost[CatBoost.name]:.2f} |")


if __name__ == "__main__":
    main()
