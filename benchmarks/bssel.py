"""The two experiments of the BSSEL paper, on our generator and on three public tables; and time and memory by size.

A draw takes l labelled rows, 15 l (or 2.5 l) rows whose labels are hidden, and test rows, all at 20 : 1; what is added
to the unlabelled rows as u / l grows comes on top of what was there. Columns are imputed and made normal by their ranks
over the training rows, and views are found in them, both without labels. No method is tuned: all run with their
defaults.

    FEWLABEL_DATA=/path/to/data python benchmarks/bssel.py [--draws 10] [--sets generator,...] [--cells cells.jsonl]
    python benchmarks/bssel.py --report --cells cells.jsonl   # tables from finished cells; writes results_bssel.csv
    python benchmarks/bssel.py --speed

Each finished cell is a line of the file of cells; cells that are there already are not run again.
"""

import argparse
import functools
import itertools
import json
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer
from sklearn.svm import SVC

from fewlabel import (
    BalancedMultiviewClassifier,
    MultiviewKernelClassifier,
    QuasiBaggingClassifier,
    VariableClusterer,
    make_multiview_credit,
)

HERE = Path(__file__).parent
SETS = ("generator", "default-credit-card", "give-me-some-credit", "creditcard-fraud")
# Rows of the majority and minority that are labelled, and the ratios u / l, of each experiment.
EXPERIMENTS = {
    "simulation": ((200, 10), (0, 0.5, 1, 2.5, 5, 10, 15)),
    "empirical": ((1000, 50), (0, 0.5, 1, 2.5)),  # a quarter of the paper's 4000 and 200
}
PENALTIES = {"none": (0.0, 0.0), "within": (0.0, 0.1), "between": (0.1, 0.0), "both": (0.1, 0.1)}
ROUNDS = 2  # of the 50 that the paper allows, to save time
N_VIEWS = 4  # as the paper


class Known(BaseEstimator):
    """Gives the unlabelled rows probabilities that are known beforehand.

    Those of quasi-bagging, which is fitted once a draw; for the silver standard, and only there, the true classes.
    """

    def __init__(self, probabilities=None):
        self.probabilities = probabilities

    def fit(self, X, y):
        return self

    def predict_proba(self, X):
        return self.probabilities


def load(name):
    if name == "generator":
        X, _, y = make_multiview_credit(60_000, return_true=True, random_state=0)
        return pd.DataFrame(X), y
    table = pd.read_parquet(Path(os.environ["FEWLABEL_DATA"]) / f"{name}.parquet")
    y = table.pop("target").astype(int).to_numpy()
    return pd.get_dummies(table, dtype=float), y


def draw_rows(y, labelled, most, seed):
    """Rows that are labelled, hidden (in the order in which they are added) and tested, all at one ratio."""
    rng = np.random.default_rng(seed)
    good, bad = (rng.permutation(np.flatnonzero(y == k)) for k in (0, 1))
    ratio = labelled[0] / labelled[1]
    hidden = (round(most * labelled[0]), round(most * labelled[1]))
    n_test_bad = int(min(400, len(bad) - labelled[1] - hidden[1], (len(good) - labelled[0] - hidden[0]) / ratio))
    known = np.r_[good[: labelled[0]], bad[: labelled[1]]]
    free = [good[labelled[0] :][: hidden[0]], bad[labelled[1] :][: hidden[1]]]
    test = np.r_[good[::-1][: int(n_test_bad * ratio)], bad[::-1][:n_test_bad]]
    return known, free, test


def prepare(table, rows, seed):
    """Imputed columns, with marks of gaps, made normal by their ranks over the training rows; and their views."""
    steps = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True),
        QuantileTransformer(n_quantiles=200, output_distribution="normal", random_state=0),
    )
    steps.fit(table.iloc[rows])
    X = steps.transform(table.iloc[rows])
    labels = VariableClusterer(N_VIEWS, categorical_features=[], random_state=seed).fit(X).labels_
    return steps, [np.flatnonzero(labels == v).tolist() for v in range(labels.max() + 1)]


def supervised(X, y, test, seed):
    """Scores of the test rows by models of the labelled rows."""
    models = {
        "LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "naive Bayes": GaussianNB(),
        "logistic regression": LogisticRegression(max_iter=1000),
        "SVM": SVC(),
        "random forest": RandomForestClassifier(200, random_state=seed),
        "histogram boosting": HistGradientBoostingClassifier(random_state=seed),
        "quasi-bagging": QuasiBaggingClassifier(random_state=seed),
    }
    for name, model in models.items():
        start = time.perf_counter()
        model.fit(X, y)
        ranks = hasattr(model, "decision_function")
        scores = model.decision_function(test) if ranks else model.predict_proba(test)[:, 1]
        yield name, model, scores, time.perf_counter() - start


def run(name, table, y, experiment, draw, emit, done):
    """All cells of a draw."""
    labelled, ratios = EXPERIMENTS[experiment]
    known, free, test = draw_rows(y, labelled, max(ratios), draw)
    steps, views = prepare(table, np.r_[known, *free], draw)
    X, X_test, *X_free = (steps.transform(table.iloc[rows]) for rows in (known, test, *free))
    y_test, first = y[test], None
    for method, model, scores, seconds in supervised(X, y[known], X_test, draw):
        emit(method, 0, roc_auc_score(y_test, scores), seconds)
        if method == "quasi-bagging":
            first = [model.predict_proba(rows) for rows in X_free]
    for ratio in ratios:
        sizes = [round(ratio * n) for n in labelled]
        rows = np.vstack([X, *(part[:n] for part, n in zip(X_free, sizes))])
        hidden = np.repeat([0, 1], sizes)
        guess = Known(np.vstack([part[:n] for part, n in zip(first, sizes)]))
        for method, model, labels in multiview(views, guess, y[known], hidden, ratio, experiment, draw):
            if (method, ratio) in done:
                continue
            start = time.perf_counter()
            model.fit(rows, labels)
            seconds = time.perf_counter() - start
            emit(method, ratio, roc_auc_score(y_test, model.decision_function(X_test)), seconds, len(views))


def multiview(views, first, known, hidden, ratio, experiment, draw):
    """The models of one u / l, with the labels that they may see."""
    few = np.r_[known, np.full(len(hidden), -1)]
    shared = dict(views=views, random_state=draw)
    ensemble = dict(shared, initial=first, max_iter=ROUNDS)
    one = dict(shared, approximation="nystroem", n_components=100)
    yield "BSSEL-LS", BalancedMultiviewClassifier(**ensemble), few
    yield "BSSEL-SVM", BalancedMultiviewClassifier("hinge", **ensemble), few
    yield "MVL-LS", MultiviewKernelClassifier(**one), few
    yield "MVL-LS, balanced weights", MultiviewKernelClassifier(class_weight="balanced", **one), few
    wanted = (0, 5, 10, 15) if experiment == "simulation" else (0, 0.5, 1, 2.5)
    if ratio in wanted:
        for name, (gamma_B, gamma_W) in PENALTIES.items():
            if name != "both" and (experiment == "simulation" or name == "none"):
                yield (
                    f"BSSEL-LS, {name}",
                    BalancedMultiviewClassifier(gamma_B=gamma_B, gamma_W=gamma_W, **ensemble),
                    few,
                )
    if experiment == "simulation":
        silver = dict(ensemble, initial=Known(np.eye(2)[hidden]), max_iter=1)
        yield "silver standard", BalancedMultiviewClassifier(**silver), few
        yield "gold standard", BalancedMultiviewClassifier(**ensemble), np.r_[known, hidden]


def read_cells(path):
    if not path.exists():
        return pd.DataFrame(columns=["set", "experiment", "draw", "method", "ratio", "auc", "seconds", "n_views"])
    return pd.DataFrame([json.loads(line) for line in path.read_text().splitlines()])


def run_all(sets, experiments, draws, path):
    """Draw by draw, so that what there is after a stop has all tables in it."""
    missing = [name for name in sets if name != "generator" and not os.environ.get("FEWLABEL_DATA")]
    for name in missing:
        print(f"skipped {name}: set FEWLABEL_DATA to a folder with {name}.parquet", file=sys.stderr)
    tables = {name: load(name) for name in sets if name not in missing}
    for draw, experiment, name in itertools.product(draws, experiments, tables):
        cells = read_cells(path)
        mine = cells[(cells.set == name) & (cells.experiment == experiment) & (cells.draw == draw)]
        done = set(zip(mine.method, mine.ratio))
        if ("end", 0) in done:
            continue
        start = time.perf_counter()
        emit = functools.partial(write_cell, path, done, (name, experiment, draw))
        run(name, *tables[name], experiment, draw, emit, done)
        emit("end", 0, 0.0, time.perf_counter() - start)
        print(f"{name}, {experiment}, draw {draw}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


def write_cell(path, done, key, method, ratio, auc, seconds, n_views=0):
    if (method, ratio) not in done:
        cell = dict(zip(("set", "experiment", "draw"), key), method=method, ratio=ratio)
        cell |= {"auc": round(auc, 5), "seconds": round(seconds, 3), "n_views": n_views}
        with path.open("a") as file:
            file.write(json.dumps(cell) + "\n")


def report(path):
    cells = read_cells(path)
    cells = cells[cells.method != "end"].drop_duplicates(["set", "experiment", "draw", "method", "ratio"])
    published = tomllib.loads((HERE / "bssel.toml").read_text())
    groups = cells.groupby(["experiment", "set", "method", "ratio"], sort=False)
    summary = groups.auc.agg(["mean", "std", "count"]).join(groups[["seconds", "n_views"]].mean()).reset_index()
    summary.round(4).to_csv(HERE / "results_bssel.csv", index=False)
    for (experiment, name), part in summary.groupby(["experiment", "set"], sort=False):
        print(f"\n### {experiment}: {name} ({int(part['count'].max())} draws, {part.n_views.max():.1f} views)\n")
        table = part.pivot(index="method", columns="ratio", values="mean").loc[list(dict.fromkeys(part.method))]
        table.insert(0, "sd", part.groupby("method")["std"].mean())
        table.insert(len(table.columns), "fit, s", part.groupby("method").seconds.max())
        table.columns = [c if isinstance(c, str) else f"u/l={c:g}" for c in table.columns]
        print(table.astype(object).fillna("").to_markdown(floatfmt=".4f"))
    print("\n### Published\n")
    for name in ("table1", "table2", "table3"):
        ratios = (0, 5, 10, 15) if name == "table1" else (0, 0.5, 1, 2.5)
        table = pd.DataFrame({k: pd.Series(v) for k, v in published[name].items()}).T.astype(object).fillna("")
        table.columns = [f"u/l={r:g}" for r in ratios[: table.shape[1]]]
        print(f"{name}\n\n{table.to_markdown(floatfmt='.4f')}\n")


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
_CHILD = "import bssel, sys; bssel.time_one(*map(int, sys.argv[1:]))"


def speed():
    """Each size in a process of its own, so that its largest memory can be told."""
    results = []
    for n_components, n_rows in SIZES:
        out = subprocess.run(
            [sys.executable, "-c", _CHILD, str(n_components), str(n_rows)],
            cwd=HERE, check=True, capture_output=True, text=True,
        )  # fmt: skip
        results.append(json.loads(out.stdout.splitlines()[-1]))
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    print(pd.DataFrame(results).to_markdown(index=False, floatfmt=".4g"))


def time_one(n_components, n_rows):
    """MVL-LS on 210 labelled rows and n_rows in all, 4 views; AUC on rows of the same population that are not in it."""
    import resource

    X, y, true, views = make_multiview_credit(
        n_rows + 20_000, missing=0.0, n_nuisance=0, labeled=210, return_true=True, return_views=True, random_state=1
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first-draw", type=int, default=0, help="to share the draws between processes")
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--experiments", default=",".join(EXPERIMENTS))
    parser.add_argument("--cells", type=Path, default=Path("bssel_cells.jsonl"))
    parser.add_argument("--report", action="store_true", help="print the tables of finished cells")
    parser.add_argument("--speed", action="store_true", help="time and memory by size instead")
    arguments = parser.parse_args()
    if arguments.speed:
        speed()
        return
    if not arguments.report:
        draws = range(arguments.first_draw, arguments.draws)
        run_all(arguments.sets.split(","), arguments.experiments.split(","), draws, arguments.cells)
    report(arguments.cells)


if __name__ == "__main__":
    main()
