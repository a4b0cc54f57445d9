"""Fitted models for other systems: an ONNX graph, a SQL statement, or a JSON document.

The package can be called: ``fewlabel.export(model, path)`` is `export_model`.
"""

import sys
from types import ModuleType
from typing import Any

from fewlabel.export.models import export_model, fitted_model
from fewlabel.export.sql import Statement, model_sql

__all__ = ["Statement", "export_model", "fitted_model", "model_sql"]


class _Callable(ModuleType):
    def __call__(self, *arguments: Any, **options: Any) -> None:
        export_model(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
