"""The first lines of the report: what the model is good for, and which classes it confuses."""

from typing import Any

import numpy as np

from fewlabel.text import short

_MOST_CLASSES = 20
_MOST_PAIRS = 5


def good_for(summary: dict[str, Any]) -> str:
    """Say in a sentence or two what a ranking of this quality can be used for.

    Parameters
    ----------
    summary : dict
        With `headline`, `task`, `score_name`, `data` and `decisions`.

    Returns
    -------
    str
    """
    found, positive = summary["headline"], short(summary["data"]["positive"])
    if found["score"] is None:
        return "Nothing can be said about new rows: every column is suspected to be known only after the label."
    if summary["task"] == "multiclass":
        best = "Good for taking the most likely class, with a check of rows where its probability is low."
        return f"One class against the others, averaged over {len(summary['data']['classes'])} classes." + _use(
            found, best
        )
    parts = []
    if summary["score_name"] == "AUC":
        parts.append(
            f"Of two rows, one {positive} and one not, it puts the {positive} one first in about "
            f"{100 * found['score']:.0f} of 100 cases."
        )
    return " ".join(parts) + _use(found, "Good for deciding by a cut, with a check of the rows close to it.")


def _use(found: dict[str, Any], best: str) -> str:
    if found["low"] <= 0.55:
        return " This may be little better than a random order: label more rows before you use it."
    if found["low"] < 0.75:
        return " Good for looking at the most likely rows first; too uncertain to decide about single rows."
    if found["low"] < 0.9:
        return " Good for sorting a list for review; look at single rows before you act on them."
    return f" {best}"


def confusion(codes: np.ndarray, predicted: np.ndarray, names: list[str]) -> dict[str, Any] | None:
    """Count the out-of-fold predictions by class.

    Parameters
    ----------
    codes, predicted : ndarray of int
        Class of each labeled row, and the predicted one.
    names : list of str
        Names of the classes.

    Returns
    -------
    dict or None
        `names` of the largest classes, `counts` (rows: class, columns: prediction), `correct` (share), and `pairs`, the
        most frequent mistakes. None with two classes.
    """
    if len(names) < 3:
        return None
    counts = np.zeros((len(names), len(names)), dtype=int)
    np.add.at(counts, (codes, predicted), 1)
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    pairs = [(int(k) // len(names), int(k) % len(names)) for k in order]
    kept = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_CLASSES])
    return {
        "names": [names[k] for k in kept],
        "counts": counts[np.ix_(kept, kept)].tolist(),
        "left_out": len(names) - len(kept),
        "correct": float(np.trace(counts) / max(counts.sum(), 1)),
        "pairs": [
            {"true": names[a], "predicted": names[b], "rows": int(wrong[a, b])} for a, b in pairs if wrong[a, b] > 0
        ],
    }
