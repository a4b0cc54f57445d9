"""Geometry of the report's pictures: numbers in, SVG coordinates out; colours and words are the template's."""

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
    """Round numbers within a range, about as many as asked for.

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
    if last - first < 1 and about < 20:  # fewer than two: no scale could be read off
        return ticks(low, high, about + 1)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Tick labels with the same number of decimals, as few as keep them exact; powers of ten where that is long.

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


def roc_panel(curves: Sequence[dict[str, Any]], corner: float = 1.0) -> dict[str, Any]:
    """ROC curves in the upper left corner of the unit square; ``corner=1`` is all of it."""
    left, top, size = 54.0, 12.0, 300.0
    x = Scale(0.0, corner, left, left + size)
    y = Scale(1.0 - corner, 1.0, top + size, top)
    lines = []
    for number, curve in enumerate(curves):
        points = zip(curve["false_positive_rate"], curve["true_positive_rate"])
        lines.append({"number": number, "path": "M" + "L".join(f"{x(a)} {y(b)}" for a, b in points)})
    return {
        "left": left,
        "top": top,
        "size": size,
        "width": left + size + 14,
        "height": top + size + 44,
        "x_ticks": _marks(x, 5),
        "y_ticks": _marks(y, 5),
        "lines": lines,
        "chance": f"M{x(0.0)} {y(0.0)}L{x(1.0)} {y(1.0)}",
        "corner": corner,
    }


def roc_corner(aucs: Sequence[float]) -> float | None:
    """Side of the corner in which good curves can be told apart, or None if the whole square does that."""
    needed = 8 * (1 - sorted(aucs)[len(aucs) // 2])
    return next((side for side in (0.1, 0.2, 0.3) if side >= needed), None)


def whiskers(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Intervals of all rows on one axis, for drawing inside a table."""
    lowest, highest = min(row["auc_low"] for row in rows), max(row["auc_high"] for row in rows)
    room = max(highest - lowest, 0.01) * 0.06
    low = max(lowest - room, 0.0)
    width = 240.0
    x = Scale(low, min(highest + room, 1.0), 8.0, width - 16.0)
    return {
        "width": width,
        "ticks": _marks(x, 4),
        "rows": [{"low": x(r["auc_low"]), "auc": x(r["auc"]), "high": x(r["auc_high"])} for r in rows],
    }


def shape_panels(functions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One step function a panel, all on the same vertical scale so that their heights compare.

    A panel shows the part of the axis where nearly all training values lie, and all cuts of the function.
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
    """Where the bars of a scorecard begin and end, in per cent of their cell."""
    points = [row["points"] for column in columns for row in column["rows"]]
    low, high = min([0.0, *points]), max([0.0, *points])
    return Scale(low, high if high > low else low + 1.0, 0.0, 100.0)
