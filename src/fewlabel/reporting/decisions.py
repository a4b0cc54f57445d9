"""What the report says about decisions: the threshold, what it yields, and what other thresholds would yield."""

import numpy as np

from fewlabel.decisions import Estimate
from fewlabel.reporting.sentences import threshold_text
from fewlabel.tables import Decision
from fewlabel.text import short
from fewlabel.types import PlainDict

_TOPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_SHOWN = ("share", "precision", "recall", "lift", "cost")


def describe(decision: Decision, positive: str, unknown: str | None = None, *, asks_share: bool = False) -> PlainDict:
    """Describe a threshold, and the precision among the rows at the top of the ranking.

    Parameters
    ----------
    decision : Decision
    positive : str
        Name of the positive class.
    unknown : str, default=None
        Why the labels cannot tell what the threshold yields, if they cannot.
    asks_share : bool, default=False
        Whether it depends on the share of positives, which the labels cannot tell.

    Returns
    -------
    dict
        Plain values: `rule`, `threshold`, numbers of rows, `estimates` (each with `value`, `low` and `high`), `top`
        (one row per number of reviewed rows), `sensitivity` if the labels cannot tell, and `text`, a sentence.
    """
    top = []
    for n in _TOPS:
        # Past half of the rows, the top is no longer a choice.
        if n <= decision.n_rows / 2:
            yields = decision.evidence.at_top(n, decision.costs)
            row: PlainDict = {"rows": n}
            for name in ("precision", "recall", "lift"):
                row[name] = _plain(yields[name])
            top.append(row)
    interval = decision.evidence.prior_interval
    sensitivity = None
    if unknown is not None and decision.n_flagged:
        sensitivity = decision.evidence.sensitivity(decision.threshold, decision.target)
    return {
        "rule": decision.rule,
        "threshold": decision.threshold,
        "rows": decision.n_rows,
        "flagged": decision.n_flagged,
        "prior": _plain(decision.evidence.prior),
        "auc": _plain(decision.evidence.auc()),
        "prior_interval": None if interval is None else list(interval),
        "costs": None if decision.costs is None else decision.costs._asdict(),
        "estimates": {name: _plain(estimate) for name, estimate in decision.yields.items()},
        "top": top,
        "unknown": unknown,
        "asks_share": asks_share,
        "sensitivity": None if sensitivity is None else sensitivity._asdict(),
        "text": threshold_text(decision, short(positive), unknown, sensitivity, asks_share),
    }


def curve(decision: Decision) -> list[PlainDict]:
    """Share of flagged rows, precision, recall, lift and cost by threshold, each with its band.

    Parameters
    ----------
    decision : Decision

    Returns
    -------
    list of dict
        From few flagged rows to all.
    """
    table = decision.evidence.curve(decision.costs, also=decision.threshold)
    points = []
    for row in table.to_dict("records"):
        point: PlainDict = {"threshold": float(row["threshold"])}
        for name in _SHOWN:
            if name in row:  # there is no cost unless costs are given
                estimate = Estimate(row[name], row[f"{name}_low"], row[f"{name}_high"])
                point[name] = _plain(estimate)
        points.append(point)
    return points


def _plain(estimate: Estimate) -> dict[str, float]:
    return {name: float(np.round(value, 6)) for name, value in estimate._asdict().items()}
