"""Estimators of fewlabel as JSON: parameters and fitted attributes under their names.

Classes come from the closed list of the library. Values are numbers, texts, lists, tuples, dicts, arrays, parts and
estimators of fewlabel, those that JSON does not know with a tag. What a file holds is checked like the input of a user:
parameters by their constraints, attributes by the formula that they make up or by `_check_loaded`, where compiled code
uses them. Any other error while reading means that the file is damaged.
"""

import sys
from typing import Any

import numpy as np

import fewlabel
from fewlabel.parts import Part, formula_of, model_of
from fewlabel.persistence.archive import Arrays
from fewlabel.persistence.records import DEEPEST, read_float, read_part, write_float, write_part

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
    parameters: dict[str, Any] = {}
    fitted: dict[str, Any] = {}
    own = model.get_params(deep=False)
    for key, value in model.__getstate__().items():
        group = parameters if key in own else fitted
        group[key] = _write(value, arrays, f"{name}.{key}")
    return {"estimator": name, "parameters": parameters, "fitted": fitted}


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
        return {"tuple": _write(list(value), arrays, place)}
    if isinstance(value, dict):
        pairs = [list(pair) for pair in value.items()]
        return {"dict": _write(pairs, arrays, place)}
    if isinstance(value, np.ndarray):
        return _write_array(value, arrays, place)
    return _write_model(value, arrays, place)


def _write_array(array, arrays, place):
    kind = array.dtype.kind
    if kind == "V":
        return {"record": {name: arrays.add(array[name], shared=False) for name in array.dtype.names}}
    if kind == "O":
        return {"objects": _write(array.tolist(), arrays, place)}
    # Code points, so that a long text among many short ones takes no more space than in the file.
    if kind == "U":
        points = np.ascontiguousarray(array)[..., None].view(np.uint32)
        return {"texts": arrays.add(points, shared=False)}
    # Matrix products have other last bits in C order.
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        return {"transposed": arrays.add(array.T, shared=False)}
    return {"array": arrays.add(array, shared=False)}


def _write_model(value, arrays, place):
    part = getattr(value, "model_", value)
    if not isinstance(part, Part) and is_ours(value):
        return write_estimator(value, arrays)
    if not isinstance(part, Part):
        part = model_of(value) if hasattr(value, "classes_") else None
    if part is None:
        raise TypeError(f"{place} holds a {type(value).__name__}, which a model file cannot hold: {_INSTEAD}")
    return {"part": write_part(part, arrays)}


def read_estimator(value: dict[str, Any], arrays: dict[str, np.ndarray], depth: int = 0) -> Any:
    """The estimator that JSON describes.

    Raises
    ------
    Exception
        If it is not sound.
    """
    name = value["estimator"]
    if name not in fewlabel.ESTIMATORS or len(value) != 3:
        raise ValueError("an estimator is not one of fewlabel")
    estimator_class = getattr(fewlabel, name)
    parameters = {key: _read(held, arrays, depth + 1) for key, held in value["parameters"].items()}
    fitted = {key: _read(held, arrays, depth + 1) for key, held in value["fitted"].items()}
    if parameters.keys() != estimator_class().get_params(deep=False).keys():
        raise ValueError(f"the parameters of {name} are not those of this version")
    from fewlabel.foreign.scikit_learn import validate_parameters

    model = estimator_class(**parameters)
    validate_parameters(model)
    for key in fitted:
        if key.startswith("__") or callable(getattr(estimator_class, key, None)):
            raise ValueError(f"{key!r} is not what a fit learns")
    model.__setstate__(parameters | fitted)
    if fitted:
        _check_columns(**fitted)
        # Parts check the arrays that compiled code uses.
        formula_of(model, 1)
        getattr(model, "_check_loaded", lambda: None)()
    return model


def _check_columns(n_features_in_=0, feature_names_in_=None, **_):
    """Number and names of the columns fit each other: they are compared with those of a table."""
    if type(n_features_in_) is not int or n_features_in_ < 0:
        raise ValueError("the number of columns is not one")
    if feature_names_in_ is not None and feature_names_in_.shape != (n_features_in_,):
        raise ValueError("there is not one name per column")


def _read(value, arrays, depth):
    if depth > DEEPEST:
        raise ValueError(f"values are nested deeper than {DEEPEST} levels")
    if isinstance(value, list):
        return [_read(one, arrays, depth + 1) for one in value]
    if not isinstance(value, dict):
        return value
    if "estimator" in value:
        return read_estimator(value, arrays, depth)
    [(tag, content)] = value.items()
    # An array belongs to one attribute alone, as a fit that continues changes it in place.
    if tag == "array":
        return arrays.pop(content)
    if tag == "transposed":
        return arrays.pop(content).T
    if tag == "texts":
        return _as_texts(arrays.pop(content))
    if tag == "record":
        return _as_record({name: arrays.pop(member) for name, member in content.items()})
    if tag == "part":
        return read_part(content, arrays, depth)
    if tag == "float":
        return float(read_float(content))
    return _CONTAINERS[tag](_read(content, arrays, depth + 1))


def _as_record(columns):
    first, *_ = columns.values()
    record = np.empty(first.shape, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        record[name] = column.reshape(first.shape)
    return record


def _as_texts(points):
    if points.dtype != np.uint32 or points.max(initial=0) > sys.maxunicode:
        raise ValueError("a text has a character that there is not")
    return points.view(f"U{points.shape[-1]}")[..., 0]


def _as_objects(values):
    # Of one dimension, as None is no list.
    return np.array([*values, None], dtype=object)[:-1]


_CONTAINERS = {"dict": dict, "objects": _as_objects, "tuple": tuple}
