"""Active learning: which rows to label next, and estimates from rows drawn with known probability."""

from fewlabel.active._audit import AuditQuery
from fewlabel.active._baselines import CoresetQuery, MarginQuery, RandomQuery
from fewlabel.active._batch import BatchQuery
from fewlabel.active._draws import draw_weights
from fewlabel.active._query import AUDIT, RANDOM, REASONS, Query, QueryStrategy

__all__ = [
    "AUDIT",
    "RANDOM",
    "REASONS",
    "AuditQuery",
    "BatchQuery",
    "CoresetQuery",
    "MarginQuery",
    "Query",
    "QueryStrategy",
    "RandomQuery",
    "draw_weights",
]
