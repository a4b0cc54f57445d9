"""Time and memory of the multi-view kernel machines by size; the paper's experiments are `make papers SUITE=bssel`.

python -m benchmarks.speed.bssel
"""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from fewlabel import MultiviewKernelClassifier, make_multiview_credit

ROOT = Path(__file__).parents[2]
SIZES = [
    (0, 1000),
    (0, 2000),
    (0, 4000),
    (300, 4000),
    (500, 4000),
    (500, 10_000),
    (500, 30_000),
    (500, 100_000),
]
_CHILD = "import sys; from benchmarks.speed import bssel; bssel.time_one(*map(int, sys.argv[1:]))"


def main():
    """Each size in a process of its own, so that its peak memory can be measured."""
    results = []
    for n_components, n_rows in SIZES:
        out = subprocess.run(
            [sys.executable, "-c", _CHILD, str(n_components), str(n_rows)],
            cwd=ROOT, check=True, capture_output=True, text=True,
        )  # fmt: skip
        results.append(json.loads(out.stdout.splitlines()[-1]))
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    print(pd.DataFrame(results).to_markdown(index=False, floatfmt=".4g"))


def time_one(n_components, n_rows):
    """MVL-LS on 210 labeled rows and n_rows in all, 4 views; AUC on rows of the same population that are not in it."""
    X, y, true, views = make_multiview_credit(
        n_rows + 20_000,
        missing=0.0,
        n_nuisance=0,
        labeled=210,
        return_true=True,
        return_views=True,
        random_state=np.random.RandomState(1),
    )
    order = np.argsort(y < 0, kind="stable")
    train, test = order[:n_rows], order[n_rows:]
    parts = [np.flatnonzero(views == v).tolist() for v in range(4)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    form = dict(approximation="nystroem", n_components=n_components) if n_components else dict(approximation=None)
    model = MultiviewKernelClassifier(views=parts, random_state=0, **form)
    model.fit(X[train], y[train])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    auc = roc_auc_score(true[test], model.decision_function(X[test]))
    result = {"form": f"Nystroem, {n_components}" if n_components else "exact", "rows": n_rows, "fit, s": seconds}
    print(json.dumps({**result, "processor, s": cpu, "GiB": peak / 2**20, "GiB before": before / 2**20, "AUC": auc}))


if __name__ == "__main__":
    main()
