"""`fewlabel fit --engine dask` on a large table with 500 labels, beside one reading pass: time and memory.

    python -m benchmarks.speed.big_table make FOLDER [--rows 100000000]
    python -m benchmarks.speed.big_table fit FOLDER
    python -m benchmarks.speed.big_table predict FOLDER [--files 2]
    python -m benchmarks.speed.big_table agree FOLDER --rows 1000000 [--judged 200000]

The table has 19 numbers and a category, as Parquet files of two million rows. `fit` and `predict` first read it once
with Arrow; memory is the most of any process. `agree` fits the same methods to the labels and many more unlabeled rows
in memory, and gives the Spearman correlation of both rankings of other rows.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS_PER_FILE, LABELS = 2_000_000, 500
_READ = """
import sys, pyarrow.parquet as pq
for path in sys.argv[1:]:
    [None for batch in pq.ParquetFile(path, pre_buffer=False).iter_batches()]
"""


def make_rows(n, seed, n_labeled):
    """Rows whose class depends on a product and two sums; `n_labeled` of them, drawn at random, have a label."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((19, n), dtype=np.float32)
    region = rng.integers(0, 5, n)
    bad = X[0] * X[1] + X[2] + X[3] / 2 + (region == 0) + rng.standard_normal(n, dtype=np.float32) > 1
    chosen = np.zeros(n, dtype=bool)
    chosen[rng.choice(n, n_labeled, replace=False)] = True
    places = ["north", "south", "east", "west", "center"]
    columns = {f"x{k}": X[k] for k in range(19)} | {"region": pa.DictionaryArray.from_arrays(region, places)}
    return pa.table({**columns, "y": pa.array(np.where(bad, "bad", "good"), mask=~chosen)})


def make(folder, rows):
    folder.mkdir(parents=True, exist_ok=True)
    n_files = -(-rows // ROWS_PER_FILE)
    shares = np.random.default_rng(0).multinomial(LABELS, np.full(n_files, 1 / n_files))
    for k, n_labeled in enumerate(shares):
        n = min(ROWS_PER_FILE, rows - k * ROWS_PER_FILE)
        path = folder / f"part{k:03d}.parquet"
        pq.write_table(make_rows(n, k, int(n_labeled)), path, row_group_size=2**18, use_dictionary=["region", "y"])


class Usage:
    """Processor time of a command and its children, time on the clock, and the most memory of any of its processes."""

    def __init__(self, command):
        start = time.perf_counter()
        self._peaks, self._cpu = {}, {}
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        watch = threading.Thread(target=self._watch, args=(process,))
        watch.start()
        self.told = process.stderr.read()
        if process.wait():
            sys.exit(self.told)
        watch.join()
        self.clock, self.cpu = time.perf_counter() - start, sum(self._cpu.values())

    def _watch(self, process):
        while process.poll() is None:
            for pid in [process.pid, *_children(process.pid)]:
                try:
                    status = Path(f"/proc/{pid}/status").read_text()
                    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
                except OSError:  # it has ended
                    continue
                peak = int(status.partition("VmHWM:")[2].split()[0]) / 2**20 if "VmHWM" in status else 0.0
                self._peaks[pid] = max(peak, self._peaks.get(pid, 0.0))  # it has none when it is about to end
                self._cpu[pid] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
            time.sleep(0.1)

    def __str__(self):
        return (
            f"{self.cpu:.1f} CPU s, {self.clock:.1f} s on the clock, at most {max(self._peaks.values()):.2f} GiB in "
            f"one of {len(self._peaks)} processes"
        )


def _children(pid):
    """Processes that any thread of a process, or of its children, has started: Dask starts workers in a thread."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in path.read_text().split()]
        except OSError:  # the thread has ended
            continue
    return found + [further for child in found for further in _children(child)]


def measure(job, folder, n_files):
    files = sorted(map(str, folder.glob("*.parquet")))[:n_files]
    out = folder / "result"
    commands = {
        "fit": ["--target", "y", *files, "--engine", "dask", "--out", str(out)],
        "predict": [str(out / "model.fewlabel"), *files, "--out", str(folder / "scores.parquet")],
    }
    read = Usage([sys.executable, "-c", _READ, *files])
    print(f"read {len(files)} files: {read}", flush=True)
    found = Usage([sys.executable, "-m", "fewlabel", job, *commands[job]])
    print(
        f"{job}: {found}\n{job} / read: {found.cpu / read.cpu:.2f} of CPU, {found.clock / read.clock:.2f} on the clock"
    )
    print(found.told)


def agree(folder, n, n_judged):
    """Spearman correlation of the ranking with that of the same methods on `n` unlabeled rows."""
    from scipy.stats import spearmanr

    import fewlabel

    model = fewlabel.load(folder / "result" / "model.fewlabel")
    labeled = [pq.read_table(path, filters=pc.field("y").is_valid()) for path in sorted(folder.glob("*.parquet"))]
    unlabeled, other = (pq.read_table(folder / f"part00{k}.parquet")[:m] for k, m in ((0, n), (1, n_judged)))
    rows = pa.concat_tables([*labeled, unlabeled.filter(pc.field("y").is_null())]).to_pandas()
    weights = model.about["weights"]
    inner = fewlabel.AutoClassifier(list(weights), random_state=0)
    again = fewlabel.TableClassifier(inner, random_state=0).fit(rows.drop(columns="y"), rows["y"])
    new = other.to_pandas().drop(columns="y")
    scores = [fitted.decision_function(new) for fitted in (model, again)]
    print(
        json.dumps(
            {
                "rows": len(rows),
                "judged": len(new),
                "methods": weights,
                "spearman": spearmanr(*scores)[0],
            }
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", choices=["make", "fit", "predict", "agree"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--files", type=int)
    parser.add_argument("--judged", type=int, default=200_000)
    arguments = parser.parse_args()
    if arguments.job == "make":
        make(arguments.folder, arguments.rows)
    elif arguments.job == "agree":
        agree(arguments.folder, min(arguments.rows, ROWS_PER_FILE), min(arguments.judged, ROWS_PER_FILE))
    else:
        measure(arguments.job, arguments.folder, arguments.files)


if __name__ == "__main__":
    main()
