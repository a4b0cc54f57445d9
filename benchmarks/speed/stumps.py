"""Speed of the stump engine beside XGBoost's and LightGBM's depth-1 boosting, both sides in one run.

All columns, and 30% of them per round, on both sides; 255 bins, two threads. The cost of a round is the slope between
a short and a long fit, so that neither compilation nor binning is in it; processor time of all threads, which other
load on the machine changes least, and time on the clock beside it. Ours in two forms: the defaults on all labels, as
the peers, and gamma=0.95 on 10% labeled and 90% unlabeled rows, which count with two weights each.

    python -m benchmarks.speed.stumps [--rows 1000000] [--columns 50] [--threads 2] [--repeats 7] [--labeled 0.15]

With `--labeled`, only rounds are measured, and the share of labeled rows is the given one.
"""

import argparse
import os
import platform
import time
import tracemalloc

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # the peers' threads do not spin: processor time is work

import lightgbm
import numba
import numpy as np
import xgboost

import fewlabel
from fewlabel import PNUAUCBoostClassifier


def make_table(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    score = X[:, :10] @ rng.normal(size=10).astype(np.float32) + np.abs(X[:, 10 % d]) + rng.normal(size=n)
    y = (score > np.quantile(score, 0.9)).astype(np.int64)
    return X, y, np.where(rng.random(n) < 0.1, y, -1)


def seconds(work, *args):
    """Processor time of all threads, and time on the clock."""
    clock, processor = time.perf_counter(), time.process_time()
    work(*args)
    return time.process_time() - processor, time.perf_counter() - clock


class Ours:
    name = "fewlabel PNU-AUCBoost, few labeled"
    gamma = 0.95

    def __init__(self, X, y, few, threads, share=1.0):
        self.X, self.y = X, few
        self.form = dict(gamma=self.gamma, max_features=share, n_jobs=threads, random_state=0)

    def learn(self, rounds):
        """The stumps alone: the peers choose no threshold either."""
        model = PNUAUCBoostClassifier(rounds, **self.form)
        model._fit(*model._read_rows(self.X, self.y))

    def fit(self, rounds):
        self.model = PNUAUCBoostClassifier(rounds, **self.form).fit_ranking(self.X, self.y)

    def predict(self, X):
        return self.model.decision_function(X)


class OursLabeled(Ours):
    name = "fewlabel PNU-AUCBoost, all labeled"
    gamma = 1.0

    def __init__(self, X, y, few, threads, share=1.0):
        super().__init__(X, y, y, threads, share)


class XGBoost:
    name = f"XGBoost {xgboost.__version__}, max_depth=1"

    def __init__(self, X, y, few, threads, share=1.0):
        self.data = xgboost.QuantileDMatrix(X, y, max_bin=255, nthread=threads)
        self.form = dict(max_depth=1, tree_method="hist", max_bin=255, nthread=threads, objective="binary:logistic")
        self.form["colsample_bytree"] = share

    def fit(self, rounds):
        self.model = xgboost.train(self.form, self.data, rounds)

    learn = fit

    def predict(self, X):
        return self.model.inplace_predict(X)


class LightGBM:
    name = f"LightGBM {lightgbm.__version__}, num_leaves=2"

    def __init__(self, X, y, few, threads, share=1.0):
        self.form = dict(num_leaves=2, max_bin=255, num_threads=threads, objective="binary", verbosity=-1)
        self.form["feature_fraction"] = share
        self.data = lightgbm.Dataset(X, y, params=dict(max_bin=255, verbosity=-1)).construct()

    def fit(self, rounds):
        self.model = lightgbm.train(self.form, self.data, rounds)

    learn = fit

    def predict(self, X):
        return self.model.predict(X, num_threads=self.form["num_threads"])


def cost_of_rounds(methods, short=5, long=45, repeats=7):
    """Seconds per round, of the processor and on the clock; methods take turns, and the least of each counts."""
    times = {m.name: [] for m in methods}
    for _ in range(repeats + 1):  # the first is a warm-up
        for m in methods:
            times[m.name].append((seconds(m.learn, short), seconds(m.learn, long)))
    return {name: np.subtract(*np.min(t[1:], axis=0)[::-1]) / (long - short) for name, t in times.items()}


def cost_of_scoring(methods, new, repeats=7):
    """Seconds to score rows with 500 rounds."""
    for m in methods:
        m.fit(500)
        m.predict(new)
    turns = [{m.name: seconds(m.predict, new) for m in methods} for _ in range(repeats)]
    return {m.name: np.min([turn[m.name] for turn in turns], axis=0) for m in methods}


def print_costs(title, cost, ours):
    print(f"\n### {title}\n")
    names = [m.name for m in ours]
    ratios = " | ".join(f"{name} / it" for name in names)
    print(f"| method | CPU ms | clock ms | {ratios} |")
    print("|---" * (3 + len(ours)) + "|")
    for name, (processor, clock) in cost.items():
        against = " | ".join(f"{cost[of][0] / processor:.3f}" for of in names)
        print(f"| {name} | {1e3 * processor:.1f} | {1e3 * clock:.1f} | {against} |", flush=True)


def rounds_and_scoring(n, d, threads, repeats, labeled=None):
    X, y, few = make_table(n, d)
    if labeled is not None:
        few = np.where(np.random.default_rng(1).random(n) < labeled, y, -1)
    for share in (1.0, 0.3):
        methods = [kind(X, y, few, threads, share) for kind in (Ours, OursLabeled, XGBoost, LightGBM)]
        cost = cost_of_rounds(methods, repeats=repeats)
        print_costs(f"A round, {n:,} x {d} float32, {share:.0%} of the columns, {threads} threads", cost, methods[:2])
    if labeled is not None:
        return
    scoring = cost_of_scoring(methods[1:], X[:200_000], repeats)
    print_costs("Scoring 200,000 rows with 500 rounds", scoring, methods[1:2])


def growth(d, threads, sizes=(100_000, 200_000, 400_000, 800_000, 1_600_000), rounds=50):
    print(f"\n### Fit time and memory by rows, {d} columns, {rounds} rounds, {threads} threads\n")
    print("| rows | fit, s | memory on top of X, bytes per cell |")
    print("|---|---|---|")
    times = []
    for n in sizes:
        X, _, few = make_table(n, d)
        model = PNUAUCBoostClassifier(rounds, gamma=0.95, max_features=1.0, n_jobs=threads, random_state=0)
        model.fit_ranking(X[:1000], few[:1000])  # warm-up
        times.append(min(seconds(model.fit_ranking, X, few)[1] for _ in range(3)))
        tracemalloc.start()
        model.fit_ranking(X, few)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"| {n:,} | {times[-1]:.2f} | {peak / X.size:.2f} |")
    exponent = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"\nFit time grows as n^{exponent:.3f} (least squares on the logarithms).")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--labeled", type=float)
    arguments = parser.parse_args()
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, Numba {numba.__version__}, "
        f"fewlabel {fewlabel.__version__}, {platform.processor() or platform.machine()}"
    )
    rounds_and_scoring(arguments.rows, arguments.columns, arguments.threads, arguments.repeats, arguments.labeled)
    if arguments.labeled is None:
        growth(arguments.columns, arguments.threads)


if __name__ == "__main__":
    main()
