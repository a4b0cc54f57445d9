"""Geometry of the report's figures: numbers in, SVG coordinates out. Colors are in the template."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

from fewlabel.inspection import plot_range
from fewlabel.reporting.figures import end_text
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
    # An axis needs two ticks.
    if last - first < 1 and about < 20:
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
    texts = [format(value, form) for value in values]
    return [text.replace("-", "\N{MINUS SIGN}") for text in texts]


def _marks(scale: Scale, about: int) -> list[PlainDict]:
    values = ticks(scale.low, scale.high, about)
    marks = []
    for value, text in zip(values, tick_texts(values)):
        marks.append({"at": scale(value), "text": text})
    return marks


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
        self.x_label, self.y_label = labels
        # Room for the texts of the axes.
        room_left = 30.0 if self.y_label else 12.0
        room_below = 44 if self.x_label else 26
        texts = tick_texts(ticks(*y))
        longest = max(map(len, texts))
        self.left = room_left + max(24.0, 7.0 * longest)
        self.top = 12.0
        right = self.left + width
        bottom = self.top + height
        self.plot_width = width
        self.plot_height = height
        self.width = right + 14
        self.height = bottom + room_below
        self.x = Scale(*x, self.left, right)
        # Pixels are counted from the top.
        self.y = Scale(*y, bottom, self.top)
        self.x_ticks = _marks(self.x, 5)
        self.y_ticks = _marks(self.y, 5)
        self.marks: list[PlainDict] = []

    def _path(self, kind: str, path: str) -> "Panel":
        self.marks.append({"shape": "path", "kind": kind, "path": path})
        return self

    def line(self, xs: Sequence[float], ys: Sequence[float], kind: str, close: str = "") -> "Panel":
        """Add a line through points; the area inside of it is filled if it ends with the command Z."""
        points = []
        for x, y in zip(xs, ys):
            points.append(f"{self.x(x)} {self.y(y)}")
        return self._path(kind, f"M{'L'.join(points)}{close}")

    def diagonal(self) -> "Panel":
        """Add the line of equal shares: what a random order gives, or exact probabilities."""
        return self.line(_SHARES, _SHARES, "chance")

    def band(self, xs: Sequence[float], low: Sequence[float], high: Sequence[float]) -> "Panel":
        """Add the area between two lines."""
        # There along the lower line, and back along the upper one.
        around_x = [*xs, *reversed(xs)]
        around_y = [*low, *reversed(high)]
        return self.line(around_x, around_y, "band", "Z")

    def whisker(self, at: float, low: float, high: float, kind: str) -> "Panel":
        """Add a vertical line from low to high."""
        path = f"M{self.x(at)} {self.y(low)}V{self.y(high)}"
        return self._path(kind, path)

    def dot(self, at: float, value: float, kind: str, note: str = "") -> "Panel":
        """Add a point; `note` is shown when the pointer is on it."""
        self.marks.append({"shape": "dot", "kind": kind, "x": self.x(at), "y": self.y(value), "note": note})
        return self

    def estimate(
        self,
        at: float,
        name: str,
        found: PlainDict,
        color: int = 0,
        form: str = ".3f",
        thin: bool = False,
        end: str | None = None,
    ) -> None:
        """Add a point with its interval; its note has the numbers, or another text for the upper end."""
        value = found["value"]
        low = found["low"]
        high = found["high"]
        self.whisker(at, low, high, "stem" if thin else f"curve c{color}")
        note = f"{name}: {value:{form}} ({low:{form}} to {end or format(high, form)})"
        self.dot(at, value, f"f{color}", note)

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
    titles = ("false positive rate", "true positive rate (recall)")
    panel = Panel(_SHARES, _SHARES, titles)
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
    shares = [row["share"]["value"] for row in curve]
    estimates = [row[name] for row in curve]
    values = [estimate["value"] for estimate in estimates]
    low = [estimate["low"] for estimate in estimates]
    high = [estimate["high"] for estimate in estimates]
    top = 1.0
    if name == "cost":
        # Costs have no upper end; where all of them are 0, any axis does.
        top = 1.05 * max(high) or 1.0
    titles = ("share of rows flagged", label)
    panel = Panel(_SHARES, (0.0, top), titles)
    if name == "recall":
        panel.diagonal()
    panel.band(shares, low, high)
    # Positives alone give some figures a band, and no value.
    if None not in values:
        panel.line(shares, values, "curve c0")
    return panel.whisker(share, 0.0, top, "threshold")


def learning_panel(curve: PlainDict) -> Panel:
    """Score against the number of labels (logarithmic axis), and its extrapolation by a power law."""
    labels = curve["labels"]
    ahead_labels = curve["ahead_labels"]
    logs = [math.log10(max(n, 1)) for n in labels]
    ahead = [math.log10(n) for n in ahead_labels]
    here = math.log10(max(curve["here"], 1))
    last = max(logs[0] + 0.1, *logs, *ahead, here)
    x = (logs[0] - 0.04, last + 0.04)
    values = [*curve["low"], *curve["high"], *curve["ahead_scores"]]
    lowest = min(values)
    highest = max(values)
    # Room for the text below the last point, also if all scores are the same.
    room = 0.12 * max(highest - lowest, 0.02)
    bottom = max(lowest - room, 0.0)
    top = min(highest + room, 1.0)
    titles = ("labels learned from (log scale)", curve["score_name"])
    panel = Panel(x, (bottom, top), titles, width=420.0, height=240.0)
    # Ticks at numbers of labels: round logarithms would say nothing.
    panel.x_ticks = []
    for n in _apart(sorted({*labels, curve["here"], *ahead_labels[-1:]})):
        panel.x_ticks.append({"at": panel.x(math.log10(n)), "text": f"{n}"})
    if ahead:
        panel.line(ahead, curve["ahead_scores"], "ahead")
    for k, n in enumerate(labels):
        estimate = {"value": curve["scores"][k], "low": curve["low"][k], "high": curve["high"][k]}
        end = end_text(curve["high"][k], curve["positives_only"])
        panel.estimate(logs[k], f"{n} labels", estimate, thin=True, end=end)
    panel.line(logs, curve["scores"], "curve c0")
    # Tested models learn from some of the labels, so the last point is not where all of them lead.
    panel.whisker(here, bottom, top, "here")
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
        name = f"{one['rows']} rows"
        estimate = {**one, "value": one["share"]}
        panel.estimate(one["probability"], name, estimate, form=".0%", thin=True)
    return panel


def score_panel(histograms: Sequence[PlainDict]) -> Panel:
    """Histograms of probabilities, each normalized to its own rows."""
    highest = 0.0
    for histogram in histograms:
        highest = max(highest, *histogram["shares"])
    # An axis needs some length.
    highest = highest or 1.0
    titles = ("predicted probability", "share of rows")
    panel = Panel(_SHARES, (0.0, highest * 1.05), titles)
    for number, histogram in enumerate(histograms):
        shares = histogram["shares"]
        n_bins = len(shares)
        edges = [k / n_bins for k in range(n_bins + 1)]
        # From the axis and back to it.
        panel.steps([0.0, *edges, 1.0], [0.0, *shares, 0.0], f"curve c{number % _COLORS}")
    return panel


def bars(bins: Sequence[tuple[str, float, float]]) -> list[PlainDict]:
    """Pairs of bars, of shares at fit and now, side by side on a common scale."""
    highest = 0.0
    for _, at_fit, now in bins:
        highest = max(highest, at_fit, now)
    # In the units of the macro that draws them, 220 by 44.
    slot = 220.0 / max(len(bins), 1)
    width = round(0.4 * slot, 2)
    drawn = []
    for number, (name, at_fit, now) in enumerate(bins):
        heights = [round(44.0 * share / (highest or 1.0), 2) for share in (at_fit, now)]
        places = [round((number + aside) * slot, 2) for aside in (0.08, 0.5)]
        note = f"{name}: {at_fit:.1%} at fit, {now:.1%} now"
        drawn.append({"x": places, "height": heights, "width": width, "note": note})
    return drawn


def history_panel(
    names: Sequence[str],
    expected: Sequence[PlainDict | None],
    measured: Sequence[PlainDict | None],
    label: str,
    at_fit: float | None,
) -> Panel:
    """An estimate by batch: what was expected, what was measured, each with its interval, and the value at fit."""
    values = []
    for estimate in (*expected, *measured):
        if estimate is not None:
            values.append(estimate["low"])
            values.append(estimate["high"])
    if at_fit is not None:
        values.append(at_fit)
    lowest = min(values)
    highest = max(values)
    room = 0.08 * max(highest - lowest, 0.02)
    bottom = max(lowest - room, 0.0)
    panel = _batches_panel(names, (bottom, highest + room), label)
    if at_fit is not None:
        panel.level(at_fit, "chance")
    # Side by side.
    for aside, color, estimates in ((-0.1, 0, expected), (0.1, 1, measured)):
        for number, estimate in enumerate(estimates):
            if estimate is not None:
                panel.estimate(number + aside, names[number], estimate, color)
    return panel


def stability_panel(names: Sequence[str], values: Sequence[float | None]) -> Panel:
    """Population stability index of the score by batch, and where it counts as large."""
    present = [value for value in values if value is not None]
    top = max(0.3, 1.1 * max(present))
    panel = _batches_panel(names, (0.0, top), "population stability index")
    panel.level(0.25, "chance")
    for number, value in enumerate(values):
        if value is not None:
            panel.whisker(number, 0.0, value, "curve c0")
            panel.dot(number, value, "f0", f"{names[number]}: {value:.3f}")
    return panel


def _batches_panel(names: Sequence[str], y: tuple[float, float], label: str) -> Panel:
    n_batches = len(names)
    panel = Panel((-0.5, n_batches - 0.5), y, ("batch", label), height=200.0)
    # About four names fit below the axis.
    every = math.ceil(n_batches / 4)
    panel.x_ticks = []
    for k in range(0, n_batches, every):
        # Batches are mostly called as their files, whose endings say little.
        stem = names[k].rpartition(".")[0] or names[k]
        panel.x_ticks.append({"at": panel.x(k), "text": short(stem, 10)})
    return panel


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
    drawn = []
    for row in rows:
        drawn.append({part: x(row[part]) for part in ("low", "score", "high")})
    return {"width": width, "ticks": _marks(x, 4), "rows": drawn}


def shape_panels(functions: Sequence[PlainDict]) -> list[Panel]:
    """One panel per step function, on a common vertical scale.

    The horizontal axis covers nearly all training values and every edge of the function.
    """
    values = [0.0]
    for function in functions:
        values += function["values"]
        values.append(function["missing"] or 0.0)
    lowest = min(values)
    highest = max(values)
    room = 0.08 * (highest - lowest) or 1.0
    low = lowest - room
    high = highest + room
    rug = low + 0.04 * (high - low)
    panels = []
    for function in functions:
        start, end = _shown(function)
        panel = Panel((start, end), (low, high), ("", ""), width=222.0, height=128.0)
        panel.level(0.0, "zero")
        if function["missing"] is not None:
            panel.level(function["missing"], "missing")
        # Without the outer quantiles, which only say where the axis ends.
        for quantile in function["quantiles"][1:-1]:
            panel.whisker(quantile, low, rug, "rug")
        edges = [start, *function["edges"], end]
        panel.steps(edges, function["values"], "step")
        panels.append(panel)
    return panels


def _shown(function: PlainDict) -> tuple[float, float]:
    """The range of the horizontal axis."""
    low, high = plot_range(function["edges"])
    quantiles = function["quantiles"]
    # There are none if the column has no values.
    if quantiles:
        low = min(low, quantiles[0])
        high = max(high, quantiles[-1])
    return low, high


def point_scale(columns: Sequence[PlainDict]) -> Scale:
    """Scale of a scorecard's bars, in percent of their cell."""
    low = 0.0
    high = 0.0
    for column in columns:
        for row in column["rows"]:
            low = min(low, row["points"])
            high = max(high, row["points"])
    if high == low:
        # Without any points, bars have no length.
        high = low + 1.0
    return Scale(low, high, 0.0, 100.0)
