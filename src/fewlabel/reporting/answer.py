"""The first lines of the report: what the model is good for, and which classes it confuses."""

import numpy as np

from fewlabel.auto import labels_within
from fewlabel.metrics.shares import share_estimate
from fewlabel.reporting.forecast import rough
from fewlabel.text import short
from fewlabel.types import PlainDict

_MOST_CLASSES = 20
_MOST_PAIRS = 5
_WITHIN = 0.05  # of the score: what an interval should be short enough for
_FURTHEST = 100  # times the present labels


def good_for(summary: PlainDict) -> str:
    """Say in a sentence or two what a ranking of this quality can be used for.

    Parameters
    ----------
    summary : dict
        With `headline`, `task`, `score_name`, `data` and `decisions`.

    Returns
    -------
    str
    """
    headline = summary["headline"]
    positive = short(summary["data"]["positive"])
    if headline["score"] is None and headline["reason"] is None:
        return "Nothing can be said about new rows: every column is suspected to be known only after the label."
    if headline["score"] is None:
        return "The ranking may still be good; these labels cannot show it."
    if summary["task"] == "multiclass":
        n_classes = len(summary["data"]["classes"])
        best = "Good for taking the most likely class, with a check of rows where its probability is low."
        return f"One class against the others, averaged over {n_classes} classes. {_use(headline, best)}"
    use = _use(headline, "Good for deciding by a threshold, with a check of the rows close to it.")
    if summary["score_name"] != "AUC":
        return use
    # Never 100 of 100: no number of labels shows that.
    cases = "nearly all" if headline["score"] >= 0.995 else f"about {100 * headline['score']:.0f} of 100"
    return f"Of two rows, one {positive} and one not, it puts the {positive} one first in {cases} cases. {use}"


def certainty(summary: PlainDict) -> PlainDict:
    """Say what the interval of the headline cannot tell, and how many labels more would.

    Parameters
    ----------
    summary : dict
        With `headline`, `task`, `score_name` and `data`.

    Returns
    -------
    dict
        `text`, empty if the interval is short enough or there is none; `within` and `more_labels`.
    """
    headline = summary["headline"]
    nothing = {"text": "", "within": _WITHIN, "more_labels": 0}
    # More positives alone do not tell how many of the unlabeled rows are positive.
    if headline["score"] is None or summary["task"] == "positive-unlabeled":
        return nothing
    by_class = summary["data"]["labeled_by_class"]
    n_labels = sum(by_class.values())
    shrunken = summary["task"] == "binary" and summary["score_name"] == "AUC"
    more = labels_within(headline, n_labels, _WITHIN, shrunken=shrunken) - n_labels
    if more == 0:
        return nothing
    labels = f"{n_labels} labels"
    if summary["task"] == "binary":
        rarest = min(by_class, key=lambda name: by_class[name])
        labels = f"{n_labels} labels, {by_class[rarest]} of them {short(rarest)},"
    wanted = "many" if more > _FURTHEST * n_labels else f"about {rough(more)}"
    text = (
        f"{labels} cannot tell {headline['low']:.2f} from {headline['high']:.2f}: label {wanted} more rows to be "
        f"within {_WITHIN}."
    )
    return {**nothing, "text": text, "more_labels": more}


def _use(headline: PlainDict, best: str) -> str:
    """What the lower end of the interval allows."""
    # Not by the estimate: with few labels, a high one can be luck.
    low = headline["low"]
    if low <= 0.55:
        return "This may be little better than a random order: label more rows before you use it."
    if low < 0.75:
        return "Good for looking at the most likely rows first; too uncertain to decide about single rows."
    if low < 0.9:
        return "Good for sorting a list for review; look at single rows before you act on them."
    return best


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
        interval), `text`, a sentence on it, `recall` of each of these classes, and `pairs`, the most frequent mistakes.
        None with two classes.
    """
    if len(names) < 3:
        return None
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (codes, predicted), 1)
    by_size = np.argsort(-counts.sum(axis=1), kind="stable")
    largest = np.sort(by_size[:_MOST_CLASSES])
    n_rows = int(counts.sum())
    correct = _shrunken(np.trace(counts), n_rows, share)
    return {
        "names": [names[k] for k in largest],
        "counts": counts[np.ix_(largest, largest)].tolist(),
        "left_out": len(names) - len(largest),
        "correct": correct,
        "text": (
            f"About {correct['value']:.0%} of rows are predicted right (95% interval {correct['low']:.0%} to "
            f"{correct['high']:.0%}), if classes are as frequent as among the {n_rows} labels."
        ),
        "recall": [_shrunken(counts[k, k], counts[k].sum(), share) for k in largest],
        "pairs": _mistakes(counts, names),
    }


def _shrunken(n_right: int, n_rows: int, share: float) -> PlainDict:
    """A share of later rows: ten right ones of ten do not show that all are (the mean with Jeffreys' prior)."""
    estimate = share_estimate(share * n_right, share * n_rows)
    return estimate._replace(value=float((n_right + 0.5) / (n_rows + 1)))._asdict()


def _mistakes(counts: np.ndarray, names: list[str]) -> list[PlainDict]:
    """The most frequent pairs of a class and a wrong prediction."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    pairs = []
    for place in np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]:
        true, predicted = divmod(int(place), len(names))
        n_rows = int(wrong[true, predicted])
        if n_rows:
            pairs.append({"true": names[true], "predicted": names[predicted], "rows": n_rows})
    return pairs
