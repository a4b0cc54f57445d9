"""Draw the two pictures of linear-auc.md: AUC by penalty, and convergence by pass.

FEWLABEL_DATA=/path/to/data python docs/methods/linear_auc.py
"""

import os
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler, scale

from fewlabel import LinearAUCClassifier

ALPHAS = np.logspace(-9, 1, 11)
POSITIVE = {"sonar": "R", "svmguide4": "4", "vowel": "1", "german.numer": "2"}
COLORS = {"exact": "#111111", "sdcd-perm": "#0072b2", "sdcd": "#56b4e9", "msgd": "#d55e00", "oam-inf": "#009e73"}
MARKERS = {"exact": "o", "sdcd-perm": "s", "sdcd": "^", "msgd": "v", "oam-inf": "D"}


def load(name):
    table = pd.read_parquet(Path(os.environ["FEWLABEL_DATA"]) / f"{name}.parquet")
    y = (table.pop("target").astype(str) == POSITIVE[name]).astype(int).to_numpy()
    return table.to_numpy(dtype=float), y


def draw(axis, solver, x, y):
    axis.plot(x, y, label=solver, color=COLORS[solver], marker=MARKERS[solver], markersize=3.5, linewidth=1.3)


def auc_by_penalty(folder):
    """Mean test AUC over 5 folds x 2, columns scaled on the training rows, one pass of each of the paper's solvers."""
    names = ("sonar", "svmguide4", "vowel", "german.numer")
    figure, axes = plt.subplots(1, len(names), figsize=(13, 3.4), layout="constrained")
    for axis, name in zip(axes, names):
        X, y = load(name)
        folds = [f for r in range(2) for f in StratifiedKFold(5, shuffle=True, random_state=r).split(X, y)]
        for solver in COLORS:
            aucs = []
            for alpha in ALPHAS:
                model = LinearAUCClassifier(
                    alpha, solver=solver, max_iter=None if solver == "exact" else 1, random_state=0
                )
                of_folds = []
                for train, test in folds:
                    scaler = StandardScaler().fit(X[train])
                    scores = model.fit(scaler.transform(X[train]), y[train]).decision_function(
                        scaler.transform(X[test])
                    )
                    of_folds.append(roc_auc_score(y[test], scores))
                aucs.append(np.mean(of_folds))
            draw(axis, solver, ALPHAS, aucs)
        axis.set(xscale="log", title=name, xlabel="penalty alpha")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("AUC on test rows")
    axes[0].legend(frameon=False, fontsize=9)
    figure.savefig(folder / "linear_auc_by_alpha.png", dpi=130)


def convergence(folder, alpha=1e-2, passes=20):
    """Excess of the objective over its minimum, and 1 - AUC of the training rows, by pass over all pairs."""
    names = ("sonar", "svmguide4", "vowel")
    figure, axes = plt.subplots(2, len(names), figsize=(12, 6), sharex=True, layout="constrained")
    for column, name in enumerate(names):
        X, y = load(name)
        X = scale(X)
        optimum = LinearAUCClassifier(alpha, tol=1e-8, max_iter=2000).fit(X, y).objective_
        for solver in COLORS:
            options = dict(tol=1e-6) if solver == "exact" else dict(max_iter=passes, tol=0)
            model = LinearAUCClassifier(alpha, solver=solver, record_history=True, random_state=0, **options).fit(X, y)
            steps = np.arange(len(model.history_["auc"])) + (solver != "exact")
            shown = (steps > 0) & (steps <= passes)
            excess = model.history_["objective"] / optimum - 1
            draw(axes[0, column], solver, steps[shown], np.maximum(excess, 1e-7)[shown])
            draw(axes[1, column], solver, steps[shown], 1 - model.history_["auc"][shown])
        axes[0, column].set(yscale="log", xscale="log", title=name)
        axes[1, column].set(xlabel='pass over all pairs ("exact": step)')
        for axis in axes[:, column]:
            axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("excess of the objective, relative")
    axes[1, 0].set_ylabel("1 - AUC, training rows")
    axes[0, 0].legend(frameon=False, fontsize=9)
    figure.savefig(folder / "linear_auc_convergence.png", dpi=130)


def main():
    if not os.environ.get("FEWLABEL_DATA"):
        sys.exit("skipped: set FEWLABEL_DATA to a folder with sonar.parquet, svmguide4.parquet, ...")
    warnings.simplefilter("ignore", ConvergenceWarning)
    folder = Path(__file__).parent / "images"
    auc_by_penalty(folder)
    convergence(folder)


if __name__ == "__main__":
    main()
