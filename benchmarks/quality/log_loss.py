"""Probabilities of two classes: the log-loss of AutoClassifier beside CatBoost, a forest and logistic regression.

FEWLABEL_DATA=folder python -m benchmarks.quality.log_loss CELLS [--draws 1]

Tables, draws and methods are those of the suite few-labels: 1%, 5% and 15% of the labels, other rows for the test.
Scores out of fold and of the test rows are kept cell by cell in the folder CELLS, so that a run can be continued. What
is believed of the slope of the sigmoid is chosen on the other tables: the flattest belief whose log-loss is within one
standard error of the lowest. `package` is what the belief of the package gives, which was settled on some of these
tables. log_loss.csv has the results, the last line the belief that all tables choose.
"""

import argparse
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.metrics import log_loss

from benchmarks.quality.experience import SAME_ROWS, experience_without
from benchmarks.quality.few_labels.experiment import AllMethods, make
from fewlabel.calibration import SlopeBelief, sigmoid_from_few
from fewlabel.files import atomic_write

OURS = "AutoClassifier"
RIVALS = ("CatBoost", "random forest", "logistic regression")
PACKAGE = "package"
BELIEFS = tuple(
    SlopeBelief(*constants) for constants in itertools.product((-0.6, -0.3, 0.0, 0.3), (0.4, 0.6, 0.8), (0.6, 0.9, 1.2))
)


def run(folder, n_draws):
    """Write the cells that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    suite = AllMethods()
    for draw, name, setting in itertools.product(range(n_draws), suite.datasets, suite.settings):
        path = folder / f"{name}_{setting.percent}_{draw}.npz"
        if not path.exists():
            _write_cell(path, suite.problem(name, setting, draw), draw)


def _write_cell(path, problem, seed):
    X = problem.X[problem.train]
    known = problem.few >= 0
    X_test = problem.X[problem.test]
    truth = problem.y[problem.test]
    model = make(OURS, seed)[0].set_params(experience=experience_without(problem.name)).fit(X, problem.few)
    losses = []
    for rival in RIVALS:
        fitted = make(rival, seed)[0].fit(X[known], problem.few[known])
        losses.append(log_loss(truth, fitted.predict_proba(X_test)[:, 1]))
    with atomic_write(path) as file:
        np.savez_compressed(
            file,
            labels=problem.few[model.labeled_rows_] == 1,
            out_of_fold=model.out_of_fold_,
            truth=truth == 1,
            scores=model.decision_function(X_test).astype(np.float32),
            rivals=np.array(losses),
        )


def losses(cell):
    """Log-loss of the test rows with each belief, and with that of the package."""
    found = []
    for belief in (*BELIEFS, SlopeBelief()):
        slope, intercept = sigmoid_from_few(cell["out_of_fold"], cell["labels"], belief=belief)
        found.append(log_loss(cell["truth"], expit(slope * cell["scores"].astype(float) + intercept)))
    return found


def measure(folder):
    """Log-loss of every method and cell, and the belief that is best for all tables."""
    names = []
    rows = []
    by_belief = []
    paths = sorted(folder.glob("*.npz"))
    # Shares are compared on the same tables.
    n_cells = Counter(path.stem.rsplit("_", 2)[0] for path in paths)
    for path in paths:
        if n_cells[path.stem.rsplit("_", 2)[0]] % len(AllMethods.settings):
            continue
        with np.load(path) as arrays:
            cell = {name: arrays[name] for name in arrays.files}
        table, percent, draw = path.stem.rsplit("_", 2)
        names.append(table)
        rows.append({"table": table, "percent": int(percent), "draw": int(draw), **dict(zip(RIVALS, cell["rivals"]))})
        by_belief.append(losses(cell))
    by_belief = np.array(by_belief)
    of_package = by_belief[:, -1]
    by_belief = by_belief[:, :-1]
    for k, row in enumerate(rows):
        related = {row["table"]}.union(*(same for same in SAME_ROWS if row["table"] in same))
        others = ~np.isin(names, list(related))
        row[OURS] = by_belief[k, flattest(by_belief[others], np.array(names)[others])]
        row[PACKAGE] = of_package[k]
    return pd.DataFrame(rows), BELIEFS[flattest(by_belief, np.array(names))]


def flattest(by_belief, tables):
    """Position of the belief with the flattest sigmoids among those that are not clearly worse than the best one."""
    best = by_belief.mean(axis=0).argmin()
    worse = pd.DataFrame(by_belief - by_belief[:, [best]]).groupby(tables).mean()
    good = np.flatnonzero(worse.mean() <= worse.sem())
    # With five labels of the rarer class, where it matters most.
    return min(good, key=lambda k: (BELIEFS[k].usual + BELIEFS[k].growth * np.log(5 / 20), BELIEFS[k].spread))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=1)
    options = parser.parse_args()
    run(options.folder, options.draws)
    found, belief = measure(options.folder)
    found.round(4).to_csv(Path(__file__).with_suffix(".csv"), index=False)
    print(found.groupby("percent").mean(numeric_only=True).round(4).to_string())
    print(belief)


if __name__ == "__main__":
    main()
