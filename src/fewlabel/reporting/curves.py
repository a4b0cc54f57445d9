"""ROC, precision-recall and calibration curves, and histograms of probabilities."""

from collections.abc import Sequence

import numpy as np

from fewlabel.metrics.shares import wilson
from fewlabel.rows import effective_number
from fewlabel.types import PlainDict

_MOST_POINTS = 100


def of_decisions(points: Sequence[PlainDict], prior: float) -> tuple[PlainDict, PlainDict]:
    r"""ROC and precision-recall curve of the rows to decide on, with bands.

    With a share :math:`s` of the rows flagged at precision :math:`p`, and a share :math:`\pi` of positives, the false
    positive rate is :math:`s (1 - p) / (1 - \pi)`.

    Parameters
    ----------
    points : sequence of dict
        What :func:`fewlabel.reporting.decisions.curve` returned.
    prior : float
        Share of positives among the rows.
    """
    recall = {part: [point["recall"][part] for point in points] for part in ("value", "low", "high")}
    precision = {part: [point["precision"][part] for point in points] for part in ("value", "low", "high")}
    share = np.array([point["share"]["value"] for point in points])
    false = np.clip(share * (1 - np.array(precision["value"])) / (1 - prior), 0.0, 1.0)
    roc = {"x": [0.0, *false.tolist()], "y": [0.0, *recall["value"]]}
    roc |= {"low": [0.0, *recall["low"]], "high": [0.0, *recall["high"]]}
    of_precision = {"x": recall["value"], "y": precision["value"], "low": precision["low"], "high": precision["high"]}
    return roc, {**of_precision, "chance": prior}


def of_class(is_class: np.ndarray, score: np.ndarray) -> tuple[PlainDict, PlainDict]:
    """ROC and precision-recall curve of one class against the others.

    Parameters
    ----------
    is_class : ndarray of bool
    score : ndarray of float
        Of models that were not fitted to the row.
    """
    from sklearn.metrics import precision_recall_curve, roc_curve

    false, true, _ = roc_curve(is_class, score)
    precision, recall, _ = precision_recall_curve(is_class, score)
    return {"x": _some(false), "y": _some(true)}, {"x": _some(recall), "y": _some(precision)}


def _some(values: np.ndarray) -> list[float]:
    """As many values as a figure can show, the first and the last among them."""
    places = np.linspace(0, len(values) - 1, min(len(values), _MOST_POINTS)).round().astype(int)
    return values[places].round(5).tolist()


def calibration(
    positive: np.ndarray, probability: np.ndarray, weight: np.ndarray | None = None, most: int = 8
) -> list[dict[str, float]]:
    """Mean probability, share of positives and its 95% Wilson interval in bins of equal size.

    Parameters
    ----------
    positive : ndarray of bool
    probability : ndarray of float
    weight : ndarray of float, default=None
        How much each row counts; the interval is that of the effective number of rows.
    most : int, default=8
        Number of bins.
    """
    weight = np.ones(len(positive)) if weight is None else weight
    # At least ten rows per bin, or the intervals would say nothing.
    n_bins = int(np.clip(len(positive) // 10, 2, most))
    bins = []
    order = np.argsort(probability, kind="stable")
    for rows in np.array_split(order, n_bins):
        share = float(np.average(positive[rows], weights=weight[rows]))
        low, high = wilson(share, effective_number(weight[rows]))[0].tolist()
        middle = float(np.average(probability[rows], weights=weight[rows]))
        bins.append({"probability": middle, "share": share, "low": low, "high": high, "rows": len(rows)})
    return bins


def histogram(probability: np.ndarray, n_bins: int = 20) -> list[float]:
    """Share of rows in each of `n_bins` bins of equal width on [0, 1]."""
    counts, _ = np.histogram(probability, bins=n_bins, range=(0, 1))
    shares = counts / max(counts.sum(), 1)
    return shares.tolist()
