"""Parts as JSON: what a field is follows from its annotation, and a kind is looked up in one closed list."""

import math
import typing
from typing import Any

import numpy as np

from fewlabel.parts import KINDS, Part
from fewlabel.parts.part import ArrayOf, field_types, metadata_of, options
from fewlabel.persistence.archive import Arrays

DEEPEST = 64
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def write_part(part: Part, arrays: Arrays) -> dict[str, Any]:
    """A part as JSON; its arrays are added to those of the file.

    Raises
    ------
    TypeError
        If it holds a part that files cannot hold, such as an estimator without a formula.
    """
    if KINDS.get(part.kind) is not type(part):
        held = type(getattr(part, "estimator", part)).__name__
        raise TypeError(f"the model holds a {held}, which has no formula and cannot be written")
    fields = {name: _write(getattr(part, name), annotation, arrays) for name, annotation in _fields(part)}
    return {"kind": part.kind, **fields}


def _fields(part):
    return field_types(type(part)).items()


def _write(value, annotation, arrays):
    if isinstance(value, Part):
        return write_part(value, arrays)
    if isinstance(value, np.ndarray):
        return arrays.add(value)
    if isinstance(value, float):
        return write_float(value)
    item = typing.get_args(annotation)[0] if typing.get_origin(annotation) is list else None
    return value if item is None else [_write(one, item, arrays) for one in value]


def write_float(value):
    """A float as JSON, which has no word for those that are not finite."""
    return value if math.isfinite(value) else str(value)


def read_float(value):
    """A float from JSON."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    return value


def read_part(value: Any, arrays: dict[str, np.ndarray], depth: int = 0) -> Part:
    """The part that JSON describes, which checks itself.

    Raises
    ------
    ValueError
        If it is not sound.
    """
    if depth > DEEPEST:
        raise ValueError(f"parts are nested deeper than {DEEPEST} levels")
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        raise ValueError("a part has no kind")
    part_class = KINDS.get(value["kind"])
    if part_class is None:
        raise ValueError(
            f"parts of kind {value['kind'][:40]!r} are not known: was the file written by a newer version?"
        )
    annotations = field_types(part_class)
    if value.keys() != {"kind", *annotations}:
        raise ValueError(f"a part of kind {part_class.kind!r} does not have the fields that it should")
    fields = {name: _read(value[name], annotation, arrays, depth) for name, annotation in annotations.items()}
    return part_class(**fields)


def _read(value, annotation, arrays, depth):
    allowed, may_be_none = options(annotation)
    first = allowed[0]
    if value is None and may_be_none:
        return None
    if isinstance(metadata_of(first), ArrayOf):
        return named_array(value, arrays)
    if metadata_of(first) is not None:
        return value
    if typing.get_origin(first) is list:
        if not isinstance(value, list):
            raise ValueError("a list was expected")
        item = typing.get_args(first)[0]
        return [_read(one, item, arrays, depth) for one in value]
    if first is float:
        return read_float(value)
    if isinstance(first, type) and issubclass(first, Part):
        return read_part(value, arrays, depth + 1)
    return value


def named_array(name, arrays):
    """The array of a name."""
    if not isinstance(name, str) or name not in arrays:
        raise ValueError("an array is not in the file")
    return arrays[name]
