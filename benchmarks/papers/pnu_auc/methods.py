"""The methods of Table 2 for all values of their grids, and PNU-AUCBoost with a weight for every pair (Table 3)."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

import fewlabel
from fewlabel.linear.moments import group_moments, solve

ROUNDS = (5, 10, 20, 35, 50, 75, 100, 150, 200, 300, 500, 750, 1000)
SMALL_STEPS = ROUNDS[:-2]  # of our step
GAMMAS = (0.0, 0.5, 0.9, 0.95, 1.0)  # 1: labeled rows only
RHOS = (0.0, 0.05)
OUR_GAMMAS, OUR_RHOS = (0.5, 0.8, 0.9, 0.95, 0.98, 1.0), (0.0, 0.02, 0.05)
ADA_GAMMAS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95, 1.0)
SAMULT_GAMMAS = (0.0, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98, 1.0)
PNU_GAMMAS = (-1.0, -0.8, -0.5, -0.2, 0.0, 0.2, 0.5, 0.8, 1.0)  # 0: labeled rows only; above 0: PU, below: NU
ALPHAS = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
N_COMPONENTS = 200


def _pnuab_as_printed(**parameters: Any) -> fewlabel.PNUAdaBoostClassifier:
    """The weights of positives against unlabeled rows, and of these against negatives; whole steps, all columns."""
    return fewlabel.PNUAdaBoostClassifier(scheme="pu-un", learning_rate=1.0, max_features=1.0, **parameters)


LEAST_SQUARES: dict[str, tuple[str, tuple]] = {  # risk, gammas
    "PNUAUC": ("pnu", PNU_GAMMAS),
    "Samult": ("samult", SAMULT_GAMMAS),
    "LSAUC": ("pn", (1.0,)),
}
LINEAR, RAW = "linear", "raw columns"  # other readings of least squares: a linear basis of scaled, or of raw columns
READINGS = tuple(f"{method}, {basis}" for method in LEAST_SQUARES for basis in (LINEAR, RAW))
_OURS = fewlabel.PNUAUCBoostClassifier
BOOSTERS: dict[str, tuple[Any, tuple, dict]] = {  # how to make one, rounds, and the values of other parameters
    "PNU-AUCBoost": (_OURS.paper, ROUNDS, {"gamma": GAMMAS, "rho": RHOS}),
    "RBAUC": (_OURS.paper, ROUNDS, {"gamma": (1.0,), "rho": (0.0,)}),
    "PNUAB": (fewlabel.PNUAdaBoostClassifier, ROUNDS, {"gamma": ADA_GAMMAS}),
    "PNUAB, as printed": (_pnuab_as_printed, ROUNDS, {"gamma": ADA_GAMMAS}),
    "PNU-AUCBoost, our step": (_OURS, SMALL_STEPS, {"gamma": OUR_GAMMAS, "rho": OUR_RHOS}),
    "RBAUC, our step": (_OURS, SMALL_STEPS, {"gamma": (1.0,), "rho": OUR_RHOS}),
}


def grids() -> dict[str, dict[str, tuple]]:
    """The values of the parameters of each tuned method."""
    boosters = {method: {"rounds": rounds, **grid} for method, (_, rounds, grid) in BOOSTERS.items()}
    least_squares = {m: {"gamma": gammas, "alpha": ALPHAS} for m, (_, gammas) in LEAST_SQUARES.items()}
    return boosters | least_squares | {reading: least_squares[reading.split(", ")[0]] for reading in READINGS}


def all_scores(
    method: str, rows: np.ndarray, few: np.ndarray, new: np.ndarray, prior: float, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Scores of new rows for every choice of a method's parameters.

    Parameters
    ----------
    method : str
    rows, few : ndarray
        Training rows and their labels, -1 where hidden.
    new : ndarray
    prior : float
        Share of positives among the unlabeled rows.
    seed : int

    Yields
    ------
    (str, ndarray)
        The choice, such as "gamma 0.5, alpha 0.1", and the scores.
    """
    if method.split(", ")[0] in LEAST_SQUARES:
        yield from _least_squares(method, rows, few, new, prior, seed)
    elif method in BOOSTERS:
        yield from _boosters(*BOOSTERS[method], rows, few, new, seed)
    else:
        yield "defaults", _OURS(random_state=seed).fit_ranking(rows, few).decision_function(new)


def _boosters(make: Any, tried: tuple, grid: dict[str, tuple], rows: Any, few: Any, new: Any, seed: int) -> Iterator:
    several = [name for name, values in grid.items() if len(values) > 1]
    for values in product(*grid.values()):
        parameters = dict(zip(grid, values))
        model = make(n_estimators=max(tried), random_state=seed, **parameters).fit_ranking(rows, few)
        stages = list(model.staged_decision_function(new)) or [np.zeros(len(new))]
        chosen = "".join(f"{name} {parameters[name]:g}, " for name in several)
        for rounds in tried:  # a run that ended early stays where it ended
            yield f"{chosen}rounds {rounds}", stages[min(rounds, len(stages)) - 1]


def _least_squares(method: str, rows: Any, few: Any, new: Any, prior: float, seed: int) -> Iterator:
    """`LeastSquaresAUCClassifier` with Gaussian functions of scaled columns; their moments serve all parameters."""
    name, _, reading = method.partition(", ")
    risk, gammas = LEAST_SQUARES[name]
    if reading != RAW:
        scaler = StandardScaler().fit(rows)
        rows, new = scaler.transform(rows), scaler.transform(new)
    if not reading:
        n_components = min(N_COMPONENTS, len(rows))
        basis = Nystroem(gamma=_median_gamma(rows, seed), n_components=n_components, random_state=seed).fit(rows)
        rows, new = basis.transform(rows), basis.transform(new)
    moments = group_moments(rows, np.select([few == 1, few == 0], [1, -1]))
    for gamma in gammas:
        coefs, _ = solve(risk, moments, gamma, prior, ALPHAS)
        chosen = f"gamma {gamma:g}, " if len(gammas) > 1 else ""
        for alpha, coef in zip(ALPHAS, coefs):
            yield f"{chosen}alpha {alpha:g}", new @ coef


def _median_gamma(rows: np.ndarray, seed: int) -> Any:
    """Width of the Gaussian functions: the median distance between rows, as in `LeastSquaresAUCClassifier`."""
    some = rows[np.random.default_rng(seed).choice(len(rows), min(500, len(rows)), replace=False)]
    distance = np.median(euclidean_distances(some)[np.triu_indices(len(some), 1)])
    return 0.5 / (distance or 1.0) ** 2


def explicit_pairs(X, few, rounds=100, gamma=0.9):
    """PNU-AUCBoost with a weight for every pair, as before the paper's acceleration; the search itself is presorted.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    few : ndarray of shape (n,)
        1, 0, or -1 for unlabeled.
    rounds : int, default=100
    gamma : float, default=0.9

    Returns
    -------
    ndarray of shape (n,)
        Scores of the rows.
    """
    rows = {group: np.flatnonzero(few == group) for group in (1, -1, 0)}
    share = {(1, 0): gamma, (1, -1): (1 - gamma) / 2, (-1, 0): (1 - gamma) / 2}
    sizes = {(a, b): (len(rows[a]), len(rows[b])) for a, b in share}
    weights = {pair: np.full(sizes[pair], share[pair] / np.prod(sizes[pair])) for pair in share}
    order = np.argsort(X, axis=0)
    ordered = np.take_along_axis(X, order, axis=0)
    scores = np.zeros(len(X))
    for _ in range(rounds):
        pull = np.zeros(len(X))
        for (a, b), D in weights.items():
            pull[rows[a]] += D.sum(axis=1)
            pull[rows[b]] -= D.sum(axis=0)
        edges = np.where(ordered[1:] > ordered[:-1], -np.cumsum(pull[order], axis=0)[:-1], 0.0)
        k, column = np.unravel_index(np.abs(edges).argmax(), edges.shape)
        fires = (X[:, column] > ordered[k, column]) == (edges[k, column] > 0)
        step = np.arctanh(abs(edges[k, column]))
        scores += step * fires
        for (a, b), D in weights.items():
            D *= np.exp(-step * (fires[rows[a]][:, None].astype(float) - fires[rows[b]]))
        total = sum(D.sum() for D in weights.values())
        for D in weights.values():
            D /= total
    return scores
