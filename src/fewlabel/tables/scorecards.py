"""Scorecards of table classifiers: points in the columns and categories of the table."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel.inspection import check_points, contributions, step_intervals
from fewlabel.parts.cells import BOOLEAN, NUMBER, TEXT
from fewlabel.tables.encoder import TableEncoder
from fewlabel.tables.reasons import additive_model

# Texts that may be read as a missing value; which are is found out by encoding them.
_NULLS = (
    "",
    " ",
    "?",
    "-",
    "...",
    "#N/A",
    "<NA>",
    "N/A",
    "NA",
    "NULL",
    "NaN",
    "Null",
    "None",
    "n/a",
    "na",
    "nan",
    "null",
)
_UNSEEN = "\N{REPLACEMENT CHARACTER}unseen"
OTHER, MISSING = "other", "missing"


class Term(NamedTuple):
    """The step function of one feature, in terms of a column of the table.

    Attributes
    ----------
    source, feature : str
        The column, and the feature made from it.
    kind : str
        "number", "boolean" or "category"; "derived" for parts of dates and components of text.
    edges, values : ndarray
        Where the function jumps and its values; a category is looked up in `categories` instead.
    missing, other : float
        Value for gaps, and for categories that are not in `categories`.
    categories : dict
    nulls : tuple of str
        Texts that count as gaps.
    """

    source: str
    feature: str
    kind: str
    edges: np.ndarray
    values: np.ndarray
    missing: float
    other: float
    categories: dict[str, float]
    nulls: tuple[str, ...]


def scorecard_terms(model: Any) -> list[Term]:
    """The step functions of a fitted table classifier, in the order in which they are summed.

    Parameters
    ----------
    model : TableClassifier
        Fitted, with a stump booster as its estimator, or an AutoClassifier whose only member is one.

    Returns
    -------
    list of Term
    """
    booster = additive_model(model.estimator_)
    if booster is None:
        raise TypeError(
            "the model is not a sum of step functions: fit with --method scorecard, or "
            "TableClassifier(AutoClassifier(interpretable=True)) in Python"
        )
    encoder = model.encoder_
    used = sorted(booster.shape_functions_, key=lambda function: function.column)
    probes = _Probes(encoder, booster, [encoder.sources_[f.column] for f in used])
    return [_term(encoder, function, probes) for function in used]


def _term(encoder: TableEncoder, function: Any, probes: "_Probes") -> Term:
    source, feature = encoder.sources_[function.column], encoder.features_[function.column]
    kind = encoder.columns_[source]
    edges, values = np.asarray(function.edges), np.asarray(function.values)
    if kind in (NUMBER, BOOLEAN):
        return Term(source, feature, kind, edges, values, float(function.missing), np.nan, {}, ())
    if kind != TEXT or source not in probes.categories:
        return Term(source, feature, "derived", edges, values, float(function.missing), np.nan, {}, ())
    found, missing, other = probes.values(source, function.column)
    return Term(source, feature, "category", edges, values, missing, other, found, probes.nulls[source])


class _Probes:
    """What the categories of text columns are encoded as, found out by encoding them."""

    def __init__(self, encoder: TableEncoder, booster: Any, sources: list[str]) -> None:
        names = [name for name in dict.fromkeys(sources) if encoder.columns_[name] == TEXT]
        self.rows: dict[str, list[Any]] = {
            name: [None, _UNSEEN, *_NULLS, *_candidates(encoder, name)] for name in names
        }
        self.categories: dict[str, list[str]] = {}
        self.nulls: dict[str, tuple[str, ...]] = {}
        self.steps: dict[str, np.ndarray] = {}
        for name in names:
            self.rows[name] = [None, _UNSEEN, *_NULLS, *_candidates(encoder, name)]
            table = pd.DataFrame({other: [None] * len(self.rows[name]) for other in encoder.columns_}, dtype=object)
            table[name] = pd.Series(self.rows[name], dtype=object)
            features = encoder.transform(table)
            own = [k for k, source in enumerate(encoder.sources_) if source == name]
            if not np.isin(features[:, own], (0.0, 1.0)).all():
                continue  # components of a text
            missing, unseen = features[0, own], features[1, own]
            same = [(features[k, own] == missing).all() for k in range(len(features))]
            n_special = 2 + len(_NULLS)
            self.categories[name] = [row for row in self.rows[name][n_special:] if row not in _NULLS]
            differ = not (missing == unseen).all()
            self.nulls[name] = tuple(text for text, null in zip(_NULLS, same[2:n_special]) if null and differ)
            self.steps[name] = contributions(booster, features)

    def values(self, source: str, column: int) -> tuple[dict[str, float], float, float]:
        """Step values of one feature: by category, for a gap, and for any other category."""
        steps = self.steps[source][:, column]
        place = {row: k for k, row in enumerate(self.rows[source])}
        found = {category: float(steps[place[category]]) for category in self.categories[source]}
        return found, float(steps[0]), float(steps[1])


def _candidates(encoder: TableEncoder, name: str) -> list[str]:
    """Categories that a column may have had: by the names of its features, and those of its profile."""
    own = [feature for feature, source in zip(encoder.features_, encoder.sources_) if source == name]
    named = [feature[len(name) + 1 :] for feature in own]
    profiled = encoder.profile_[name].get("categories") or {}
    return sorted({*named, *map(str, profiled)} - set(_NULLS))


def table_scorecard(model: Any, *, points: float = 20, base: float = 600) -> pd.DataFrame:
    """Scorecard of a table classifier, see :func:`fewlabel.inspection.scorecard`.

    Parameters
    ----------
    model : TableClassifier
    points, base : float

    Returns
    -------
    DataFrame
        ``interval`` is ``= car`` for a category, ``other`` for categories that the fit did not see, ``missing`` for
        gaps.
    """
    booster = additive_model(model.estimator_)
    terms = scorecard_terms(model)
    scale, start = check_points(booster, points, base)
    weight = np.asarray(booster.feature_importances_)
    importance: dict[str, float] = {}
    for function in booster.shape_functions_:
        name = model.encoder_.sources_[function.column]
        importance[name] = importance.get(name, 0.0) + float(weight[function.column])
    blocks: dict[tuple[str, str], list[Term]] = {}
    for term in terms:
        blocks.setdefault((term.source, term.feature if term.kind == "derived" else term.source), []).append(term)
    rows: list[tuple] = [("(base)", "", np.nan, np.nan, start)]
    for (_, name), block in sorted(blocks.items(), key=lambda item: -importance[item[0][0]]):
        rows += [(name, text, low, high, scale * value) for text, low, high, value in _block_rows(block)]
    return pd.DataFrame(rows, columns=["column", "interval", "low", "high", "points"])


def _block_rows(block: list[Term]) -> list[tuple[str, float, float, float]]:
    """Text, bounds and value of each row of a column; the features of a category are summed."""
    first = block[0]
    if first.kind == "category":
        names = list(first.categories)
        rows = [(f"= {name}", np.nan, np.nan, sum(term.categories[name] for term in block)) for name in names]
        rows.append((OTHER, np.nan, np.nan, sum(term.other for term in block)))
        return [*rows, (MISSING, np.nan, np.nan, sum(term.missing for term in block))]
    if first.kind == BOOLEAN:
        steps = first.values[np.searchsorted(first.edges, [0.0, 1.0])]
        rows = [("= no", np.nan, np.nan, float(steps[0])), ("= yes", np.nan, np.nan, float(steps[1]))]
        return [*rows, (MISSING, np.nan, np.nan, first.missing)]
    found = step_intervals(first.edges, first.values, first.missing)
    return [(text, low, high, value) for low, high, text, value in found]


def round_card(card: pd.DataFrame) -> pd.DataFrame:
    """The scorecard with whole points.

    Parameters
    ----------
    card : DataFrame

    Returns
    -------
    DataFrame
    """
    return card.assign(points=card["points"].round().astype(int))


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
    if model.reference_ is None or len(model.reference_) < 2:
        return None
    booster = additive_model(model.estimator_)
    scale, _ = check_points(booster, points, 0.0)
    steps = scale * contributions(booster, model.reference_)
    sources = np.array(model.encoder_.sources_)
    grouped = np.column_stack([steps[:, sources == name].sum(axis=1) for name in dict.fromkeys(sources)])
    exact, rounded = grouped.sum(axis=1), np.round(grouped).sum(axis=1)
    high, low = np.nonzero(exact[:, None] > exact[None, :] + 1e-9)
    return float(np.mean(rounded[high] <= rounded[low])) if len(high) else 0.0
