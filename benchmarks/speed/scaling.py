"""Processor time and memory of every estimator by the number of rows, and how they grow.

Each fit is in a process of its own, on one thread, after a fit of 500 rows; 10 columns, 20% of the rows labeled.
Sizes double until a fit takes longer than the limit. The exponent is the slope of the logarithms over the three
largest sizes. Writes scaling.csv, scaling.png and the table of RESULTS.md to a folder.

    python -m benchmarks.speed.scaling [--out FOLDER] [--limit 8] [--largest 256000] [--only NAME,...]
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
SMALLEST = 1000
# Growth by the specification, in the rows alone; the columns, rounds and neighbors are fixed.
EXPECTED = {
    "AssembleClassifier": "its trees",
    "AutoClassifier": "its members",
    "BalancedMultiviewClassifier": "n (Nystroem; n^3 exact)",
    "CoTrainingClassifier": "its trees",
    "ConsistencySubsetSelector": "n",
    "CorrelationSubsetSelector": "n",
    "CrossTrainingClassifier": "its trees",
    "LeastSquaresAUCClassifier": "n",
    "LinearAUCClassifier": "n log n",
    "LinearAUCClassifierCV": "n log n",
    "LinearPUClassifier": "n",
    "MultiviewKernelClassifier": "n (Nystroem; n^3 exact)",
    "NeuralPUClassifier": "n",
    "PNUAUCBoostClassifier": "n",
    "PNUAdaBoostClassifier": "n",
    "PUAdaBoostClassifier": "n",
    "PathNeighborsClassifier": "n log n and the neighbors",
    "QuasiBaggingClassifier": "n",
    "ReliefFSelector": "n times the sampled rows",
    "SemiSupervisedAdaBoostClassifier": "its trees and neighbors",
    "SubsetReliefSelector": "n times the sampled rows",
    "TriTrainingClassifier": "its trees",
    "VariableClusterer": "n",
}
FORMS = {  # where the defaults do not stand for large tables, or take minutes
    "AutoClassifier": {"portfolio": "small"},
    "LinearPUClassifier": {"prior": 0.4},
    "NeuralPUClassifier": {"prior": 0.4, "max_iter": 5},
    "PUAdaBoostClassifier": {"prior": 0.4},
    "BalancedMultiviewClassifier": {"max_iter": 2},
    "MultiviewKernelClassifier": {"approximation": "nystroem", "n_components": 100},
    "ReliefFSelector": {"n_features_to_select": 5, "max_samples": 100},
    "SubsetReliefSelector": {"max_samples": 100},
    "VariableClusterer": {"n_clusters": 3},
}


def table(n):
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    true = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)
    return X, true, np.where(rng.random(n) < 0.2, true, -1)


def measure(name, n):
    """Fit once here, and print what it took."""
    import warnings

    import numpy as np

    import fewlabel

    warnings.simplefilter("ignore")

    def fit(rows):
        X, true, few = table(rows)
        if name.startswith(("Multiview", "Balanced")):
            options = {"views": [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]}
        else:
            options = {}
        model = getattr(fewlabel, name)(**FORMS.get(name, {}), **options)
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        labels = true if "Selector" in name or name == "QuasiBaggingClassifier" else few
        if "PUAda" in name or "PUClassifier" in name:
            labels = np.where(few == 1, 1, -1)
        before = status("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")
        start = time.process_time()
        model.fit(X, labels) if name != "VariableClusterer" else model.fit(X)
        return time.process_time() - start, (status("VmHWM") - before) / 1024

    fit(500)
    print(json.dumps(fit(n)))


def status(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1])


def exponent(sizes, values):
    import numpy as np

    last = slice(-3, None)
    return float(np.polyfit(np.log(sizes[last]), np.log(np.maximum(values[last], 1e-6)), 1)[0])


def run(arguments):
    import pandas as pd

    names = arguments.only.split(",") if arguments.only else list(EXPECTED)
    found = []
    for name in names:
        n = SMALLEST
        while n <= arguments.largest:
            command = [sys.executable, __file__, "--measure", name, str(n)]
            done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **THREADS})
            if done.returncode:
                print(name, n, done.stderr.strip().splitlines()[-1])
                break
            seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
            found.append({"estimator": name, "rows": n, "seconds": seconds, "megabytes": megabytes})
            print(found[-1], flush=True)
            if seconds > arguments.limit:
                break
            n *= 2
    frame = pd.DataFrame(found)
    arguments.out.mkdir(parents=True, exist_ok=True)
    frame.to_csv(arguments.out / "scaling.csv", index=False)
    write(frame, arguments.out)


def write(frame, folder):
    """The table and the picture."""
    from matplotlib.figure import Figure

    rows = [
        "| estimator | by the specification | time | memory | largest | CPU s | MB |",
        "|---|---|---|---|---|---|---|",
    ]
    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(1, 2)
    for k, (name, part) in enumerate(frame.groupby("estimator")):
        sizes, last = part["rows"].to_numpy(float), part.iloc[-1]
        time_growth, memory_growth = (exponent(sizes, part[what].to_numpy()) for what in ("seconds", "megabytes"))
        rows.append(
            f"| {name} | {EXPECTED[name]} | n^{time_growth:.2f} | n^{memory_growth:.2f} | {int(last['rows']):,} | "
            f"{last['seconds']:.2f} | {last['megabytes']:.0f} |"
        )
        style = {"color": f"C{k % 10}", "ls": ("-", "--", ":")[k // 10], "marker": "."}
        for ax, what in zip(panels, ("seconds", "megabytes")):
            ax.loglog(part["rows"], part[what].clip(lower=1e-3), label=name, **style)
    for ax, what in zip(panels, ("CPU seconds of a fit", "memory on top of the table, MB")):
        ax.set(xlabel="rows", ylabel=what)
        ax.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), fontsize=8, loc="outside lower center", ncols=4)
    figure.savefig(folder / "scaling.png", dpi=100)
    (folder / "scaling.md").write_text("\n".join(rows) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("scaling"))
    parser.add_argument("--limit", type=float, default=8.0)
    parser.add_argument("--largest", type=int, default=256_000)
    parser.add_argument("--only")
    parser.add_argument("--measure", nargs=2, metavar=("NAME", "ROWS"))
    arguments = parser.parse_args()
    if arguments.measure:
        measure(arguments.measure[0], int(arguments.measure[1]))
    else:
        run(arguments)
