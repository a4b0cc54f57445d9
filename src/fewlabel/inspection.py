"""Inspection of additive models: one plot, or one block of a scorecard, per column."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from fewlabel.tables.scorecards import (
    contributions,
    functions_by_importance,
    round_card,
    rounding_loss,
    scorecard,
    with_functions,
)
from fewlabel.text import listed

__all__ = ["contributions", "plot_range", "plot_shape_functions", "round_card", "rounding_loss", "scorecard"]

# Distinguishable for color-blind readers.
_LINE = "#0072B2"
_MISSING = "#D55E00"


def plot_shape_functions(
    model: Any, *, columns: int | Sequence | None = None, max_columns: int = 6, axes: Any = None
) -> Any:
    """Plot the contribution of each column to the decision function.

    A sum of stumps is a sum of step functions, one per column; each panel shows one of them. The dashed line is the
    contribution of a missing value.

    Parameters
    ----------
    model : estimator
        As in :func:`scorecard`. A category of a `TableClassifier` has a panel of its own.
    columns : sequence of str or int, default=None
        The columns to draw, by name or position. By default the most important ones.
    max_columns : int, default=6
        How many columns to draw when `columns` is not given.
    axes : matplotlib Axes or array of Axes, default=None
        Where to draw, one per column. By default a new figure is made, outside pyplot's list of open figures.

    Returns
    -------
    matplotlib.figure.Figure
        The figure drawn on; ``figure.axes`` holds the panels and ``figure.savefig`` writes a file.

    See Also
    --------
    scorecard : The same functions as a table of points.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import PNUAUCBoostClassifier
    >>> from fewlabel.inspection import plot_shape_functions
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = PNUAUCBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> figure = plot_shape_functions(model, max_columns=4)
    >>> len(figure.axes)
    4
    """
    functions = _choose(functions_by_importance(with_functions(model)), columns, max_columns)
    if axes is None:
        figure, axes = _new_panels(len(functions))
    else:
        axes = np.ravel(axes)
        if len(axes) != len(functions):
            raise ValueError(
                f"{len(functions)} columns to draw but {len(axes)} axes: pass one Axes per column, or choose the "
                "columns with columns=..."
            )
        figure = axes[0].figure
    for panel, function in zip(axes, functions):
        _draw(panel, function)
    axes[0].legend(loc="best", frameon=False, fontsize="small")
    return figure


def _choose(functions, columns, max_columns):
    if columns is None:
        if max_columns < 1:
            raise ValueError(f"max_columns={max_columns!r} should be at least 1")
        if not functions:
            raise ValueError("the model uses no column, so there is nothing to draw: fit it for at least one round")
        return functions[:max_columns]
    if isinstance(columns, (str, int, np.integer)):
        columns = [columns]
    if not len(columns):
        raise ValueError("columns is empty: name at least one column, or omit it")
    return [_find(functions, wanted) for wanted in columns]


def _find(functions, wanted):
    """The shape function of a column, given by name or position."""
    for function in functions:
        if wanted == (function.name if isinstance(wanted, str) else function.column):
            return function
    used = listed((repr(function.name) for function in functions), 10)
    raise ValueError(f"the model does not use column {wanted!r}: choose from {used or 'none'}")


def _new_panels(n):
    # Not a pyplot figure, which pyplot would keep open and show until it is closed.
    from matplotlib.figure import Figure

    across = min(n, 3)
    down = -(-n // across)
    figure = Figure(figsize=(3.6 * across, 2.7 * down), layout="constrained")
    axes = figure.subplots(down, across, squeeze=False, sharey=True).ravel()
    for unused in axes[n:]:
        unused.remove()
    return figure, axes[:n]


def _draw(axes, function):
    edges = np.asarray(function.edges, dtype=float)
    edges = edges[np.isfinite(edges)]
    values = np.asarray(function.values, dtype=float)[: len(edges) + 1]
    low, high = plot_range(edges)
    axes.stairs(values, [low, *edges, high], baseline=None, color=_LINE, linewidth=1.8)
    axes.axhline(function.missing, color=_MISSING, linestyle="--", linewidth=1.2, label="missing")
    axes.set_xlim(low, high)
    axes.set_xlabel(_plain(function.name))
    place = axes.get_subplotspec()
    if place is None or place.is_first_col():
        axes.set_ylabel("added to the score")
    axes.spines[["top", "right"]].set_visible(False)


def _plain(text):
    """Escape dollar signs, which matplotlib would read as the start of a formula."""
    return str(text).replace("$", r"\$")


def plot_range(edges):
    """Return the axis limits that show all thresholds of a column, with a margin on both sides.

    Parameters
    ----------
    edges : sequence of float
        The thresholds in ascending order.

    Returns
    -------
    low, high : float
        The limits; 0 and 1 if there is no cut.

    Examples
    --------
    >>> from fewlabel.inspection import plot_range
    >>> plot_range([1.0, 3.0])
    (0.75, 3.25)
    """
    if len(edges) == 0:
        return 0.0, 1.0
    first = float(edges[0])
    last = float(edges[-1])
    # An eighth of the range; of a single cut, of its size.
    room = (last - first) / 8 or abs(first) / 8 or 1.0
    return first - room, last + room
