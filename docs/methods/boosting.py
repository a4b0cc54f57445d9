"""Draw the pictures of boosting.md, on the breast-cancer data that ships with scikit-learn."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import wilcoxon
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from fewlabel import PNUAUCBoostClassifier, hide_labels

IMAGES = Path(__file__).parent / "images"
GAMMAS = [0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 1.0]
DRAWS = 20


def draw_rows(seed):
    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    return X_train, hide_labels(y_train, labeled=0.1, random_state=np.random.RandomState(seed)), X_test, y_test


def auc_by_gamma():
    aucs = np.empty((DRAWS, len(GAMMAS)))
    for seed in range(DRAWS):
        X, y, X_test, y_test = draw_rows(seed)
        for j, gamma in enumerate(GAMMAS):
            model = PNUAUCBoostClassifier(gamma=gamma, random_state=seed).fit(X, y)
            aucs[seed, j] = roc_auc_score(y_test, model.decision_function(X_test))
    return aucs


def alarm(f, y):
    p, u, n = f[y == 1], f[y == -1], f[y == 0]
    up = {k: np.exp(-v).mean() for k, v in {"p": p, "u": u}.items()}
    down = {k: np.exp(v).mean() for k, v in {"u": u, "n": n}.items()}
    return up["p"] * down["u"] + up["u"] * down["n"] - up["p"] * down["n"]


def rounds_of_one_fit(gamma=0.5, n_rounds=400):
    """Mean test AUC and alarm after each round."""
    aucs, alarms = np.empty((DRAWS, n_rounds)), np.empty((DRAWS, n_rounds))
    for seed in range(DRAWS):
        X, y, X_test, y_test = draw_rows(seed)
        model = PNUAUCBoostClassifier(n_rounds, gamma=gamma, random_state=seed).fit(X, y)
        stages = zip(model.staged_decision_function(X), model.staged_decision_function(X_test))
        for t, (train, test) in enumerate(stages):
            alarms[seed, t], aucs[seed, t] = alarm(train, y), roc_auc_score(y_test, test)
    return aucs, alarms


def main():
    figure = Figure(figsize=(10, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    aucs = auc_by_gamma()
    mean, error = aucs.mean(axis=0), aucs.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    left.errorbar(range(len(GAMMAS)), mean, error, fmt="o-", color="#0067a8", capsize=3)
    left.set_xticks(range(len(GAMMAS)), [f"{g:g}" for g in GAMMAS])
    left.set(xlabel="gamma (1: labeled rows only)", ylabel="test AUC, mean ± its standard error")
    left.set_title("What the unlabeled rows add", loc="left")
    by_round, alarms = rounds_of_one_fit()
    t = np.arange(1, by_round.shape[1] + 1)
    right.plot(t, by_round.mean(axis=0), color="#0067a8", label="test AUC")
    right.set(xlabel="rounds (gamma = 0.5)", ylabel="test AUC, mean", xscale="log")
    twin = right.twinx()
    twin.plot(t, alarms.mean(axis=0), color="#c4500c", linestyle="--", label="alarm")
    twin.axhline(1.0, color="#c4500c", linewidth=0.8, linestyle=":")
    twin.set_ylabel("$R_{PU} + R_{UN} - R_{PN}$")
    lines = [*right.get_lines(), twin.get_lines()[0]]
    right.legend(lines, ["test AUC", "the alarm fires below 1"], loc="lower left", frameon=False)
    right.set_title("More rounds overfit when gamma < 1", loc="left")
    for axis in (left, right):
        axis.spines["top"].set_visible(False)
        axis.grid(alpha=0.25)
    figure.savefig(IMAGES / "boosting.png", dpi=130)
    best = int(by_round.mean(axis=0).argmax())
    first_fires = (alarms < 1).argmax(axis=1) + 1
    gain = aucs[:, GAMMAS.index(0.95)] - aucs[:, -1]
    print("mean AUC by gamma:", dict(zip(GAMMAS, mean.round(4).tolist())))
    print(f"gamma 0.95 beats gamma 1 by {gain.mean():.4f}, p = {wilcoxon(gain).pvalue:.2f} (Wilcoxon)")
    print(f"gamma 0.5: best mean AUC {by_round.mean(axis=0)[best]:.4f} at round {best + 1}")
    print(f"gamma 0.5: mean AUC at round 400 {by_round[:, -1].mean():.4f}")
    print(f"the alarm first fires in round {np.median(first_fires):.0f} (median)")


if __name__ == "__main__":
    main()
