"""Reports: what was learned from a table, summed up as a plain dict and rendered as one self-contained page."""

from fewlabel.report.render import render, write
from fewlabel.report.summarize import metrics, notes_of, summarize

__all__ = ["metrics", "notes_of", "render", "summarize", "write"]
