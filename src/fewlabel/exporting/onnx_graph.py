"""A fitted model as an ONNX graph in double precision."""

import importlib
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

import fewlabel
from fewlabel import parts
from fewlabel.exceptions import ExportError
from fewlabel.exporting.flat_trees import flat_trees, search_tree
from fewlabel.exporting.rows import readable
from fewlabel.parts import FittedModel
from fewlabel.parts.cells import LARGEST_NUMBER
from fewlabel.parts.notations import NULL_TEXTS
from fewlabel.parts.trees import NO_CHILD

_ML = "ai.onnx.ml"
_OPSETS = {"": 20, _ML: 5}
_IR_VERSION = 10
_SPACES = r"[\s\x0b\x1c-\x1f\x85\p{Z}]*"  # what Python calls space
_SUM = 1  # of trees
_OPERATORS = {
    np.absolute: "Abs",
    np.add: "Add",
    np.clip: "Clip",
    np.divide: "Div",
    np.equal: "Equal",
    np.exp: "Exp",
    np.greater: "Greater",
    np.greater_equal: "GreaterOrEqual",
    np.isnan: "IsNaN",
    np.less: "Less",
    np.log: "Log",
    np.matmul: "MatMul",
    np.maximum: "Max",
    np.minimum: "Min",
    np.multiply: "Mul",
    np.negative: "Neg",
    np.power: "Pow",
    np.sqrt: "Sqrt",
    np.subtract: "Sub",
    np.where: "Where",
}


def require(package: str) -> Any:
    """Import a package that ONNX needs, or name the extra that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{package} is not installed, and ONNX files need it: pip install 'fewlabel[onnx]'"
        ) from error


class _Value(NDArrayOperatorsMixin):
    """A value of a graph: NumPy's functions of it add nodes, so that a formula of the model writes itself."""

    def __init__(self, graph, name):
        self.graph = graph
        self.name = name

    def through(self, formula):
        """The value of a formula at this one."""
        if type(formula) in _WRITERS:
            return _WRITERS[type(formula)](formula, self)
        if isinstance(formula, _WITHOUT_GRAPH):
            raise ExportError(
                f"ONNX cannot express the part {formula.kind!r} of the model: fit with methods that have none, such as "
                "--method 'extra trees' or AutoClassifier(['extra trees', 'logistic regression'])"
            )
        return formula.values_at(self)

    def then(self, operator, *others, **attributes):
        """The value of an operator at this one and others."""
        return self.graph.add(operator, self, *others, **attributes)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None):
        # Nothing is computed in place: what would be written to `out` is a value of its own.
        doubles = [one if isinstance(one, _Value) else np.asarray(one, dtype=np.float64) for one in inputs]
        return self.graph.add(_OPERATORS[ufunc], *doubles)

    def __array_function__(self, function, types, inputs, options):
        if function in _OPERATORS:
            return self.graph.add(_OPERATORS[function], *inputs)
        return _FUNCTIONS[function](self.graph, *inputs, **options)

    def __getitem__(self, places):
        """Columns."""
        _, columns = places
        return self.then("Gather", np.asarray(columns, dtype=np.int64), axis=1)

    def astype(self, dtype):
        return self.then("Cast", to=self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def smallest(self, k):
        """The k smallest values of each row and their positions, the smallest first."""
        values = self.then("TopK", np.array([k]), axis=1, largest=0, sorted=1, n_outputs=2)
        return values, _Value(self.graph, f"{values.name}_1")

    def rows_of(self, table):
        """The rows of a table at these places."""
        return self.graph.add("Gather", table, self)

    def nearest(self, rows, k):
        """As `fewlabel.parts.nearest.nearest_rows`."""
        n_candidates = min(2 * k, len(rows))
        rough = self @ (-2.0 * rows.T) + (rows**2).sum(axis=1)
        _, candidates = rough.smallest(n_candidates)
        # In the order of the rows: among equal distances the first row is kept.
        candidates, _ = candidates.smallest(n_candidates)
        differences = np.expand_dims(self, 1) - candidates.rows_of(rows)
        # Without the rounding errors of the search: the distance to an equal row is exactly 0.
        squares, places = np.sum(differences * differences, axis=2).smallest(k)
        return np.take_along_axis(candidates, places, axis=1), np.sqrt(squares)


class _Graph:
    """Nodes and constants under construction; the names of all values start with `own`."""

    def __init__(self, onnx, own):
        self.onnx = onnx
        self.own = own
        self.nodes = []
        self.constants = []

    def add(self, operator, *inputs, output=None, n_outputs=1, domain="", **attributes):
        """Add a node; return its first output, which has that name or one of its own.

        Inputs are values, or arrays and numbers, which become constants.
        """
        names = [value.name if isinstance(value, _Value) else self._constant(value) for value in inputs]
        first = output or self._free()
        outputs = [first, *(f"{first}_{k}" for k in range(1, n_outputs))]
        node = self.onnx.helper.make_node(operator, names, outputs, name=first, domain=domain, **attributes)
        self.nodes.append(node)
        return _Value(self, first)

    def _constant(self, value):
        name = self._free()
        tensor = self.onnx.numpy_helper.from_array(np.array(value, order="C"), name)
        self.constants.append(tensor)
        return name

    def _free(self):
        return f"{self.own}{len(self.nodes) + len(self.constants)}"

    def tensor(self, values):
        """An attribute that is an array."""
        return self.onnx.numpy_helper.from_array(values)


def onnx_model(model: FittedModel) -> Any:
    """The ONNX model that gives the label, probabilities and score of each row.

    Parameters
    ----------
    model : FittedModel

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        If ONNX cannot express a part of the model.
    ImportError
        If onnx is not installed.
    """
    onnx = require("onnx")
    names = [] if model.encoder is None else list(model.encoder.by_name)
    own = "value"
    while any(name.startswith(own) for name in names):
        own += "_"
    graph = _Graph(onnx, own)
    inputs, features = _inputs(graph, model)
    scores = model.score(features)
    outputs = _outputs(graph, model, scores, {*names, "X"})
    content = onnx.helper.make_graph(graph.nodes, "fewlabel", inputs, outputs, graph.constants)
    opsets = [onnx.helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    written = onnx.helper.make_model(content, opset_imports=opsets, ir_version=_IR_VERSION)
    written.producer_name = "fewlabel"
    written.producer_version = fewlabel.__version__
    onnx.checker.check_model(written)
    return written


def onnx_columns(model: FittedModel, table: Any) -> dict[str, np.ndarray]:
    """The inputs of the ONNX model for rows: numbers as float64 with NaN for gaps, texts as str with "" for gaps.

    Parameters
    ----------
    model : FittedModel
    table : dict of ndarray, or ndarray

    Returns
    -------
    dict of ndarray
    """
    if model.encoder is None:
        return {"X": np.asarray(table, dtype=np.float64)}
    inputs = {}
    for name, column in model.encoder.by_name.items():
        values = np.asarray(table[name])
        if isinstance(column, parts.CategoryColumn):
            texts = ["" if value is None else str(value) for value in values]
            inputs[name] = np.array(texts, dtype=object)[:, None]
        else:
            inputs[name] = values.astype(np.float64)[:, None]
    return inputs


def _inputs(graph, model):
    """The inputs of the graph, and the features made from them."""
    types = graph.onnx.TensorProto
    make = graph.onnx.helper.make_tensor_value_info
    if model.encoder is None:
        return [make("X", types.DOUBLE, [None, model.score.n_inputs])], _Value(graph, "X")
    inputs = []
    for name, column in model.encoder.by_name.items():
        is_text = isinstance(column, parts.CategoryColumn)
        inputs.append(make(name, types.STRING if is_text else types.DOUBLE, [None, 1]))
    blocks = []
    for column in model.encoder.columns:
        readable(column, "ONNX")
        if isinstance(column, parts.CategoryColumn):
            blocks.append(_categories(graph, column))
        else:
            blocks.append(_numbers(graph, column))
    return inputs, np.hstack(blocks)


def _numbers(graph, column):
    cells = _Value(graph, column.name)
    numbers = np.where(np.abs(cells) > LARGEST_NUMBER, np.nan, cells)
    flags = [cells == float(value) for value in column.special]
    for flag in flags:
        numbers = np.where(flag, np.nan, numbers)
    return np.hstack([numbers, *(flag.astype(np.float64) for flag in flags)])


def _categories(graph, column):
    places = column.places | dict.fromkeys(sorted(NULL_TEXTS), column.gap_place)
    cells = _Value(graph, column.name)
    attributes = dict(keys_strings=list(places), values_int64s=list(places.values()), default_int64=-1)
    place = cells.then("LabelEncoder", domain=_ML, **attributes)
    is_blank = cells.then("RegexFullMatch", pattern=_SPACES)
    place = is_blank.then("Where", np.array(column.gap_place), place)
    # No feature has the place -1 of a category that the fit did not see.
    return place.then("Equal", np.arange(column.n_outputs)[None]).astype(np.float64)


def _concat(graph, values):
    return graph.add("Concat", *values, axis=1)


def _nan_to_num(graph, value):
    # Infinite ones stay: formulas clip what they have made of NaN.
    return np.where(np.isnan(value), 0.0, value)


def _einsum(graph, equation, *values):
    return graph.add("Einsum", *values, equation=equation)


def _sum(graph, value, axis, keepdims=False):
    return graph.add("ReduceSum", value, np.array([axis]), keepdims=int(keepdims))


def _max(graph, value, axis, keepdims):
    return graph.add("ReduceMax", value, np.array([axis]), keepdims=int(keepdims))


def _take_along_axis(graph, values, places, axis):
    return graph.add("GatherElements", values, places, axis=axis)


def _searchsorted(graph, edges, value):
    # A tree finds the place faster than comparisons with all edges.
    tree = search_tree(0, edges, np.arange(len(edges) + 1.0), 0.0)
    return _trees(parts.Trees.join([tree], 1, np.zeros(1)), value).astype(np.int64)


def _expand_dims(graph, value, axis):
    return graph.add("Unsqueeze", value, np.array([axis]))


_FUNCTIONS = {
    np.einsum: _einsum,
    np.expand_dims: _expand_dims,
    np.hstack: _concat,
    np.max: _max,
    np.nan_to_num: _nan_to_num,
    np.searchsorted: _searchsorted,
    np.sum: _sum,
    np.take_along_axis: _take_along_axis,
}


def _trees(part, X):
    flat = flat_trees(part)
    return np.hstack([_ensemble(flat, k, X) for k in range(flat.n_outputs)])


def _ensemble(trees, k, X):
    """One output of a sum of trees."""
    is_leaf = trees.children[0] == NO_CHILD
    is_split = ~is_leaf
    # The operator has no trees of one leaf: these are part of the start.
    is_single = is_leaf[trees.roots]
    roots = trees.roots[~is_single]
    single = trees.roots[is_single]
    start = trees.start[k] + trees.value[single, k].sum()
    if not len(roots):
        return X[:, [0]] * 0.0 + start / trees.divisor
    # Splits and leaves are numbered apart.
    number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(is_split)) - 1
    left, right = trees.children[:, is_split]
    weights = trees.value[is_leaf, k]
    # The code of "left where the value is at most the split".
    at_most = np.zeros(len(left), dtype=np.uint8)
    attributes = {"n_targets": 1, "aggregate_function": _SUM, "tree_roots": number[roots]}
    attributes["nodes_featureids"] = trees.feature[is_split]
    attributes["nodes_splits"] = X.graph.tensor(trees.threshold[is_split])
    attributes["nodes_modes"] = X.graph.tensor(at_most)
    attributes["nodes_truenodeids"] = number[left]
    attributes["nodes_trueleafs"] = is_leaf[left].astype(int)
    attributes["nodes_falsenodeids"] = number[right]
    attributes["nodes_falseleafs"] = is_leaf[right].astype(int)
    attributes["nodes_missing_value_tracks_true"] = trees.missing_left[is_split].astype(int)
    attributes["leaf_targetids"] = np.zeros(len(weights), dtype=int)
    attributes["leaf_weights"] = X.graph.tensor(weights)
    sums = X.then("TreeEnsemble", domain=_ML, **attributes)
    return (sums + start) / trees.divisor


# What ONNX has another way for: comparisons of trees. All other parts write themselves.
_WRITERS = {
    parts.Steps: _trees,
    parts.SymmetricTrees: _trees,
    parts.Trees: _trees,
}
_WITHOUT_GRAPH = (parts.Opaque, parts.Paths, parts.Spreading)


def _outputs(graph, model, scores, taken):
    """Label, probabilities and score of each row."""
    names = {}
    for name in ("label", "probabilities", "score"):
        names[name] = name
        # An input may have this name.
        while names[name] in taken:
            names[name] += "_"
    n_classes = len(model.classes.names)
    towards = model.link.decisions(scores)
    probabilities = model.link.probabilities(towards)
    if model.score.n_outputs > 1:
        score_shape = [None, n_classes]
        decision = towards
        place = decision.then("ArgMax", axis=1, keepdims=0)
    else:
        score_shape = [None]
        flat = towards.then("Reshape", np.array([-1]))
        decision = flat
        # The decision function is for the second class.
        if model.positive == 0:
            probabilities = probabilities[:, [1, 0]]
            decision = -flat
        place = (decision > 0.0).astype(np.int64)
        if model.threshold is not None:
            place = np.where(flat > model.threshold, model.positive, 1 - model.positive)
    decision.then("Identity", output=names["score"])
    probabilities.then("Identity", output=names["probabilities"])
    classes = model.classes_
    if classes.dtype.kind in "OU":
        texts = [str(name) for name in classes]
        classes = np.array(texts, dtype=object)
    graph.add("Gather", classes, place, output=names["label"])
    kind = graph.constants[-1].data_type
    double = graph.onnx.TensorProto.DOUBLE
    make = graph.onnx.helper.make_tensor_value_info
    label = make(names["label"], kind, [None])
    probability = make(names["probabilities"], double, [None, n_classes])
    score = make(names["score"], double, score_shape)
    return [label, probability, score]
