"""A fitted model as an ONNX graph in double precision."""

import importlib
from typing import Any

import numpy as np

import fewlabel
from fewlabel import parts
from fewlabel.exceptions import ExportError
from fewlabel.export.flat_trees import flat_trees, search_tree
from fewlabel.export.rows import readable
from fewlabel.parts import FittedModel, Formula
from fewlabel.parts.notations import NULL_TEXTS
from fewlabel.parts.numbers import LARGEST_SCORE, RANK_EDGE
from fewlabel.parts.trees import NO_CHILD
from fewlabel.parts.views import LEAST_WEIGHT, SOFT_LIMIT

_ML = "ai.onnx.ml"
_OPSETS = {"": 20, _ML: 5}
_IR_VERSION = 10
_SPACES = r"[\s\x0b\x1c-\x1f\x85\p{Z}]*"  # what Python calls space
_SUM = 1  # of trees


def require(package: str) -> Any:
    """Import a package that ONNX needs, or name the extra that installs it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{package} is not installed, and ONNX files need it: pip install 'fewlabel[onnx]'"
        ) from error


class _Graph:
    """Nodes and constants under construction; the names of all values start with `own`."""

    def __init__(self, onnx, own):
        self.onnx = onnx
        self.own = own
        self.nodes = []
        self.constants = []

    def add(self, operator, *inputs, output=None, domain="", **attributes):
        """Add a node; return the name of its output. Inputs are names, or arrays and numbers, which become constants.

        Without an output of that name, the output has a name of its own.
        """
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        output = output or self._free()
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], domain=domain, **attributes))
        return output

    def constant(self, value):
        name = self._free()
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def _free(self):
        return f"{self.own}{len(self.nodes) + len(self.constants)}"

    def tensor(self, values):
        """An attribute that is an array."""
        return self.onnx.numpy_helper.from_array(values)

    def to_double(self, name):
        return self.add("Cast", name, to=self.onnx.TensorProto.DOUBLE)

    def to_integer(self, name):
        return self.add("Cast", name, to=self.onnx.TensorProto.INT64)

    def beside(self, names, **options):
        return self.add("Concat", *names, axis=1, **options)

    def columns(self, name, columns):
        return self.add("Gather", name, np.asarray(columns, dtype=np.int64), axis=1)

    def total(self, name):
        return self.add("ReduceSum", name, np.array([1]), keepdims=1)

    def smallest(self, name, k):
        """The k smallest values of each row and their positions, the smallest first."""
        inputs = [name, self.constant(np.array([k]))]
        values = self._free()
        positions = f"{values}_at"
        attributes = dict(axis=1, largest=0, sorted=1)
        self.nodes.append(self.onnx.helper.make_node("TopK", inputs, [values, positions], **attributes))
        return values, positions


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
    scores = _values(graph, model.score, features)
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
        return [make("X", types.DOUBLE, [None, model.score.n_inputs])], "X"
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
    return inputs, graph.beside(blocks)


def _numbers(graph, column):
    numbers = graph.add("Where", graph.add("IsInf", column.name), np.nan, column.name)
    if isinstance(column, parts.TextNumberColumn):
        numbers = graph.to_double(graph.add("Cast", numbers, to=graph.onnx.TensorProto.FLOAT))
    return numbers


def _categories(graph, column):
    places = {}
    for category, features in zip(column.categories, column.encode(column.categories)):
        if features.any():
            places[category] = int(features.argmax())
    gap = column.gap()
    gap_place = int(gap.argmax()) if gap.any() else -1
    places.update(dict.fromkeys(sorted(NULL_TEXTS), gap_place))
    attributes = dict(keys_strings=list(places), values_int64s=list(places.values()), default_int64=-1)
    place = graph.add("LabelEncoder", column.name, domain=_ML, **attributes)
    is_blank = graph.add("RegexFullMatch", column.name, pattern=_SPACES)
    place = graph.add("Where", is_blank, np.array(gap_place), place)
    return graph.to_double(graph.add("Equal", place, np.arange(column.n_outputs)[None]))


def _values(graph, formula: Formula, X: str) -> str:
    """Add the nodes of a formula; return the name of its values."""
    write = _WRITERS.get(type(formula))
    if write is None:
        raise ExportError(
            f"ONNX cannot express the part {formula.kind!r} of the model: fit with methods that have none, such as "
            "--method 'extra trees' or AutoClassifier(['extra trees', 'logistic regression'])"
        )
    return write(graph, formula, X)


def _chain(graph, part, X):
    for step in part.steps:
        X = _values(graph, step, X)
    return X


def _sum(graph, part, X):
    total = np.zeros((1, part.n_outputs))
    for weight, term in zip(part.weights, part.terms):
        weighted = graph.add("Mul", weight, _values(graph, term, X))
        total = graph.add("Add", total, weighted)
    return total


def _beside(graph, part, X):
    return graph.beside([_values(graph, block, X) for block in part.blocks])


def _select(graph, part, X):
    return graph.columns(X, part.columns)


def _linear(graph, part, X):
    return graph.add("Add", graph.add("MatMul", X, part.coef.T.copy()), part.intercept)


def _components(graph, part, X):
    return graph.add("MatMul", graph.add("Sub", X, part.center), part.axes)


def _fill_and_scale(graph, part, X):
    gaps = graph.add("IsNaN", X)
    filled = graph.add("Where", gaps, part.fill, X)
    if len(part.flagged):
        flags = graph.to_double(graph.columns(gaps, part.flagged))
        filled = graph.beside([filled, flags])
    scaled = graph.add("Div", graph.add("Sub", filled, part.mean), part.spread)
    size = graph.add("Div", scaled, SOFT_LIMIT)
    size = graph.add("Add", graph.add("Mul", size, size), 1.0)
    return graph.add("Div", scaled, graph.add("Sqrt", size))


def _gaussian_kernel(graph, part, X):
    squares = graph.add("Mul", graph.add("MatMul", X, part.rows.T.copy()), -2.0)
    squares = graph.add("Add", squares, graph.total(graph.add("Mul", X, X)))
    squares = graph.add("Add", squares, (part.rows**2).sum(axis=1))
    squares = graph.add("Max", squares, 0.0)
    return graph.add("Exp", graph.add("Mul", squares, -part.gamma))


def _polynomial_kernel(graph, part, X):
    products = graph.add("MatMul", X, part.gamma * part.rows.T)
    return graph.add("Pow", graph.add("Add", products, part.shift), float(part.degree))


def _pairs_of_classes(graph, part, X):
    first, second = np.triu_indices(part.n_outputs, 1)
    of_first = np.eye(part.n_outputs)[first]
    of_second = np.eye(part.n_outputs)[second]
    loses = graph.to_double(graph.add("Less", X, 0.0))
    wins = graph.add("Add", graph.add("MatMul", loses, of_second - of_first), of_first.sum(axis=0))
    margins = graph.add("MatMul", X, of_first - of_second)
    size = graph.add("Mul", graph.add("Add", graph.add("Abs", margins), 1.0), 3.0)
    return graph.add("Add", wins, graph.add("Div", margins, size))


def _gaussian_bayes(graph, part, X):
    constants = part.log_priors - 0.5 * np.log(2.0 * np.pi * part.variances).sum(axis=1)
    rows = graph.add("Unsqueeze", X, np.array([1]))
    differences = graph.add("Sub", rows, part.means)
    squares = graph.add("Div", graph.add("Mul", differences, differences), part.variances)
    halves = graph.add("Mul", graph.add("ReduceSum", squares, np.array([2]), keepdims=0), 0.5)
    return graph.add("Softmax", graph.add("Sub", constants, halves), axis=1)


def _nearest(graph, rows, X, k):
    """Positions and squared distances of the nearest reference rows, as `fewlabel.parts.nearest.nearest_rows`."""
    n_candidates = min(2 * k, len(rows))
    rough = graph.add("MatMul", X, -2.0 * rows.T)
    rough = graph.add("Add", rough, (rows**2).sum(axis=1))
    candidates = graph.smallest(rough, n_candidates)[1]
    candidates = graph.smallest(candidates, n_candidates)[0]  # among equal distances the first row is kept
    differences = graph.add("Sub", graph.add("Unsqueeze", X, np.array([1])), graph.add("Gather", rows, candidates))
    # Without the rounding errors of the search: the distance to an equal row is exactly 0.
    squares = graph.add("ReduceSum", graph.add("Mul", differences, differences), np.array([2]), keepdims=0)
    kept, places = graph.smallest(squares, k)
    return graph.add("GatherElements", candidates, places, axis=1), kept


def _smooth(graph, part, X):
    found, squares = _nearest(graph, part.rows, X, part.n_neighbors)
    widths = graph.add("Gather", part.width, found)
    ratios = graph.add("Div", graph.add("Sqrt", squares), widths)
    weights = graph.add("Exp", graph.add("Neg", graph.add("Mul", ratios, ratios)))
    weights = graph.add("Add", weights, LEAST_WEIGHT)
    weights = graph.add("Where", graph.add("Equal", squares, 0.0), LEAST_WEIGHT, weights)
    weights = graph.add("Div", weights, graph.total(weights))
    return _weighted(graph, weights, graph.add("Gather", part.functions, found))


def _neighbors(graph, part, X):
    found, squares = _nearest(graph, part.rows, X, part.n_neighbors)
    same = graph.to_double(graph.add("Equal", squares, 0.0))
    is_known = graph.add("Greater", graph.total(same), 0.0)
    weights = graph.add("Where", is_known, same, graph.add("Reciprocal", graph.add("Sqrt", squares)))
    of_class = np.eye(part.n_outputs)[part.codes]
    shares = _weighted(graph, weights, graph.add("Gather", of_class, found))
    return graph.add("Div", shares, graph.total(shares))


def _weighted(graph, weights, values):
    """Sum over neighbors of their values, each with its weight."""
    products = graph.add("Mul", values, graph.add("Unsqueeze", weights, np.array([2])))
    return graph.add("ReduceSum", products, np.array([1]), keepdims=0)


def _trees(graph, part, X):
    flat = flat_trees(part)
    outputs = [_ensemble(graph, flat, k, X) for k in range(flat.n_outputs)]
    return outputs[0] if len(outputs) == 1 else graph.beside(outputs)


def _ensemble(graph, trees, k, X):
    """One output of a sum of trees."""
    is_leaf = trees.children[0] == NO_CHILD
    roots = trees.roots[~is_leaf[trees.roots]]
    start = trees.start[k] + trees.value[trees.roots[is_leaf[trees.roots]], k].sum()
    if not len(roots):
        return graph.add("Add", graph.add("Mul", graph.columns(X, [0]), 0.0), start / trees.divisor)
    leaf_number = np.cumsum(is_leaf) - 1
    split_number = np.cumsum(~is_leaf) - 1
    number = np.where(is_leaf, leaf_number, split_number)
    left, right = trees.children[:, ~is_leaf]
    n_splits = len(left)
    sums = graph.add(
        "TreeEnsemble",
        X,
        domain=_ML,
        n_targets=1,
        aggregate_function=_SUM,
        tree_roots=number[roots],
        nodes_featureids=trees.feature[~is_leaf],
        nodes_splits=graph.tensor(trees.threshold[~is_leaf]),
        nodes_modes=graph.tensor(np.zeros(n_splits, dtype=np.uint8)),  # left where the value is at most the split
        nodes_truenodeids=number[left],
        nodes_trueleafs=is_leaf[left].astype(int),
        nodes_falsenodeids=number[right],
        nodes_falseleafs=is_leaf[right].astype(int),
        nodes_missing_value_tracks_true=trees.missing_left[~is_leaf].astype(int),
        leaf_targetids=np.zeros(is_leaf.sum(), dtype=int),
        leaf_weights=graph.tensor(trees.value[is_leaf, k]),
    )
    return graph.add("Div", graph.add("Add", sums, start), float(trees.divisor))


def _ranks(graph, part, X):
    known = graph.add("Where", graph.add("IsNaN", X), 0.0, X)
    scores = graph.add("Clip", known, -LARGEST_SCORE, LARGEST_SCORE)
    outputs = []
    for k in range(part.n_outputs):
        own = slice(part.starts[k], part.starts[k + 1])
        outputs.append(_rank(graph, graph.columns(scores, [k]), part.scores[own], part.ranks[own]))
    return outputs[0] if len(outputs) == 1 else graph.beside(outputs)


def _rank(graph, column, levels, ranks):
    inside = _interpolate(graph, column, levels, ranks)
    width = levels[-1] - levels[0] + 1e-300
    above = graph.add("Max", graph.add("Sub", column, levels[-1]), 0.0)
    below = graph.add("Max", graph.add("Sub", levels[0], column), 0.0)
    high = graph.add("Mul", graph.add("Div", above, graph.add("Add", above, width)), 1 - ranks[-1])
    low = graph.add("Mul", graph.add("Div", below, graph.add("Add", below, width)), ranks[0])
    return graph.add("Sub", graph.add("Add", inside, high), low)


def _interpolate(graph, column, levels, ranks):
    if len(levels) == 1:
        return graph.add("Add", graph.add("Mul", column, 0.0), ranks[0])
    column = graph.add("Clip", column, levels[0], levels[-1])
    # A tree finds the level above each score faster than comparisons with all of them.
    tree = search_tree(0, levels[1:-1], np.arange(1.0, len(levels)), 1.0)
    place = graph.to_integer(_trees(graph, parts.Trees.join([tree], 1, np.zeros(1)), column))
    before = graph.add("Sub", place, np.array(1))
    start = graph.add("Gather", levels, before)
    share = graph.add("Sub", column, start)
    share = graph.add("Div", share, graph.add("Sub", graph.add("Gather", levels, place), start))
    rank = graph.add("Gather", ranks, before)
    rise = graph.add("Sub", graph.add("Gather", ranks, place), rank)
    return graph.add("Add", rank, graph.add("Mul", share, rise))


def _log_odds(graph, part, X):
    shares = graph.add("Clip", X, RANK_EDGE, 1 - RANK_EDGE)
    return graph.add("Log", graph.add("Div", shares, graph.add("Sub", 1.0, shares)))


_WRITERS = {
    parts.Beside: _beside,
    parts.Chain: _chain,
    parts.Components: _components,
    parts.FillAndScale: _fill_and_scale,
    parts.GaussianBayes: _gaussian_bayes,
    parts.GaussianKernel: _gaussian_kernel,
    parts.Linear: _linear,
    parts.LogOdds: _log_odds,
    parts.Neighbors: _neighbors,
    parts.PairsOfClasses: _pairs_of_classes,
    parts.PolynomialKernel: _polynomial_kernel,
    parts.Ranks: _ranks,
    parts.Select: _select,
    parts.Smooth: _smooth,
    parts.Steps: _trees,
    parts.SymmetricTrees: _trees,
    parts.Trees: _trees,
    parts.WeightedSum: _sum,
}


def _outputs(graph, model, scores, taken):
    """Label, probabilities and score of each row."""
    names = {}
    for name in ("label", "probabilities", "score"):
        names[name] = name
        while names[name] in taken:
            names[name] += "_"
    types = graph.onnx.TensorProto
    make = graph.onnx.helper.make_tensor_value_info
    n_classes = len(model.classes.names)
    if model.score.n_outputs == 1:
        place, score_shape = _two_classes(graph, model, scores, names), [None]
    else:
        place, score_shape = _many_classes(graph, model, scores, names), [None, n_classes]
    classes = model.classes_
    if classes.dtype.kind in "OU":
        classes = np.array([str(name) for name in classes], dtype=object)
    graph.add("Gather", classes, place, output=names["label"])
    kind = graph.constants[-1].data_type
    return [
        make(names["label"], kind, [None]),
        make(names["probabilities"], types.DOUBLE, [None, n_classes]),
        make(names["score"], types.DOUBLE, score_shape),
    ]


def _two_classes(graph, model, scores, names):
    """Add probabilities and score; return the position of the class of each row."""
    towards = graph.add("Add", scores, model.link.offset)
    margin = graph.add("Add", graph.add("Mul", towards, model.link.slope), model.link.intercept)
    positive = graph.add("Sigmoid", margin)
    negative = graph.add("Sigmoid", graph.add("Neg", margin))
    is_first = model.positive == 0
    graph.beside([positive, negative] if is_first else [negative, positive], output=names["probabilities"])
    flat = graph.add("Reshape", towards, np.array([-1]))
    decision = graph.add("Neg" if is_first else "Identity", flat, output=names["score"])
    if model.cut is None:
        return graph.to_integer(graph.add("Greater", decision, 0.0))
    is_positive = graph.add("Greater", flat, model.cut)
    return graph.add("Where", is_positive, np.array(model.positive), np.array(1 - model.positive))


def _many_classes(graph, model, scores, names):
    """As `_two_classes`, with one score per class."""
    link = model.link
    if isinstance(link, parts.Sigmoids):
        decision = graph.add("Add", scores, link.offset)
        probability = graph.add("Sigmoid", graph.add("Add", graph.add("Mul", decision, link.slope), link.intercept))
        probability = graph.add("Div", probability, graph.total(probability), output=names["probabilities"])
        score = graph.add("Log", probability, output=names["score"])
    else:
        score = graph.add("Identity", scores, output=names["score"])
        if isinstance(link, parts.Softmax):
            graph.add("Softmax", graph.add("Mul", scores, link.slope), axis=1, output=names["probabilities"])
        else:
            graph.add("Identity", scores, output=names["probabilities"])
    return graph.add("ArgMax", score, axis=1, keepdims=0)
