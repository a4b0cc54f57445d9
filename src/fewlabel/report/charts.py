"""Geometry of the report's figures: numbers in, SVG coordinates out. Colors are in the template."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from fewlabel.inspection import plot_range


class Scale(NamedTuple):
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Choose about as many round numbers within a range as asked for.

    Examples
    --------
    >>> from fewlabel.report.charts import ticks
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last - first < 1 and about < 20:  # an axis needs two ticks
        return ticks(low, high, about + 1)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Format ticks with the same, smallest exact number of decimals; in scientific notation if that is long.

    Examples
    --------
    >>> from fewlabel.report.charts import tick_texts
    >>> tick_texts([0.0, 0.25, 0.5])
    ['0.00', '0.25', '0.50']
    """
    largest = max((abs(v) for v in values), default=0.0)
    if largest and not 1e-3 <= largest < 1e6:
        return [f"{v:g}".replace("-", "\N{MINUS SIGN}") for v in values]
    decimals = 0
    while decimals < 9 and any(abs(round(v, decimals) - v) > 1e-9 * max(abs(v), 1e-3) for v in values):
        decimals += 1
    return [f"{v:.{decimals}f}".replace("-", "\N{MINUS SIGN}") for v in values]


def _marks(scale: Scale, about: int) -> list[dict[str, Any]]:
    values = ticks(scale.low, scale.high, about)
    return [{"at": scale(v), "text": text} for v, text in zip(values, tick_texts(values))]


class Panel:
    """A plot: axes with ticks, and marks in page coordinates.

    Parameters
    ----------
    x, y : (float, float)
        Ranges of the values.
    labels : (str, str)
        Titles of the axes.
    width, height : float
        Size of the area inside the axes.
    x_values : sequence of float, default=None
        Ticks of the horizontal axis; round numbers by default.
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        labels: tuple[str, str],
        width: float = 300.0,
        height: float = 300.0,
        x_values: Sequence[float] | None = None,
    ) -> None:
        longest = max(len(text) for text in tick_texts(ticks(*y)))
        self.left, self.top, self.plot_width, self.plot_height = max(54.0, 30.0 + 7.0 * longest), 12.0, width, height
        self.width, self.height = self.left + width + 14, self.top + height + 44
        self.x = Scale(*x, self.left, self.left + width)
        self.y = Scale(*y, self.top + height, self.top)
        self.x_label, self.y_label = labels
        self.x_ticks = _marks(self.x, 5) if x_values is None else self._marks_at(x_values)
        self.y_ticks = _marks(self.y, 5)
        self.marks: list[dict[str, Any]] = []

    def _marks_at(self, values: Sequence[float]) -> list[dict[str, Any]]:
        return [{"at": self.x(v), "text": text} for v, text in zip(values, tick_texts(values))]

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str) -> "Panel":
        """Add a line through points."""
        points = "L".join(f"{self.x(a)} {self.y(b)}" for a, b in zip(xs, ys))
        self.marks.append({"shape": "path", "kind": kind, "path": f"M{points}"})
        return self

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float], kind: str = "band") -> "Panel":
        """Add the area between two lines."""
        there = "L".join(f"{self.x(a)} {self.y(b)}" for a, b in zip(xs, low))
        back = "L".join(f"{self.x(a)} {self.y(b)}" for a, b in zip(reversed(xs), reversed(high)))
        self.marks.append({"shape": "path", "kind": kind, "path": f"M{there}L{back}Z"})
        return self

    def whisker(self, at: float, low: float, high: float, kind: str) -> "Panel":
        """Add a vertical line from low to high."""
        self.marks.append({"shape": "path", "kind": kind, "path": f"M{self.x(at)} {self.y(low)}V{self.y(high)}"})
        return self

    def dot(self, at: float, value: float, kind: str, note: str = "") -> "Panel":
        """Add a point; `note` is shown when the pointer is on it."""
        self.marks.append({"shape": "dot", "kind": kind, "x": self.x(at), "y": self.y(value), "note": note})
        return self

    def text(self, at: float, value: float, text: str) -> "Panel":
        """Add a text that ends at a point."""
        self.marks.append({"shape": "text", "x": self.x(at), "y": self.y(value), "text": text})
        return self

    def steps(self, edges: Sequence[float], values: Sequence[float], kind: str, fill: bool = False) -> "Panel":
        """Add the outline of a histogram."""
        path = f"M{self.x(edges[0])} {self.y(self.y.low)}"
        for right, value in zip(edges[1:], values):
            path += f"V{self.y(value)}H{self.x(right)}"
        path += f"V{self.y(self.y.low)}" + ("Z" if fill else "")
        self.marks.append({"shape": "path", "kind": kind, "path": path})
        return self


def roc_panel(curves: Sequence[dict[str, Any]]) -> Panel:
    """ROC curves; a single one with its confidence band."""
    panel = Panel((0.0, 1.0), (0.0, 1.0), ("false positive rate", "true positive rate (recall)"))
    panel.line([0.0, 1.0], [0.0, 1.0], "chance")
    return _curves(panel, curves)


def precision_panel(curves: Sequence[dict[str, Any]]) -> Panel:
    """Precision-recall curves; a single one with its confidence band."""
    panel = Panel((0.0, 1.0), (0.0, 1.0), ("recall", "precision"))
    if len(curves) == 1:
        panel.line([0.0, 1.0], [curves[0]["chance"]] * 2, "chance")
    return _curves(panel, curves)


def _curves(panel: Panel, curves: Sequence[dict[str, Any]]) -> Panel:
    if len(curves) == 1:
        panel.band(curves[0]["x"], curves[0]["low"], curves[0]["high"])
    for number, curve in enumerate(curves):
        panel.line(curve["x"], curve["y"], f"curve c{number % 6}")
    return panel


def decision_panel(curve: Sequence[dict[str, Any]], name: str, label: str, share: float) -> Panel:
    """An estimate by share of flagged rows, with its band and the share at the cut."""
    xs = [row["share"]["value"] for row in curve]
    values, low, high = ([row[name][part] for row in curve] for part in ("value", "low", "high"))
    top = 1.0 if name != "cost" else max(high) * 1.05 or 1.0
    panel = Panel((0.0, 1.0), (0.0, top), ("share of rows flagged", label))
    if name == "recall":
        panel.line([0.0, 1.0], [0.0, 1.0], "chance")
    panel.band(xs, low, high).line(xs, values, "curve c0")
    return panel.whisker(share, 0.0, top, "cut")


def learning_panel(curve: dict[str, Any]) -> Panel:
    """Score against the number of labels (logarithmic axis), and its extrapolation by a power law."""
    logs = [math.log10(max(n, 1)) for n in curve["labels"]]
    ahead = [math.log10(n) for n in curve["ahead_labels"]]
    values = [*curve["low"], *curve["high"], *curve["ahead_scores"]]
    low, high = min(values), max(values)
    room = max(high - low, 0.02) * 0.12
    first, last = logs[0], max([*logs, *ahead])
    panel = Panel(
        (first - 0.04, max(last, first + 0.1) + 0.04),
        (max(low - room, 0.0), min(high + room, 1.0)),
        ("labeled rows (log scale)", curve["score_name"]),
        width=420.0,
        height=240.0,
        x_values=[],
    )
    shown = sorted({*curve["labels"], *curve["ahead_labels"][-1:]})
    panel.x_ticks = [{"at": panel.x(math.log10(n)), "text": f"{n}"} for n in _apart(shown)]
    if ahead:
        panel.line(ahead, curve["ahead_scores"], "ahead")
    for at, score, a, b in zip(logs, curve["scores"], curve["low"], curve["high"]):
        note = f"{round(10**at)} labels: {score:.3f} ({a:.3f} to {b:.3f})"
        panel.whisker(at, a, b, "stem").dot(at, score, "f0", note)
    panel.line(logs, curve["scores"], "curve c0").dot(logs[-1], curve["scores"][-1], "here")
    return panel.text(logs[-1], low - room / 2, "you are here")


def _apart(numbers: Sequence[int]) -> list[int]:
    """Numbers far enough apart on a logarithmic axis for their labels not to overlap."""
    kept: list[int] = []
    for n in numbers:
        if not kept or n >= 1.3 * kept[-1]:
            kept.append(n)
    return kept


def calibration_panel(bins: Sequence[dict[str, float]]) -> Panel:
    """Observed share of positives against the predicted probability."""
    panel = Panel((0.0, 1.0), (0.0, 1.0), ("predicted probability", "observed share of positives"))
    panel.line([0.0, 1.0], [0.0, 1.0], "chance")
    for b in bins:
        note = f"{b['rows']} rows: {b['share']:.0%} ({b['low']:.0%} to {b['high']:.0%})"
        panel.whisker(b["probability"], b["low"], b["high"], "stem").dot(b["probability"], b["share"], "f0", note)
    return panel


def score_panel(histograms: Sequence[dict[str, Any]]) -> Panel:
    """Histograms of probabilities, each normalized to its own rows."""
    highest = max([v for h in histograms for v in h["shares"]], default=1.0) or 1.0
    panel = Panel((0.0, 1.0), (0.0, highest * 1.05), ("predicted probability", "share of rows"))
    for number, h in enumerate(histograms):
        edges = [k / len(h["shares"]) for k in range(len(h["shares"]) + 1)]
        panel.steps(edges, h["shares"], f"curve c{number % 6}")
    return panel


def whiskers(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Confidence intervals on a common axis, to be drawn inside a table."""
    lowest, highest = min(row["low"] for row in rows), max(row["high"] for row in rows)
    room = max(highest - lowest, 0.01) * 0.06
    low = max(lowest - room, 0.0)
    width = 240.0
    x = Scale(low, max(min(highest + room, 1.0), low + 0.01), 8.0, width - 16.0)
    return {
        "width": width,
        "ticks": _marks(x, 4),
        "rows": [{"low": x(r["low"]), "score": x(r["score"]), "high": x(r["high"])} for r in rows],
    }


def shape_panels(functions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One panel per step function, on a common vertical scale.

    The horizontal axis covers nearly all training values and every cut of the function.
    """
    if not functions:
        return []
    values = [v for f in functions for v in (*f["values"], f["missing"] or 0.0, 0.0)]
    room = (max(values) - min(values)) * 0.08 or 1.0
    left, top, width, height = 44.0, 10.0, 222.0, 128.0
    y = Scale(min(values) - room, max(values) + room, top + height, top)
    panels = []
    for function in functions:
        x = Scale(*_shown(function), left, left + width)
        bounds = [x.low, *function["edges"], x.high]
        path = f"M{x(bounds[0])} {y(function['values'][0])}"
        for bound, value in zip(bounds[1:], [*function["values"][1:], None]):
            path += f"H{x(bound)}" + ("" if value is None else f"V{y(value)}")
        panels.append(
            {
                "name": function["name"],
                "importance": function["importance"],
                "left": left,
                "top": top,
                "plot_width": width,
                "plot_height": height,
                "width": left + width + 18,
                "height": top + height + 26,
                "x_ticks": _marks(x, 4),
                "y_ticks": _marks(y, 4),
                "path": path,
                "zero": y(0.0),
                "tenths": [x(q) for q in function["quantiles"][1:-1]],
                "missing": None if function["missing"] is None else y(function["missing"]),
            }
        )
    return panels


def _shown(function: dict[str, Any]) -> tuple[float, float]:
    low, high = plot_range(function["edges"])
    quantiles = function["quantiles"]
    return (min(low, quantiles[0]), max(high, quantiles[-1])) if quantiles else (low, high)


def point_scale(columns: Sequence[dict[str, Any]]) -> Scale:
    """Scale of a scorecard's bars, in percent of their cell."""
    points = [row["points"] for column in columns for row in column["rows"]]
    low, high = min([0.0, *points]), max([0.0, *points])
    return Scale(low, high if high > low else low + 1.0, 0.0, 100.0)
