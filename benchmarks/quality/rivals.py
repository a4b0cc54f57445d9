"""Rivals by name: other packages on the splits of "Few labels", beside what the library has of the same kind.

FEWLABEL_DATA=folder python -m benchmarks.quality.rivals [--draws 2] [--methods NAME ...]  # adds rows to rivals.csv
python -m benchmarks.quality.rivals --page  # writes docs/results/rivals.md

Packages that are not installed (`pip install sslearn libauc`) are an error; rows in the file are not made again. Our
rows are the stored results of "Few labels", on the same draws. All methods have their defaults; LibAUC ranks by a
linear model and by a network of 32 hidden units, which its loss and its optimizer fit in 200 passes.
"""

import argparse
import time
import warnings
from pathlib import Path

import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.harness import get_suite, read_stored
from benchmarks.harness.tables import markdown_table

FILE = Path(__file__).with_name("rivals.csv")
PAGE = Path(__file__).parents[2] / "docs" / "results" / "rivals.md"
SETTING = "5% labeled"
SSLEARN = ("TriTraining", "CoForest", "DemocraticCoLearning")
_OURS = "AutoClassifier, table left out"  # its experience is without the table
_PASSES = 200
_BATCH = 64
FAMILIES = {  # of both classes: the library's methods, then other packages'
    "Semi-supervised": (
        (_OURS, "SSMAB"),
        (*(f"sslearn: {name}" for name in SSLEARN), "self-training", "label spreading"),
    ),
    "AUC": ((_OURS, "tree AUC boosting", "PNU-AUCBoost"), ("LibAUC: linear", "LibAUC: network", "CatBoost")),
    "Linear": (("linear AUC", "LS-AUC (SAMULT)"), ("LinearSVC", "logistic regression", "LibAUC: linear")),
}
OF_OTHERS = {"self-training": "scikit-learn: self-training", "label spreading": "scikit-learn: label spreading"}


def scores(method, rows, few, tests, seed):
    """Scores of test rows by a method; `few` holds -1 for unlabeled rows."""
    scaler = StandardScaler().fit(rows)
    rows, tests = scaler.transform(rows), scaler.transform(tests)
    known = few != -1
    if method == "LinearSVC":
        return LinearSVC(random_state=seed).fit(rows[known], few[known]).decision_function(tests)
    if method.startswith("LibAUC"):
        return _libauc(rows[known], few[known], tests, seed, hidden=method.endswith("network"))
    from sslearn import wrapper

    model = getattr(wrapper, method.split(": ")[1])(random_state=seed)
    return model.fit(rows, few).predict_proba(tests)[:, 1]


def _libauc(rows, y, tests, seed, *, hidden):
    import torch
    from libauc.losses import AUCMLoss
    from libauc.optimizers import PESG

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    n = rows.shape[1]
    layers = [torch.nn.Linear(n, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)] if hidden else [torch.nn.Linear(n, 1)]
    model = torch.nn.Sequential(*layers, torch.nn.Sigmoid())
    loss = AUCMLoss(device="cpu")
    optimizer = PESG(model.parameters(), loss_fn=loss, lr=0.1, verbose=False, device="cpu")
    X = torch.tensor(rows, dtype=torch.float32)
    target = torch.tensor(y, dtype=torch.float32)[:, None]
    for _ in range(_PASSES):
        for batch in torch.randperm(len(X)).split(_BATCH):
            if len(target[batch].unique()) < 2:  # the loss compares two classes
                continue
            optimizer.zero_grad()
            loss(model(X[batch]), target[batch]).backward()
            optimizer.step()
    with torch.no_grad():
        return model(torch.tensor(tests, dtype=torch.float32)).numpy().ravel()


def run(methods, n_draws, data_home=None):
    """Add rows to the file: the test AUC of methods on the first draws of all tables."""
    experiment = get_suite("few-labels")["All methods"]
    setting = experiment.setting(SETTING)
    found = pd.read_csv(FILE) if FILE.exists() else pd.DataFrame(columns=["method", "dataset", "repeat", "score"])
    done = set(found[["method", "dataset", "repeat"]].itertuples(index=False, name=None))
    for repeat in range(n_draws):
        for dataset in experiment.datasets:
            for method in methods:
                if (method, dataset, repeat) in done:
                    continue
                problem = experiment.problem(dataset, setting, repeat, data_home)
                rows = problem.X[problem.train], problem.few, problem.X[problem.test]
                start = time.perf_counter()
                auc = roc_auc_score(problem.y[problem.test], scores(method, *rows, repeat))
                row = [method, dataset, repeat, round(auc, 6), round(time.perf_counter() - start, 3)]
                found.loc[len(found), ["method", "dataset", "repeat", "score", "seconds"]] = row
                found.to_csv(FILE, index=False)


def table_of(family):
    """Mean test AUC of a family's methods over the draws and tables that all of them have."""
    ours, theirs = FAMILIES[family]
    stored, _ = read_stored(get_suite("few-labels"))
    stored = stored[(stored["experiment"] == "All methods") & (stored["setting"] == SETTING)]
    both = pd.concat([stored, pd.read_csv(FILE)])
    by_draw = both.pivot_table(index=["dataset", "repeat"], columns="method", values="score")
    return by_draw[[*ours, *theirs]].dropna()


def _summary(by_draw, ours):
    means = by_draw.groupby("dataset").mean()
    best = means[ours[0]]
    rows = {}
    for method in means.mean().sort_values(ascending=False).index:
        apart = (means[method] - best).round(10)
        rows[OF_OTHERS.get(method, method)] = {
            "of": "fewlabel" if method in ours else "others",
            "mean AUC": f"{means[method].mean():.4f}",
            f"less {ours[0]}": "" if method == ours[0] else f"{apart.mean():+.4f} ± {apart.sem():.4f}",
            "better on": "" if method == ours[0] else f"{(apart > 0).sum()} of {len(apart)}",
        }
    return markdown_table(pd.DataFrame.from_dict(rows, orient="index"))


def page():
    """The page as Markdown."""
    parts = [FILE.with_suffix(".md").read_text("utf-8").strip()]
    for family, (ours, _) in FAMILIES.items():
        by_draw = table_of(family)
        n_tables = by_draw.index.get_level_values(0).nunique()
        n_draws = by_draw.groupby("dataset").size()
        drawn = f"{n_draws.min()}" if n_draws.min() == n_draws.max() else f"{n_draws.min()} to {n_draws.max()}"
        title = (
            f"{n_tables} tables with {SETTING}, draws of each: {drawn}. Differences ± standard errors over the tables."
        )
        parts.append(f"## {family}\n\n{title}\n\n{_summary(by_draw, ours)}")
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    parser.add_argument("--page", action="store_true", help="write the page")
    options = parser.parse_args()
    everything = ["LinearSVC", "LibAUC: linear", "LibAUC: network", *(f"sslearn: {name}" for name in SSLEARN)]
    if options.page:
        PAGE.write_text(page(), "utf-8")
    else:
        warnings.simplefilter("ignore")
        run(options.methods or everything, options.draws)


if __name__ == "__main__":
    main()
