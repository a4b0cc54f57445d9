"""Render a summary as one self-contained HTML page: no network, figures inside, one script that may be left out."""

import base64
import functools
import hashlib
import json
import os
from importlib.resources import files
from typing import TYPE_CHECKING

from fewlabel.files import write_text
from fewlabel.reporting import charts
from fewlabel.reporting.figures import FIGURES, number_texts, signed
from fewlabel.types import PlainDict

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

_LONGEST = 80  # characters of a name; the tooltip shows more


def render(summary: PlainDict) -> str:
    """Render a summary as a page.

    Parameters
    ----------
    summary : dict
        As returned by :func:`fewlabel.reporting.summarize`.

    Returns
    -------
    str
        HTML.
    """
    script = _script()
    digest = hashlib.sha256(script.encode()).digest()
    card = summary["scorecard"]
    shown = {**summary, **_panels(summary)}
    # Five rows are shown at once: that of the ensemble is the first of them.
    shown["leaderboard"] = sorted(summary["leaderboard"], key=lambda row: row["family"] != "ensemble")
    shown["whiskers"] = charts.whiskers(shown["leaderboard"])
    shown["script"] = script
    # The browser runs no other script, whatever the table holds.
    shown["script_hash"] = base64.b64encode(digest).decode()
    shown["threshold_data"] = [_slider_values(row) for row in summary["decision_curve"]]
    shown["threshold_start"] = _position_of_threshold(summary)
    largest = max([row["importance"] for row in summary["importances"]], default=1.0)
    shown["importance_scale"] = largest or 1.0  # lengths of bars are divided by it
    shown["point_scale"] = charts.point_scale(card["columns"] if card else [])
    return _environment().get_template("report.html.j2").render(shown)


def render_card(summary: PlainDict, manifest: PlainDict | None = None) -> str:
    """Render a summary as a model card in Markdown.

    Parameters
    ----------
    summary : dict
        As returned by :func:`fewlabel.reporting.summarize`.
    manifest : dict, default=None
        What `fewlabel fit` writes to manifest.json.

    Returns
    -------
    str
    """
    card = _environment().get_template("model_card.md.j2").render(summary, manifest=manifest)
    # Tags of users stay escaped; quotes mean nothing in Markdown.
    return card.replace("&#39;", "'").replace("&#34;", '"')


def _panels(summary: PlainDict) -> PlainDict:
    """The figures."""
    return {
        "roc_panel": summary["roc"] and charts.roc_panel(summary["roc"]),
        "precision_panel": summary["roc"] and charts.precision_panel(summary["precision_recall"]),
        "calibration_panel": charts.calibration_panel(summary["calibration"]) if summary["calibration"] else None,
        "learning_panel": summary["learning_curve"] and charts.learning_panel(summary["learning_curve"]),
        "score_panel": charts.score_panel(summary["scores"]),
        "decision_panels": _decision_panels(summary),
        "shape_panels": charts.shape_panels(summary["shape_functions"]),
    }


def _script() -> str:
    return files("fewlabel.reporting").joinpath("templates/report.js").read_text("utf-8")


def _slider_values(row: PlainDict) -> PlainDict:
    """The threshold, and value, low and high of each estimate at it."""
    values: PlainDict = {"threshold": row["threshold"]}
    for name, estimate in row.items():
        if name != "threshold":
            values[name] = [estimate["value"], estimate["low"], estimate["high"]]
    return values


def _position_of_threshold(summary: PlainDict) -> int:
    """Position of the model's threshold in the curve, which holds it."""
    if summary["decisions"] is None:
        return 0
    thresholds = [row["threshold"] for row in summary["decision_curve"]]
    return thresholds.index(summary["decisions"]["threshold"])


def _decision_panels(summary: PlainDict) -> list[tuple[str, charts.Panel]]:
    """Titles and panels: gain, and cost or precision, by share of flagged rows."""
    if summary["decisions"] is None:
        return []
    share = summary["decisions"]["estimates"]["share"]["value"]
    curve = summary["decision_curve"]
    panels = [
        ("Gain", charts.decision_panel(curve, "recall", "recall", share)),
        ("Precision", charts.decision_panel(curve, "precision", "precision", share)),
    ]
    if summary["decisions"]["costs"] is not None:
        cost = charts.decision_panel(curve, "cost", "expected cost per row", share)
        panels.append(("Expected cost", cost))
    return panels


@functools.cache  # to compile the templates takes longer than to fill them
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fewlabel.reporting"),
        autoescape=True,  # names of columns and classes come from the user
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signed"] = signed
    environment.globals.update(figure_names=FIGURES, number_texts=number_texts)
    environment.filters["short"] = _short
    # A line break or a bar would end a cell of a table in Markdown.
    environment.filters["cell"] = lambda text: " ".join(str(text).split()).replace("|", "\\|")
    # JSON's texts are valid in Python source, too.
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment


def render_template(name: str, **values: object) -> str:
    """Fill a template of this package."""
    return _environment().get_template(name).render(values)


def _short(text: object, most: int = _LONGEST) -> str:
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def render_scorecard(card: "pd.DataFrame", *, title: str, positive: str, points: float, base: float) -> str:
    """Render a scorecard as a page.

    Parameters
    ----------
    card : DataFrame
        What :func:`fewlabel.inspection.scorecard` returned; its points may be rounded.
    title, positive : str
        Heading of the page, and name of the positive class.
    points, base : float
        As in :func:`fewlabel.inspection.scorecard`.

    Returns
    -------
    str
        HTML.
    """
    blocks: dict[str, list[PlainDict]] = {}
    for row in card.iloc[1:].to_dict("records"):
        blocks.setdefault(row["column"], []).append(row)
    columns = [{"name": name, "rows": rows} for name, rows in blocks.items()]
    first = card["points"].iloc[0]
    is_rounded = card["points"].dtype.kind != "f"
    start = f"{first}" if is_rounded else f"{first:.1f}"
    template = _environment().get_template("scorecard.html.j2")
    return template.render(
        title=title,
        positive=positive,
        points=f"{points:g}",
        base=f"{base:g}",
        start=start,
        columns=columns,
        point_scale=charts.point_scale(columns),
    )


def write(summary: PlainDict, path: str | os.PathLike[str]) -> None:
    """Write the page of a summary to a file, atomically."""
    write_text(path, render(summary))
