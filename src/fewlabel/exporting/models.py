"""export: a fitted model in the format that the name of the file asks for, tried before it is written."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from fewlabel.exceptions import ExportError
from fewlabel.exporting.document import model_json
from fewlabel.exporting.onnx_graph import onnx_columns, onnx_model, require
from fewlabel.exporting.rows import trial_rows
from fewlabel.exporting.sql import model_sql, run_in_sqlite
from fewlabel.files import atomic_write
from fewlabel.parts import FittedModel, ranking_model

_ONNX_TOLERANCE = 1e-6
_SQL_TOLERANCE = 1e-9
KINDS = (".onnx", ".sql", ".json")


def export(model: Any, path: str | os.PathLike, *, table: str = "rows") -> None:
    """Write a fitted model for another system: as ONNX, SQL or JSON.

    The model is first tried on rows like those of the fit, with gaps and categories that it has not seen. Nothing is
    written if the scores differ from those of `predict` by more than 1e-6 (ONNX) or 1e-9 (SQL, run by SQLite).

    Parameters
    ----------
    model : estimator or FittedModel
        A fitted `TableClassifier`, `AutoClassifier` or ranker such as `PNUAUCBoostClassifier`, or what
        :func:`fewlabel.load` read.
    path : str or path-like
        The name says what is written:

        - ``.onnx``: a graph with one input per column, of shape (n_rows, 1): float64 with NaN for gaps, of booleans 1
          and 0, of categories str with "" for gaps; or one matrix ``X`` if the model was fitted to numbers. Outputs:
          ``label``, ``probabilities`` and ``score``, the decision function. Dates, free text, path neighbors and label
          spreading have no graph. Needs ``pip install 'fewlabel[onnx]'``.
        - ``.sql``: a SELECT statement for DuckDB and SQLite that adds ``score``, ``probability`` and ``label`` to the
          columns of the table, of two classes, for step functions and trees, up to 1 MB.
        - ``.json``: every number of the model, for people and other languages.
    table : str, default="rows"
        In SQL, the name of the table to score.

    Raises
    ------
    ExportError
        If the format cannot express a part of the model, or gives other scores.
    ImportError
        If onnx or onnxruntime is not installed.

    See Also
    --------
    fewlabel.save : Write a model file that fewlabel reads.

    Examples
    --------
    >>> import os, tempfile, fewlabel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = fewlabel.TreeAUCBoostClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.sql")
    ...     fewlabel.export(model, path)
    ...     print(open(path).readline().strip())
    -- Model made by fewlabel. The last three columns of the result are as written by `fewlabel predict`.
    """
    kind = Path(path).suffix.lower()
    if kind not in KINDS:
        raise ValueError(f"{path}: a model is exported as {', '.join(KINDS)}, by the end of the name")
    fitted = fitted_model(model)
    if kind == ".json":
        content = model_json(fitted).encode()
    elif kind == ".sql":
        content = _tried_sql(fitted, table).encode()
    else:
        content = _tried_onnx(fitted)
    with atomic_write(path) as file:
        file.write(content)


def fitted_model(model: Any) -> FittedModel:
    """The formulas of a fitted model.

    Parameters
    ----------
    model : estimator or FittedModel

    Returns
    -------
    FittedModel

    Raises
    ------
    ExportError
        If it has none.
    """
    fitted = getattr(model, "model_", model)
    if not isinstance(fitted, FittedModel):
        fitted = ranking_model(model) if hasattr(model, "calibration_") else None
    if fitted is None:
        raise ExportError(
            f"a {type(model).__name__} cannot be exported: expected a fitted TableClassifier, AutoClassifier or ranker "
            "of fewlabel, or a model that fewlabel.load read"
        )
    return fitted


def _tried_onnx(model):
    written = onnx_model(model).SerializeToString()
    runtime = require("onnxruntime")
    rows = trial_rows(model)
    session = runtime.InferenceSession(written, providers=["CPUExecutionProvider"])
    label, probability, score = session.run(None, onnx_columns(model, rows))
    expected = model.decision_function(rows)
    # By its own scores: at the threshold the last bit of a score decides.
    if label.tolist() != model.classes_at(score).tolist():
        raise ExportError("the ONNX gives other labels than predict for its scores, and was not written")
    _compare("ONNX", score, expected, _ONNX_TOLERANCE)
    _compare("ONNX", probability, model.probabilities_at(expected), _ONNX_TOLERANCE)
    return written


def _tried_sql(model, table):
    statement = model_sql(model, table=table)
    rows = trial_rows(model)
    score, probability = run_in_sqlite(model, statement, table, rows)
    expected = model.decision_function(rows)
    probabilities = model.probabilities_at(expected)
    _compare("SQL", score, -expected if model.positive == 0 else expected, _SQL_TOLERANCE)
    _compare("SQL", probability, probabilities[:, model.positive], _SQL_TOLERANCE)
    return statement


def _compare(kind, found, expected, tolerance):
    # A linear model of a matrix has no score for a gap.
    known = np.isfinite(expected)
    differences = np.abs(found - expected)[known] / np.maximum(np.abs(expected[known]), 1.0)
    largest = differences.max(initial=0.0)
    if not largest <= tolerance:
        raise ExportError(
            f"the {kind} gives other scores than predict, by up to {largest:.1g} where {tolerance:g} is allowed, and "
            "was not written: fit with another method, such as --method 'extra trees'"
        )
