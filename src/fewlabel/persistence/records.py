"""Parts as JSON: what a field is follows from its annotation, and a kind is looked up in one closed list."""

import math
from typing import Any

import numpy as np

from fewlabel.parts import KINDS, Part
from fewlabel.parts.part import field_types
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
        raise TypeError(f"the model holds a {held}, which has no formula and cannot be written: use joblib.dump")
    written = {"kind": part.kind}
    for name in field_types(KINDS[part.kind]):
        written[name] = _write(getattr(part, name), arrays)
    return written


def _write(value, arrays):
    if isinstance(value, Part):
        return write_part(value, arrays)
    if isinstance(value, np.ndarray):
        return arrays.add(value)
    if isinstance(value, float):
        return write_float(value)
    return [_write(one, arrays) for one in value] if isinstance(value, list) else value


def write_float(value):
    """A float as JSON, which has no word for those that are not finite."""
    return value if math.isfinite(value) else str(value)


def read_float(value):
    """A float from JSON."""
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def read_part(value: Any, arrays: dict[str, np.ndarray], depth: int = 0) -> Part:
    """The part that JSON describes, which checks itself.

    Raises
    ------
    Exception
        If it is not sound.
    """
    if depth > DEEPEST:
        raise ValueError(f"parts are nested deeper than {DEEPEST} levels")
    kind = value["kind"]
    if kind not in KINDS:
        raise ValueError(f"parts of kind {str(kind)[:40]!r} are not known: is the file of a newer version?")
    types = field_types(KINDS[kind])
    if value.keys() != {"kind", *types}:
        raise ValueError(f"a part of kind {kind!r} does not have the fields that it should")
    fields = {name: _read(value[name], field, arrays, depth) for name, field in types.items()}
    return KINDS[kind](**fields)


def _read(value, field, arrays, depth):
    """A value of the type that the field has; the part itself checks whether it is one."""
    if value is None:
        return None
    if field.array is not None:
        return arrays[value]
    if isinstance(value, list) and field.item is not None:
        return [_read(one, field.item, arrays, depth) for one in value]
    first = field.kinds[0]
    if first is float:
        return read_float(value)
    is_part = isinstance(first, type) and issubclass(first, Part)
    return read_part(value, arrays, depth + 1) if is_part else value
