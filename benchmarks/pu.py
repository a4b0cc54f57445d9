"""Positive-unlabelled classifiers side by side, in the protocol of the Ada-PU paper.

Some positives of the training part are labelled; the unlabelled rows are the whole training part, as in the paper, and
20% are held out to test. Five draws. Each method runs with the true prior of the unlabelled rows and with the estimated
one. No label of an unlabelled row reaches a fit; the fully supervised booster stands apart as a ceiling.

    FEWLABEL_DATA=/path/to/data python benchmarks/pu.py [--draws 5] [--sets breast-cancer,...] [--speed] [--no-neural]
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import fewlabel
from fewlabel.exceptions import PriorWarning

FIRST_DRAW = 60  # defaults were looked at on draws before
SETS = {"breast-cancer": 100, "unsw-nb15-test": 1000, "nsl-kdd-20pct": 1000, "synthetic": 1000}  # positives labelled
SUPERVISED = "supervised boosted stumps (ceiling)"


def load(name):
    if name == "breast-cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "synthetic":
        X, _, y = fewlabel.datasets.make_pu(
            48_842, n_features=14, prior=0.24, separation=1.8, return_true=True, random_state=0
        )
        return X, y
    table = pd.read_parquet(Path(os.environ["FEWLABEL_DATA"]) / f"{name}.parquet")
    y = table.pop("target").astype(str).isin(["1", "attack"]).to_numpy().astype(int)
    # The paper keeps the 39 numeric columns of UNSW-NB15.
    table = table.select_dtypes("number") if name.startswith("unsw") else pd.get_dummies(table, dtype=float)
    return table.to_numpy(dtype=float), y


def split(y, n_positive, draw):
    train, test = train_test_split(np.arange(len(y)), test_size=0.2, stratify=y, random_state=draw)
    positives = np.random.default_rng(draw).choice(train[y[train] == 1], n_positive, replace=False)
    return positives, train, test


def methods(prior, seed, n_rows, neural):
    stumps = dict(learning_rate=1.0, max_features=1.0, gamma=1.0, random_state=seed)
    yield "Ada-PU", fewlabel.PUAdaBoostClassifier(prior=prior, random_state=seed)
    yield "Ada-PU, paper's form", fewlabel.PUAdaBoostClassifier.paper(prior=prior, random_state=seed)
    yield "uPU, linear", fewlabel.LinearPUClassifier("upu", prior=prior, random_state=seed)
    yield "nnPU, linear", fewlabel.LinearPUClassifier("nnpu", prior=prior, random_state=seed)
    if neural:
        epochs = (
            100 if n_rows < 5000 else 30
        )  # one hidden layer of 100 everywhere; the paper has six layers for UNSW-NB15
        for name, risk in (("uPU, MLP", "upu"), ("nnPU, MLP", "nnpu")):
            yield name, fewlabel.NeuralPUClassifier(risk, prior=prior, max_iter=epochs, random_state=seed)
    yield "AdaBoost, P against U", fewlabel.PNUAdaBoostClassifier(100, **stumps)


def run(name, X, y, draw, neural):
    positives, train, test = split(y, SETS[name], draw)
    rows = np.vstack([X[positives], X[train]])
    y_pu = np.r_[np.ones(len(positives)), np.zeros(len(train))]
    true = float(y[train].mean())
    estimated = fewlabel.estimate_class_prior(rows, y_pu, random_state=draw).prior
    results = []
    for source, prior in (("true", true), ("estimated", estimated)):
        for method, model in methods(prior, draw, len(rows), neural):
            if source == "estimated" and method.startswith("AdaBoost"):
                continue
            start = time.perf_counter()
            model.fit(rows, y_pu)
            seconds = time.perf_counter() - start
            scores = model.decision_function(X[test])
            results.append((name, draw, method, source, prior, *measure(scores, y[test]), seconds))
    model = fewlabel.PNUAdaBoostClassifier(100, gamma=1.0, learning_rate=1.0, max_features=1.0).fit(X[train], y[train])
    scores = model.decision_function(X[test])
    results.append((name, draw, SUPERVISED, "true", true, *measure(scores, y[test]), np.nan))
    return results


def measure(scores, y):
    return np.mean((scores > 0) == y), roc_auc_score(y, scores)


def report(results):
    columns = ["set", "draw", "method", "prior", "value", "accuracy", "AUC", "seconds"]
    results = pd.DataFrame(results, columns=columns)
    for name, of_set in results.groupby("set", sort=False):
        values = of_set.groupby("prior").value.mean()
        print(f"\n### {name}: prior {values['true']:.3f}, estimated {values.get('estimated', np.nan):.3f}\n")
        groups = of_set.groupby(["prior", "method"], sort=False)
        table = groups[["accuracy", "AUC", "seconds"]].mean()
        table.insert(1, "sd", groups.accuracy.std())
        print(table.reset_index().to_markdown(index=False, floatfmt=".4f"))
        pu = table.drop(index=SUPERVISED, level="method", errors="ignore")
        for prior in ("true", "estimated"):
            accuracy = pu.loc[prior].accuracy
            behind = 100 * (accuracy.max() - accuracy["Ada-PU"])
            print(f"\n{prior} prior: best {accuracy.idxmax()}; Ada-PU is {behind:.1f} points below.")


def speed(n_rows=175_000, n_columns=39, rounds=200):
    """A round of Ada-PU and of PNU-AUCBoost on the same rows and columns, in turn; the best of seven of each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(int)
    for n_labelled in (1000, n_rows // 2):
        positives = rng.choice(np.flatnonzero(y == 1), min(n_labelled, (y == 1).sum()), replace=False)
        negatives = rng.choice(np.flatnonzero(y == 0), min(1000, n_labelled), replace=False)
        pnu, pu = np.full(n_rows, -1), np.full(n_rows, -1)
        pnu[positives], pnu[negatives], pu[positives] = 1, 0, 1
        for max_features in (1.0, 0.3):
            shared = dict(max_features=max_features, learning_rate=0.05, n_jobs=1, random_state=0)
            models = {
                "PNU-AUCBoost": (fewlabel.PNUAUCBoostClassifier, shared, pnu),
                "Ada-PU": (fewlabel.PUAdaBoostClassifier, dict(shared, prior=0.4, stop_risk=0.0), pu),
            }
            # The least time of a short and of a long fit; the least of their differences would reward a slow short one.
            seconds, rounds_run = {}, {}
            for _ in range(7):
                for name, (model, parameters, labels) in models.items():
                    for n in (2, rounds + 2):
                        taken, rounds_run[name, n] = _fit(model(n, **parameters), X, labels)
                        seconds[name, n] = min(seconds.get((name, n), np.inf), taken)
            best = {
                name: 1000
                * (seconds[name, rounds + 2] - seconds[name, 2])
                / (rounds_run[name, rounds + 2] - rounds_run[name, 2])
                for name in models
            }
            told = ", ".join(f"{name} {ms:.2f} ms" for name, ms in best.items())
            print(f"{n_rows:,} x {n_columns}, {len(positives):,} positives, {max_features:.0%} of the columns: {told}")


def _fit(model, X, y):
    """Seconds of the one thread's processor time, and rounds that were run."""
    with threadpool_limits(1):  # threads that wait for the calibration's linear algebra would count as work
        start = time.process_time()
        model.fit(X, y)
        return time.process_time() - start, model.n_iter_


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--speed", action="store_true", help="time a round instead")
    parser.add_argument("--no-neural", action="store_true", help="leave out the networks")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", PriorWarning)
    if arguments.speed:
        speed()
        return
    neural = not arguments.no_neural
    results = []
    for name in arguments.sets.split(","):
        if name not in ("breast-cancer", "synthetic") and not os.environ.get("FEWLABEL_DATA"):
            print(f"skipped {name}: set FEWLABEL_DATA to a folder with {name}.parquet", file=sys.stderr)
            continue
        X, y = load(name)
        for draw in range(FIRST_DRAW, FIRST_DRAW + arguments.draws):
            results += run(name, X, y, draw, neural)
            print(f"{name}, draw {draw} done", file=sys.stderr)
    report(results)


if __name__ == "__main__":
    main()
