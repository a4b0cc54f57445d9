"""Importance of the columns, and which rows to label next."""

from typing import Any

import numpy as np
import pandas as pd

_MOST_COLUMNS = 60  # columns to shuffle: each costs one scoring of the rows
_MOST_ROWS = 400
_CANDIDATES = 300  # best unlabeled rows, of which distant ones are chosen
_POOL = 5000


def importances(model: Any, features: np.ndarray, seed: int = 0, most: int = 12) -> list[dict[str, Any]]:
    """Permutation importance: the mean move of a row in the ranking when a column is shuffled.

    It uses no labels, so rows that the model was fitted to do not bias it.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    features : ndarray of shape (n_rows, n_features)
        The encoded rows.
    seed : int, default=0
    most : int, default=12
        Columns to return.

    Returns
    -------
    list of dict
        Column and importance (a share of all rows), the largest first.
    """
    rng = np.random.default_rng(seed)
    rows = features[rng.permutation(len(features))[:_MOST_ROWS]]
    before = _ranks(model.estimator_, rows)
    sources = np.array(model.encoder_.sources_, dtype=object)
    found: list[dict[str, Any]] = []
    for name in _promising(rows, before, sources):
        own = np.flatnonzero(sources == name)
        shuffled = rows.copy()
        shuffled[:, own] = rows[rng.permutation(len(rows))][:, own]
        moved = float(np.abs(_ranks(model.estimator_, shuffled) - before).mean())
        found.append({"column": str(name), "importance": moved})
    found.sort(key=lambda row: -row["importance"])
    return found[:most]


def _promising(rows: np.ndarray, ranks: np.ndarray, sources: np.ndarray) -> list[str]:
    """All columns or, if there are too many, those with the highest rank correlation with the scores."""
    names = list(dict.fromkeys(sources))
    if len(names) <= _MOST_COLUMNS:
        return names
    order = pd.DataFrame(np.nan_to_num(rows)).rank().to_numpy()
    order = (order - order.mean(axis=0)) / np.maximum(order.std(axis=0), 1e-12)
    strength = np.abs(order.T @ (ranks - ranks.mean(axis=0))).max(axis=1)
    best = pd.Series(strength).groupby(pd.Series(sources.astype(str))).max()
    return list(best.sort_values(ascending=False).index[:_MOST_COLUMNS])


def _ranks(estimator: Any, rows: np.ndarray) -> np.ndarray:
    decision = np.asarray(estimator.decision_function(rows)).reshape(len(rows), -1)
    return pd.DataFrame(decision).rank().to_numpy() / len(rows)


def next_rows(model: Any, features: np.ndarray, codes: np.ndarray, seed: int = 0, n: int = 20) -> list[dict[str, Any]]:
    """Choose unlabeled rows to label: uncertain ones, or ones the members disagree on, unlike each other.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    features : ndarray of shape (n_rows, n_features)
        The encoded rows.
    codes : ndarray of int
        Class of each row, ``-1`` if unlabeled.
    seed : int, default=0
    n : int, default=20

    Returns
    -------
    list of dict
        Position of the row, its probability (of the most likely class if there are more than two), and the reason.
    """
    pool = np.flatnonzero(codes < 0)
    if len(pool) == 0:
        return []
    rng = np.random.default_rng(seed)
    if len(pool) > _POOL:
        pool = np.sort(rng.permutation(pool)[:_POOL])
    estimator = model.estimator_
    rows = features[pool]
    probability = estimator.predict_proba(rows)
    top = np.sort(probability, axis=1)
    if len(model.classes_) == 2:
        uncertainty = 1 / (1 + np.abs(np.asarray(estimator.decision_function(rows))))
    else:
        uncertainty = 1 - (top[:, -1] - top[:, -2])
    names = list(estimator.members_)
    ranks = np.array([estimator.members_[name].ranks(rows).mean(axis=1) for name in names])
    if len(model.classes_) > 2:
        ranks = np.array([estimator.members_[name].ranks(rows)[:, 0] for name in names])
    spread = ranks.std(axis=0) if len(names) > 1 else np.zeros(len(pool))
    worth = _scaled(uncertainty) + _scaled(spread)
    chosen = _different(rows, worth, n)
    return [
        {
            "row": int(pool[k]),
            "probability": float(probability[k, 1] if len(model.classes_) == 2 else top[k, -1]),
            "label": str(model.names_of(probability[k].argmax())),
            "why": _why(k, names, ranks, spread, uncertainty),
        }
        for k in chosen
    ]


def _scaled(values: np.ndarray) -> np.ndarray:
    width = np.ptp(values)
    return (values - values.min()) / width if width > 0 else np.zeros(len(values))


def _different(rows: np.ndarray, worth: np.ndarray, n: int) -> list[int]:
    """The best rows, each far from those chosen before it, since similar rows add little information."""
    candidates = np.argsort(-worth, kind="stable")[:_CANDIDATES]
    z = np.nan_to_num(rows[candidates])
    z = (z - z.mean(axis=0)) / np.where(z.std(axis=0) > 0, z.std(axis=0), 1.0)
    chosen = [0]
    distance = np.linalg.norm(z - z[0], axis=1)
    while len(chosen) < min(n, len(candidates)):
        gain = worth[candidates] + _scaled(distance)
        gain[chosen] = -np.inf
        chosen.append(int(gain.argmax()))
        distance = np.minimum(distance, np.linalg.norm(z - z[chosen[-1]], axis=1))
    return [int(candidates[k]) for k in chosen]


def _why(k: int, names: list[str], ranks: np.ndarray, spread: np.ndarray, uncertainty: np.ndarray) -> str:
    if len(names) > 1 and (spread < spread[k]).mean() >= (uncertainty < uncertainty[k]).mean():
        high, low = int(ranks[:, k].argmax()), int(ranks[:, k].argmin())
        return (
            f"methods disagree: {names[high]} ranks it above {ranks[high, k]:.0%} of the rows, "
            f"{names[low]} above {ranks[low, k]:.0%}"
        )
    return "close to the threshold"
