"""Tables with text, dates, categories, booleans and missing values: an encoder, and a classifier that uses it.

Names are imported on first use: scoring a table needs neither pandas nor scikit-learn.
"""

from importlib import import_module

_HOME = {
    "NUMBER": "fewlabel.parts.cells",
    "TOO_FEW_FOR_LEAKS": "fewlabel.tables.leaks",
    "Decision": "fewlabel.tables.thresholds",
    "Drift": "fewlabel.tables.profile",
    "Explanation": "fewlabel.parts.explanations",
    "Finding": "fewlabel.tables.profile",
    "ReadColumns": "fewlabel.tables.kinds",
    "RepeatedRows": "fewlabel.tables.checks",
    "TableCheck": "fewlabel.tables.checks",
    "TableClassifier": "fewlabel.tables.classifier",
    "TableDigest": "fewlabel.tables.digests",
    "TableEncoder": "fewlabel.tables.encoder",
    "TableSource": "fewlabel.tables.sources",
    "check": "fewlabel.tables.checks",
    "check_source": "fewlabel.tables.sources",
    "check_target": "fewlabel.tables.databases",
    "choose_threshold": "fewlabel.tables.thresholds",
    "compare": "fewlabel.tables.profile",
    "digest_table": "fewlabel.tables.digests",
    "enough_for_leaks": "fewlabel.tables.leaks",
    "evidence_of": "fewlabel.tables.thresholds",
    "highest_probability": "fewlabel.tables.scoring",
    "immature": "fewlabel.tables.maturity",
    "local_files": "fewlabel.tables.sources",
    "open_table": "fewlabel.tables.sources",
    "points_sql": "fewlabel.tables.sql",
    "read_columns": "fewlabel.tables.kinds",
    "read_table": "fewlabel.tables.sources",
    "repeated_rows": "fewlabel.tables.checks",
    "score_columns": "fewlabel.tables.scoring",
    "score_features": "fewlabel.tables.scoring",
    "score_table": "fewlabel.tables.scoring",
    "scorecard_sql": "fewlabel.tables.sql",
    "suspected_leaks": "fewlabel.tables.leaks",
    "suspicions": "fewlabel.tables.checks",
    "table_classifier": "fewlabel.tables.classifier",
    "table_scorecard": "fewlabel.tables.scorecards",
    "table_writer": "fewlabel.tables.databases",
}

__all__ = list(_HOME)


def __getattr__(name):
    if name not in _HOME:
        raise AttributeError(f"module 'fewlabel.tables' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
