"""Tables with text, dates, categories, booleans and missing values: an encoder, and a classifier that uses it."""

from fewlabel.files import read_chunks, read_table
from fewlabel.tables.checks import RepeatedRows, TableCheck, check, repeated_rows, suspicions
from fewlabel.tables.classifier import TableClassifier
from fewlabel.tables.cuts import Decision, choose_cut, evidence_of
from fewlabel.tables.encoder import TableEncoder
from fewlabel.tables.kinds import NUMBER, Columns, read_columns
from fewlabel.tables.leaks import suspected_leaks
from fewlabel.tables.profile import Drift, Finding, compare
from fewlabel.tables.reasons import Explanation, additive_model
from fewlabel.tables.scorecard_sql import scorecard_sql
from fewlabel.tables.scorecards import round_card, rounding_loss
from fewlabel.tables.scoring import row_reasons, score_columns, score_features, score_table

__all__ = [
    "NUMBER",
    "Columns",
    "Decision",
    "Drift",
    "Explanation",
    "Finding",
    "RepeatedRows",
    "TableCheck",
    "TableClassifier",
    "TableEncoder",
    "additive_model",
    "check",
    "choose_cut",
    "compare",
    "evidence_of",
    "read_chunks",
    "read_columns",
    "read_table",
    "repeated_rows",
    "round_card",
    "rounding_loss",
    "row_reasons",
    "score_columns",
    "score_features",
    "score_table",
    "scorecard_sql",
    "suspected_leaks",
    "suspicions",
]
