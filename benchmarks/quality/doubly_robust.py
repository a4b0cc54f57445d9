"""Whether a doubly robust AUC tells when the AUC of chosen labels is wrong.

FEWLABEL_DATA=folder python -m benchmarks.quality.doubly_robust [--draws 3] [--out doubly_robust.csv]

Tables and ways to choose rows are those of chosen_labels.py. The score is a logistic regression, out of fold on the
labeled rows. Its AUC among the unlabeled rows is estimated by the labeled rows as they are ("plain"), with weights
("weights"), by the curve of the scores ("curve"), as fewlabel does ("own"), and doubly robustly (Alonzo, Pepe 2005):
each unlabeled row counts as a positive by its probability m, and each labeled row by its weight times y - m, where m is
that of the curve ("robust, curve") or of a forest of the columns ("robust, forest"). "told" is the difference of the
last from "own" where it exceeds twice its standard error over 100 bootstrap samples of the labeled rows, and else 0.
"""

import argparse
import warnings
import zlib
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.harness.resume import run_missing
from benchmarks.quality.chosen_labels import KEYS, LEAST, TABLES, WAYS, choose, load
from fewlabel.auto.intervals import interval
from fewlabel.auto.weights import auc
from fewlabel.decisions import curve_auc
from fewlabel.decisions._response import Rows as ScoreRows
from fewlabel.decisions._response import response_draws
from fewlabel.population import describe_selection
from fewlabel.rows import Rows

CHOSEN = [way for way in WAYS if way.startswith(("column", "scorecard", "top"))]
LABELS = (250, 1000)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
N_BOOTSTRAP = 100
COLUMNS = ["truth", "plain", "weights", "curve", "own", "robust, curve", "robust, forest", "told"]


def robust_auc(y, scores, m, weight, unlabeled, unlabeled_m):
    """AUC among unlabeled rows, with probabilities m of all rows and weights of the labeled ones."""
    residual = weight * (y - m)
    order = np.argsort(np.r_[scores, unlabeled], kind="stable")
    positives = np.r_[residual, unlabeled_m][order]
    negatives = np.r_[-residual, 1 - unlabeled_m][order]
    below = np.cumsum(negatives) - negatives / 2
    return float(np.clip(positives @ below / (positives.sum() * negatives.sum()), 0.0, 1.0))


def curve_probability(positive, scores, population, at, size=None):
    """Probability of a positive by its score, as in `curve_auc`; `size` is how much each labeled row counts."""
    rows = ScoreRows.of(population)
    known = dict(prior=None, prior_interval=None, positives_only=False, rng=np.random.default_rng(0), n_draws=1)
    probability = response_draws(rows, positive, scores, np.ones(len(scores)) if size is None else size, **known)[:, 0]
    return np.interp(at, rows.scores[::-1], probability[::-1])


def measure(name, way, n, draw):
    """All estimates of one run; no row where a class has too few labels."""
    X, y = load(name, way)
    rng = np.random.default_rng([draw, n, zlib.crc32(f"{name} {way}".encode())])
    labeled = np.sort(choose(X, y, way, n, rng))
    few = y[labeled]
    if min(few.sum(), len(few) - few.sum()) < LEAST:
        return []
    is_labeled = np.isin(np.arange(len(y)), labeled)
    names = [f"x{k}" for k in range(X.shape[1])]
    selection = describe_selection(X, is_labeled, names, positive=is_labeled & (y == 1), drawn="by-columns")
    ranker = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=500))
    scores = cross_val_predict(ranker, X[labeled], few, cv=FOLDS, method="decision_function")
    unlabeled = ranker.fit(X[labeled], few).decision_function(X[~is_labeled])
    forest = RandomForestClassifier(200, min_samples_leaf=5, random_state=0)
    m = cross_val_predict(forest, X[labeled], few, cv=FOLDS, method="predict_proba")[:, 1]
    unlabeled_m = forest.fit(X[labeled], few).predict_proba(X[~is_labeled])[:, 1]
    rows = Rows(None, few, np.arange(2), weight=selection.weight)
    own = interval(rows, scores[:, None], auc, None, 0, 0.8, unlabeled=unlabeled)[0]
    weight = selection.weight * (len(unlabeled) / selection.weight.sum())
    curve_m = curve_probability(few == 1, scores, unlabeled, np.r_[scores, unlabeled])
    by_curve = robust_auc(few, scores, curve_m[: len(few)], weight, unlabeled, curve_m[len(few) :])
    by_forest = robust_auc(few, scores, m, weight, unlabeled, unlabeled_m)
    drawn = []
    for _ in range(N_BOOTSTRAP):
        some = rng.integers(len(few), size=len(few))
        scale = weight.sum() / weight[some].sum()
        drawn.append(robust_auc(few[some], scores[some], m[some], scale * weight[some], unlabeled, unlabeled_m))
    is_told = abs(by_forest - own) > 2 * np.std(drawn)
    weighted = roc_auc_score(few, scores, sample_weight=weight)
    truth = roc_auc_score(y[~is_labeled], unlabeled)
    plain = roc_auc_score(few, scores)
    curve = curve_auc(few == 1, scores, unlabeled)
    return [[truth, plain, weighted, curve, own, by_curve, by_forest, by_forest - own if is_told else 0.0]]


def summary(runs):
    """Root mean squared errors by the number of labels, and what a disagreement says of the error of "own"."""
    estimates = COLUMNS[1:-1]
    squared = runs[estimates].sub(runs["truth"], axis=0) ** 2
    errors = squared.groupby(runs["labels"]).mean() ** 0.5
    error = runs["own"] - runs["truth"]
    is_told = runs["told"] != 0
    told = {
        "runs": int(is_told.sum()),
        "error where told": float((error[is_told] ** 2).mean() ** 0.5),
        "error elsewhere": float((error[~is_told] ** 2).mean() ** 0.5),
        "in the right direction": float((runs["told"] * error < 0)[is_told].mean()),
        "correlation": float((runs["robust, forest"] - runs["own"]).corr(-error)),
    }
    return errors, told


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("doubly_robust.csv"))
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    keys = [(name, way, n, d) for d, n, way, name in product(range(options.draws), LABELS, CHOSEN, TABLES)]
    errors, told = summary(run_missing(options.out, KEYS, COLUMNS, keys, measure))
    print(errors.round(3).to_string())
    print(told)


if __name__ == "__main__":
    main()
