"""What the report says about decisions: the cut, what it yields, and what other cuts would yield."""

from typing import Any

import numpy as np

from fewlabel.decisions import Estimate
from fewlabel.tables import Decision
from fewlabel.text import short

_TOPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_SHOWN = ("share", "precision", "recall", "lift", "cost")


def describe(decision: Decision, positive: str) -> dict[str, Any]:
    """Describe a cut, and the precision among the rows at the top of the ranking.

    Parameters
    ----------
    decision : Decision
    positive : str
        Name of the positive class.

    Returns
    -------
    dict
        Plain values: `rule`, `cut`, numbers of rows, `estimates` (each with `value`, `low` and `high`), `top` (one row
        per number of reviewed rows) and `text`, a sentence.
    """
    sizes = [n for n in _TOPS if n <= decision.n_rows / 2]
    top = []
    for n in sizes:
        found = decision.evidence.at_top(n, of=decision.n_rows, costs=decision.costs)
        top.append({"rows": n, **{name: _plain(found[name]) for name in ("precision", "recall", "lift")}})
    return {
        "rule": decision.rule,
        "cut": decision.cut,
        "rows": decision.n_rows,
        "flagged": decision.n_flagged,
        "prior_interval": decision.evidence.prior_interval and list(decision.evidence.prior_interval),
        "costs": None if decision.costs is None else decision.costs._asdict(),
        "estimates": {name: _plain(found) for name, found in decision.yields.items()},
        "top": top,
        "text": _text(decision, short(positive)),
    }


def curve(decision: Decision) -> list[dict[str, Any]]:
    """Share of flagged rows, precision, recall, lift and cost by cut, each with its band.

    Parameters
    ----------
    decision : Decision

    Returns
    -------
    list of dict
        From few flagged rows to all.
    """
    table = decision.evidence.curve(decision.costs, also=decision.cut)
    names = [name for name in _SHOWN if name in table]
    return [
        {
            "cut": float(row["cut"]),
            **{name: _plain(Estimate(*(row[name + end] for end in ("", "_low", "_high")))) for name in names},
        }
        for _, row in table.iterrows()
    ]


def _plain(found: Estimate) -> dict[str, float]:
    return {name: float(np.round(value, 6)) for name, value in found._asdict().items()}


def _text(decision: Decision, positive: str) -> str:
    precision, recall = decision.yields["precision"], decision.yields["recall"]
    text = (
        f"Cut by {decision.rule}: {decision.n_flagged} of {decision.n_rows} rows have a score above "
        f"{decision.cut:.4g}. An estimated {precision.value:.0%} of them are {positive} (95% band {precision.low:.0%} "
        f"to {precision.high:.0%}), which is {recall.value:.0%} of all {positive} ({recall.low:.0%} to "
        f"{recall.high:.0%})."
    )
    if "cost" in decision.yields:
        cost = decision.yields["cost"]
        text += f" Expected cost per row: {cost.value:.3g} ({cost.low:.3g} to {cost.high:.3g})."
    return text
