"""Pages on new rows: their columns beside those of the fit, and what was expected and measured over time."""

import itertools
import os
from collections.abc import Sequence

from fewlabel.files import write_text
from fewlabel.reporting import charts
from fewlabel.reporting.figures import FIGURES
from fewlabel.reporting.render import render_template
from fewlabel.types import PlainDict

_MOST_BARS = 12
_IN_HISTORY = ("auc", "accuracy", "precision", "cost")


def write_drift(summary: PlainDict, path: str | os.PathLike[str], *, title: str) -> None:
    """Write a page on new rows beside those of the fit.

    Parameters
    ----------
    summary : dict
        What :meth:`fewlabel.tables.Drift.summary` returned.
    path : str or path-like
        The file.
    title : str
        Heading of the page, such as the name of the table.
    """
    write_text(path, render_template("drift.html.j2", title=title, drift=_shown_drift(summary)))


def write_monitor(summary: PlainDict, history: Sequence[PlainDict], path: str | os.PathLike[str]) -> None:
    """Write a page on what to expect of a model on new rows, and on all batches so far.

    Parameters
    ----------
    summary : dict
        What :meth:`fewlabel.monitor.Monitoring.to_dict` returned, with `title`.
    history : sequence of dict
        What :func:`fewlabel.monitor.read_history` returned.
    path : str or path-like
        The file.
    """
    score = summary["score"]
    known = summary["expected"] | summary["measured"]
    shown = {
        **summary,
        "drift": _shown_drift(summary["drift"]),
        "figures": [name for name in FIGURES if name in known],
        "score_bars": None if score is None else _bars(score),
    }
    panels = _history_panels(history, summary["at_fit"])
    write_text(path, render_template("monitor.html.j2", **shown, history=history, panels=panels))


def _history_panels(history: Sequence[PlainDict], at_fit: PlainDict | None) -> list[tuple[str, charts.Panel]]:
    """What was expected and measured of each batch, and the stability of the score; the AUC with that of the fit."""
    names = [record["batch"] for record in history]
    levels = {} if at_fit is None else {"auc": at_fit["value"]}
    panels = []
    for name in _IN_HISTORY:
        label = FIGURES[name]
        expected = [record["expected"].get(name) for record in history]
        measured = [record["measured"].get(name) for record in history]
        if any(expected + measured):
            panels.append((label, charts.history_panel(names, expected, measured, label, levels.get(name))))
    stability = [record["score_stability"] for record in history]
    if any(value is not None for value in stability):
        panels.append(("Stability of the score", charts.stability_panel(names, stability)))
    return panels


def _shown_drift(summary: PlainDict) -> PlainDict:
    """The findings of each column, and its bars; columns with a finding first, then by their stability."""
    texts: dict[str, list[str]] = {}
    for finding in summary["findings"]:
        texts.setdefault(finding["column"], []).append(finding["text"])

    def importance(item):
        name, column = item
        return name in texts, column["stability"] or 0

    columns = {}
    for name, column in sorted(summary["columns"].items(), key=importance, reverse=True):
        columns[name] = {**column, "bars": _bars(column)}
    return {**summary, "columns": columns, "texts": texts}


def _bars(column: PlainDict) -> list[PlainDict]:
    """Shares of the rows in each bin at fit and now, as heights of bars; rare categories are one."""
    fit = column["fit"]
    before = fit["shares"]
    after = column["new"]["shares"]
    if "categories" in fit:
        every = list(zip([*fit["categories"], "not seen at fit"], before, after))
        by_share = sorted(range(len(every)), key=lambda k: -max(every[k][1:]))
        # Categories keep their order; the unseen ones are the last.
        bins = [every[k] for k in sorted(by_share[:_MOST_BARS])]
        if len(every) > len(bins):
            shown_before = sum(one[1] for one in bins)
            shown_after = sum(one[2] for one in bins)
            bins.append(("all others", 1 - shown_before, 1 - shown_after))
    else:
        bins = list(zip(_intervals(fit["cuts"]), before, after))
    return charts.bars([one for one in bins if one[1] or one[2]])


def _intervals(cuts: Sequence[float]) -> list[str]:
    if not cuts:
        return ["all values"]
    texts = [f"{cut:.4g}" for cut in cuts]
    between = [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"above {texts[-1]}"]
