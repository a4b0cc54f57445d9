"""Labels that somebody chose: whether it is said, and whether the estimates hold for the unlabeled rows.

FEWLABEL_DATA=folder python -m benchmarks.quality.chosen_labels [--draws 3] [--tables N ...] [--out runs.csv]

Rows are labeled at random, by one column, by an old scorecard, by noisy top scores, on one side of a column (without
overlap), or class by class (as many of each from a table with 5% positives). The AUC, the precision at the threshold
and the least cost are compared with those of the unlabeled rows: as fewlabel does ("auto"), by the same models with
labels taken as random ("random"), and for rows drawn class by class with their share stated ("prior"). Runs in the file
are not made again. Fits are kept in a folder (`--store`), so that other estimates can be tried in seconds. Runs class
by class on other tables are in chosen_labels_others.csv.
"""

import argparse
import warnings
import zlib
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
from scipy.stats import rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.data import as_numbers, binary
from benchmarks.harness.resume import run_missing
from fewlabel import AutoClassifier
from fewlabel.auto.intervals import interval
from fewlabel.auto.weights import auc
from fewlabel.decisions import Costs, Evidence
from fewlabel.metrics.angles import from_angle, to_angle
from fewlabel.rows import Rows

TABLES = [
    "default-credit-card",
    "give-me-some-credit",
    "surgical-deepnet",
    "cod-rna-59k",
    "insurance-30pct",
    "unsw-nb15-test",
    "nsl-kdd-20pct",
    "sick",
    "kr-vs-kp",
    "twonorm",
]
# Strength: how much more often the highest row is labeled than the lowest, as a logarithm; noise of the top scores.
WAYS = {
    "random": None,
    "column, weak": 2.0,
    "column, strong": 5.0,
    "scorecard, weak": 2.0,
    "scorecard, strong": 5.0,
    "top scores, weak": 0.6,
    "top scores, strong": 0.25,
    "one side": None,
    "class by class": None,
}
LABELS = (250, 1000, 60)
MEMBERS = ["logistic regression", "extra trees"]  # two families that are quick enough for hundreds of fits
N_ROWS = 2500
LEAST = 5  # labels of each class
N_KNOWN = 80  # rows that an old scorecard was fitted to
MOST_TIED = 0.05  # of the rows at the median of a column that parts the table in two
RARE = 0.05  # share of positives where rows are drawn class by class
COSTS = Costs(10, 1)
# The estimate as it is, moved back by the number of labels, and by the evidence of a difference.
MOVES = {
    "as fewlabel does": lambda labels, distance: 1.0,
    "the share *n* / (*n* + 20) of the way, *n* labels": lambda labels, distance: labels / (labels + 20),
    "the share *d*² / (*d*² + 0.6 / *n*), *d* the distance of angles": lambda labels, distance: (
        distance / (distance + 0.6 / labels)
    ),
}
KEYS = ["table", "way", "labels", "draw"]
COLUMNS = ["drawn", "chosen", "told", "asks", "auc", "low", "high", "truth"]
COLUMNS += ["precision", "precision_low", "precision_high", "precision_truth"]
COLUMNS += ["cost", "cost_low", "cost_high", "cost_truth"]


@cache
def load(name, way="random"):
    """At most 2,500 rows as numbers, and 1 for the positive class; with 5% positives for draws class by class."""
    data, y = binary(name)
    rows = np.random.default_rng(0).permutation(len(y))
    if way == "class by class":
        positive = rows[y[rows] == 1]
        negative = rows[y[rows] == 0][: int(2 * N_ROWS * (1 - RARE))]
        negative = negative[: int(len(positive) * (1 - RARE) / RARE)]
        rows = np.sort(np.concatenate([positive[: int(len(negative) * RARE / (1 - RARE))], negative]))
    else:
        rows = rows[:N_ROWS]
    return as_numbers(data.iloc[rows], np.arange(len(rows))), y[rows]


def liking(X, y, way, rng):
    """What the labeled rows are chosen by: ranks from 0 to 1."""
    scaled = np.clip(StandardScaler().fit_transform(X), -3, 3)
    if way.startswith(("column", "one")):
        strength = np.array([abs(roc_auc_score(y, column) - 0.5) for column in scaled.T])
        if way == "one side":
            # Rows that tie with the median would be on both sides.
            tied = (scaled == np.median(scaled, axis=0)).mean(axis=0)
            strength[tied > MOST_TIED] = -1.0
            if strength.max() < 0:
                return None
        values = scaled[:, int(np.argmax(strength))]
    else:
        known = rng.permutation(len(y))[:N_KNOWN]
        while len(np.unique(y[known])) < 2:
            known = rng.permutation(len(y))[:N_KNOWN]
        columns = rng.permutation(X.shape[1])[: max(2, X.shape[1] // 2)]
        card = LogisticRegression(C=0.1, max_iter=500).fit(scaled[np.ix_(known, columns)], y[known])
        values = card.decision_function(scaled[:, columns])
    return rankdata(values + 1e-9 * rng.normal(size=len(values))) / len(values)


def choose(X, y, way, n, rng):
    """Positions of the labeled rows; None if the table does not allow it."""
    if way == "random":
        return rng.permutation(len(y))[:n]
    if way == "class by class":
        of_class = [rng.permutation(np.flatnonzero(y == code))[: n // 2] for code in (0, 1)]
        return np.concatenate(of_class) if len(of_class[1]) <= 0.8 * y.sum() else None
    likes = liking(X, y, way, rng)
    if likes is None:
        return None
    if way == "one side":
        return rng.permutation(np.flatnonzero(likes > 0.5))[:n]
    if way.startswith("top"):
        return np.argsort(-(likes + WAYS[way] * rng.normal(size=len(y))))[:n]
    # Drawn without replacement, with weights exp(strength * liking).
    return np.argsort(-(WAYS[way] * likes + rng.gumbel(size=len(y))))[:n]


def fitted(X, y, labeled, prior, seed):
    """What a fit knows of labeled and unlabeled rows, and the hidden classes of the latter."""
    few = np.full(len(y), -1)
    few[labeled] = y[labeled]
    model = AutoClassifier(MEMBERS, n_repeats=1, prior=prior, random_state=seed).fit(X, few)
    hidden = few < 0
    selection = model.selection_
    draw = selection.class_draw
    asks = selection.asks_share
    weight = model.model_.evidence.weight
    codes = few[model.labeled_rows_]
    return {
        "codes": codes,
        "out_of_fold": model.out_of_fold_,
        "weight": np.ones(len(codes)) if weight is None else weight,
        "is_weighted": weight is not None,
        "scores": model.decision_function(X[hidden]),
        "y": y[hidden],
        "chosen": selection.chosen,
        "told": selection.can_tell,
        "asks": asks,
        # Of the positives: stated, by the ranks, or by the labels.
        "share": prior if prior is not None else draw.share if asks else np.nan,
        "share_ends": (draw.low, draw.high) if asks else (np.nan, np.nan),
        "training_share": model.training_share_,
    }


def kept_fit(name, way, n, draw, *, stated, store):
    """The fit of a run, from the folder of fits if it is there; None where labels have too few rows of a class."""
    path = None if store is None else store / f"{name}, {way}, {n}, {draw}, {stated}.npz"
    if path is not None and path.exists():
        with np.load(path) as arrays:
            return {key: arrays[key] if arrays[key].ndim else arrays[key].item() for key in arrays}
    X, y = load(name, way)
    rng = np.random.default_rng([draw, n, zlib.crc32(f"{name} {way}".encode())])
    labeled = choose(X, y, way, n, rng)
    if labeled is None or min(y[labeled].sum(), (1 - y[labeled]).sum()) < LEAST:
        return None
    share = float(np.delete(y, labeled).mean()) if stated else None
    fit = fitted(X, y, labeled, share, draw)
    if path is not None:
        store.mkdir(exist_ok=True)
        np.savez_compressed(path, **fit)
    return fit


def estimates(fit, *, as_random=False):
    """What is said, what is estimated, and what is true of the unlabeled rows.

    What is not told to the user is estimated all the same.
    """
    is_weighted = fit["is_weighted"] and not as_random
    weight = fit["weight"] if is_weighted else None
    rows = Rows(None, fit["codes"], np.arange(2), weight=weight)
    unlabeled = fit["scores"] if is_weighted else None
    held_out = fit["out_of_fold"][:, None]
    auc_ends = interval(rows, held_out, auc, None, 0, fit["training_share"], unlabeled=unlabeled)
    share = {}
    if not as_random and np.isfinite(fit["share"]):
        share["prior"] = fit["share"]
        if fit["asks"]:
            share["prior_interval"] = tuple(fit["share_ends"])
    said = [False, True, False] if as_random else [fit["chosen"], fit["told"], fit["asks"]]
    truth = roc_auc_score(fit["y"], fit["scores"])
    return [*said, *auc_ends, truth, *decided(fit, sample_weight=weight, **share)]


def decided(fit, **sampled):
    """Precision at the threshold and least cost, each with its band and its true value."""
    scores = fit["scores"]
    y = fit["y"]
    positive = fit["codes"] == 1
    evidence = Evidence(positive, fit["out_of_fold"], scores, training_share=fit["training_share"], **sampled)
    flagged = scores > 0
    precision = [*evidence.at(0.0)["precision"], y[flagged].mean() if flagged.any() else np.nan]
    threshold = evidence.cost_threshold(COSTS)
    flagged = scores > threshold
    cost = (COSTS.miss * y[~flagged].sum() + COSTS.alarm * (1 - y[flagged]).sum()) / len(y)
    return [*precision, *evidence.at(threshold, COSTS)["cost"], cost]


def measure(name, way, n, draw, store=None):
    """The rows of one run."""
    fit = kept_fit(name, way, n, draw, stated=False, store=store)
    if fit is None:
        return []
    found = [["auto", *estimates(fit)], ["random", *estimates(fit, as_random=True)]]
    if way == "class by class":
        stated = kept_fit(name, way, n, draw, stated=True, store=store)
        found.append(["prior", *estimates(stated)])
    return found


def kinds(runs):
    """Random, chosen with overlap, on one side, or class by class."""
    way = runs["way"].str.split(",").str[0]
    return way.where(way.isin(["random", "one side", "class by class"]), "chosen")


def summary(runs, by):
    """Shares and errors of runs, by some of their columns."""

    def inside(name, low, high, truth):
        held = (runs[low] - 1e-9 <= runs[truth]) & (runs[truth] <= runs[high] + 1e-9)
        return held.where(runs[truth].notna())

    error = runs["auc"] - runs["truth"]
    table = runs.assign(
        covered=inside("auc", "low", "high", "truth").astype(float),
        width=runs["high"] - runs["low"],
        error=error,
        squared=error**2,
        precision_held=inside("precision", "precision_low", "precision_high", "precision_truth").astype(float),
        cost_held=inside("cost", "cost_low", "cost_high", "cost_truth").astype(float),
    )
    names = ["chosen", "told", "asks", "covered", "width", "error", "squared", "precision_held", "cost_held"]
    grouped = table.groupby(by, sort=False)
    means = grouped[names].mean()
    means.insert(0, "runs", grouped.size())
    means["squared"] **= 0.5
    return means.rename(columns={"squared": "rmse"})


def moved_back(runs, shares):
    """Errors if the estimate were only a share of the way from that of labels taken as random, by number of labels.

    Parameters
    ----------
    runs : DataFrame
    shares : callable
        ``shares(labels, distance)``: the share, by the number of labels and the squared distance of the two estimates,
        on the scale of angles.

    Returns
    -------
    errors : Series
        Root mean squared errors of the AUC, by number of labels.
    n_above : int
        Combinations of way, strength and number of labels in which the error is above that of labels taken as random.
    """
    chosen = runs[kinds(runs) == "chosen"].set_index([*KEYS, "truth"])
    found = chosen.pivot(columns="drawn", values="auc").reset_index()
    plain = to_angle(found["random"])
    distance = to_angle(found["auto"]) - plain
    moved = from_angle(plain + shares(found["labels"], distance**2) * distance)
    squared = (moved - found["truth"]) ** 2
    excess = squared - (found["random"] - found["truth"]) ** 2
    by_cell = excess.groupby([found["way"], found["labels"]]).sum()
    return squared.groupby(found["labels"]).mean() ** 0.5, int((by_cell > 0).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--ways", nargs="*", default=WAYS)
    parser.add_argument("--labels", type=int, nargs="*", default=LABELS)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("chosen_labels.csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    wanted = product(range(options.draws), options.labels, options.ways, options.tables)
    keys = [(name, way, n, draw) for draw, n, way, name in wanted]
    runs = run_missing(options.out, KEYS, COLUMNS, keys, partial(measure, store=options.store))
    for by in (["way", "labels", "drawn"], [kinds(runs), "labels", "drawn"], [kinds(runs), "drawn"]):
        print(summary(runs, by).round(3).to_string(), "\n")
    for name, shares in MOVES.items():
        errors, n_above = moved_back(runs, shares)
        print(name, errors.round(4).to_dict(), "above labels taken as random in", n_above)


if __name__ == "__main__":
    main()
