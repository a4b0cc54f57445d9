"""Reports on a fitted model and its table: a summary as a plain dict, and a self-contained HTML page."""

from fewlabel.reporting.advice import rows_to_label
from fewlabel.reporting.drift import write_drift, write_monitor
from fewlabel.reporting.figures import FIGURES, end_text, estimate_text, value_text
from fewlabel.reporting.labelers import describe_labelers
from fewlabel.reporting.page import Report, report, write_card
from fewlabel.reporting.render import render, render_scorecard, write
from fewlabel.reporting.sentences import (
    GAIN,
    audited_share,
    audited_text,
    method_notes,
    outlook,
    share_text,
    table_notes,
)
from fewlabel.reporting.summarize import metrics, summarize

__all__ = [
    "FIGURES",
    "GAIN",
    "Report",
    "audited_share",
    "audited_text",
    "describe_labelers",
    "end_text",
    "estimate_text",
    "method_notes",
    "metrics",
    "outlook",
    "render",
    "render_scorecard",
    "report",
    "rows_to_label",
    "share_text",
    "summarize",
    "table_notes",
    "value_text",
    "write",
    "write_card",
    "write_drift",
    "write_monitor",
]
