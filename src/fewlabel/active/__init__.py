"""Active learning: which rows to label next, and estimates from rows drawn with known probability."""

from fewlabel.active._audit import AuditQuery
from fewlabel.active._batch import BatchQuery
from fewlabel.active._draws import draw_weights
from fewlabel.active._query import AGAIN, AUDIT, RANDOM, REASONS, Query, QueryStrategy, RandomQuery
from fewlabel.active.raters import CombinedAnswers, combine_answers, label_confidence

__all__ = [
    "AGAIN",
    "AUDIT",
    "RANDOM",
    "REASONS",
    "AuditQuery",
    "BatchQuery",
    "CombinedAnswers",
    "Query",
    "QueryStrategy",
    "RandomQuery",
    "combine_answers",
    "draw_weights",
    "label_confidence",
]
