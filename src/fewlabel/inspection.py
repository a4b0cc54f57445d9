"""Inspection of additive models: one plot, or one block of a scorecard, per column."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fewlabel.text import listed

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
        A fitted stump booster, such as :class:`fewlabel.PNUAUCBoostClassifier`.
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
    functions = _choose(_by_importance(model), columns, max_columns)
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


def scorecard(model: Any, *, points: float = 20, base: float = 600) -> pd.DataFrame:
    r"""Convert an additive model to a scorecard: points for the interval that the value of each column falls into.

    The points of a row sum to ``base + points * log2(odds)``, where the odds are the calibrated odds of the positive
    class. This is an increasing function of the decision function, so the points give the same ranking (up to rounding
    errors: sums that differ by less than about 1e-12 of their size may change places).

    Parameters
    ----------
    model : estimator
        A fitted stump booster, such as :class:`fewlabel.PNUAUCBoostClassifier`, or a fitted
        :class:`fewlabel.TableClassifier` that is one, such as the model of ``fewlabel fit --method pnu-aucboost``.
    points : float, default=20
        Number of points that doubles the odds.
    base : float, default=600
        Number of points at even odds.

    Returns
    -------
    pandas.DataFrame
        Columns ``column``, ``interval`` (text), ``low``, ``high`` and ``points``. A value x falls into the interval
        with ``low < x <= high``; the row ``missing``, whose bounds are NaN, is for missing values. The first row,
        ``(base)``, is added for every row of the data. The most important columns come first.

    See Also
    --------
    plot_shape_functions : The same functions as plots.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import PNUAUCBoostClassifier
    >>> from fewlabel.inspection import scorecard
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> card = scorecard(PNUAUCBoostClassifier(n_estimators=20, random_state=0).fit(X, y))
    >>> card.columns.tolist()
    ['column', 'interval', 'low', 'high', 'points']
    >>> card["column"].iloc[0]
    '(base)'
    """
    # A table classifier, which knows the names of the columns.
    if hasattr(model, "scorecard"):
        return model.scorecard(points=points, base=base)
    functions = _by_importance(model)
    scale, start = check_points(model, points, base)
    rows = [("(base)", "", np.nan, np.nan, start)]
    for function in functions:
        for low, high, text, value in step_intervals(function.edges, function.values, function.missing):
            rows.append((function.name, text, low, high, scale * value))
    return pd.DataFrame(rows, columns=["column", "interval", "low", "high", "points"])


def check_points(model: Any, points: float, base: float) -> tuple[float, float]:
    """Points per unit of the score of an additive model, and the points that every row starts with.

    Parameters
    ----------
    model : estimator
        A fitted stump booster.
    points, base : float
        As in :func:`scorecard`.

    Returns
    -------
    scale, start : float

    Raises
    ------
    ValueError
        If `points` is not positive, or the scores do not increase with the odds.
    """
    if not points > 0:
        raise ValueError(
            f"points={points!r} should be greater than 0: it is the number of points that doubles the odds, e.g. 20"
        )
    slope, intercept = map(float, model.calibration_)
    if not slope > 0:
        raise ValueError(
            f"the model's calibrated slope is {slope:g}: its scores do not increase with the odds on the labeled "
            "rows, so points would not correspond to odds. Fit it on more labeled rows"
        )
    # `points` double the odds: so many points per unit of the log-odds.
    factor = float(points / np.log(2))
    log_odds = slope * float(model.offset_) + intercept
    return factor * slope, base + factor * log_odds


def contributions(model: Any, X: Any) -> np.ndarray:
    """What each column adds to the score of each row: the values of the step functions of an additive model.

    Parameters
    ----------
    model : estimator
        A fitted stump booster, such as :class:`fewlabel.PNUAUCBoostClassifier`.
    X : array-like of shape (n_samples, n_features)

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        With ``model.offset_`` the rows sum to ``model.decision_function(X)``, up to rounding errors.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import PNUAUCBoostClassifier
    >>> from fewlabel.inspection import contributions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = PNUAUCBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> parts = contributions(model, X)
    >>> bool(abs(parts.sum(axis=1) + model.offset_ - model.decision_function(X)).max() < 1e-12)
    True
    """
    X = np.asarray(X, dtype=np.float64)
    parts = np.zeros(X.shape)
    for function in _by_importance(model):
        column = X[:, function.column]
        steps = np.asarray(function.values)[np.searchsorted(function.edges, column)]
        parts[:, function.column] = np.where(np.isnan(column), function.missing, steps)
    return parts


def _by_importance(model):
    """The model's shape functions, the most important column first."""
    from sklearn.exceptions import NotFittedError

    name = type(model).__name__
    try:
        functions = model.shape_functions_
    except NotFittedError:
        raise NotFittedError(f"this {name} is not fitted yet: call fit first") from None
    except AttributeError as error:
        deep_trees = hasattr(type(model), "shape_functions_")
        reason = str(error) if deep_trees else _remedy(model)
        raise TypeError(f"{name} is not a sum of step functions: {reason}") from None
    importances = np.asarray(model.feature_importances_)
    return sorted(functions, key=lambda f: (-importances[f.column], f.column))


def _remedy(model):
    if hasattr(model, "steps"):
        return "pass the booster inside the pipeline, pipeline[-1]"
    if hasattr(model, "best_estimator_"):
        return "pass the best booster, search.best_estimator_"
    return "pass a fitted stump booster such as PNUAUCBoostClassifier"


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


def step_intervals(edges: Any, values: Any, missing: float) -> Iterator[tuple[float, float, str, float]]:
    """Low, high, text and value of each interval of a step function, the missing values last.

    Parameters
    ----------
    edges, values : array-like
    missing : float

    Yields
    ------
    low, high : float
    text : str
    value : float
    """
    edges = np.asarray(edges, dtype=float)
    # A cut at +inf only separates missing values from the others.
    bounds = [-np.inf, *edges[edges < np.inf], np.inf]
    texts = _texts(bounds)
    for k in range(len(bounds) - 1):
        high = bounds[k + 1]
        closing = ")" if high == np.inf else "]"
        yield bounds[k], high, f"({texts[k]}, {texts[k + 1]}{closing}", float(values[k])
    yield np.nan, np.nan, "missing", float(missing)


def _texts(bounds):
    """The bounds with six digits, or as many as make them distinct."""
    for digits in range(6, 17):
        texts = [f"{bound:.{digits}g}" for bound in bounds]
        if len(set(texts)) == len(bounds):
            return texts
    return [repr(float(bound)) for bound in bounds]
