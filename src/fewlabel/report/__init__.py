"""Reports on a fitted model and its table: a summary as a plain dict, and a self-contained HTML page.

The package can be called: ``fewlabel.report(model, X, y)`` is `make_report`.
"""

import sys
from types import ModuleType
from typing import Any

from fewlabel.report.advice import rows_to_label
from fewlabel.report.drift import write_drift, write_monitor
from fewlabel.report.notes import method_notes, notes_of, table_notes
from fewlabel.report.page import Report, make_report, write_card
from fewlabel.report.render import render, render_scorecard, write
from fewlabel.report.summarize import metrics, summarize

__all__ = [
    "Report",
    "make_report",
    "method_notes",
    "metrics",
    "notes_of",
    "render",
    "render_scorecard",
    "rows_to_label",
    "summarize",
    "table_notes",
    "write",
    "write_card",
    "write_drift",
    "write_monitor",
]


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> Report:
        return make_report(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
