"""Reports: measure methods on a table, summarize as a plain dict, render as one self-contained page."""

from fewlabel.report.render import render, write
from fewlabel.report.summarize import Measured, Method, Table, measure, summarize

__all__ = ["Measured", "Method", "Table", "measure", "render", "summarize", "write"]
