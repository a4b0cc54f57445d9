"""`fewlabel predict` beside reading the same file with Arrow: processor time, time on the clock, and memory.

The table has 12 numbers, a category and a date; the model is a logistic regression. Reading and predicting take turns,
each in a process of its own; the start of each process, imports and loading included, is measured on 1,000 rows and
subtracted in the ratio "per row".

    python -m benchmarks.speed.predict [--megabytes 2000] [--repeats 1]
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import csv, parquet

_READ = {
    "csv": "import sys; from pyarrow import csv; [None for batch in csv.open_csv(sys.argv[1])]",
    "parquet": "import sys; import pyarrow.parquet as pq\n"
    "[None for b in pq.ParquetFile(sys.argv[1], pre_buffer=False).iter_batches()]",
}


def make_rows(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 12))
    table = pd.DataFrame(X, columns=[f"x{k}" for k in range(12)])
    table["region"] = rng.choice(["north", "south", "east", "west", "center"], n)
    days = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, n), unit="D")
    table["day"] = days.strftime("%Y-%m-%d")
    return table, X[:, 0] + X[:, 1] / 2 + (table["region"] == "north") + rng.normal(size=n) > 1


def make_files(folder, megabytes):
    """A model, a small table, and a large one as CSV and Parquet."""
    rows, bad = make_rows(1000, 0)
    labels = np.where(np.arange(1000) < 300, np.where(bad, "bad", "good"), "")
    rows.assign(y=labels).to_csv(folder / "fit.csv", index=False)
    rows.to_csv(folder / "small.csv", index=False)
    rows.to_parquet(folder / "small.parquet")
    fit = ["fit", "fit.csv", "--target", "y", "--method", "logistic-regression", "--quiet"]
    subprocess.run([sys.executable, "-m", "fewlabel", *fit], cwd=folder, check=True)
    writers, seed = {}, 1
    while seed == 1 or (folder / "large.csv").stat().st_size < megabytes * 1e6:
        table = pa.Table.from_pandas(make_rows(200_000, seed)[0], preserve_index=False)
        if not writers:
            form = csv.WriteOptions(quoting_style="none")
            writers = {
                "csv": csv.CSVWriter(folder / "large.csv", table.schema, write_options=form),
                "parquet": parquet.ParquetWriter(folder / "large.parquet", table.schema),
            }
        for writer in writers.values():
            writer.write_table(table)
        seed += 1
    for writer in writers.values():
        writer.close()
    return 200_000 * (seed - 1)


def measure(command, folder):
    """Processor time and time on the clock of a process, and the most memory of any so far in GiB."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *command], cwd=folder, check=True, stderr=subprocess.DEVNULL)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, clock, after.ru_maxrss / 2**20


def table(megabytes, repeats):
    """Rows of the result: one per format."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_rows = make_files(folder, megabytes)
        for kind in ("csv", "parquet"):
            jobs = {
                "start": ["-m", "fewlabel", "predict", "model.fewlabel", f"small.{kind}", "--out", f"out.{kind}"],
                "start to read": ["-c", _READ[kind], f"small.{kind}"],
                "read": ["-c", _READ[kind], f"large.{kind}"],
                "predict": ["-m", "fewlabel", "predict", "model.fewlabel", f"large.{kind}", "--out", f"out.{kind}"],
            }
            turns = [{job: measure(command, folder) for job, command in jobs.items()} for _ in range(repeats)]
            cpu, clock = ({job: min(turn[job][k] for turn in turns) for job in jobs} for k in range(2))
            found.append(
                {
                    "format": kind,
                    "rows": n_rows,
                    "MB": round(os.path.getsize(folder / f"large.{kind}") / 1e6),
                    "read, CPU s": round(cpu["read"], 2),
                    "predict, CPU s": round(cpu["predict"], 2),
                    "start, CPU s": round(cpu["start"], 2),
                    "ratio, CPU": round(cpu["predict"] / cpu["read"], 2),
                    "ratio per row, CPU": round(
                        (cpu["predict"] - cpu["start"]) / (cpu["read"] - cpu["start to read"]), 2
                    ),
                    "ratio, clock": round(clock["predict"] / clock["read"], 2),
                    "peak, GiB": round(max(turn["predict"][2] for turn in turns), 2),
                }
            )
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    for found in table(arguments.megabytes, arguments.repeats):
        print(", ".join(f"{name}: {value}" for name, value in found.items()))


if __name__ == "__main__":
    main()
