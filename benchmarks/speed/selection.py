"""The speed of the subset search of FSCRF; the thesis's tables are ``make papers SUITE=fscrf``.

python -m benchmarks.speed.selection
"""

import resource
import sys
import time
from pathlib import Path

import numpy as np

import fewlabel


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
    sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
    from reference.selection import subset_score

    X, y = noisy_table(n, d)
    options = dict(search="full", max_samples=m, random_state=0)
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
    model = fewlabel.SubsetReliefSelector(random_state=0).fit(X, y)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = np.count_nonzero(model.path_ < d // 10)
    print(f"{n:,} x {d:,}, defaults: {len(model.path_)} columns, {found} of the {d // 10} informative ones")
    print(f"{wall:.0f} s, {cpu:.0f} s of one core; peak memory {peak:.0f} MB, the table is {X.nbytes / 2**20:.0f} MB")


if __name__ == "__main__":
    beside_the_reference()
    whole_search()
