"""PNU-AUCBoost with explicit pairs, from equations 11, 12, 17 and 34 of Yang et al. (2022), corrected."""

import numpy as np

from reference.stumps import best


def pairs(signs, weight, gamma):
    """(better row, worse row, initial weight) of all pairs."""
    groups = {s: np.flatnonzero(signs == s) for s in (1, 0, -1)}
    share = {s: weight[rows] / weight[rows].sum() for s, rows in groups.items() if len(rows)}
    coefficient = {(1, -1): gamma, (1, 0): (1 - gamma) / 2, (0, -1): (1 - gamma) / 2}
    better, worse, initial = [], [], []
    for (a, b), c in coefficient.items():
        if c == 0 or not len(groups[a]) or not len(groups[b]):
            continue
        i, j = np.meshgrid(groups[a], groups[b], indexing="ij")
        better.append(i.ravel())
        worse.append(j.ravel())
        initial.append((c * np.outer(share[a], share[b])).ravel())
    return np.concatenate(better), np.concatenate(worse), np.concatenate(initial)


def bound_step(edge, rho):
    edge = min(edge, 1 - 1e-6)
    return 0.5 * np.log((1 + edge) / (1 - edge)) - 0.5 * np.log((1 + rho) / (1 - rho))


def exact_step(right, wrong, tied, rho):
    wrong = max(wrong, 5e-7)
    root = np.sqrt((rho * tied) ** 2 + 4 * (1 - rho**2) * right * wrong)
    return np.log(2 * (1 - rho) * right / (rho * tied + root))


def fit(X, signs, *, weight=None, gamma, rho, step, learning_rate=1.0, n_rounds, draw=None):
    """One dict per round: stump, edge, alpha, Z, objective, right, wrong, tied, scores."""
    weight = np.ones(len(X)) if weight is None else weight
    used = signs != 0 if gamma == 1 else np.ones(len(X), bool)
    X, signs, weight = X[used], signs[used], weight[used]
    all_columns = list(range(X.shape[1]))
    better, worse, initial = pairs(signs, weight, gamma)
    D, f, total = initial.copy(), np.zeros(len(X)), 0.0
    rounds = []

    def search(columns):
        def edge(fires):
            return np.sum(D * (fires[better].astype(float) - fires[worse].astype(float)))

        found = best(X, columns, edge)
        if found is None or found[2] <= rho + 1e-12:
            return None
        stump, fires, value = found
        d = fires[better].astype(int) - fires[worse].astype(int)
        right, wrong, tied = D[d > 0].sum(), D[d < 0].sum(), D[d == 0].sum()
        alpha = exact_step(right, wrong, tied, rho) if step == "exact" else bound_step(value, rho)
        return (stump, fires, value, d, right, wrong, tied, alpha * learning_rate) if alpha > 1e-12 else None

    for t in range(n_rounds):
        found = search(all_columns if draw is None else list(draw(t))) or search(all_columns)
        if found is None:
            break
        stump, fires, value, d, right, wrong, tied, alpha = found
        moved = D * np.exp(-alpha * d)
        Z = moved.sum()
        D = moved / Z
        f = f + alpha * fires
        total += alpha
        objective = np.sum(initial * np.exp(-(f[better] - f[worse]))) * np.exp(rho * total)
        rounds.append(
            dict(
                stump=stump,
                edge=value,
                alpha=alpha,
                Z=Z,
                objective=objective,
                right=right,
                wrong=wrong,
                tied=tied,
            )
        )
        rounds[-1]["scores"] = f.copy()
    return rounds
