"""Render a summary as one self-contained HTML page: no network, figures inside, one script that may be left out."""

import base64
import functools
import hashlib
import json
import os
import re
from importlib.resources import files
from typing import TYPE_CHECKING

from fewlabel.files import write_text
from fewlabel.reporting import charts
from fewlabel.reporting.additive import card_columns
from fewlabel.reporting.figures import FIGURES, end_text, number_texts, signed
from fewlabel.reporting.sentences import class_name
from fewlabel.types import PlainDict

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment
    from markupsafe import Markup

_CODE = re.compile("`([^`]+)`")
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
    return render_template("report.html.j2", **shown)


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
    card = render_template("model_card.md.j2", **summary, manifest=manifest)
    # Tags of users stay escaped; quotes mean nothing in Markdown.
    return card.replace("&#39;", "'").replace("&#34;", '"')


def _panels(summary: PlainDict) -> PlainDict:
    """The figures."""
    drawn: PlainDict = {
        "roc": charts.roc_panel,
        "precision_recall": charts.precision_panel,
        "calibration": charts.calibration_panel,
        "learning_curve": charts.learning_panel,
        "scores": charts.score_panel,
    }
    panels = {f"{name}_panel": summary[name] and draw(summary[name]) for name, draw in drawn.items()}
    panels["decision_panels"] = _decision_panels(summary)
    panels["shape_panels"] = charts.shape_panels(summary["shape_functions"])
    return panels


def _script() -> str:
    return files("fewlabel.reporting").joinpath("templates/report.js").read_text("utf-8")


def _slider_values(row: PlainDict) -> PlainDict:
    """The threshold, and value, low and high of each estimate at it."""
    estimates = {name: list(found.values()) for name, found in row.items() if name != "threshold"}
    return {"threshold": row["threshold"], **estimates}


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
    shown = [("Gain", "recall", "recall"), ("Precision", "precision", "precision")]
    if summary["decisions"]["costs"] is not None:
        shown.append(("Expected cost", "cost", "expected cost per row"))
    curve = summary["decision_curve"]
    return [(title, charts.decision_panel(curve, name, label, share)) for title, name, label in shown]


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
    environment.filters["end"] = end_text
    environment.globals.update(figure_names=FIGURES, number_texts=number_texts)
    environment.filters["short"] = _short
    environment.filters["named"] = class_name
    environment.filters["coded"] = _coded
    # A line break or a bar would end a cell of a table in Markdown.
    environment.filters["cell"] = lambda text: " ".join(str(text).split()).replace("|", "\\|")
    # JSON's texts are valid in Python source, too.
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)
    return environment


def render_template(name: str, **values: object) -> str:
    """Fill a template of this package."""
    return _environment().get_template(name).render(values)


def _coded(text: str) -> "Markup":
    """A sentence as HTML, with what stands between backticks as code."""
    from markupsafe import Markup, escape

    # Escaped first: a sentence may hold names of the user, which must stay text.
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))


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
    columns = card_columns(card)
    first = card["points"].iloc[0]
    is_rounded = card["points"].dtype.kind != "f"
    about = {"title": title, "positive": positive, "points": f"{points:g}", "base": f"{base:g}"}
    about["start"] = f"{first}" if is_rounded else f"{first:.1f}"
    scale = charts.point_scale(columns)
    return render_template("scorecard.html.j2", **about, columns=columns, point_scale=scale)


def write(summary: PlainDict, path: str | os.PathLike[str]) -> None:
    """Write the page of a summary to a file, atomically."""
    write_text(path, render(summary))
