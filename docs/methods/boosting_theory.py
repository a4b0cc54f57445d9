"""Draw the picture of boosting_theory.md: the bound of Theorems 2 and 3 beside what is measured."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score

from fewlabel import PNUAUCBoostClassifier

GAMMA, RHO, COLUMNS, ROUNDS, DELTA, LABELED = 0.9, 0.1, 5, 75, 0.05, 0.5
SIZES = (100, 300, 1000, 3000, 10_000, 30_000)


def draw(n, rng):
    """Rows of two overlapping classes."""
    y = (rng.random(n) < 0.5).astype(int)
    return rng.normal(size=(n, COLUMNS)) + 0.5 * y[:, None], y


def slack(n_p, n_n, n_u, n_cuts, *, corrected):
    """What Theorem 3 adds to the training term, without the factor for gamma."""
    inverse = 1 / n_p + 1 / n_u + 1 / n_n
    stumps = np.log(COLUMNS * n_cuts * (2 if corrected else 1))  # both polarities
    maxima = 3 if corrected else 1  # Lemma 9: three groups of maxima
    return (8 * np.sqrt(2 * maxima * stumps * inverse) + np.sqrt(np.log(2 / DELTA) * inverse)) / RHO


def margins(f, above, below):
    """Share of pairs whose normalized margin is at most rho."""
    return np.searchsorted(np.sort(f[below]), f[above] - RHO, side="left").mean() / below.sum()


def measure(n, seed):
    """Test error of pairs, and the training term of the theorem."""
    rng = np.random.default_rng(seed)
    (X, y), (new, truth) = draw(n, rng), draw(20_000, rng)
    few = np.where(rng.random(n) < LABELED, y, -1)
    model = PNUAUCBoostClassifier.paper(n_estimators=ROUNDS, gamma=GAMMA, rho=RHO).fit_ranking(X, few)
    f = (model.decision_function(X) - model.offset_) / model.leaf_values_.max(axis=1).sum()
    p, n, u = few == 1, few == 0, few == -1
    pairs = {(0, 1): GAMMA, (0, 2): (1 - GAMMA) / 2, (2, 1): (1 - GAMMA) / 2}
    groups = (p, n, u)
    training = sum(share * (1 - margins(f, groups[a], groups[b])) for (a, b), share in pairs.items())
    return 1 - roc_auc_score(truth, model.decision_function(new)), 2 / (1 + GAMMA) * training


def added(n, *, corrected):
    """What the theorem adds for n rows."""
    groups = n * LABELED / 2, n * LABELED / 2, n * (1 - LABELED)
    return (2 if corrected else 1) / (1 + GAMMA) * slack(*groups, 255, corrected=corrected)


def main():
    found = np.array([np.mean([measure(size, seed) for seed in range(5)], axis=0) for size in SIZES])
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    ax = figure.subplots()
    many = np.logspace(2, 9, 200)
    ax.plot(many, [added(n, corrected=True) for n in many], "C0-", label="what the theorem adds to it, corrected")
    ax.plot(many, [added(n, corrected=False) for n in many], "C0:", label="what it adds as printed")
    ax.plot(SIZES, found[:, 1], "C2o-", label="training term, measured")
    ax.plot(SIZES, found[:, 0], "C1o-", label="test error of pairs, measured")
    ax.axhline(1, color="0.5", lw=0.8)
    ax.text(1.3e2, 1.15, "above this line a bound says nothing", fontsize=8, color="0.4")
    ax.set(xscale="log", yscale="log", xlabel="rows, half of them labeled", ylabel="share of pairs", ylim=(1e-2, 1e3))
    ax.legend(fontsize=8)
    ax.grid(alpha=0.3)
    figure.savefig(Path(__file__).parent / "images" / "boosting_theory.png", dpi=110)
    for size, (test, training) in zip(SIZES, found):
        more = added(size, corrected=True)
        print(f"{size} rows: test error {test:.4f}, training term {training:.4f}, the theorem adds {more:.3g}")
    useful = next(n for n in many if added(n, corrected=True) < 1)
    print(f"the corrected theorem adds less than 1 from {useful:.2g} rows on")


if __name__ == "__main__":
    main()
