"""Three classes or more: AutoClassifier's pool beside its members, with 3 or 10 labels of each class.

python -m benchmarks.quality.many_classes CELLS [--write]

CELLS is a folder of `python -m benchmarks.quality.cells multiclass CELLS`: members on tables of the registry and of
packages, whose unlabeled rows are the test. From it come many_classes.csv beside this file, with the experience and the
rule of each pool learned on the other tables, and the part "many" of the package's experience. Probabilities of single
methods are calibrated out of fold, as they are in the pool.
"""

import argparse
import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import log_softmax

from benchmarks.quality.cells import read_cell
from benchmarks.quality.experience import PACKAGE, lines_of
from fewlabel.auto.experience import PoolExperience
from fewlabel.auto.members import MULTICLASS, portfolio, select_members
from fewlabel.auto.weights import auc, choose, combine
from fewlabel.rows import Rows

RIVALS = ("CatBoost", "extra trees", "random forest", "logistic regression")
POOL = "AutoClassifier"
# More than five methods take more time, and are hardly better.
RULES = [
    dict(zip(("steepness", "labels", "most"), values))
    for values in itertools.product((3, 6, 12), (10, 30, 100, 300), (3, 5))
]


def read(folder):
    """The cells of a folder: log-probabilities of labeled rows (out of fold) and of hidden ones, by each member."""
    cells = []
    for path in sorted(folder.glob("*.npz")):
        cell = read_cell(path)
        labeled = cell["few"][cell["few"] >= 0].astype(int)
        # A table that is too wide has no members, and a class with one label is never tested.
        if cell["out_of_fold"].ndim < 3 or cell["out_of_fold"].shape[1] != len(labeled):
            continue
        cell["labeled"] = labeled
        cell["hidden"] = cell["codes"][cell["few"] < 0].astype(int)
        for name in ("out_of_fold", "test"):
            cell[name] = log_softmax(cell[name].astype(float), axis=2)
        cells.append(cell)
    return cells


def _losses(logs, codes):
    return -logs[:, np.arange(len(codes)), codes].mean(axis=1)


def learn(cells, rule):
    """The state of a `PoolExperience` with a rule: every table counts the same."""
    rows = []
    for cell in cells:
        true = _losses(cell["test"], cell["hidden"])
        seen = _losses(cell["out_of_fold"], cell["labeled"])
        true = true - true.mean()
        seen = seen - seen.mean()
        for name, loss, bias in zip(cell["about"]["members"], true, seen - true):
            rows.append((cell["about"]["table"], name, loss, bias))
    # Candidates are not in the package.
    known = {member.name for member in portfolio()}
    rows = [row for row in rows if row[1] in known]
    found = pd.DataFrame(rows, columns=["table", "member", "loss", "bias"])
    means = found.groupby(["table", "member"]).mean().groupby("member").mean().round(4)
    return {"members": list(means.index), "loss": means["loss"].tolist(), "bias": means["bias"].tolist(), "rule": rule}


def pools(cells, usual):
    """Log-probabilities of each cell by the pool, with the experience of other tables and each rule."""
    found = []
    for cell in cells:
        about = cell["about"]
        tried = [k for k, name in enumerate(about["members"]) if name in usual]
        state = learn([other for other in cells if other["about"]["table"] != about["table"]], None)
        labels = Rows(None, cell["labeled"], np.arange(cell["test"].shape[2]))
        of_rules = []
        for rule in RULES:
            experience = PoolExperience({**state, "rule": rule}).of([about["members"][k] for k in tried])
            weights = choose(labels, cell["out_of_fold"][tried], auc, experience)
            of_rules.append(combine(weights, cell["test"][tried]))
        found.append(of_rules)
    return found


def measure(cells, usual):
    """Balanced accuracy and log-loss of the pool and of single methods, and the rule that is best for all tables.

    The rule of each pool is the one with the lowest log-loss on the other tables.
    """
    of_rules = pools(cells, usual)
    losses = np.array([_losses(np.array(logs), cell["hidden"]) for logs, cell in zip(of_rules, cells)])
    tables = np.array([cell["about"]["table"] for cell in cells])
    rows = []
    for cell, pooled in zip(cells, of_rules):
        about = cell["about"]
        rule = losses[tables != about["table"]].mean(axis=0).argmin()
        logs = {POOL: pooled[rule]}
        logs |= {name: log for name, log in zip(about["members"], cell["test"]) if name in RIVALS}
        for method, log in logs.items():
            is_right = log.argmax(axis=1) == cell["hidden"]
            accuracy = np.mean([is_right[cell["hidden"] == code].mean() for code in np.unique(cell["hidden"])])
            loss = _losses(log[None], cell["hidden"])[0]
            rows.append((about["table"], int(about["amount"]), method, accuracy, loss))
    found = pd.DataFrame(rows, columns=["table", "labels", "method", "balanced_accuracy", "log_loss"])
    return found, RULES[losses.mean(axis=0).argmin()]


def summarize(found):
    """Means and mean ranks of the pool and single methods, on the tables that all of them were fitted to."""
    cells = found.groupby(["labels", "table"])
    found = found.assign(
        rank_of_accuracy=cells["balanced_accuracy"].rank(ascending=False), rank_of_loss=cells["log_loss"].rank()
    )
    found = found[cells["method"].transform("size") == len(RIVALS) + 1]
    by = found.groupby(["labels", "method"])
    return by.mean(numeric_only=True).assign(tables=by["table"].nunique())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true", help="replace the part `many` of the package's experience")
    options = parser.parse_args()
    cells = read(options.folder)
    usual = [member.name for member in select_members("auto", MULTICLASS, True)[0]]
    found, rule = measure(cells, usual)
    found.round(4).to_csv(Path(__file__).with_suffix(".csv"), index=False)
    print(summarize(found).round(3).to_string())
    print(rule)
    if options.write:
        state = json.loads(PACKAGE.read_text("utf-8"))
        state["many"] = learn(cells, rule)
        PACKAGE.write_text(lines_of(state), "utf-8")


if __name__ == "__main__":
    main()
