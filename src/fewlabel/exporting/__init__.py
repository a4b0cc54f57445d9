"""Fitted models for other systems: an ONNX graph, a SQL statement, or a JSON document."""

from fewlabel.exporting.models import export, fitted_model
from fewlabel.exporting.sql import Statement, model_sql

__all__ = ["Statement", "export", "fitted_model", "model_sql"]
