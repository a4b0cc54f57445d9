"""What the figures show: ROC, precision-recall, calibration and learning curves, histograms, confused classes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy.stats import beta

from fewlabel.auto import AutoClassifier, learning_curve
from fewlabel.decisions import Estimate
from fewlabel.metrics.shares import share_estimate, wilson
from fewlabel.reporting import sentences
from fewlabel.rows import Rows, effective_number
from fewlabel.types import PlainDict

_MOST_POINTS = 100
_MOST_BINS = 8
_MOST_CLASSES = 20
_MOST_PAIRS = 5
_ENDS = (0.025, 0.975)
_FURTHEST = 8  # times the present labels: the power law is not trusted beyond
_N_AHEAD = 12


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
    recall = _with_band(points, "recall")
    precision = _with_band(points, "precision")
    share = np.array([point["share"]["value"] for point in points])
    false = share * (1 - precision["y"]) / (1 - prior)
    recall["x"] = np.clip(false, 0.0, 1.0)
    precision["x"] = recall["y"]
    # With no row flagged, none is found.
    roc = {name: np.insert(values, 0, 0.0) for name, values in recall.items()}
    return roc, {**precision, "chance": prior}


def _with_band(points: Sequence[PlainDict], name: str) -> dict[str, np.ndarray]:
    found = pd.DataFrame([point[name] for point in points])
    return {"y": found["value"].to_numpy(), "low": found["low"].to_numpy(), "high": found["high"].to_numpy()}


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
    return _some(false, true), _some(recall, precision)


def _some(x: np.ndarray, y: np.ndarray) -> PlainDict:
    """As many points as a figure can show, the first and the last among them."""
    n_points = min(len(x), _MOST_POINTS)
    places = np.linspace(0, len(x) - 1, n_points).round().astype(int)
    return {"x": x[places].round(5), "y": y[places].round(5)}


def calibration(
    positive: np.ndarray, probability: np.ndarray, weight: np.ndarray | None = None
) -> list[dict[str, float]]:
    """Mean probability, share of positives and its 95% Wilson interval in bins of equal size.

    Parameters
    ----------
    positive : ndarray of bool
    probability : ndarray of float
    weight : ndarray of float, default=None
        How much each row counts; the interval is that of the effective number of rows.
    """
    weight = np.ones(len(positive)) if weight is None else weight
    # At least ten rows per bin, or the intervals would say nothing.
    n_bins = int(np.clip(len(positive) // 10, 2, _MOST_BINS))
    bins = []
    order = np.argsort(probability, kind="stable")
    for rows in np.array_split(order, n_bins):
        counts = weight[rows]
        share = np.average(positive[rows], weights=counts)
        low, high = wilson(share, effective_number(counts))[0]
        middle = np.average(probability[rows], weights=counts)
        bins.append({"probability": middle, "share": share, "low": low, "high": high, "rows": len(rows)})
    return bins


def histogram(probability: np.ndarray) -> np.ndarray:
    """Share of rows in each of 20 bins of equal width on [0, 1]."""
    counts, _ = np.histogram(probability, bins=20, range=(0, 1))
    return counts / max(counts.sum(), 1)


def confusion(codes: np.ndarray, predicted: np.ndarray, names: list[str], share: float = 1.0) -> PlainDict | None:
    """Count the out-of-fold predictions by class.

    Parameters
    ----------
    codes, predicted : ndarray of int
        Class of each labeled row, and the predicted one.
    names : list of str
        Names of the classes.
    share : float, default=1.0
        Of the labels that the models behind the predictions learn from. Training sets vary as the tested rows do, so
        that the variance is that of a share of the rows.

    Returns
    -------
    dict or None
        `names` of the largest classes, `counts` (rows: class, columns: prediction), `correct` (the share with its 95%
        interval), `balanced`, the mean recall of all classes, `untested`, how many of them have no rows here, `text`, a
        sentence on these, `recall` of each of the largest classes (None if it has no rows here), and `pairs`, the most
        frequent mistakes. None with two classes.
    """
    if len(names) < 3:
        return None
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (codes, predicted), 1)
    by_size = np.argsort(-counts.sum(axis=1), kind="stable")
    largest = np.sort(by_size[:_MOST_CLASSES])
    correct = _shrunken(np.trace(counts), counts.sum(), share)
    balanced = _mean_recall(counts, share)
    n_untested = int((counts.sum(axis=1) == 0).sum())
    recalls = []
    for k in largest:
        n_class = counts[k].sum()
        recalls.append(_recall(counts[k, k], n_class, balanced.value, share) if n_class else None)
    return {
        "names": [names[k] for k in largest],
        "counts": counts[np.ix_(largest, largest)],
        "left_out": len(names) - len(largest),
        "correct": correct,
        "balanced": balanced,
        "untested": n_untested,
        "text": sentences.confusion_text(correct, balanced, n_untested),
        "recall": recalls,
        "pairs": _mistakes(counts, names),
    }


def _shrunken(n_right: float | np.number, n_rows: float | np.number, share: float) -> Estimate:
    """A share of later rows: ten right ones of ten do not show that all are (the mean with Jeffreys' prior)."""
    estimate = share_estimate(share * n_right, share * n_rows)
    # With all labels, as few as this share of the mistakes may be left.
    high = 1 - (1 - estimate.high) * share
    return Estimate(float((n_right + 0.5) / (n_rows + 1)), estimate.low, high)


def _recall(n_right: np.integer, n_rows: np.integer, usual: float, share: float) -> Estimate:
    """Posterior of the recall of a class, whose prior counts as one row with the mean recall of the classes.

    Tested rows and training sets both vary, and a class is hit by either as a whole: its rows count by the square of
    the share of labels that models learn from (settled with benchmarks/quality/intervals.py).
    """
    right = share**2 * n_right + usual
    wrong = share**2 * (n_rows - n_right) + 1 - usual
    low, high = beta.ppf(_ENDS, right, wrong).tolist()
    return Estimate(float(right / (right + wrong)), low, 1 - (1 - high) * share)


def _mean_recall(counts: np.ndarray, share: float) -> Estimate:
    """Balanced accuracy as a share of as many rows as a mean over classes counts for.

    With equal recalls, the variance of their mean over K classes of n_k rows is that of a share of K^2 / sum(1 / n_k)
    rows; with unequal ones it is smaller. Of a class without rows, all may be found or none; none is expected.
    """
    n_rows = counts.sum(axis=1)
    is_tested = n_rows > 0
    recall = np.diag(counts)[is_tested] / n_rows[is_tested]
    n_effective = len(recall) ** 2 / np.sum(1 / n_rows[is_tested])
    tested = _shrunken(recall.mean() * n_effective, n_effective, share)
    known = is_tested.mean()
    return Estimate(known * tested.value, known * tested.low, known * tested.high + 1 - known)


def _mistakes(counts: np.ndarray, names: list[str]) -> list[PlainDict]:
    """The most frequent pairs of a class and a wrong prediction."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    pairs = []
    for place in np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]:
        true, predicted = divmod(int(place), len(names))
        n_rows = wrong[true, predicted]
        if n_rows:
            pairs.append({"true": names[true], "predicted": names[predicted], "rows": n_rows})
    return pairs


def learning(auto: AutoClassifier, encoded: Rows, n: int, name: str, seed: int) -> PlainDict | None:
    """The learning curve and a sentence on it; None if no method could be fitted to fewer labels.

    Parameters
    ----------
    auto : AutoClassifier
        Fitted to these rows.
    encoded : Rows
    n : int
        Number of labels.
    name : str
        Of the score.
    seed : int
    """
    curve = learning_curve(auto, encoded, seed=seed)
    if curve is None:
        return None
    share_is_known = auto.prior_ is None or auto.prior is not None
    more, text = sentences.outlook(curve, auto.headline_["low"], n, name, share_is_known=share_is_known)
    ahead = np.array([], dtype=int)
    if more is not None:
        furthest = min(n + more, _FURTHEST * n)
        # Even steps on the logarithmic axis of the figure.
        steps = np.geomspace(n, max(furthest, n + 1), _N_AHEAD)
        ahead = np.unique(steps.astype(int))
    errors_ahead = curve.error * (ahead / n) ** -curve.slope
    return {
        "labels": curve.labels,
        "here": n,
        "scores": np.clip(curve.scores, 0, 1),
        "low": curve.low,
        "high": curve.high,
        "ahead_labels": ahead,
        "ahead_scores": 1 - errors_ahead,
        "more_labels": more,
        "score_name": name,
        "positives_only": auto.prior_ is not None,
        "text": text,
    }
