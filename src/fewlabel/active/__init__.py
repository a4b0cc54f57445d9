"""Active learning: which rows to label next, and estimates from rows drawn with known probability."""

from fewlabel.active._baselines import CoresetQuery, MarginQuery, RandomQuery
from fewlabel.active._batch import BatchQuery
from fewlabel.active._draws import draw_weights
from fewlabel.active._query import RANDOM, REASONS, Query, QueryStrategy

__all__ = [
    "RANDOM",
    "REASONS",
    "BatchQuery",
    "CoresetQuery",
    "MarginQuery",
    "Query",
    "QueryStrategy",
    "RandomQuery",
    "draw_weights",
]
