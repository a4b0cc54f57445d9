"""Draw the picture of multiview.md: how stable the views are, and what the rounds change.

python docs/methods/multiview.py
"""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score

from fewlabel import BalancedMultiviewClassifier, VariableClusterer, make_multiview_credit

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE = "#0067a8", "#c4500c"


def views_and_rounds(n_draws=6, n_rounds=10):
    """Left: how stable each number of views is. Right: AUC of hidden rows and the score that stops, by round."""
    figure = Figure(figsize=(10, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    X, _, views = make_multiview_credit(3000, return_views=True, random_state=np.random.RandomState(0))
    tables = ((views >= 0, "four views", "o-", BLUE), (views >= -1, "and four columns of noise", "s--", ORANGE))
    for keep, label, style, color in tables:
        found = VariableClusterer(random_state=0).fit(X[:, keep])
        left.plot(*found.stability_.T, style, color=color, label=f"{label}: {found.n_clusters_} chosen")
    left.set(xlabel="number of views", ylabel="mean adjusted Rand index", ylim=(0, 1.05))
    left.set_title("Stability of the views", loc="left")
    left.legend(frameon=False, loc="lower right")
    scores = np.array([rounds_of_draw(draw, n_rounds) for draw in range(n_draws)])
    places = np.arange(1, n_rounds + 1)
    for row, label, style, color in ((0, "hidden rows", "o-", BLUE), (1, "the score that stops", "s--", ORANGE)):
        right.plot(places, scores[:, row].T, color=color, alpha=0.25, linewidth=0.9)
        right.plot(places, scores[:, row].mean(axis=0), style, color=color, label=label)
    right.set(xlabel="round", ylabel="AUC", xticks=places, ylim=(0.5, 0.95))
    right.set_title(f"BSSEL-LS by round: {n_draws} draws and their mean", loc="left")
    right.legend(frameon=False, loc="lower center", ncols=2)
    for axis in (left, right):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(IMAGES / "multiview_rounds.png", dpi=130)


def rounds_of_draw(draw, n_rounds):
    """AUC on the hidden rows after each round, and the score that stops the rounds."""
    X, y, true, views = make_multiview_credit(
        1470, missing=0.0, return_true=True, return_views=True, random_state=np.random.RandomState(draw)
    )
    columns = [np.flatnonzero(views == v).tolist() for v in range(4)]
    hidden = y == -1
    model = BalancedMultiviewClassifier(views=columns, max_iter=n_rounds, tol=0.0, random_state=draw)
    own = [entry["score"] for entry in model.fit(X, y).history_]
    own += own[-1:] * (n_rounds - len(own))  # a run may end early
    on_hidden = []
    for n in range(1, n_rounds + 1):
        decision = model.set_params(max_iter=n).fit(X, y).decision_function(X[hidden])
        on_hidden.append(roc_auc_score(true[hidden], decision))
    return [on_hidden, own]


if __name__ == "__main__":
    views_and_rounds()
