"""Scorecards of additive models: points for the intervals and categories of each column."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from fewlabel.auto import AdditiveMember, additive_member
from fewlabel.boosting import ShapeFunction
from fewlabel.parts import Columns, FittedModel, NumberColumn
from fewlabel.parts.columns import Column

Features = dict[int, float]  # by their positions


def additive_booster(model: FittedModel) -> AdditiveMember:
    """The sum of step functions that a model is.

    Parameters
    ----------
    model : FittedModel

    Returns
    -------
    AdditiveMember

    Raises
    ------
    TypeError
        If it is not one.
    """
    booster = additive_member(model)
    if booster is None:
        raise TypeError(
            "the model is not a sum of step functions: fit with --method scorecard, or "
            "TableClassifier(AutoClassifier(interpretable=True)) in Python"
        )
    return booster


def with_functions(model: Any) -> Any:
    """What has the step functions of an additive model: a booster itself, or the only member of an ensemble.

    Parameters
    ----------
    model : estimator or FittedModel

    Returns
    -------
    estimator or AdditiveMember
    """
    fitted = getattr(model, "model_", model)
    return additive_booster(fitted) if isinstance(fitted, FittedModel) else model


def functions_by_importance(model: Any) -> list[ShapeFunction]:
    """The shape functions of a booster, the most important column first.

    Parameters
    ----------
    model : estimator or AdditiveMember

    Returns
    -------
    list of ShapeFunction

    Raises
    ------
    TypeError
        If it is not a sum of step functions.
    """
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
    return "pass a fitted stump booster such as PNUAUCBoostClassifier, or AutoClassifier(interpretable=True)"


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
    for function in functions_by_importance(model):
        column = X[:, function.column]
        steps = np.asarray(function.values)[np.searchsorted(function.edges, column)]
        parts[:, function.column] = np.where(np.isnan(column), function.missing, steps)
    return parts


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


def _rows_of(encoder: Columns, column: Column, edges: dict[int, np.ndarray]) -> Iterator[tuple[tuple, Features]]:
    """Block, interval and ends of each row of a column, and the features of the cells that it stands for.

    A block is a column; of a date or a free text it is one of the features. `edges` are those of the features in use.
    """
    group = encoder.groups[column.name].tolist()
    values = column.known_values()
    if isinstance(column, NumberColumn):
        gap = dict(zip(group, column.gap()))
        yield from _intervals(column.name, edges.get(group[0], np.empty(0)), gap)
    elif not values:
        for feature in group:
            if feature in edges:
                yield from _intervals(encoder.features[feature], edges[feature], {feature: np.nan})
    for text, features in values.items():
        yield (column.name, text, np.nan, np.nan), dict(zip(group, features))


def _intervals(block: str, edges: np.ndarray, gap: Features) -> Iterator[tuple[tuple, Features]]:
    """The intervals of the first feature, and its missing values."""
    first = next(iter(gap))
    no_values = np.zeros(len(edges) + 1)
    for low, high, text, _ in step_intervals(edges, no_values, 0.0):
        # The upper end belongs to an interval; of missing values it is NaN.
        row = (block, text, low, high)
        yield row, {**gap, first: high}


def scorecard(model: Any, *, points: float = 20, base: float = 600) -> pd.DataFrame:
    r"""Convert an additive model to a scorecard: points for the interval that the value of each column falls into.

    The points of a row sum to ``base + points * log2(odds)``, where the odds are the calibrated odds of the positive
    class. This is an increasing function of the decision function, so the points give the same ranking (up to rounding
    errors: sums that differ by less than about 1e-12 of their size may change places).

    Parameters
    ----------
    model : estimator
        A fitted stump booster, such as :class:`fewlabel.PNUAUCBoostClassifier`, or a `TableClassifier` or
        `AutoClassifier` that is one, as with ``interpretable=True`` or ``fewlabel fit --method scorecard``; also as
        :func:`fewlabel.load` read it.
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
    fitted = getattr(model, "model_", model)
    if isinstance(fitted, FittedModel) and fitted.encoder is not None:
        return table_scorecard(fitted, points=points, base=base)
    booster = with_functions(model)
    functions = functions_by_importance(booster)
    scale, start = check_points(booster, points, base)
    rows = [("(base)", "", np.nan, np.nan, start)]
    for function in functions:
        for low, high, text, value in step_intervals(function.edges, function.values, function.missing):
            rows.append((function.name, text, low, high, scale * value))
    return pd.DataFrame(rows, columns=["column", "interval", "low", "high", "points"])


def table_scorecard(model: Any, *, points: float = 20, base: float = 600) -> pd.DataFrame:
    """Scorecard of a table classifier, as :func:`scorecard`.

    Parameters
    ----------
    model : TableClassifier or FittedModel
    points, base : float

    Returns
    -------
    DataFrame
        ``interval`` is ``= car`` for a category and ``= -999`` for a special value, ``other`` for categories that the
        fit did not see, ``missing`` for gaps.
    """
    model = getattr(model, "model_", model)
    booster = additive_booster(model)
    scale, start = check_points(booster, points, base)
    steps = booster.steps
    places = {}
    edges = {}
    for k, feature in enumerate(steps.columns.tolist()):
        places[feature] = k
        edges[feature], _ = steps.function(k)
    encoder = model.encoder
    importances = {}
    for name, group in encoder.groups.items():
        if np.isin(group, steps.columns).any():
            importances[name] = booster.feature_importances_[group].sum()
    rows: list[tuple] = [("(base)", "", np.nan, np.nan, start)]
    # The most important column first.
    for name in sorted(importances, key=importances.__getitem__, reverse=True):
        column = encoder.by_name[name]
        for row, features in _rows_of(encoder, column, edges):
            total = 0.0
            for feature, value in features.items():
                if feature in places:
                    total += steps.at(places[feature], np.array([value]))[0]
            rows.append((*row, scale * total))
    return pd.DataFrame(rows, columns=["column", "interval", "low", "high", "points"])


def round_card(card: pd.DataFrame) -> pd.DataFrame:
    """The scorecard with whole points; intervals side by side with the same points become one.

    Parameters
    ----------
    card : DataFrame

    Returns
    -------
    DataFrame
    """
    rounded = card.assign(points=card["points"].round().astype(int))
    before = rounded.shift()
    is_same = (rounded["column"] == before["column"]) & (rounded["points"] == before["points"])
    # An interval begins where the one before it ends; other rows have no bounds.
    is_next = rounded["low"] == before["high"]
    run_of_row = (~(is_same & is_next)).cumsum()
    runs = rounded.groupby(run_of_row)
    merged = runs.first()
    merged["high"] = runs["high"].last()
    # From the start of the first interval to the end of the last one.
    starts = runs["interval"].first().str.partition(", ")
    ends = runs["interval"].last().str.partition(", ")
    merged["interval"] = starts[0] + ends[1] + ends[2]
    return merged[card.columns].reset_index(drop=True)


def rounding_loss(model: Any, points: float) -> float | None:
    """Share of the pairs of reference rows whose order changes, or becomes a tie, when points are rounded.

    Parameters
    ----------
    model : TableClassifier
    points : float
        Number of points that doubles the odds.

    Returns
    -------
    float or None
        None if the model has no reference rows.
    """
    model = getattr(model, "model_", model)
    reference = model.evidence.reference
    if reference is None or len(reference) < 2:
        return None
    booster = additive_booster(model)
    scale, _ = check_points(booster, points, 0.0)
    steps = scale * contributions(booster, reference)
    # A column with several features has one number of points.
    grouped = [steps[:, group].sum(axis=1) for group in model.encoder.groups.values()]
    points_of_columns = np.column_stack(grouped)
    exact = points_of_columns.sum(axis=1)
    rounded = np.round(points_of_columns).sum(axis=1)
    high, low = np.nonzero(exact[:, None] > exact[None, :] + 1e-9)
    if not len(high):
        return 0.0
    return float(np.mean(rounded[high] <= rounded[low]))
