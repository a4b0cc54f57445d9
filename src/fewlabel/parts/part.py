"""Records that check themselves: what a fitted model is made of, in memory and in files.

A part is a frozen dataclass. Its annotations say which fields there are, of which type and shape, and which arrays hold
indices; `check` says what else must hold between them. All of it is tested whenever a part is made, by `fit` or by the
reader of a file, so that a part that exists is sound: every index is inside of its array, and every walk ends.
"""

import functools
import math
import numbers
import types
import typing
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

_DEEPEST_JSON = 32


class ArrayOf(NamedTuple):
    """Type and number of dimensions of an array."""

    dtype: str
    ndim: int


class Below(NamedTuple):
    """Rule of an array of indices: each is at least `start`, and below a size or another number of the part."""

    size: str
    start: int = 0


class Finite:
    """Rule of an array without NaN and infinities."""


class Positive:
    """Rule of an array of numbers above 0."""


class _PlainJson:
    """Marks a field that holds JSON for people to read."""


Floats = Annotated[np.ndarray, ArrayOf("float64", 1)]
Table = Annotated[np.ndarray, ArrayOf("float64", 2)]
Cube = Annotated[np.ndarray, ArrayOf("float64", 3)]
Singles = Annotated[np.ndarray, ArrayOf("float32", 1)]
SingleTable = Annotated[np.ndarray, ArrayOf("float32", 2)]
Ints = Annotated[np.ndarray, ArrayOf("int64", 1)]
IntTable = Annotated[np.ndarray, ArrayOf("int64", 2)]
SmallInts = Annotated[np.ndarray, ArrayOf("int32", 1)]
SmallIntTable = Annotated[np.ndarray, ArrayOf("int32", 2)]
Flags = Annotated[np.ndarray, ArrayOf("bool", 1)]
FlagTable = Annotated[np.ndarray, ArrayOf("bool", 2)]
Texts = list[str]
# Never an index, nor a name to look up.
Json = Annotated[Any, _PlainJson]


@typing.dataclass_transform(frozen_default=True, eq_default=False)
class Part:
    """A record of numbers, texts, arrays and other parts, which is sound if it exists.

    Fields are annotated with ``bool``, ``int``, ``float``, ``str``, ``list[str]``, ``list[int]``, an array type of this
    module, a subclass of `Part`, a list of such, any of them ``| None``, or `Json`. Arrays have exactly the stated type
    and are made contiguous; the parts of a file are built by the same constructor.

    ``Annotated[Table, "n_rows n_inputs", Finite]`` states the shape of an array, or the length of a list, and rules for
    its entries. A size that has a name is the same in all fields of the part, and becomes an attribute of it.

    Attributes
    ----------
    kind : str
        Its name in files.
    """

    kind = ""

    if TYPE_CHECKING:
        # Subclasses have what their formulas need, as fields or as properties.
        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls):
        # A frozen dataclass, compared by identity, without saying so at each of them.
        dataclass(frozen=True, eq=False)(cls)

    def __post_init__(self):
        for name, annotation in field_types(type(self)).items():
            value = _read_field(getattr(self, name), annotation, f"{self.kind}: {name}")
            object.__setattr__(self, name, value)
        declared = _declared_shapes(type(self))
        self._measure(declared)
        for name, (_, rules) in declared.items():
            for rule in rules if getattr(self, name) is not None else ():
                self._check_rule(name, rule)
        self.check()

    def __getstate__(self):
        return {name: getattr(self, name) for name in field_types(type(self))}  # without what is cached

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__post_init__()

    def _measure(self, declared):
        """Compare sizes of the same name, and make attributes of them."""
        sizes = {name: value for name, value in self.__getstate__().items() if type(value) is int}
        for name, (shape, _) in declared.items():
            value = getattr(self, name)
            if value is None:
                continue
            found = value.shape if isinstance(value, np.ndarray) else (len(value),)
            for word, size in zip(shape.split(), found, strict=True):
                expected = int(word) if word.isdigit() else sizes.setdefault(word, size)
                self.require(
                    size == expected, f"{name} has the shape {found}, expected ({shape}): {word} is {expected}"
                )
        for name, size in sizes.items():
            # Not where a class computes or fixes it.
            if not hasattr(type(self), name):
                object.__setattr__(self, name, size)

    def _check_rule(self, name, rule):
        values = getattr(self, name)
        if rule is Finite:
            self.require(np.isfinite(values).all(), f"{name} has values that are not finite")
        elif rule is Positive:
            self.require((values > 0).all(), f"{name} has values that are not positive")
        else:
            inside = (values >= rule.start) & (values < getattr(self, rule.size))
            self.require(inside.all(), f"{name} has an index below {rule.start}, or not below {rule.size}")

    def check(self) -> None:
        """Raise a ValueError if fields do not fit each other, or an index is out of range."""

    def require(self, holds, what):
        """Raise a ValueError that says what is wrong, unless a condition holds."""
        if not holds:
            raise ValueError(f"{self.kind}: {what}")


class Formula(Part):
    """Numbers in, numbers out.

    A subclass has `n_inputs` and `n_outputs`, as fields or properties, and `values_at`.
    """

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Values of the formula at rows.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_inputs)
            NaN marks a missing value.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        # A value that stands for a table, such as one of an ONNX graph, knows what to make of a formula.
        if hasattr(X, "through"):
            return X.through(self)
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_inputs:
            raise ValueError(f"expected a table of {self.n_inputs} columns, got an array of shape {X.shape}")
        return self.values_at(X)

    def values_at(self, X):
        """As the call, for a contiguous float64 array whose shape was checked.

        Most are also given values of an ONNX graph, see :mod:`fewlabel.exporting.onnx_graph`: these are written with
        NumPy's functions and operators alone, without assignment to some of the cells.
        """
        raise NotImplementedError


class RowFormula(Formula):
    """A formula that compares rows with stored ones.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
    """

    rows: Annotated[Table, "n_rows n_inputs", Finite]


class Encoder(Part):
    """A table of any columns in, numbers out.

    A subclass has `names` (columns of the table), `n_outputs`, and turns a table into numbers when it is called.
    """

    def __call__(self, table: Any) -> np.ndarray:
        """Numbers of each row of a table.

        Parameters
        ----------
        table : DataFrame, mapping of names to columns, or ndarray
            Columns in any order; further ones are ignored.

        Returns
        -------
        ndarray of shape (n_rows, n_outputs)
        """
        raise NotImplementedError


@functools.cache
def field_types(part_class: type) -> dict[str, Any]:
    """Annotation of each field of a class of parts, in the order of the constructor."""
    hints = typing.get_type_hints(part_class, include_extras=True)
    return {field.name: hints[field.name] for field in fields(part_class)}


@functools.cache
def _declared_shapes(part_class):
    """Shape and rules of each field that states them."""
    declared = {}
    for name, annotation in field_types(part_class).items():
        stated = [extra for extra in getattr(_choices(annotation)[0], "__metadata__", ()) if type(extra) is not ArrayOf]
        if stated and isinstance(stated[0], str):
            declared[name] = stated[0], stated[1:]
    return declared


def _choices(annotation):
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def options(annotation: Any) -> tuple:
    """The types that an annotation allows, without None; and whether it allows None."""
    found = _choices(annotation)
    # A list with a length is a list.
    allowed = [one.__origin__ if isinstance(metadata_of(one), str) else one for one in found if one is not type(None)]
    return tuple(allowed), len(allowed) < len(found)


def metadata_of(annotation: Any) -> Any:
    """What an `Annotated` type is annotated with: `ArrayOf`, the mark of JSON, a length; None for other types."""
    return annotation.__metadata__[0] if typing.get_origin(annotation) is Annotated else None


def _read_field(value, annotation, name):
    allowed, may_be_none = options(annotation)
    if value is None and may_be_none:
        return None
    first = allowed[0]
    extra = metadata_of(first)
    if extra is _PlainJson:
        return plain_json(value, name)
    if extra is not None:
        return _read_array(value, extra, name)
    if typing.get_origin(first) is list:
        return _read_list(value, typing.get_args(first)[0], name)
    if first in _SCALARS:
        return _read_scalar(value, first, name)
    if not isinstance(value, allowed):
        wanted = " or ".join(one.__name__ for one in allowed)
        raise ValueError(f"{name} is a {type(value).__name__}, expected {wanted}")
    return value


def _read_list(value, annotation, name):
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} is a {type(value).__name__}, expected a list")
    return [_read_field(one, annotation, f"{name}[{k}]") for k, one in enumerate(value)]


_SCALARS = {bool: (bool, np.bool_), int: numbers.Integral, float: numbers.Real, str: str}


def _read_scalar(value, wanted, name):
    # A bool is an int to Python.
    is_flag = isinstance(value, (bool, np.bool_))
    if not isinstance(value, _SCALARS[wanted]) or (is_flag and wanted is not bool):
        raise ValueError(f"{name} is a {type(value).__name__}, expected {wanted.__name__}")
    return wanted(value)


def _read_array(value, wanted, name):
    if not isinstance(value, np.ndarray) or value.dtype != np.dtype(wanted.dtype) or value.ndim != wanted.ndim:
        shown = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        raise ValueError(f"{name} is {shown}, expected {wanted.dtype} with {wanted.ndim} dimension(s)")
    return np.ascontiguousarray(value, dtype=wanted.dtype)


def plain_json(value: Any, name: str = "value", depth: int = 0) -> Any:
    """A copy in which tuples are lists, NumPy's scalars Python's, and numbers that are not finite None.

    Parameters
    ----------
    value : object
    name : str
        For the message of the error.
    depth : int

    Returns
    -------
    dict, list, str, int, float, bool or None

    Raises
    ------
    ValueError
        If JSON cannot express the value, or it is nested too deeply.
    """
    if depth > _DEEPEST_JSON:
        raise ValueError(f"{name} is nested deeper than {_DEEPEST_JSON} levels")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain_json(one, name, depth + 1) for one in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: plain_json(one, name, depth + 1) for key, one in value.items()}
    raise ValueError(f"{name} holds a {type(value).__name__}, which JSON cannot express")
