"""The summary as one page that needs nothing else: no network, no scripts, pictures inside."""

import json
import os
from typing import Any

from fewlabel.persistence import atomic_write
from fewlabel.report.charts import point_scale, roc_corner, roc_panel, shape_panels, whiskers
from fewlabel.report.summarize import signed


def render(summary: dict[str, Any]) -> str:
    """The page of a summary.

    Parameters
    ----------
    summary : dict
        As :func:`fewlabel.report.summarize` gives it.

    Returns
    -------
    str
        HTML.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("fewlabel.report"),
        autoescape=True,  # names of columns and classes come from the user's table
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signed"] = signed
    environment.filters["quoted"] = lambda text: json.dumps(text, ensure_ascii=False)  # as Python source, too
    corner = roc_corner([row["auc"] for row in summary["leaderboard"]])
    panels = [roc_panel(summary["roc"])]
    if corner is not None:
        panels.append(roc_panel(summary["roc"], corner))
    return environment.get_template("report.html.j2").render(
        **summary,
        colours={curve["method"]: number for number, curve in enumerate(summary["roc"])},
        whiskers=whiskers(summary["leaderboard"]),
        roc_panels=panels,
        shape_panels=shape_panels(summary["shape_functions"]),
        point_scale=point_scale(summary["scorecard"]["columns"]),
    )


def write(summary: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write the page of a summary to a file, whole or not at all."""
    page = render(summary).encode()
    with atomic_write(path) as file:
        file.write(page)
