"""Geometry of the report's figures: numbers in, SVG coordinates out. Colors are in the template."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from fewlabel.inspection import plot_range
from fewlabel.text import short
from fewlabel.types import PlainDict

_SHARES = (0.0, 1.0)  # the range of shares and probabilities
_COLORS = 6  # curves of different colors in the template


class Scale(NamedTuple):
    """A linear map from values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        pixel = self.start + share * (self.end - self.start)
        return round(pixel, 2)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Choose about as many round numbers within a range as asked for.

    Examples
    --------
    >>> from fewlabel.reporting.charts import ticks
    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    wanted = (high - low) / about
    power = 10.0 ** math.floor(math.log10(wanted))
    steps = [multiple * power for multiple in (1, 2, 2.5, 5, 10)]
    # A little less than wanted will do: 0.2 is not exactly the fifth part of 1.
    step = next(step for step in steps if step >= wanted * 0.999)
    # Rounding must not lose a tick at either end.
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    if last - first < 1 and about < 20:  # an axis needs two ticks
        return ticks(low, high, about + 1)
    return [float(f"{k * step:.10g}") for k in range(first, last + 1)]


def tick_texts(values: Sequence[float]) -> list[str]:
    """Format ticks with the same, smallest exact number of decimals; in scientific notation if that is long.

    Examples
    --------
    >>> from fewlabel.reporting.charts import tick_texts
    >>> tick_texts([0.0, 0.25, 0.5])
    ['0.00', '0.25', '0.50']
    """
    largest = max(map(abs, values), default=0.0)
    form = "g"
    if largest == 0 or 1e-3 <= largest < 1e6:
        decimals = 0
        # Up to the rounding of floats.
        while any(abs(round(value, decimals) - value) > 1e-9 * largest for value in values):
            decimals += 1
        form = f".{decimals}f"
    return [f"{value:{form}}".replace("-", "\N{MINUS SIGN}") for value in values]


def _marks(scale: Scale, about: int) -> list[PlainDict]:
    values = ticks(scale.low, scale.high, about)
    return [{"at": scale(value), "text": text} for value, text in zip(values, tick_texts(values))]


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
    """

    def __init__(
        self,
        x: tuple[float, float],
        y: tuple[float, float],
        labels: tuple[str, str],
        width: float = 300.0,
        height: float = 300.0,
    ) -> None:
        longest = max(len(text) for text in tick_texts(ticks(*y)))
        x_label, y_label = labels
        # Room for the texts of the axes.
        self.left = (30.0 if y_label else 12.0) + max(24.0, 7.0 * longest)
        self.top = 12.0
        self.plot_width = width
        self.plot_height = height
        self.width = self.left + width + 14
        self.height = self.top + height + (44 if x_label else 26)
        self.x = Scale(*x, self.left, self.left + width)
        # Pixels are counted from the top.
        self.y = Scale(*y, self.top + height, self.top)
        self.x_label = x_label
        self.y_label = y_label
        self.x_ticks = _marks(self.x, 5)
        self.y_ticks = _marks(self.y, 5)
        self.marks: list[PlainDict] = []

    def _path(self, kind: str, path: str) -> "Panel":
        self.marks.append({"shape": "path", "kind": kind, "path": path})
        return self

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str, close: str = "") -> "Panel":
        """Add a line through points; the area inside of it is filled if it ends with the command Z."""
        points = [f"{self.x(x)} {self.y(y)}" for x, y in zip(xs, ys)]
        return self._path(kind, f"M{'L'.join(points)}{close}")

    def diagonal(self) -> "Panel":
        """Add the line of equal shares: what a random order gives, or exact probabilities."""
        return self.line(_SHARES, _SHARES, "chance")

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> "Panel":
        """Add the area between two lines."""
        return self.line([*xs, *reversed(xs)], [*low, *reversed(high)], "band", "Z")

    def whisker(self, at: float, low: float, high: float, kind: str) -> "Panel":
        """Add a vertical line from low to high."""
        return self._path(kind, f"M{self.x(at)} {self.y(low)}V{self.y(high)}")

    def dot(self, at: float, value: float, kind: str, note: str = "") -> "Panel":
        """Add a point; `note` is shown when the pointer is on it."""
        self.marks.append({"shape": "dot", "kind": kind, "x": self.x(at), "y": self.y(value), "note": note})
        return self

    def estimate(
        self, at: float, name: str, found: PlainDict, color: int = 0, form: str = ".3f", thin: bool = False
    ) -> None:
        """Add a point with its interval; its note has the numbers."""
        value, low, high = (f"{found[part]:{form}}" for part in ("value", "low", "high"))
        self.whisker(at, found["low"], found["high"], "stem" if thin else f"curve c{color}")
        self.dot(at, found["value"], f"f{color}", f"{name}: {value} ({low} to {high})")

    def text(self, at: float, value: float, text: str) -> "Panel":
        """Add a text that ends at a point."""
        self.marks.append({"shape": "text", "x": self.x(at), "y": self.y(value), "text": text})
        return self

    def steps(self, edges: Sequence[float], values: Sequence[float], kind: str) -> "Panel":
        """Add a step function, with one value between each two edges."""
        xs = [edge for pair in itertools.pairwise(edges) for edge in pair]
        ys = [value for value in values for _ in range(2)]
        return self.line(xs, ys, kind)

    def level(self, value: float, kind: str) -> "Panel":
        """Add a horizontal line."""
        return self.line((self.x.low, self.x.high), (value, value), kind)


def roc_panel(curves: Sequence[PlainDict]) -> Panel:
    """ROC curves, with their bands if they have any."""
    panel = Panel(_SHARES, _SHARES, ("false positive rate", "true positive rate (recall)"))
    panel.diagonal()
    return _curves(panel, curves)


def precision_panel(curves: Sequence[PlainDict]) -> Panel:
    """Precision-recall curves, with their bands if they have any."""
    panel = Panel(_SHARES, _SHARES, ("recall", "precision"))
    if "chance" in curves[0]:
        panel.level(curves[0]["chance"], "chance")
    return _curves(panel, curves)


def _curves(panel: Panel, curves: Sequence[PlainDict]) -> Panel:
    for curve in curves:
        if "low" in curve:
            panel.band(curve["x"], curve["low"], curve["high"])
    for number, curve in enumerate(curves):
        panel.line(curve["x"], curve["y"], f"curve c{number % _COLORS}")
    return panel


def decision_panel(curve: Sequence[PlainDict], name: str, label: str, share: float) -> Panel:
    """An estimate by share of flagged rows, with its band and the share at the threshold."""
    xs = [row["share"]["value"] for row in curve]
    values = [row[name]["value"] for row in curve]
    low = [row[name]["low"] for row in curve]
    high = [row[name]["high"] for row in curve]
    top = 1.0
    if name == "cost":
        # Costs have no upper end; where all of them are 0, any axis does.
        top = 1.05 * max(high) or 1.0
    panel = Panel(_SHARES, (0.0, top), ("share of rows flagged", label))
    if name == "recall":
        panel.diagonal()
    panel.band(xs, low, high).line(xs, values, "curve c0")
    return panel.whisker(share, 0.0, top, "threshold")


def learning_panel(curve: PlainDict) -> Panel:
    """Score against the number of labels (logarithmic axis), and its extrapolation by a power law."""
    labels = curve["labels"]
    scores = curve["scores"]
    lows = curve["low"]
    highs = curve["high"]
    logs = [math.log10(max(n, 1)) for n in labels]
    ahead = [math.log10(n) for n in curve["ahead_labels"]]
    values = [*lows, *highs, *curve["ahead_scores"]]
    lowest = min(values)
    highest = max(values)
    # Room for the text below the last point, also if all scores are the same.
    room = 0.12 * max(highest - lowest, 0.02)
    here = math.log10(max(curve["here"], 1))
    last = max(logs[0] + 0.1, *logs, *ahead, here)
    x = (logs[0] - 0.04, last + 0.04)
    y = (max(lowest - room, 0.0), min(highest + room, 1.0))
    titles = ("labels learned from (log scale)", curve["score_name"])
    panel = Panel(x, y, titles, width=420.0, height=240.0)
    shown = sorted({*labels, curve["here"], *curve["ahead_labels"][-1:]})
    # Ticks at numbers of labels: round logarithms would say nothing.
    panel.x_ticks = [{"at": panel.x(math.log10(n)), "text": f"{n}"} for n in _apart(shown)]
    if ahead:
        panel.line(ahead, curve["ahead_scores"], "ahead")
    for at, n, score, low, high in zip(logs, labels, scores, lows, highs):
        panel.estimate(at, f"{n} labels", {"value": score, "low": low, "high": high}, thin=True)
    panel.line(logs, scores, "curve c0")
    # Tested models learn from some of the labels, so the last point is not where all of them lead.
    panel.whisker(here, *y, "here")
    return panel.text(here - 0.01, lowest - room / 2, "you are here")


def _apart(numbers: Sequence[int]) -> list[int]:
    """Numbers far enough apart on a logarithmic axis for their labels not to overlap."""
    apart: list[int] = []
    for n in numbers:
        if not apart or n >= 1.3 * apart[-1]:
            apart.append(n)
    return apart


def calibration_panel(bins: Sequence[dict[str, float]]) -> Panel:
    """Observed share of positives against the predicted probability."""
    panel = Panel(_SHARES, _SHARES, ("predicted probability", "observed share of positives"))
    panel.diagonal()
    for one in bins:
        panel.estimate(one["probability"], f"{one['rows']} rows", {**one, "value": one["share"]}, form=".0%", thin=True)
    return panel


def score_panel(histograms: Sequence[PlainDict]) -> Panel:
    """Histograms of probabilities, each normalized to its own rows."""
    highest = max([share for histogram in histograms for share in histogram["shares"]], default=0.0)
    highest = highest or 1.0  # an axis needs some length
    panel = Panel(_SHARES, (0.0, highest * 1.05), ("predicted probability", "share of rows"))
    for number, histogram in enumerate(histograms):
        shares = histogram["shares"]
        # From the axis and back to it.
        edges = [0.0, *(k / len(shares) for k in range(len(shares) + 1)), 1.0]
        panel.steps(edges, [0.0, *shares, 0.0], f"curve c{number % _COLORS}")
    return panel


def bars(bins: Sequence[tuple[str, float, float]]) -> list[PlainDict]:
    """Pairs of bars, of shares at fit and now, side by side on a common scale."""
    highest = max([share for _, *shares in bins for share in shares], default=0.0) or 1.0
    # In the units of the macro that draws them, 220 by 44.
    slot = 220.0 / max(len(bins), 1)
    drawn = []
    for number, (name, *shares) in enumerate(bins):
        heights = [round(44.0 * share / highest, 2) for share in shares]
        places = [round((number + 0.08 + 0.42 * k) * slot, 2) for k in range(2)]
        note = f"{name}: {shares[0]:.1%} at fit, {shares[1]:.1%} now"
        drawn.append({"x": places, "height": heights, "width": round(0.4 * slot, 2), "note": note})
    return drawn


def history_panel(
    names: Sequence[str],
    expected: Sequence[PlainDict | None],
    measured: Sequence[PlainDict | None],
    label: str,
    at_fit: float | None,
) -> Panel:
    """An estimate by batch: what was expected, what was measured, each with its interval, and the value at fit."""
    shown = [estimate for estimate in (*expected, *measured) if estimate is not None]
    values = [estimate[end] for estimate in shown for end in ("low", "high")]
    if at_fit is not None:
        values.append(at_fit)
    room = 0.08 * max(max(values) - min(values), 0.02)
    panel = _batches_panel(names, (max(min(values) - room, 0.0), max(values) + room), label)
    if at_fit is not None:
        panel.level(at_fit, "chance")
    for aside, color, estimates in ((-0.1, 0, expected), (0.1, 1, measured)):
        for number, estimate in enumerate(estimates):
            if estimate is not None:
                panel.estimate(number + aside, names[number], estimate, color)
    return panel


def stability_panel(names: Sequence[str], values: Sequence[float | None]) -> Panel:
    """Population stability index of the score by batch, and where it counts as large."""
    present = [value for value in values if value is not None]
    panel = _batches_panel(names, (0.0, max(0.3, 1.1 * max(present))), "population stability index")
    panel.level(0.25, "chance")
    for number, value in enumerate(values):
        if value is not None:
            panel.whisker(number, 0.0, value, "curve c0")
            panel.dot(number, value, "f0", f"{names[number]}: {value:.3f}")
    return panel


def _batches_panel(names: Sequence[str], y: tuple[float, float], label: str) -> Panel:
    panel = Panel((-0.5, len(names) - 0.5), y, ("batch", label), height=200.0)
    # About four names fit below the axis.
    every = -(-len(names) // 4)
    panel.x_ticks = [{"at": panel.x(k), "text": short(_stem(names[k]), 10)} for k in range(0, len(names), every)]
    return panel


def _stem(name: str) -> str:
    """A name without the ending of a file."""
    return name.rpartition(".")[0] or name


def whiskers(rows: Sequence[PlainDict]) -> PlainDict:
    """Confidence intervals on a common axis, to be drawn inside a table."""
    lowest = min(row["low"] for row in rows)
    highest = max(row["high"] for row in rows)
    # Some width also if all intervals are the same.
    room = 0.06 * max(highest - lowest, 0.01)
    start = max(lowest - room, 0.0)
    end = min(highest + room, 1.0)
    end = max(end, start + 0.01)
    width = 240.0
    x = Scale(start, end, 8.0, width - 16.0)
    drawn = [{part: x(row[part]) for part in ("low", "score", "high")} for row in rows]
    return {"width": width, "ticks": _marks(x, 4), "rows": drawn}


def shape_panels(functions: Sequence[PlainDict]) -> list[Panel]:
    """One panel per step function, on a common vertical scale.

    The horizontal axis covers nearly all training values and every edge of the function.
    """
    values = [0.0]
    for function in functions:
        values += [*function["values"], function["missing"] or 0.0]
    room = 0.08 * (max(values) - min(values)) or 1.0
    low = min(values) - room
    high = max(values) + room
    panels = []
    for function in functions:
        start, end = _shown(function)
        panel = Panel((start, end), (low, high), ("", ""), width=222.0, height=128.0)
        panel.level(0.0, "zero")
        if function["missing"] is not None:
            panel.level(function["missing"], "missing")
        # Without the outer quantiles, which only say where the axis ends.
        for quantile in function["quantiles"][1:-1]:
            panel.whisker(quantile, low, low + 0.04 * (high - low), "rug")
        panels.append(panel.steps([start, *function["edges"], end], function["values"], "step"))
    return panels


def _shown(function: PlainDict) -> tuple[float, float]:
    """The range of the horizontal axis."""
    low, high = plot_range(function["edges"])
    quantiles = function["quantiles"]
    if quantiles:  # none if the column has no values
        low = min(low, quantiles[0])
        high = max(high, quantiles[-1])
    return low, high


def point_scale(columns: Sequence[PlainDict]) -> Scale:
    """Scale of a scorecard's bars, in percent of their cell."""
    points = [0.0]
    for column in columns:
        points += [row["points"] for row in column["rows"]]
    low = min(points)
    high = max(points)
    if high == low:
        high = low + 1.0  # without any points, bars have no length
    return Scale(low, high, 0.0, 100.0)
