"""Estimators of fewlabel as JSON: parameters and fitted attributes under their names.

Classes come from the closed list of the library. Values are numbers, texts, lists, tuples, dicts, arrays, parts and
estimators of fewlabel, each other kind with a tag. What a file holds is checked like the input of a user: parameters by
their constraints, attributes by the formula that they make up or by `_check_loaded`, where compiled code uses them.
"""

from typing import Any

import numpy as np

import fewlabel
from fewlabel.parts import FittedModel, Part, formula_of, model_of
from fewlabel.persistence.archive import Arrays
from fewlabel.persistence.records import DEEPEST, named_array, read_float, read_part, write_float, write_part

_INSTEAD = "save it with skops.io.dump or joblib.dump, which keep any estimator"


def is_ours(model: Any) -> bool:
    """Whether a model is an estimator of the closed list, and not of a subclass."""
    name = type(model).__name__
    return name in fewlabel.ESTIMATORS and type(model) is getattr(fewlabel, name)


def write_estimator(model: Any, arrays: Arrays) -> dict[str, Any]:
    """An estimator as JSON; its arrays are added to those of the file.

    Raises
    ------
    TypeError
        If it is not one of fewlabel, or holds something that files cannot hold.
    """
    name = type(model).__name__
    if not is_ours(model):
        raise TypeError(f"{name} is not an estimator of fewlabel: {_INSTEAD}")
    parameters = model.get_params(deep=False)
    state = model.__getstate__()
    fitted = {key: value for key, value in state.items() if key not in parameters}
    written = {"estimator": name}
    for group, values in (("parameters", parameters), ("fitted", fitted)):
        written[group] = {key: _write(value, arrays, f"{name}.{key}") for key, value in values.items()}
    return written


def _write(value, arrays, place):
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        written = write_float(value)
        return {"float": written} if isinstance(written, str) else written
    if isinstance(value, list):
        return [_write(one, arrays, place) for one in value]
    if isinstance(value, tuple):
        return {"tuple": [_write(one, arrays, place) for one in value]}
    if isinstance(value, dict):
        return {"dict": [[_write(one, arrays, place) for one in pair] for pair in value.items()]}
    if isinstance(value, np.ndarray):
        return _write_array(value, arrays, place)
    return _write_model(value, arrays, place)


def _write_array(array, arrays, place):
    if array.dtype.names:
        return {"record": {name: arrays.add(array[name], shared=False) for name in array.dtype.names}}
    if array.dtype.kind in "OU":
        tag = "objects" if array.dtype.kind == "O" else "texts"
        return {tag: _write(array.tolist(), arrays, place)}
    if array.flags.f_contiguous and not array.flags.c_contiguous:  # matrix products have other last bits in C order
        return {"transposed": arrays.add(array.T, shared=False)}
    return {"array": arrays.add(array, shared=False)}


def _write_model(value, arrays, place):
    model = getattr(value, "model_", value)
    if isinstance(model, Part):
        return {"part": write_part(model, arrays)}
    if is_ours(value):
        return write_estimator(value, arrays)
    part = model_of(value) if hasattr(value, "classes_") else None
    if part is None:
        raise TypeError(f"{place} holds a {type(value).__name__}, which a model file cannot hold: {_INSTEAD}")
    return {"part": write_part(part, arrays)}


def read_estimator(value: dict[str, Any], arrays: dict[str, np.ndarray], depth: int = 0) -> Any:
    """The estimator that JSON describes.

    Raises
    ------
    ValueError
        If it is not sound.
    """
    if value.keys() != {"estimator", "parameters", "fitted"} or value["estimator"] not in fewlabel.ESTIMATORS:
        raise ValueError("an estimator is not one of fewlabel")
    estimator_class = getattr(fewlabel, value["estimator"])
    parameters, fitted = (_read_names(value[group], arrays, depth) for group in ("parameters", "fitted"))
    model = estimator_class()
    if parameters.keys() != model.get_params(deep=False).keys():
        raise ValueError(f"the parameters of {value['estimator']} are not those of this version")
    model = estimator_class(**parameters)
    model._validate_params()
    wrong = [name for name in fitted if name.startswith("__") or callable(getattr(estimator_class, name, None))]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is not what a fit learns")
    model.__setstate__({**vars(model), **fitted})
    _check_columns(model)
    if fitted:
        formula_of(model, 1)  # parts check the arrays that compiled code uses
        getattr(model, "_check_loaded", lambda: None)()
    return model


def _check_columns(model):
    """Number and names of the columns fit each other: they are compared with those of a table."""
    n_columns = vars(model).get("n_features_in_", 0)
    names = vars(model).get("feature_names_in_")
    if type(n_columns) is not int or n_columns < 0 or (names is not None and np.shape(names) != (n_columns,)):
        raise ValueError("the columns of the fit are damaged")


def _read_names(values, arrays, depth):
    if not isinstance(values, dict):
        raise ValueError("names and values were expected")
    return {name: _read(value, arrays, depth + 1) for name, value in values.items()}


def _read(value, arrays, depth):
    if depth > DEEPEST:
        raise ValueError(f"values are nested deeper than {DEEPEST} levels")
    if isinstance(value, list):
        return [_read(one, arrays, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if "estimator" in value:
        return read_estimator(value, arrays, depth)
    if len(value) != 1:
        raise ValueError("a value has no tag")
    [(tag, content)] = value.items()
    if tag not in _READERS:
        raise ValueError(f"values with the tag {tag[:40]!r} are not known")
    return _READERS[tag](content, arrays, depth)


def _read_float(content, arrays, depth):
    found = read_float(content)
    if not isinstance(found, float):
        raise ValueError("a number is not one")
    return found


def _read_list(content, arrays, depth):
    if not isinstance(content, list):
        raise ValueError("a list was expected")
    return _read(content, arrays, depth)


def _read_tuple(content, arrays, depth):
    return tuple(_read_list(content, arrays, depth))


def _read_dict(content, arrays, depth):
    pairs = _read_list(content, arrays, depth)
    if any(type(pair) is not list or len(pair) != 2 for pair in pairs):
        raise ValueError("a dict is not made of pairs")
    return dict(pairs)


def _read_objects(content, arrays, depth):
    values = _read_list(content, arrays, depth)
    if any(isinstance(value, (list, tuple, np.ndarray)) for value in values):
        raise ValueError("an array of objects has more than one dimension")
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def _read_texts(content, arrays, depth):
    values = _read_list(content, arrays, depth)
    if not all(isinstance(value, str) for value in values):
        raise ValueError("an array of texts holds something else")
    return np.array(values, dtype=np.str_)


def _read_array(content, arrays, depth):
    return _own(content, arrays)


def _read_transposed(content, arrays, depth):
    return _own(content, arrays).T


def _own(name, arrays):
    """An array that belongs to one attribute alone: a fit that continues changes it in place."""
    found = named_array(name, arrays)
    del arrays[name]
    return found


def _read_record(content, arrays, depth):
    if not isinstance(content, dict) or not content:
        raise ValueError("a record has no fields")
    columns = {name: _own(member, arrays) for name, member in content.items()}
    if len({column.shape for column in columns.values()}) != 1:
        raise ValueError("the fields of a record differ in shape")
    first = next(iter(columns.values()))
    found = np.empty(first.shape, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        found[name] = column
    return found


def _read_model(content, arrays, depth):
    part = read_part(content, arrays, depth)
    if not isinstance(part, FittedModel) and not hasattr(part, "names"):
        raise ValueError(f"a part of kind {part.kind!r} is no model")
    return part


_READERS = {
    "array": _read_array,
    "dict": _read_dict,
    "float": _read_float,
    "objects": _read_objects,
    "part": _read_model,
    "record": _read_record,
    "texts": _read_texts,
    "transposed": _read_transposed,
    "tuple": _read_tuple,
}
