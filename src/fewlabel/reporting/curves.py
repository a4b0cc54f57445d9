"""ROC, precision-recall and calibration curves of out-of-fold scores, with confidence bands."""

from collections.abc import Callable
from typing import Any

import numpy as np

from fewlabel.metrics.shares import wilson
from fewlabel.types import PlainDict

_N_BOOTSTRAP = 200
_GRID = 60


def roc(positive: np.ndarray, score: np.ndarray, prior: float | None, seed: int = 0) -> PlainDict:
    """Compute the true positive rate on a grid of false positive rates, and its pointwise 95% band.

    Parameters
    ----------
    positive : ndarray of bool
    score : ndarray of float
    prior : float or None
        Share of positives among the unlabeled rows, if the other rows are unlabeled; None if they are negative.
    seed : int, default=0
        Seed of the bootstrap.
    """
    grid = np.linspace(0, 1, _GRID + 1) ** 2  # denser on the left, where good curves bend
    return _with_band(_true_positive_rate, positive, score, prior, grid, seed)


def precision_recall(positive: np.ndarray, score: np.ndarray, prior: float | None, seed: int = 0) -> PlainDict:
    """Compute the precision on a grid of recalls, its pointwise 95% band, and the precision of a random order.

    With a `prior`, it is the precision among the unlabeled rows.
    """
    grid = np.linspace(0, 1, _GRID + 1)[1:]
    curve = _with_band(_precision, positive, score, prior, grid, seed)
    curve["chance"] = float(np.mean(positive)) if prior is None else prior
    return curve


def calibration(positive: np.ndarray, probability: np.ndarray, most: int = 8) -> list[dict[str, float]]:
    """Compute mean probability, share of positives and its 95% Wilson interval in bins of equal size."""
    # At least ten rows per bin, or the intervals would say nothing.
    n_bins = int(np.clip(len(positive) // 10, 2, most))
    bins = []
    order = np.argsort(probability, kind="stable")
    for rows in np.array_split(order, n_bins):
        share = float(np.mean(positive[rows]))
        low, high = wilson(share, len(rows))[0].tolist()
        middle = float(np.mean(probability[rows]))
        bins.append({"probability": middle, "share": share, "low": low, "high": high, "rows": len(rows)})
    return bins


def histogram(probability: np.ndarray, n_bins: int = 20) -> list[float]:
    """Compute the share of rows in each of `n_bins` bins of equal width on [0, 1]."""
    counts, _ = np.histogram(probability, bins=n_bins, range=(0, 1))
    shares = counts / max(counts.sum(), 1)
    return shares.tolist()


def _with_band(
    curve: Callable, positive: np.ndarray, score: np.ndarray, prior: float | None, grid: np.ndarray, seed: int
) -> PlainDict:
    """A curve on a grid, and its pointwise bootstrap band."""
    middle = curve(positive, score, prior, grid)
    drawn = [curve(positive[rows], score[rows], prior, grid) for rows in _resamples(positive, seed)]
    low = np.quantile(drawn, 0.025, axis=0)
    high = np.quantile(drawn, 0.975, axis=0)
    return {"x": _rounded(grid), "y": _rounded(middle), "low": _rounded(low), "high": _rounded(high)}


def _sorted_rates(positive: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Share of positives and of other rows above each threshold, and the number of rows."""
    order = np.argsort(-score, kind="stable")
    # Rows with equal scores share a threshold.
    falls = np.flatnonzero(np.diff(score[order]) < 0)
    ends = np.append(falls, len(score) - 1)
    n_true = np.cumsum(positive[order])[ends]
    n_above = ends + 1
    n_false = n_above - n_true
    # The first point is that of a threshold above all scores.
    true = np.append(0.0, n_true / max(positive.sum(), 1))
    false = np.append(0.0, n_false / max((~positive).sum(), 1))
    return true, false, np.append(0, n_above)


def _true_positive_rate(positive: np.ndarray, score: np.ndarray, prior: float | None, grid: np.ndarray) -> np.ndarray:
    true, false, _ = _sorted_rates(positive, score)
    if prior is not None:
        # Remove the positives among the unlabeled rows. By chance the rest can fall, which a rate never does.
        negative = (false - prior * true) / (1 - prior)
        false = np.maximum.accumulate(np.clip(negative, 0, 1))
        false[-1] = 1.0
    return np.interp(grid, false, true)


def _precision(positive: np.ndarray, score: np.ndarray, prior: float | None, grid: np.ndarray) -> np.ndarray:
    true, false, n_above = _sorted_rates(positive, score)
    with np.errstate(invalid="ignore", divide="ignore"):
        if prior is None:
            precision = true * positive.sum() / n_above
        else:
            precision = np.clip(prior * true / false, 0, 1)
    # The first threshold with this recall; rounding must not choose the one after.
    first = np.searchsorted(true, grid - 1e-12, side="left")
    first = np.minimum(first, len(true) - 1)
    return np.nan_to_num(precision[first], nan=1.0)


def _resamples(positive: np.ndarray, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    positives = np.flatnonzero(positive)
    others = np.flatnonzero(~positive)
    for _ in range(_N_BOOTSTRAP):
        # From each class as many as it has: a draw without any positive has no curve.
        drawn = rng.choice(positives, len(positives))
        drawn_others = rng.choice(others, len(others))
        yield np.concatenate([drawn, drawn_others])


def _rounded(values: np.ndarray) -> list[float]:
    return [round(float(v), 5) for v in values]
