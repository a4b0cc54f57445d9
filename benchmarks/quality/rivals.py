"""Rivals by name: other packages on the splits of "Few labels", beside what the library has of the same kind.

FEWLABEL_DATA=folder python -m benchmarks.quality.rivals [--draws 2] [--methods NAME ...]  # adds rows to rivals.csv
FEWLABEL_DATA=folder python -m benchmarks.quality.rivals --positives  # adds rows to rivals_positives.csv
python -m benchmarks.quality.rivals --page  # writes docs/results/rivals.md

Packages that are not installed (`pip install sslearn libauc pulearn pu-toolbox`) are an error; rows in the files are
not made again. Our rows of both classes are the stored results of "Few labels", on the same draws. With `--positives`
30% of the positives of the same training rows are labeled, and nothing else; no method is told the prior. All methods
have their defaults; LibAUC ranks by a linear model and by a network of 32 hidden units, which its loss and its
optimizer fit in 200 passes.
"""

import argparse
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import fewlabel
from benchmarks.harness import get_suite, read_stored
from benchmarks.harness.resume import run_missing
from benchmarks.harness.tables import markdown_table
from benchmarks.quality.experience import experience_without
from benchmarks.quality.few_labels.experiment import rank_scores
from benchmarks.quality.positives_only import peers

FILE = Path(__file__).with_name("rivals.csv")
POSITIVES_FILE = Path(__file__).with_name("rivals_positives.csv")
PAGE = Path(__file__).parents[2] / "docs" / "results" / "rivals.md"
KEYS, COLUMNS = ["method", "dataset", "repeat"], ["score", "seconds"]
SETTING = "5% labeled"
SHARE = 0.3  # of the positives is labeled with `--positives`
LEAST = 5  # labeled positives
SSLEARN = ("TriTraining", "CoForest", "DemocraticCoLearning")
_AUTO = "AutoClassifier, table left out"  # its experience is without the table
_FORMER = "AutoClassifier 0.1.0, table left out"  # of the stored results of "Few labels"
_OURS = {"TreePUBoost": fewlabel.TreePUBoostClassifier, "Ada-PU": fewlabel.PUAdaBoostClassifier}
_FOREST = "scikit-learn: forest, positives against unlabeled"
_PASSES = 200
_BATCH = 64
POSITIVES = "Positives only"
FAMILIES = {  # the library's methods, then other packages'
    POSITIVES: (
        (_AUTO, *_OURS),
        (
            "CatBoost, positives against unlabeled",
            _FOREST,
            *("pulearn: bagging", "pulearn: Elkan-Noto"),
            *("pu-toolbox: PUSB", "pu-toolbox: LBE", "pu-toolbox: Elkan-Noto"),
        ),
    ),
    "Semi-supervised": (
        (_FORMER, "SSMAB"),
        (*(f"sslearn: {name}" for name in SSLEARN), "self-training", "label spreading"),
    ),
    "AUC": ((_FORMER, "tree AUC boosting", "PNU-AUCBoost"), ("LibAUC: linear", "LibAUC: network", "CatBoost")),
    "Linear": (("linear AUC", "LS-AUC (SAMULT)"), ("LinearSVC", "logistic regression", "LibAUC: linear")),
}
OF_OTHERS = {"self-training": "scikit-learn: self-training", "label spreading": "scikit-learn: label spreading"}
OF_OTHERS["logistic regression"] = "scikit-learn: logistic regression"
OF_OTHERS["LinearSVC"] = "scikit-learn: LinearSVC"


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


def scores_of_positives(method, rows, few, tests, seed, dataset):
    """Scores of test rows by a method that sees some positives (1) and unlabeled rows (-1)."""
    if method == _AUTO:
        model = fewlabel.AutoClassifier(experience=experience_without(dataset), random_state=seed)
        return rank_scores(model.fit(rows, few), tests)
    if method in _OURS:
        return rank_scores(_OURS[method](random_state=seed).fit(rows, few), tests)
    labeled = (few == 1).astype(int)
    if method == _FOREST:
        return rank_scores(RandomForestClassifier(random_state=seed).fit(rows, labeled), tests)
    scaler = StandardScaler().fit(rows)
    predict = peers(seed)[method](scaler.transform(rows), labeled)
    return np.asarray(predict(scaler.transform(tests)))[:, 1]


def measure(method, dataset, repeat):
    """Test AUC and seconds of one run with labels of both classes."""
    problem = _problem(dataset, repeat)
    start = time.perf_counter()
    found = scores(method, problem.X[problem.train], problem.few, problem.X[problem.test], repeat)
    return [[roc_auc_score(problem.y[problem.test], found), time.perf_counter() - start]]


def measure_positives(method, dataset, repeat):
    """Test AUC and seconds of one run with labels of positives only; one half where a package fails."""
    problem = _problem(dataset, repeat)
    positives = np.flatnonzero(problem.y[problem.train] == 1)
    n = max(LEAST, round(SHARE * len(positives)))
    few = np.full(len(problem.train), -1)
    few[np.random.default_rng(repeat).permutation(positives)[:n]] = 1
    start = time.perf_counter()
    rows, tests = problem.X[problem.train], problem.X[problem.test]
    try:
        found = scores_of_positives(method, rows, few, tests, repeat, dataset)
    except ValueError as error:  # such as no positive in a hold-out set
        print(method, dataset, repeat, error)
        found = np.zeros(len(tests))
    return [[roc_auc_score(problem.y[problem.test], found), time.perf_counter() - start]]


def _problem(dataset, repeat):
    experiment = get_suite("few-labels")["All methods"]
    return experiment.problem(dataset, experiment.setting(SETTING), repeat)


def table_of(family):
    """Test AUC of a family's methods, one row per draw of a table that all of them have."""
    ours, theirs = FAMILIES[family]
    if family == POSITIVES:
        both = pd.read_csv(POSITIVES_FILE)
    else:
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
            f"minus {ours[0]}": "" if method == ours[0] else f"{apart.mean():+.4f} ± {apart.sem():.4f}",
            "better on": "" if method == ours[0] else f"{(apart > 0).sum()} of {len(apart)}",
        }
    return markdown_table(pd.DataFrame.from_dict(rows, orient="index"))


def answer(family):
    """The strongest method of other packages, beside the best of ours."""
    ours, theirs = FAMILIES[family]
    means = table_of(family).groupby("dataset").mean()
    best = means[list(ours)].mean().idxmax()
    rival = means[list(theirs)].mean().idxmax()
    apart = means[best] - means[rival]
    level = abs(apart.mean()) < 2 * apart.sem()
    verdict = "level with" if level else "above" if apart.mean() > 0 else "below"
    of_rival = f"{OF_OTHERS.get(rival, rival)} ({means[rival].mean():.3f})"
    return (
        f"- **{family}**: the strongest other method is {of_rival}; {best} ({means[best].mean():.3f}) is {verdict} it: "
        f"{apart.mean():+.4f} ± {apart.sem():.4f}, better on {(apart > 0).sum()} of {len(apart)} tables."
    )


def page():
    """The page as Markdown."""
    text, _, rest = FILE.with_suffix(".md").read_text("utf-8").partition("\n## ")
    parts = [text.strip(), "\n".join(answer(family) for family in FAMILIES), f"## {rest}".strip()]
    for family, (ours, _) in FAMILIES.items():
        by_draw = table_of(family)
        n_tables = by_draw.index.get_level_values(0).nunique()
        n_draws = by_draw.groupby("dataset").size()
        drawn = f"{n_draws.min()}" if n_draws.min() == n_draws.max() else f"{n_draws.min()} to {n_draws.max()}"
        labels = f"{SHARE:.0%} of the positives labeled" if family == POSITIVES else SETTING
        title = (
            f"{n_tables} tables with {labels}, draws of each: {drawn}. Differences ± standard errors over the tables."
        )
        parts.append(f"## {family}\n\n{title}\n\n{_summary(by_draw, ours)}")
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--methods", nargs="+", metavar="NAME")
    parser.add_argument("--positives", action="store_true", help="label positives only")
    parser.add_argument("--page", action="store_true", help="write the page")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page(), "utf-8")
        return
    warnings.simplefilter("ignore")
    methods = ["LinearSVC", "LibAUC: linear", "LibAUC: network", *(f"sslearn: {name}" for name in SSLEARN)]
    path, run = FILE, measure
    if options.positives:
        methods = [method for side in FAMILIES[POSITIVES] for method in side]
        path, run = POSITIVES_FILE, measure_positives
    datasets = get_suite("few-labels")["All methods"].datasets
    wanted = product(range(options.draws), datasets, options.methods or methods)
    keys = [(method, dataset, repeat) for repeat, dataset, method in wanted]
    run_missing(path, KEYS, COLUMNS, keys, run)


if __name__ == "__main__":
    main()
