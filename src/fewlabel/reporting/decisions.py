"""What the report says about decisions: the threshold, what it yields, and what other thresholds would yield."""

import math

from fewlabel.decisions import Estimate
from fewlabel.reporting.sentences import class_name, threshold_text
from fewlabel.tables import Decision
from fewlabel.types import PlainDict

_TOPS = (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_SHOWN = ("share", "precision", "recall", "lift", "cost")


def describe(
    decision: Decision,
    positive: str,
    unknown: str | None = None,
    *,
    asks_share: bool = False,
    tells_odds: bool = True,
) -> PlainDict:
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
    tells_odds : bool, default=True
        Whether the labels tell the odds of a row, up to some factor.

    Returns
    -------
    dict
        `rule`, `threshold`, `target` (the precision below which flagging is not worthwhile), numbers of rows,
        `estimates` (each with `value`, `low` and `high`), `top`
        (one row per number of reviewed rows), `sensitivity` if the labels cannot tell, and `text`, a sentence.
    """
    top = []
    for n in _TOPS:
        # Past half of the rows, the top is no longer a choice.
        if n <= decision.n_rows / 2:
            yields = decision.evidence.at_top(n, decision.costs)
            top.append({"rows": n, **{name: yields[name] for name in ("precision", "recall", "lift")}})
    sensitivity = None
    # Positives alone tell no odds, and their AUC is the headline's.
    has_values = not math.isnan(decision.yields["precision"].value)
    if unknown is not None and decision.n_flagged and has_values and tells_odds:
        sensitivity = decision.evidence.sensitivity(decision.threshold, decision.target)
    return {
        "rule": decision.rule,
        "threshold": decision.threshold,
        "target": decision.target,
        "rows": decision.n_rows,
        "flagged": decision.n_flagged,
        "prior": decision.evidence.prior,
        "auc": decision.evidence.auc() if has_values else None,
        "prior_interval": decision.evidence.prior_interval,
        "costs": decision.costs,
        "estimates": decision.yields,
        "top": top,
        "unknown": unknown,
        "asks_share": asks_share,
        "sensitivity": sensitivity,
        "text": threshold_text(decision, class_name(positive), unknown, sensitivity, asks_share),
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
        point: PlainDict = {"threshold": row["threshold"]}
        for name in _SHOWN:
            if name in row:  # there is no cost unless costs are given
                point[name] = Estimate.of_columns(row, name)
        points.append(point)
    return points
