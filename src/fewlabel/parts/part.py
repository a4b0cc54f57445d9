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
# For people to read: never an index, nor a name to look up.
Json = Any


class FieldType(NamedTuple):
    """What a field of a part may hold, as its annotation says.

    Attributes
    ----------
    kinds : tuple of type
        Of a scalar its type, of a part the classes that are allowed, of JSON `Any`.
    optional : bool
        Whether it may be None.
    array : ArrayOf or None
        Of an array.
    item : FieldType or None
        Of a list, what it holds.
    shape : str
        Names of the sizes of an array or a list, "" if they are not stated.
    rules : tuple
        Of the entries of an array.
    """

    kinds: tuple[type, ...]
    optional: bool
    array: ArrayOf | None
    item: "FieldType | None"
    shape: str
    rules: tuple


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
        own_fields = field_types(type(self))
        for name, field in own_fields.items():
            value = _read_field(getattr(self, name), field, f"{self.kind}: {name}")
            object.__setattr__(self, name, value)
        self._measure()
        # A rule may be about a size.
        for name, field in own_fields.items():
            if getattr(self, name) is not None:
                for rule in field.rules:
                    self._check_rule(name, rule)
        self.check()

    def __getstate__(self):
        # Without what is cached.
        return {name: getattr(self, name) for name in field_types(type(self))}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.__post_init__()

    def _measure(self):
        """Compare sizes of the same name, and make attributes of them."""
        sizes = {name: value for name, value in self.__getstate__().items() if type(value) is int}
        for name, field in field_types(type(self)).items():
            value = getattr(self, name)
            if value is None or not field.shape:
                continue
            found = value.shape if isinstance(value, np.ndarray) else (len(value),)
            for word, size in zip(field.shape.split(), found, strict=True):
                expected = int(word) if word.isdigit() else sizes.setdefault(word, size)
                wrong = f"{name} has the shape {found}, expected ({field.shape}): {word} is {expected}"
                self.require(size == expected, wrong)
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
def field_types(part_class: type) -> dict[str, FieldType]:
    """What each field of a class of parts may hold, in the order of the constructor."""
    hints = typing.get_type_hints(part_class, include_extras=True)
    return {field.name: _read_annotation(hints[field.name]) for field in fields(part_class)}


def _read_annotation(annotation):
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    arms = typing.get_args(annotation) if is_union else (annotation,)
    kinds = [arm for arm in arms if arm is not type(None)]
    extras = []
    if typing.get_origin(kinds[0]) is Annotated:
        extras += kinds[0].__metadata__
        kinds = [kinds[0].__origin__]
    # The type of an array comes first, then its shape, then the rules.
    array = extras.pop(0) if extras and isinstance(extras[0], ArrayOf) else None
    shape = extras.pop(0) if extras and isinstance(extras[0], str) else ""
    item = None
    if typing.get_origin(kinds[0]) is list:
        item = _read_annotation(typing.get_args(kinds[0])[0])
    return FieldType(tuple(kinds), type(None) in arms, array, item, shape, tuple(extras))


def _read_field(value, field, name):
    if value is None and field.optional:
        return None
    if field.array is not None:
        return _read_array(value, field.array, name)
    if field.item is not None:
        return _read_list(value, field.item, name)
    first = field.kinds[0]
    if first is Json:
        return plain_json(value, name)
    if first in _SCALARS:
        return _read_scalar(value, first, name)
    if not isinstance(value, field.kinds):
        wanted = " or ".join(kind.__name__ for kind in field.kinds)
        raise ValueError(f"{name} is a {type(value).__name__}, expected {wanted}")
    return value


def _read_list(value, item, name):
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"{name} is a {type(value).__name__}, expected a list")
    return [_read_field(one, item, f"{name}[{k}]") for k, one in enumerate(value)]


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
