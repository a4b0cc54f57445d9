"""A cost model of `fewlabel.dask`, fitted to runs with 1, 2 and 4 workers here and checked on sizes it has not seen.

With n rows, d columns, d' of them drawn a round, W workers on c cores, and R rounds, a fit of PNU-AUCBoost takes

    T = fixed + merge d log2(2 W) + coding n d / c + R (histogram n d' / c + weighing n / c + message W)

seconds. The six numbers are found by non-negative least squares on relative errors. Traffic is read from the
loopback device, so it holds every byte of Dask's own, too. Writes dask_cost.json and prints the tables of
docs/scale.md.

    python -m benchmarks.speed.dask_cost [--out dask_cost.json] [--quick]
"""

import argparse
import itertools
import json
import os
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster, wait
from scipy.optimize import nnls

from benchmarks.speed.dask_boosters import blocks
from fewlabel import dask as spread

TERMS = ("fixed", "merge", "coding", "histogram", "weighing", "message")
CODES = 256 * 8  # bytes of a column's histogram


def drawn(d):
    return max(1, int(0.3 * d))


def features(run, cores):
    n, d, W, R = (run[name] for name in ("rows", "columns", "workers", "rounds"))
    c = min(W, cores)
    return np.array([1.0, d * np.log2(2 * W), n * d / c, R * n * drawn(d) / c, R * n / c, R * W])


def sent():
    """Bytes that have gone through the loopback device."""
    line = next(row for row in Path("/proc/net/dev").read_text().splitlines() if row.strip().startswith("lo:"))
    return int(line.split()[1])


def measure(sizes, workers, rounds):
    """Runs on one cluster: seconds and bytes for each size and number of rounds."""
    runs = []
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        for n, d in sizes:
            X, few = (blocks(n, d, 2 * workers, part).persist() for part in (0, 2))
            wait([X, few])
            spread.PNUAUCBoostClassifier(2, gamma=0.95, random_state=0).fit(X, few, client=client)
            for R in rounds:
                seen, before, start = [], sent(), time.perf_counter()
                spread.PNUAUCBoostClassifier(R, gamma=0.95, random_state=0).fit(
                    X, few, client=client, callback=lambda *step, seen=seen: seen.append(sent())
                )
                seconds, total = time.perf_counter() - start, sent() - before
                size = {"rows": n, "columns": d, "workers": workers, "rounds": R}
                traffic = {"bytes": total, "round_bytes": (seen[-1] - seen[0]) / (len(seen) - 1) / workers}
                runs.append({**size, "seconds": seconds, **traffic})
                print(runs[-1], flush=True)
            del X, few
    return runs


def fit(runs, cores):
    seconds = np.array([run["seconds"] for run in runs])
    A = np.array([features(run, cores) for run in runs]) / seconds[:, None]
    scale = A.max(axis=0)
    return nnls(A / scale, np.ones(len(runs)))[0] / scale


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("dask_cost.json"))
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    arguments = parser.parse_args()
    cores = os.cpu_count() or 1
    sizes = list(itertools.product((20_000, 40_000) if arguments.quick else (250_000, 1_000_000), (20, 50)))
    unseen = [((40_000, 30), 2, 30)] if arguments.quick else [((4_000_000, 50), 2, 100), ((2_000_000, 30), 4, 60)]
    runs = [run for workers in (1, 2, 4) for run in measure(sizes, workers, (20, 100))]
    constants = fit(runs, cores)
    print("\n| term | value |\n|---|---|")
    for name, value in zip(TERMS, constants):
        print(f"| {name} | {value:.3g} s |")
    fitted = [features(run, cores) @ constants / run["seconds"] for run in runs]
    print(f"\nfitted runs: predicted / measured {min(fitted):.2f} to {max(fitted):.2f}")
    checks = [measure([size], workers, (R,))[0] for size, workers, R in unseen]
    print("\n| rows | columns | workers | rounds | measured, s | predicted, s |\n|---|---|---|---|---|---|")
    for run in checks:
        size = f"{run['rows']:,} | {run['columns']} | {run['workers']} | {run['rounds']}"
        print(f"| {size} | {run['seconds']:.1f} | {features(run, cores) @ constants:.1f} |")
    print("\n| rows | columns | workers | bytes a round and worker | of them the histogram | bytes before and after |")
    print("|---|---|---|---|---|---|")
    for run in (run for run in runs if run["rounds"] == 100):
        once = run["bytes"] - run["round_bytes"] * run["rounds"] * run["workers"]
        size = f"{run['rows']:,} | {run['columns']} | {run['workers']}"
        print(f"| {size} | {run['round_bytes']:,.0f} | {drawn(run['columns']) * CODES:,} | {once:,.0f} |")
    large = {"rows": 10**9, "columns": 100, "workers": 100, "rounds": 150}
    parts = dict(zip(TERMS, features(large, 100) * constants))
    print(
        "\n1,000,000,000 x 100 on 100 workers of one core, 150 rounds:",
        {k: round(float(v), 1) for k, v in parts.items()},
    )
    content = {"cores": cores, "constants": dict(zip(TERMS, constants)), "runs": runs, "checks": checks}
    arguments.out.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()
