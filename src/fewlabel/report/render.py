"""Render a summary as one self-contained HTML page: no network, figures inside, one script that may be left out."""

import base64
import hashlib
import json
import os
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fewlabel.files import atomic_write
from fewlabel.report import charts
from fewlabel.report.summarize import signed

if TYPE_CHECKING:
    import pandas as pd
    from jinja2 import Environment

_LONGEST = 80  # characters of a name; the tooltip shows more


def render(summary: dict[str, Any]) -> str:
    """Render a summary as a page.

    Parameters
    ----------
    summary : dict
        As returned by :func:`fewlabel.report.summarize`.

    Returns
    -------
    str
        HTML.
    """
    card, environment, script = summary["scorecard"], _environment(), _script()
    board = sorted(summary["leaderboard"], key=lambda row: row["family"] != "ensemble")  # five rows are shown at once
    cuts = [{name: _cut_value(value) for name, value in row.items()} for row in summary["decision_curve"]]
    return environment.get_template("report.html.j2").render(
        **{
            **summary,
            "leaderboard": board,
            "whiskers": charts.whiskers(board),
            "script": script,
            # The browser runs no other script, whatever the table holds.
            "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            "cut_data": cuts,
            "cut_start": _nearest_cut(summary),
            **_panels(summary),
            "importance_scale": max([row["importance"] for row in summary["importances"]], default=1.0) or 1.0,
            "point_scale": charts.point_scale(card["columns"] if card else []),
        }
    )


def _panels(summary: dict[str, Any]) -> dict[str, Any]:
    """The figures."""
    return {
        "roc_panel": charts.roc_panel(summary["roc"]),
        "precision_panel": charts.precision_panel(summary["precision_recall"]),
        "calibration_panel": charts.calibration_panel(summary["calibration"]) if summary["calibration"] else None,
        "learning_panel": summary["learning_curve"] and charts.learning_panel(summary["learning_curve"]),
        "score_panel": charts.score_panel(summary["scores"]),
        "decision_panels": _decision_panels(summary),
        "shape_panels": charts.shape_panels(summary["shape_functions"]),
    }


def _script() -> str:
    return files("fewlabel.report").joinpath("templates/report.js").read_text("utf-8")


def _cut_value(value: Any) -> Any:
    """A number, or value, low and high of an estimate."""
    return [value["value"], value["low"], value["high"]] if isinstance(value, dict) else value


def _nearest_cut(summary: dict[str, Any]) -> int:
    """Position of the model's cut in the curve."""
    if summary["decisions"] is None:
        return 0
    share = summary["decisions"]["estimates"]["share"]["value"]
    distances = [abs(row["share"]["value"] - share) for row in summary["decision_curve"]]
    return distances.index(min(distances))


def _decision_panels(summary: dict[str, Any]) -> list[tuple[str, charts.Panel]]:
    """Titles and panels: gain, and cost or precision, by share of flagged rows."""
    if summary["decisions"] is None:
        return []
    names = [("Gain", "recall", "recall"), ("Precision", "precision", "precision")]
    if summary["decisions"]["costs"] is not None:
        names.append(("Expected cost", "cost", "expected cost per row"))
    share = summary["decisions"]["estimates"]["share"]["value"]
    curve = summary["decision_curve"]
    return [(title, charts.decision_panel(curve, name, label, share)) for title, name, label in names]


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fewlabel.report"),
        autoescape=True,  # names of columns and classes come from the user
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signed"] = signed
    environment.filters["short"] = _short
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)  # valid Python source, too
    return environment


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
    blocks: dict[str, list[dict[str, Any]]] = {}
    for row in card.iloc[1:].to_dict("records"):
        blocks.setdefault(row["column"], []).append(row)
    columns = [{"name": name, "rows": rows} for name, rows in blocks.items()]
    first = card["points"].iloc[0]
    return (
        _environment()
        .get_template("scorecard.html.j2")
        .render(
            title=title,
            positive=positive,
            points=f"{points:g}",
            base=f"{base:g}",
            start=f"{first:.1f}" if card["points"].dtype.kind == "f" else f"{first}",
            columns=columns,
            point_scale=charts.point_scale(columns),
        )
    )


def write(summary: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page of a summary to a file, atomically."""
    _write_page(render(summary), path)


def write_drift(summary: dict[str, Any], path: str | os.PathLike[str], *, title: str) -> None:
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
    texts: dict[str, list[str]] = {}
    for finding in summary["findings"]:
        texts.setdefault(finding["column"], []).append(finding["text"])
    page = _environment().get_template("drift.html.j2").render(**summary, texts=texts, title=title)
    _write_page(page, path)


def _write_page(page: str, path: str | os.PathLike[str]) -> None:
    content = page.encode()
    with atomic_write(path) as file:
        file.write(content)
