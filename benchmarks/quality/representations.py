"""Representations learned from all rows, each beside the same method without it.

Tables of the registry with 5% of the labels (at least five per class), at most 3,000 rows; one draw. The test rows are
the unlabeled ones. Prints the mean test AUC of each pair of methods, and on how many tables the second is better.

    FEWLABEL_DATA=folder python -m benchmarks.quality.representations [--tables bupa,sonar,...] [--out cells.csv]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.linalg import solve
from scipy.stats import wilcoxon
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomTreesEmbedding
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import kneighbors_graph
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.quality.experience import hide, problem, tables

SHARE = 0.05
PAIRS = (
    ("logistic regression", "logistic regression on leaves of random trees"),
    ("RBF-SVM", "SVM on proximities of Breiman's contrast forest"),
    ("extra trees", "extra trees + LLGC score"),
    ("extra trees + components", "extra trees + components + LLGC score"),
)


def scaled(X):
    filled = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    return np.clip(StandardScaler().fit_transform(filled), -4, 4)


def components(Z):
    _, _, axes = np.linalg.svd(Z - Z.mean(axis=0), full_matrices=False)
    return np.hstack([Z, Z @ axes[:10].T])


def proximities(Z, seed):
    """Share of trees in which two rows share a leaf; the forest separates the rows from rows of independent columns."""
    rng = np.random.default_rng(seed)
    independent = np.column_stack([rng.permutation(z) for z in Z.T])
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=seed)
    leaves = forest.fit(np.vstack([Z, independent]), np.repeat([1, 0], len(Z))).apply(Z)
    return np.mean([leaf[:, None] == leaf[None, :] for leaf in leaves.T], axis=0, dtype=np.float32)


def llgc(Z, few, alpha=0.9):
    """Score by the graph of all rows; that of a labeled row does without its own label."""
    graph = kneighbors_graph(Z, min(10, len(Z) - 1), include_self=False)
    graph = graph.maximum(graph.T)
    root = 1 / np.sqrt(np.asarray(graph.sum(axis=0)).ravel())
    smooth = np.eye(len(Z)) - alpha * graph.toarray() * np.outer(root, root)
    known = np.flatnonzero(few >= 0)
    sign = np.where(few[known] == 1, 1 / (few == 1).sum(), -1 / (few == 0).sum())
    spread = solve(smooth, np.eye(len(Z))[:, known], assume_a="pos")
    score = spread @ sign
    score[known] -= spread[known, np.arange(len(known))] * sign
    return score[:, None] / max(np.abs(score).max(), 1e-300)


def one_table(name, seed=5):
    X, y = problem(name)
    few = hide(y, SHARE, seed)
    known, hidden = np.flatnonzero(few >= 0), np.flatnonzero(few < 0)
    Z = scaled(X)
    wide, spread = components(Z), llgc(Z, few)
    leaves = RandomTreesEmbedding(200, max_depth=6, random_state=seed).fit_transform(Z)

    def auc(model, features, columns=slice(None)):
        model.fit(features[known][:, columns], few[known])
        rank = getattr(model, "decision_function", None) or (lambda F: model.predict_proba(F)[:, 1])
        return roc_auc_score(y[hidden], rank(features[hidden][:, columns]))

    def forest(features):
        return auc(ExtraTreesClassifier(200, random_state=seed), features)

    return {
        "logistic regression": auc(LogisticRegression(C=0.3, max_iter=500), Z),
        "logistic regression on leaves of random trees": auc(LogisticRegression(C=0.1, max_iter=500), leaves),
        "RBF-SVM": auc(SVC(), Z),
        "SVM on proximities of Breiman's contrast forest": auc(SVC(kernel="precomputed"), proximities(Z, seed), known),
        "extra trees": forest(Z),
        "extra trees + LLGC score": forest(np.hstack([Z, spread])),
        "extra trees + components": forest(wide),
        "extra trees + components + LLGC score": forest(np.hstack([wide, spread])),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", default="")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    names = arguments.tables.split(",") if arguments.tables else tables()
    found = pd.DataFrame({name: one_table(name) for name in names}).T
    if arguments.out:
        found.to_csv(arguments.out)
    print(f"{len(found)} tables, {SHARE:.0%} of the labels, one draw\n")
    print(
        "| method | mean AUC | with the representation | mean AUC | better on | Wilcoxon p |\n|---|---|---|---|---|---|"
    )
    for without, method in PAIRS:
        p = wilcoxon(found[method], found[without]).pvalue
        wins = int((found[method] > found[without]).sum())
        print(f"| {without} | {found[without].mean():.4f} | {method} | {found[method].mean():.4f} | {wins} | {p:.2g} |")


if __name__ == "__main__":
    main()
