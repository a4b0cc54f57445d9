"""A model as one JSON document, with its arrays in their places: for people, and for programs in other languages."""

import json
from typing import Any

import numpy as np

import fewlabel
from fewlabel.parts import FittedModel
from fewlabel.persistence.archive import FORMAT, VERSION
from fewlabel.persistence.records import write_float, write_part


class _Inline:
    """Writes arrays where a model file has their names."""

    def add(self, array: np.ndarray) -> dict[str, Any]:
        values = array.tolist()
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            values = _written(values)
        return {"dtype": array.dtype.newbyteorder("<").str, "shape": list(array.shape), "values": values}


def _written(values):
    return [_written(one) for one in values] if isinstance(values, list) else write_float(values)


def model_json(model: FittedModel) -> str:
    """The document of a model, see "The model file" in the documentation.

    Parameters
    ----------
    model : FittedModel

    Returns
    -------
    str
        JSON. An array is an object with its `dtype`, `shape` and `values`; numbers that are not finite are "nan",
        "inf" and "-inf". All other numbers have all their digits.
    """
    arrays: Any = _Inline()
    written = write_part(model, arrays)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "written_by": {"fewlabel": fewlabel.__version__},
        "model": written,
    }
    return json.dumps(document, allow_nan=False, indent=1, ensure_ascii=False) + "\n"
