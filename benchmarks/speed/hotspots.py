"""Processor time of what users wait for, beside another version of the sources in the same run.

    python -m benchmarks.speed.hotspots [--before FOLDER] [--only NAME,...]

FOLDER holds the other version (`git worktree add FOLDER COMMIT`). Every job runs in a process of its own with one
thread, once on a small table as a warm-up and then `_REPEATS` times, of which the least counts; `fewlabel fit` is the
whole command, from the start of the process to the written report.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

_REPEATS = 2
ROOT = Path(__file__).parents[2]
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def table(n, labeled=0.1):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)
    return X, y, np.where(rng.random(n) < labeled, y, -1)


def prior(small):
    from sklearn.datasets import load_breast_cancer

    from fewlabel import estimate_class_prior, hide_labels

    X, y = load_breast_cancer(return_X_y=True)
    few = hide_labels(y, labeled=100, mechanism="positives-only", random_state=0)
    estimate_class_prior(X, few, random_state=0)


def multiview(small):
    import fewlabel

    X, _, few = table(200 if small else 2000)
    views = [list(range(10)), list(range(10, 20))]
    fewlabel.MultiviewKernelClassifier(views=views, approximation=None).fit(X, few)


def wrapper(name, n):
    def job(small):
        from sklearn.tree import DecisionTreeClassifier

        import fewlabel

        X, _, few = table(200 if small else n)
        tree = DecisionTreeClassifier(max_depth=5, random_state=0)  # the default is not the same in all versions
        getattr(fewlabel, name)(tree, random_state=0).fit(X, few)

    return job


def relieff(small):
    import fewlabel

    X, y, _ = table(200 if small else 20_000)
    fewlabel.ReliefFSelector(n_features_to_select=5, max_samples=300).fit(X, y)


PRIOR = "estimate_class_prior, 569 x 30"
JOBS = {
    PRIOR: prior,
    "MultiviewKernelClassifier, exact, 2,000 rows, 2 views": multiview,
    "SemiSupervisedAdaBoostClassifier, 2,000 x 20": wrapper("SemiSupervisedAdaBoostClassifier", 2000),
    "AssembleClassifier, 2,000 x 20": wrapper("AssembleClassifier", 2000),
    "CrossTrainingClassifier, 2,000 x 20": wrapper("CrossTrainingClassifier", 2000),
    "CoTrainingClassifier, 2,000 x 20": wrapper("CoTrainingClassifier", 2000),
    "TriTrainingClassifier, 2,000 x 20": wrapper("TriTrainingClassifier", 2000),
    "ReliefFSelector, 20,000 x 20, 300 sampled rows": relieff,
}
FIT = "fewlabel fit, 1,000 x 20, 100 labels"
PREDICT = "fewlabel predict, 1,000 rows"
HELP = "fewlabel --help"


def run_job(name):
    """Fit once to warm up, then measure; print the seconds."""
    warnings.simplefilter("ignore")
    JOBS[name](True)
    seconds = []
    for _ in range(_REPEATS):
        start = time.process_time()
        JOBS[name](False)
        seconds.append(time.process_time() - start)
    print(json.dumps(min(seconds)))


def of_command(command, folder, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "fewlabel", *command]
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(names, sources):
    """Seconds of each job with the package in `sources`."""
    environment = {**os.environ, **THREADS, "PYTHONPATH": str(Path(sources).resolve() / "src")}
    with tempfile.TemporaryDirectory() as folder:
        import pandas as pd

        X, _, few = table(1000)
        rows = pd.DataFrame(X).add_prefix("x").assign(y=np.where(few < 0, "", few.astype(str)))
        rows.to_csv(Path(folder, "rows.csv"), index=False)
        commands = {
            HELP: ["--help"],
            FIT: ["fit", "rows.csv", "--target", "y", "--quiet"],
            PREDICT: ["predict", "model.fewlabel", "rows.csv", "--out", "scores.csv", "--quiet"],
        }
        for name in names:
            if name in commands:
                yield name, min(of_command(commands[name], folder, environment) for _ in range(_REPEATS))
                continue
            command = [sys.executable, __file__, "--job", name]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            yield name, json.loads(done.stdout) if done.returncode == 0 else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="FOLDER")
    parser.add_argument("--only", metavar="NAMES", help="beginnings of names, with commas")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.job:
        run_job(arguments.job)
        return
    wanted = tuple(arguments.only.split(",")) if arguments.only else ("",)
    names = [name for name in (*JOBS, HELP, FIT, PREDICT) if name.startswith(wanted)]
    now = measure(names, ROOT)
    before = measure(names, arguments.before) if arguments.before else ((name, float("nan")) for name in names)
    print("| CPU s | before | now |\n| --- | --- | --- |")
    for (name, old), (_, new) in zip(before, now):
        print(f"| {name} | {old:.2f} | {new:.2f} |", flush=True)


if __name__ == "__main__":
    main()
