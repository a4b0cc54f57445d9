"""Scorecards of other packages on one task; run by `scorecards.py` in an environment of its own."""

import sys
import time
import warnings

import numpy as np
import pandas as pd
from fasterrisk.fasterrisk import RiskScoreOptimizer
from interpret.glassbox import ExplainableBoostingClassifier
from optbinning import BinningProcess
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")


def categorical(X):
    return [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]


def optbinning(X, y, new):
    """Optimal bins, weights of evidence, logistic regression: the usual scorecard."""
    names = list(X)
    process = BinningProcess(names, categorical_variables=categorical(X))
    model = LogisticRegression(max_iter=1000)
    model.fit(process.fit_transform(X, y, metric="woe"), y)
    return model.decision_function(process.transform(new, metric="woe"))


def ebm(X, y, new):
    """Explainable boosting machine without interactions, which is additive as the others are."""
    model = ExplainableBoostingClassifier(interactions=0, n_jobs=1, random_state=0).fit(X, y)
    return model.decision_function(new)


def fasterrisk(X, y, new):
    """Integer points of at most ten binary features."""
    both = pd.get_dummies(pd.concat([X, new], ignore_index=True), columns=categorical(X), dtype=float)
    both = both.fillna(both.iloc[: len(X)].median())
    # At or below each decile of the labeled rows, as its examples do.
    columns = []
    for values in both.to_numpy(dtype=float).T:
        for cut in np.unique(np.quantile(values[: len(X)], np.arange(0.1, 1, 0.1))):
            columns.append(values <= cut)
    features = np.column_stack(columns).astype(float)
    varies = features[: len(X)].std(axis=0) > 0
    features = features[:, varies]
    optimizer = RiskScoreOptimizer(features[: len(X)], 2.0 * np.asarray(y) - 1, k=10, select_top_m=1)
    optimizer.optimize()
    _, intercepts, coefficients = optimizer.get_models()
    return intercepts[0] + features[len(X) :] @ coefficients[0]


METHODS = {"optbinning": optbinning, "EBM": ebm, "FasterRisk": fasterrisk}


def main():
    task, out = sys.argv[1:]
    rows = pd.read_parquet(task)
    labeled = rows.pop("__labeled").to_numpy()
    y = rows.pop("__y").to_numpy()
    for name in categorical(rows):
        rows[name] = rows[name].astype(object).where(rows[name].notna(), "missing").astype(str)
    found = {}
    for name, method in METHODS.items():
        start = time.process_time()
        try:
            found[name] = method(rows[labeled], y[labeled], rows[~labeled])
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            found[name] = np.zeros(int((~labeled).sum()))
        found[f"{name} seconds"] = time.process_time() - start
    pd.DataFrame(found).to_parquet(out)


if __name__ == "__main__":
    main()
