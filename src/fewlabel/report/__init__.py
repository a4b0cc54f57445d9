"""Reports on a fitted model and its table: a summary as a plain dict, and a self-contained HTML page."""

from fewlabel.report.render import render, render_scorecard, write, write_drift
from fewlabel.report.summarize import method_notes, metrics, notes_of, summarize, table_notes

__all__ = [
    "method_notes",
    "metrics",
    "notes_of",
    "render",
    "render_scorecard",
    "summarize",
    "table_notes",
    "write",
    "write_drift",
]
