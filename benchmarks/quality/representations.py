"""Features learned from all rows, each beside the same method without them: what they gain, and whether that is known.

    python -m benchmarks.quality.representations

reads experience.csv, whose cells `benchmarks.quality.experience` writes. The gain on a table is predicted by a ridge
regression on the other tables.
"""

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.quality.experience import FILES
from fewlabel.auto.members import BINARY

PAIRS = (
    ("extra trees", "extra trees, leaf 1 + components"),
    ("extra trees", "extra trees + graph features"),
    ("CatBoost", "CatBoost + components"),
    ("tree AUC boosting", "tree AUC boosting + components"),
    ("logistic regression", "logistic regression on graph features"),
    ("RBF least-squares AUC", "least-squares AUC + components"),
    ("RBF least-squares AUC", "least-squares AUC + graph features"),
)
RIDGE = 20.0  # as many tables without an effect


def describe(scores):
    """What is known of a table before any label is used, and the number of labels; each with mean 0 and variance 1."""
    columns = np.log(scores["n_columns"])
    labels = np.log(scores["n_rarest"])
    known = np.column_stack([columns, labels, columns - labels, scores["components"], scores["neighbors"]])
    return (known - known.mean(axis=0)) / known.std(axis=0)


def predict(known, gain, tables):
    """The gain that the other tables suggest, by what is known of the table and by their mean."""
    design = np.column_stack([np.ones(len(known)), known])
    penalty = np.diag([0.0] + [RIDGE] * known.shape[1])
    by_ridge = np.zeros(len(gain))
    by_mean = np.zeros(len(gain))
    for name in np.unique(tables):
        is_own = tables == name
        others = design[~is_own]
        line = np.linalg.solve(others.T @ others + penalty, others.T @ gain[~is_own])
        by_ridge[is_own] = design[is_own] @ line
        by_mean[is_own] = gain[~is_own].mean()
    return by_ridge, by_mean


def gains(scores):
    """One row per pair of methods.

    Parameters
    ----------
    scores : DataFrame
        As in experience.csv. Cells that lack a method do not count for its pair.

    Returns
    -------
    DataFrame
        Indexed by the method with the features: number of `cells`, `auc` of the method without them, mean gain by share
        of labels, share of the cells that are `better`, `low` and `high` (5% and 95% quantiles), `p` of a Wilcoxon test
        over tables, `predicted` (share of the variance that is explained on tables left out), and what a `rule` adds to
        the better of both, that uses the features where a gain is predicted.
    """
    rows = {}
    for without, method in PAIRS:
        pair = scores.dropna(subset=[without, method])
        gain = (pair[method] - pair[without]).to_numpy()
        by_ridge, by_mean = predict(describe(pair), gain, pair["table"].to_numpy())
        by_rule = np.where(by_ridge > 0, pair[method], pair[without]).mean()
        row = {"without": without, "cells": len(pair), "auc": pair[without].mean()}
        row |= {amount: gain[pair["amount"] == amount].mean() for amount in sorted(set(pair["amount"]))}
        row |= {"better": (gain > 0).mean(), "low": np.quantile(gain, 0.05), "high": np.quantile(gain, 0.95)}
        row |= {"p": wilcoxon(pd.Series(gain).groupby(pair["table"].to_numpy()).mean()).pvalue}
        row |= {"predicted": 1 - ((gain - by_ridge) ** 2).sum() / ((gain - by_mean) ** 2).sum()}
        rows[method] = row | {"rule": by_rule - pair[[without, method]].mean().max()}
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    print(gains(pd.read_csv(FILES[BINARY])).to_string(float_format="{:.4f}".format))
