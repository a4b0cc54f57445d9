"""Reports on a fitted model and its table: a summary as a plain dict, and a self-contained HTML page."""

from fewlabel.report.render import render, write, write_drift
from fewlabel.report.summarize import metrics, notes_of, summarize

__all__ = ["metrics", "notes_of", "render", "summarize", "write", "write_drift"]
