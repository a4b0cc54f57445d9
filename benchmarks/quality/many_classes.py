"""Three classes or more: AutoClassifier's pool beside other methods, with 3 and 10 labels of each class.

FEWLABEL_DATA=folder python -m benchmarks.quality.many_classes CELLS [--draws 1]

Members are observed on every table, cell by cell into the folder CELLS, so that a run can be continued. From the cells
come many_classes.csv beside this file, with the experience and the rule of each pool learned on the other tables, and
the part "many" of the package's experience. Tables have at most 1,500 unlabeled rows, which are the test; classes have
at least 13 rows.
"""

import argparse
import itertools
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from scipy.special import log_softmax
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import as_numbers, multiclass
from fewlabel.auto.attempts import attempt
from fewlabel.auto.crossfit import Training, crossfit, refit, usual_repeats
from fewlabel.auto.experience import PoolExperience
from fewlabel.auto.members import MULTICLASS, available, select_members
from fewlabel.auto.weights import auc, choose, combine
from fewlabel.files import atomic_write
from fewlabel.rows import Rows

TABLES = (
    *("wine", "iris", "dermatology", "vowel", "svmguide4", "glass", "autos", "car", "anneal", "waveform"),
    *("pendigits", "dna", "shuttle", "optdigits", "ssl-COIL", "soybean", "letter"),
)
LABELS = (3, 10)  # of each class
RIVALS = ("CatBoost", "random forest alone", "extra trees alone", "logistic regression alone")
POOL = "AutoClassifier"
LEAST_ROWS = 13
MOST_UNLABELED = 1500
RULES = [
    dict(zip(("steepness", "labels", "most"), values))
    for values in itertools.product((3, 6, 12), (30, 100, 300), (3, 5, 8))
]
TOO_SLOW = ("histogram boosting", "XGBoost", "LightGBM", "TabICL", "TabPFN", "quadratic SVM")
LEAST_PROBABILITY = 1e-6


def problem(name, n_labels, draw):
    """Columns as numbers, codes with ``-1`` where the label is hidden, and the hidden labels."""
    data, y = multiclass(name)
    rng = np.random.default_rng([draw, n_labels, zlib.crc32(name.encode())])
    is_large = np.bincount(y) >= LEAST_ROWS
    rows = rng.permutation(np.flatnonzero(is_large[y]))
    codes = np.unique(y[rows], return_inverse=True)[1]
    labeled = np.concatenate([np.flatnonzero(codes == code)[:n_labels] for code in range(codes.max() + 1)])
    hidden = np.setdiff1d(np.arange(len(rows)), labeled)[:MOST_UNLABELED]
    kept = np.r_[labeled, hidden]
    X = as_numbers(data.iloc[rows[kept]], np.arange(len(kept)), fill=False)
    few = np.r_[codes[labeled], np.full(len(hidden), -1)]
    return X[:, np.nanstd(X, axis=0) > 0], few, codes[hidden]


def observe(X, few, seed):
    """Names of the members, and their log-probabilities of labeled (out of fold) and hidden rows."""
    names = [member.name for member in available(MULTICLASS) if member.name not in TOO_SLOW]
    members = select_members(names, MULTICLASS, True)[0]
    training = Training(Rows(X, few, np.arange(few.max() + 1)), MULTICLASS, members, seed)
    found = {}
    for member in members:
        outcome = attempt(_observe, training, member)
        if not isinstance(outcome, Exception):
            found[member.name] = outcome
    return training.tested_rows.codes, found


def _observe(training, member):
    evidence = crossfit(training, member, usual_repeats(len(training.tested)))
    logits = refit(training, member, evidence).formula(training.rows.X[training.unlabeled])
    return evidence.ranks, log_softmax(logits, axis=1)


def rival(name, X, few, seed):
    """Log-probabilities of the hidden rows by a method with its defaults; CatBoost with 300 trees."""
    known = few >= 0
    models = {
        "CatBoost": CatBoostClassifier(300, thread_count=1, random_seed=seed, verbose=False, allow_writing_files=False),
        "random forest alone": RandomForestClassifier(random_state=seed),
        "extra trees alone": ExtraTreesClassifier(random_state=seed),
        "logistic regression alone": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    }
    fill = SimpleImputer(strategy="median", keep_empty_features=True).fit(X[known])
    model = models[name].fit(fill.transform(X[known]), few[known])
    return np.log(np.maximum(model.predict_proba(fill.transform(X[~known])), LEAST_PROBABILITY))


def run(folder, n_draws):
    """Write the cells that are not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw in range(n_draws):
        for name in TABLES:
            for n_labels in LABELS:
                path = folder / f"{name}_{n_labels}_{draw}.npz"
                if not path.exists():
                    _write_cell(path, name, n_labels, draw)


def _write_cell(path, name, n_labels, draw):
    X, few, hidden = problem(name, n_labels, draw)
    labeled, found = observe(X, few, draw)
    about = {"table": name, "labels": n_labels, "draw": draw, "members": list(found)}
    rivals = {f"rival {one}": rival(one, X, few, draw).astype(np.float32) for one in RIVALS}
    out_of_fold, test = zip(*found.values())
    with atomic_write(path) as file:
        np.savez_compressed(
            file,
            about=json.dumps(about),
            labeled=labeled,
            hidden=hidden,
            out_of_fold=np.array(out_of_fold, dtype=np.float32),
            test=np.array(test, dtype=np.float32),
            **rivals,
        )


def read(folder):
    """The cells of a folder."""
    cells = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            cell = {name: arrays[name] for name in arrays.files}
        cell["about"] = json.loads(str(cell["about"]))
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
        labels = Rows(None, cell["labeled"].astype(int), np.arange(cell["test"].shape[2]))
        of_rules = []
        for rule in RULES:
            experience = PoolExperience({**state, "rule": rule}).of([about["members"][k] for k in tried])
            weights = choose(labels, cell["out_of_fold"][tried].astype(float), auc, experience)
            of_rules.append(combine(weights, cell["test"][tried].astype(float)))
        found.append(of_rules)
    return found


def measure(cells, usual):
    """Balanced accuracy and log-loss of the pool, its members and rivals, and the rule that is best for all tables.

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
        logs |= dict(zip(about["members"], cell["test"]))
        logs |= {name: cell[f"rival {name}"] for name in RIVALS}
        for method, log in logs.items():
            log = log_softmax(log.astype(float), axis=1)
            is_right = log.argmax(axis=1) == cell["hidden"]
            accuracy = np.mean([is_right[cell["hidden"] == code].mean() for code in np.unique(cell["hidden"])])
            loss = _losses(log[None], cell["hidden"])[0]
            rows.append((about["table"], about["labels"], about["draw"], method, accuracy, loss))
    found = pd.DataFrame(rows, columns=["table", "labels", "draw", "method", "balanced_accuracy", "log_loss"])
    return found, RULES[losses.mean(axis=0).argmin()]


def summarize(found):
    """Means and mean ranks of the pool and its rivals."""
    found = found[found["method"].isin([POOL, *RIVALS])]
    cells = found.groupby(["labels", "table", "draw"])
    found = found.assign(
        rank_of_accuracy=cells["balanced_accuracy"].rank(ascending=False), rank_of_loss=cells["log_loss"].rank()
    )
    return found.groupby(["labels", "method"]).mean(numeric_only=True).drop(columns="draw")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--experience", type=Path, default=None, help="experience.json whose part `many` is replaced")
    options = parser.parse_args()
    run(options.folder, options.draws)
    cells = read(options.folder)
    usual = [member.name for member in select_members("auto", MULTICLASS, True)[0]]
    found, rule = measure(cells, usual)
    found.round(4).to_csv(Path(__file__).with_suffix(".csv"), index=False)
    print(summarize(found).round(3).to_string())
    print(rule)
    if options.experience is not None:
        state = json.loads(options.experience.read_text("utf-8"))
        state["many"] = learn(cells, rule)
        options.experience.write_text(json.dumps(state, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
