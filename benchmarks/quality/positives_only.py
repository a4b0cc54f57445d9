"""Positives only: ranking beside other packages, and whether AUC, prior, precision and recall are in their intervals.

FEWLABEL_DATA=folder python -m benchmarks.quality.positives_only [--draws 3] [--methods NAME ...] [--out FILE]

30% of the positives of 1,400 rows are labeled: a random sample, or by one column ("by column": the highest one is
labeled 20 times as often as the lowest), or the easiest ones ("easiest": those with the highest scores out of fold of a
forest that knows all classes). The AUC is that of 600 other rows ("auc_new") and of the unlabeled rows
("auc_hidden"), which all intervals are about. "AutoClassifier, audit" knows the answers to 50 audited rows.
"AutoClassifier, named" is told the column, "AutoClassifier, quick"
tries three quick methods. Peers that are not installed (`pip install pulearn pu-toolbox`) are left
out; uPU and nnPU are told the true prior. The prior of a peer is the mean of its probabilities over the unlabeled rows.
Runs in the file are not made again.
"""

import argparse
import time
import warnings
import zlib
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.harness.data import as_numbers, binary
from benchmarks.harness.resume import run_missing
from fewlabel import AutoClassifier
from fewlabel.active import AuditQuery
from fewlabel.decisions import Evidence

TABLES = [
    "cod-rna-59k",
    "default-credit-card",
    "give-me-some-credit",
    "insurance-30pct",
    "surgical-deepnet",
    "unsw-nb15-test",
    "nsl-kdd-20pct",
    "sick",
    "hypothyroid",
    "kr-vs-kp",
    "twonorm",
    "ring",
    "waveform",
    "splice",
    "pendigits",
    "credit-g",
    "pima",
    "tic-tac-toe",
    "wdbc",
    "ssl-Digit1",
]
WAYS = ("random", "by column")
EASIEST = "easiest"  # for AutoClassifier only
SHARE = 0.3  # of the positives is labeled
STRENGTH = 3.0  # logarithm of how much more often the highest row is labeled than the lowest
LEAST = 8  # labeled positives
N_ROWS = 2000
N_NEW = 600
N_AUDITED = 50
OWN = "AutoClassifier"
NAMED = f"{OWN}, named"
QUICK = f"{OWN}, quick"
TITLES = {
    f"{OWN}, audit": f"{OWN} after an audit of 50 rows",
    NAMED: f"{OWN} that is told the column",
    "random": "a random sample of the positives",
    "random, audit": "the same, after an audit",
    "random, quick": "the same, by three quick methods",
    "easiest, quick": "those that are easily recognized, by three quick methods",
    "by column": "by a column",
    "by column, audit": "the same, after an audit",
}
FIGURES = ("auc", "prior", "precision", "recall", "lift")
KEYS = ["table", "way", "draw", "method"]
COLUMNS = ["labeled", "seconds", "auc_new", "auc_hidden", "log_loss"]
for figure in FIGURES:
    COLUMNS += [figure, f"{figure}_low", f"{figure}_high", f"{figure}_truth"]


def draw_table(name, way, draw):
    """Rows, classes, which positives are labeled, which rows are new, and the column that labels depend on."""
    data, y = binary(name)
    rng = np.random.default_rng([draw, zlib.crc32(f"{name} {way}".encode())])
    rows = rng.permutation(len(y))[:N_ROWS]
    X = as_numbers(data.iloc[rows], np.arange(len(rows)))
    y = y[rows]
    is_new = np.arange(len(y)) < N_NEW * len(y) // N_ROWS
    positives = np.flatnonzero((y == 1) & ~is_new)
    varied = np.flatnonzero([len(np.unique(column)) > 4 for column in X[positives].T])
    column = int(rng.choice(varied)) if len(varied) else int(rng.integers(X.shape[1]))
    ranks = rankdata(X[positives, column] + 1e-9 * rng.normal(size=len(positives))) / len(positives)
    liking = STRENGTH * ranks if way == "by column" else np.zeros(len(positives))
    order = np.argsort(-(liking + rng.gumbel(size=len(positives))))
    if way == EASIEST:
        forest = RandomForestClassifier(200, min_samples_leaf=3, random_state=draw)
        known = np.flatnonzero(~is_new)
        of_known = cross_val_predict(forest, np.nan_to_num(X[known]), y[known], method="predict_proba")[:, 1]
        order = np.argsort(-of_known[np.isin(known, positives)])
    return X, y, positives[order[: max(LEAST, round(SHARE * len(positives)))]], is_new, column


def own(X, y, labeled, is_new, column, seed, method):
    """AutoClassifier, and what it says of the unlabeled rows."""
    kept = np.flatnonzero(~is_new)
    few = np.full(len(kept), -1)
    few[np.isin(kept, labeled)] = 1
    X_kept = X[kept]
    given = {}
    if method.endswith("audit"):
        found = AuditQuery(random_state=seed).query(X_kept, few, n=N_AUDITED)
        few[found.rows] = y[kept][found.rows]
        given["label_probability"] = found.label_probability(len(kept))
    named = {"labeled_because": [column]} if method == NAMED else {}
    portfolio = "small" if method == QUICK else "auto"
    model = AutoClassifier(portfolio, random_state=seed, **named).fit(X_kept, few, **given)
    hidden = few == -1
    truth = y[kept][hidden]
    scores = model.decision_function(X_kept[hidden])
    only = model.prior_ is not None
    weight = model.model_.evidence.weight
    # Labels that were not audited have no weight in estimates.
    counted = np.ones(len(model.labeled_rows_), dtype=bool) if weight is None else weight > 0
    evidence = Evidence(
        few[model.labeled_rows_[counted]] == 1,
        model.out_of_fold_[counted],
        scores,
        prior=model.prior_,
        prior_interval=model.prior_interval_ if only else None,
        positives_only=only,
        sample_weight=None if weight is None else weight[counted],
        training_share=model.training_share_,
    )
    at_threshold = evidence.at(0.0)
    flagged = scores > 0
    n_positive = max(truth.sum(), 1)
    truths = {
        "auc": roc_auc_score(truth, scores),
        "prior": truth.mean(),
        "precision": truth[flagged].mean() if flagged.any() else np.nan,
        "recall": truth[flagged].sum() / n_positive,
    }
    truths["lift"] = truths["precision"] / max(truths["prior"], 1 / len(truth))
    head = model.headline_
    bands = {"auc": (head["score"], head["low"], head["high"])}
    bands["prior"] = (model.prior_, *model.prior_interval_) if only else tuple(evidence.prior)
    bands |= {figure: tuple(at_threshold[figure]) for figure in ("precision", "recall", "lift")}
    # An audit with too few rows of a class leaves no number about the unlabeled rows.
    if not model.selection_.can_tell:
        bands = dict.fromkeys(FIGURES, (np.nan,) * 3)
    probability = model.positive_proba(X_kept[hidden])
    figures = [value for figure in FIGURES for value in (*bands[figure], truths[figure])]
    own_loss = log_loss(truth, np.clip(probability, 1e-6, 1 - 1e-6), labels=[0, 1])
    return [roc_auc_score(y[is_new], model.decision_function(X[is_new])), truths["auc"], own_loss, *figures]


def peers(seed, prior=None):
    """Other ways to learn from positives and unlabeled rows: functions of (X, s) that return one of rows.

    Those that have to be told the prior are among them if it is given; they give scores without probabilities.
    """

    def catboost(X, s):
        from catboost import CatBoostClassifier

        # With so few labels as good as 1000 trees.
        model = CatBoostClassifier(
            300,
            auto_class_weights="Balanced",
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
            random_seed=seed,
        )
        return model.fit(X, s).predict_proba

    found = {"CatBoost, positives against unlabeled": catboost}
    try:
        from pulearn import BaggingPuClassifier, ElkanotoPuClassifier

        trees = dict(estimator=DecisionTreeClassifier(), n_estimators=100, n_jobs=1, random_state=seed)
        forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=seed)
        found["pulearn: bagging"] = lambda X, s: BaggingPuClassifier(**trees).fit(X, s).predict_proba
        found["pulearn: Elkan-Noto"] = lambda X, s: (
            ElkanotoPuClassifier(forest, random_state=seed).fit(X, s).predict_proba
        )
    except ImportError:
        print("pulearn is not installed: left out")
    try:
        from pu_toolbox.estimators.bias_aware.lbe import LBEClassifier
        from pu_toolbox.estimators.bias_aware.pusb import PUSBClassifier
        from pu_toolbox.estimators.classic.elkan_noto import ElkanNotoClassifier

        found["pu-toolbox: PUSB"] = lambda X, s: PUSBClassifier().fit(X, s).predict_proba
        found["pu-toolbox: LBE"] = lambda X, s: LBEClassifier().fit(X, s).predict_proba
        found["pu-toolbox: Elkan-Noto"] = lambda X, s: ElkanNotoClassifier(random_state=seed).fit(X, s).predict_proba
        if prior is not None:
            from pu_toolbox.estimators.risk.nnpu import NonNegativePUClassifier
            from pu_toolbox.estimators.risk.upu import UPUClassifier

            network = dict(class_prior=prior, random_state=seed)
            found["pu-toolbox: uPU"] = lambda X, s: UPUClassifier(prior).fit(X, s).decision_function
            found["pu-toolbox: nnPU"] = lambda X, s: NonNegativePUClassifier(**network).fit(X, s).decision_function
    except ImportError:
        print("pu-toolbox is not installed: left out")
    return found


def peer(X, y, labeled, is_new, fit):
    """The AUCs, the log-loss and the prior of a peer; it says nothing of how good it is."""
    kept = np.flatnonzero(~is_new)
    X = StandardScaler().fit(X[kept]).transform(X)
    s = np.isin(kept, labeled).astype(int)
    try:
        score = fit(X[kept], s)
    except ValueError as error:  # such as no positive in the hold-out set
        print(error)
        return [np.nan] * (3 + 4 * len(FIGURES))
    hidden = kept[s == 0]
    of_hidden = np.asarray(score(X[hidden]))
    of_new = np.asarray(score(X[is_new]))
    loss = np.nan
    of_prior = {}
    # One column is a score without probabilities, of a method that is told the prior.
    if of_hidden.ndim == 2:
        of_hidden = of_hidden[:, 1]
        of_new = of_new[:, 1]
        loss = log_loss(y[hidden], np.clip(of_hidden, 1e-6, 1 - 1e-6), labels=[0, 1])
        of_prior = {"prior": of_hidden.mean(), "prior_truth": y[hidden].mean()}
    figures = [of_prior.get(figure + end, np.nan) for figure in FIGURES for end in ("", "_low", "_high", "_truth")]
    return [roc_auc_score(y[is_new], of_new), roc_auc_score(y[hidden], of_hidden), loss, *figures]


def measure(name, way, draw, method):
    """The row of one run."""
    X, y, labeled, is_new, column = draw_table(name, way, draw)
    start = time.process_time()
    if method.startswith(OWN):
        figures = own(X, y, labeled, is_new, column, draw, method)
    else:
        hidden = np.setdiff1d(np.flatnonzero(~is_new), labeled)
        figures = peer(X, y, labeled, is_new, peers(draw, y[hidden].mean())[method])
    return [[len(labeled), time.process_time() - start, *figures]]


def tables_of_page(runs):
    """Two tables in Markdown: the methods beside each other, and how often the intervals of AutoClassifier hold."""
    first = runs[(runs["draw"] == 0) & runs["way"].isin(WAYS)].copy()
    first["prior_error"] = (first["prior"] - first["prior_truth"]).abs()
    ranked = first.pivot_table(index="table", columns=["way", "method"], values="auc_new")
    common = ranked.dropna().index
    means = first[first["table"].isin(common)].groupby(["way", "method"])[["auc_new", "log_loss", "prior_error"]].mean()
    names = ["AUC", "log-loss", "error of the prior"]
    head = ["method", *(f"random: {name}" for name in names), *(f"by a column: {name}" for name in names)]
    lines = [head, ["---", *["--:"] * 6]]
    for method in means.xs("by column", level="way").sort_values("auc_new", ascending=False).index:
        cells = [TITLES.get(method, method)]
        for way in WAYS:
            figures = means.loc[(way, method)] if (way, method) in means.index else [np.nan] * 3
            cells += ["" if np.isnan(figure) else f"{figure:.3f}".lstrip("0") for figure in figures]
        lines.append(cells)
    held = [["labeled rows", "runs", "no number is given", "AUC", *FIGURES[1:]], ["---", *["--:"] * 7]]
    own_runs = runs[runs["method"].str.startswith(OWN)].sort_values(["way", "method"], ascending=[False, True])
    for (way, method), group in own_runs.groupby(["way", "method"], sort=False):
        told = group[group["auc"].notna()]
        # Its intervals were not measured again.
        if method == NAMED:
            continue
        cells = [TITLES[f"{way}{method.removeprefix(OWN)}"], str(len(group)), str(len(group) - len(told))]
        for figure in FIGURES:
            known = told[told[f"{figure}_truth"].notna()]
            if known.empty:
                cells.append("")
                continue
            is_in = known[f"{figure}_truth"].between(known[f"{figure}_low"] - 1e-9, known[f"{figure}_high"] + 1e-9)
            width = (known[f"{figure}_high"] - known[f"{figure}_low"]).mean()
            cells.append(f"{is_in.mean():.0%} ({width:.2f})".replace("(0.", "(."))
        held.append(cells)
    return len(common), *("\n".join(f"| {' | '.join(line)} |" for line in table) for table in (lines, held))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=(*WAYS, EASIEST))
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("positives_only.csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    methods = options.methods or [OWN, f"{OWN}, audit", NAMED, *peers(0, 0.5)]
    keys = [(name, way, draw, m) for draw, name, way, m in product(range(options.draws), TABLES, options.ways, methods)]
    # A random choice depends on no column that could be named.
    keys = [key for key in keys if key[1] != "random" or key[3] != NAMED]
    for table in tables_of_page(run_missing(options.out, KEYS, COLUMNS, keys, measure)):
        print(table)


if __name__ == "__main__":
    main()
