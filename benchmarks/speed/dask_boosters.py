"""PNU-AUCBoost on a Dask cluster of two workers on this machine, beside the in-memory fit and xgboost.dask.

Ours trains on 10% labeled and 90% unlabeled rows (gamma=0.95: all rows count), with 30% of the columns a round, or
all of them (--share 1.0); XGBoost's depth-1 booster on all true labels (--peer). Every side fits the same rows;
clusters are up, and kernels compiled, before timing. Processor time is that of all processes, Dask's own included.

    python -m benchmarks.speed.dask_boosters [--rows 4000000] [--columns 50] [--rounds 100] [--workers 2] [--share 0.3]
"""

import argparse
import resource
import time

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait

import fewlabel
from fewlabel import dask as spread


def make_block(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d), dtype=np.float32)
    score = X[:, :10].sum(axis=1) + np.abs(X[:, 10 % d]) + rng.normal(size=n)
    y = (score > 4.0).astype(np.int64)
    return X, y, np.where(rng.random(n) < 0.1, y, -1)


def blocks(rows, columns, n_blocks, part):
    size = rows // n_blocks
    shape = (size, columns) if part == 0 else (size,)
    kind = np.float32 if part == 0 else np.int64
    lazy = [da.from_delayed(_lazy(size, columns, k, part), shape, kind) for k in range(n_blocks)]
    return da.concatenate(lazy)


def _lazy(size, columns, seed, part):
    from dask import delayed

    return delayed(lambda: make_block(size, columns, seed)[part])()


def seconds(work, client=None):
    """Time on the clock, processor time of all processes, and the result."""
    start, cpu = time.perf_counter(), processor_time(client)
    found = work()
    return time.perf_counter() - start, processor_time(client) - cpu, found


def processor_time(client):
    return time.process_time() + (0.0 if client is None else sum(client.run(time.process_time).values()))


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def fit_peer(client, X, y, rounds):
    from xgboost import dask as xgboost_dask

    parameters = {"max_depth": 1, "tree_method": "hist", "objective": "binary:logistic", "nthread": 1}
    matrix = xgboost_dask.DaskDMatrix(client, X, y)
    return seconds(lambda: xgboost_dask.train(client, parameters, matrix, num_boost_round=rounds))[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.3)
    parser.add_argument("--peer", action="store_true")
    arguments = parser.parse_args()
    form = dict(n_estimators=arguments.rounds, gamma=0.95, random_state=0, max_features=arguments.share)
    n_blocks = 2 * arguments.workers
    with (
        LocalCluster(n_workers=arguments.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        X, y, few = (blocks(arguments.rows, arguments.columns, n_blocks, part).persist() for part in range(3))
        wait([X, y, few])
        small, few_small = X[:2000].rechunk((500, -1)), few[:2000].rechunk(500)
        spread.PNUAUCBoostClassifier(3).fit(small, few_small, client=client)
        before = peak()
        far, far_cpu, model = seconds(lambda: spread.PNUAUCBoostClassifier(**form).fit(X, few, client=client), client)
        after = peak()
        if arguments.peer:
            print(f"xgboost.dask: {fit_peer(client, X, y, arguments.rounds):.1f} s on the clock")
    parts = [make_block(arguments.rows // n_blocks, arguments.columns, k) for k in range(n_blocks)]
    X, few = np.vstack([p[0] for p in parts]), np.concatenate([p[2] for p in parts])
    fewlabel.PNUAUCBoostClassifier(3, n_jobs=2).fit_ranking(X[:30_000], few[:30_000])
    booster = fewlabel.PNUAUCBoostClassifier(**form, n_jobs=arguments.workers)
    near, near_cpu, local = seconds(lambda: booster.fit_ranking(X, few))
    same = np.mean(model.splits_["column"] == local.splits_["column"])
    size = f"{arguments.rows:,} x {arguments.columns}"
    print(f"{size}, {arguments.rounds} rounds, {arguments.share:.0%} of the columns, {arguments.workers} workers")
    print(f"on the clock: in memory {near:.1f} s, Dask {far:.1f} s ({far / near:.2f} times)")
    print(f"processor time: in memory {near_cpu:.1f} s, Dask {far_cpu:.1f} s ({far_cpu / near_cpu:.2f} times)")
    print(f"client: {after - before:+.2f} GiB of memory during the fit; the same column in {same:.0%} of the rounds")


if __name__ == "__main__":
    main()
