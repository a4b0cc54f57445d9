"""A fitted model as an ONNX graph in double precision."""

import importlib
from typing import Any

import numpy as np

import fewlabel
from fewlabel import parts
from fewlabel.exceptions import ExportError
from fewlabel.exporting.flat_trees import flat_trees, search_tree
from fewlabel.exporting.rows import readable
from fewlabel.parts import FittedModel, Formula
from fewlabel.parts.cells import LARGEST_NUMBER
from fewlabel.parts.notations import NULL_TEXTS
from fewlabel.parts.numbers import LARGEST_DISTANCE, LARGEST_SCORE, RANK_EDGE
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


class _Value:
    """A value of a graph: operators on it add nodes."""

    __array_ufunc__ = None  # an array on the left leaves the operator to this class

    def __init__(self, graph, name):
        self.graph = graph
        self.name = name

    def then(self, operator, *others, **attributes):
        """The value of an operator at this one and others."""
        return self.graph.add(operator, self, *others, **attributes)

    def __add__(self, other):
        return self.then("Add", other)

    def __radd__(self, other):
        return self.graph.add("Add", other, self)

    def __sub__(self, other):
        return self.then("Sub", other)

    def __rsub__(self, other):
        return self.graph.add("Sub", other, self)

    def __mul__(self, other):
        return self.then("Mul", other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self.then("Div", other)

    def __matmul__(self, other):
        return self.then("MatMul", other)

    def __neg__(self):
        return self.then("Neg")

    def double(self):
        return self.then("Cast", to=self.graph.onnx.TensorProto.DOUBLE)

    def integer(self):
        return self.then("Cast", to=self.graph.onnx.TensorProto.INT64)

    def columns(self, columns):
        return self.then("Gather", np.asarray(columns, dtype=np.int64), axis=1)

    def total(self, axis=1, keep=True):
        return self.then("ReduceSum", np.array([axis]), keepdims=int(keep))

    def smallest(self, k):
        """The k smallest values of each row and their positions, the smallest first."""
        values = self.then("TopK", np.array([k]), axis=1, largest=0, sorted=1, n_outputs=2)
        return values, _Value(self.graph, f"{values.name}_1")


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
        tensor = self.onnx.numpy_helper.from_array(np.asarray(value), name)
        self.constants.append(tensor)
        return name

    def _free(self):
        return f"{self.own}{len(self.nodes) + len(self.constants)}"

    def tensor(self, values):
        """An attribute that is an array."""
        return self.onnx.numpy_helper.from_array(values)

    def beside(self, values, **options):
        return self.add("Concat", *values, axis=1, **options)


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
    return inputs, graph.beside(blocks)


def _numbers(graph, column):
    cells = _Value(graph, column.name)
    numbers = cells.then("Abs").then("Greater", LARGEST_NUMBER).then("Where", np.nan, cells)
    flags = [cells.then("Equal", float(value)) for value in column.special]
    for flag in flags:
        numbers = flag.then("Where", np.nan, numbers)
    return graph.beside([numbers, *(flag.double() for flag in flags)]) if flags else numbers


def _categories(graph, column):
    places = {}
    for category, features in zip(column.categories, column.encode(column.categories)):
        if features.any():
            places[category] = int(features.argmax())
    gap = column.gap()
    gap_place = int(gap.argmax()) if gap.any() else -1
    places.update(dict.fromkeys(sorted(NULL_TEXTS), gap_place))
    cells = _Value(graph, column.name)
    attributes = dict(keys_strings=list(places), values_int64s=list(places.values()), default_int64=-1)
    place = cells.then("LabelEncoder", domain=_ML, **attributes)
    is_blank = cells.then("RegexFullMatch", pattern=_SPACES)
    place = is_blank.then("Where", np.array(gap_place), place)
    # No feature has the place -1 of a category that the fit did not see.
    return place.then("Equal", np.arange(column.n_outputs)[None]).double()


def _values(graph: _Graph, formula: Formula, X: _Value) -> _Value:
    """The values of a formula."""
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
        total = total + weight * _values(graph, term, X)
    return total


def _beside(graph, part, X):
    return graph.beside([_values(graph, block, X) for block in part.blocks])


def _select(graph, part, X):
    return X.columns(part.columns)


def _linear(graph, part, X):
    return X @ part.coef.T.copy() + part.intercept


def _components(graph, part, X):
    return (X - part.center) @ part.axes


def _fill_and_scale(graph, part, X):
    gaps = X.then("IsNaN")
    filled = gaps.then("Where", part.fill, X)
    if len(part.flagged):
        flags = gaps.columns(part.flagged).double()
        filled = graph.beside([filled, flags])
    # In the order of the formula: trees compare these numbers to the last bit.
    scaled = (filled - part.mean) / part.spread
    size = scaled / SOFT_LIMIT
    size = size * size + 1.0
    return scaled / size.then("Sqrt")


def _gaussian_kernel(graph, part, X):
    squares = (X @ part.rows.T.copy()) * -2.0
    squares = squares + (X * X).total()
    squares = squares + (part.rows**2).sum(axis=1)
    squares = squares.then("Max", 0.0)
    return (squares * -part.gamma).then("Exp")


def _polynomial_kernel(graph, part, X):
    products = X @ (part.gamma * part.rows.T)
    return (products + part.shift).then("Pow", float(part.degree))


def _pairs_of_classes(graph, part, X):
    first, second = np.triu_indices(part.n_outputs, 1)
    of_first = np.eye(part.n_outputs)[first]
    of_second = np.eye(part.n_outputs)[second]
    loses = X.then("Less", 0.0).double()
    wins = loses @ (of_second - of_first) + of_first.sum(axis=0)
    margins = X @ (of_first - of_second)
    size = margins.then("Abs") + 1.0
    return wins + margins / (size * 3.0)


def _gaussian_bayes(graph, part, X):
    constants = part.log_priors - 0.5 * np.log(2.0 * np.pi * part.variances).sum(axis=1)
    differences = X.then("Unsqueeze", np.array([1])) - part.means
    squares = differences * differences / part.variances
    logs = constants - squares.total(axis=2, keep=False) * 0.5
    return logs.then("Softmax", axis=1)


def _nearest(graph, rows, X, k):
    """Positions and squared distances of the nearest reference rows, as `fewlabel.parts.nearest.nearest_rows`."""
    n_candidates = min(2 * k, len(rows))
    rough = X @ (-2.0 * rows.T) + (rows**2).sum(axis=1)
    _, candidates = rough.smallest(n_candidates)
    # In the order of the rows: among equal distances the first row is kept.
    candidates, _ = candidates.smallest(n_candidates)
    differences = X.then("Unsqueeze", np.array([1])) - graph.add("Gather", rows, candidates)
    # Without the rounding errors of the search: the distance to an equal row is exactly 0.
    squares = (differences * differences).total(axis=2, keep=False)
    kept, places = squares.smallest(k)
    return candidates.then("GatherElements", places, axis=1), kept


def _smooth(graph, part, X):
    found, squares = _nearest(graph, part.rows, X, part.n_neighbors)
    ratios = squares.then("Sqrt") / graph.add("Gather", part.width, found)
    weights = (-(ratios * ratios)).then("Exp") + LEAST_WEIGHT
    # A reference row does not count as its own neighbor.
    weights = squares.then("Equal", 0.0).then("Where", LEAST_WEIGHT, weights)
    weights = weights / weights.total()
    return _weighted(weights, graph.add("Gather", part.functions, found))


def _neighbors(graph, part, X):
    found, squares = _nearest(graph, part.rows, X, part.n_neighbors)
    same = squares.then("Equal", 0.0).double()
    is_known = same.total().then("Greater", 0.0)
    # Equal rows alone decide, if there are any.
    weights = is_known.then("Where", same, squares.then("Sqrt").then("Reciprocal"))
    of_class = np.eye(part.n_outputs)[part.codes]
    shares = _weighted(weights, graph.add("Gather", of_class, found))
    return shares / shares.total()


def _weighted(weights, values):
    """Sum over neighbors of their values, each with its weight."""
    products = values * weights.then("Unsqueeze", np.array([2]))
    return products.total(keep=False)


def _trees(graph, part, X):
    flat = flat_trees(part)
    outputs = [_ensemble(graph, flat, k, X) for k in range(flat.n_outputs)]
    return outputs[0] if len(outputs) == 1 else graph.beside(outputs)


def _ensemble(graph, trees, k, X):
    """One output of a sum of trees."""
    is_leaf = trees.children[0] == NO_CHILD
    # The operator has no trees of one leaf: these are part of the start.
    roots = trees.roots[~is_leaf[trees.roots]]
    single = trees.roots[is_leaf[trees.roots]]
    start = trees.start[k] + trees.value[single, k].sum()
    if not len(roots):
        return X.columns([0]) * 0.0 + start / trees.divisor
    number = np.where(is_leaf, np.cumsum(is_leaf), np.cumsum(~is_leaf)) - 1
    left, right = trees.children[:, ~is_leaf]
    at_most = np.zeros(len(left), dtype=np.uint8)  # the code of "left where the value is at most the split"
    sums = X.then(
        "TreeEnsemble",
        domain=_ML,
        n_targets=1,
        aggregate_function=_SUM,
        tree_roots=number[roots],
        nodes_featureids=trees.feature[~is_leaf],
        nodes_splits=graph.tensor(trees.threshold[~is_leaf]),
        nodes_modes=graph.tensor(at_most),
        nodes_truenodeids=number[left],
        nodes_trueleafs=is_leaf[left].astype(int),
        nodes_falsenodeids=number[right],
        nodes_falseleafs=is_leaf[right].astype(int),
        nodes_missing_value_tracks_true=trees.missing_left[~is_leaf].astype(int),
        leaf_targetids=np.zeros(is_leaf.sum(), dtype=int),
        leaf_weights=graph.tensor(trees.value[is_leaf, k]),
    )
    return (sums + start) / float(trees.divisor)


def _ranks(graph, part, X):
    known = X.then("IsNaN").then("Where", 0.0, X)
    scores = known.then("Clip", -LARGEST_SCORE, LARGEST_SCORE)
    outputs = []
    for k in range(part.n_outputs):
        own = slice(part.starts[k], part.starts[k + 1])
        rank = _rank(graph, scores.columns([k]), part.scores[own], part.ranks[own])
        outputs.append(rank)
    return outputs[0] if len(outputs) == 1 else graph.beside(outputs)


def _rank(graph, column, levels, ranks):
    inside = _interpolate(graph, column, levels, ranks)
    width = levels[-1] - levels[0] + 1e-300  # not 0, as in the formula
    above = (column - levels[-1]).then("Max", 0.0)
    below = (levels[0] - column).then("Max", 0.0)
    high = above / (above + width) * (1 - ranks[-1])
    low = below / (below + width) * ranks[0]
    return inside + high - low


def _interpolate(graph, column, levels, ranks):
    if len(levels) == 1:
        return column * 0.0 + ranks[0]
    column = column.then("Clip", levels[0], levels[-1])
    # A tree finds the level above each score faster than comparisons with all of them.
    tree = search_tree(0, levels[1:-1], np.arange(1.0, len(levels)), 1.0)
    place = _trees(graph, parts.Trees.join([tree], 1, np.zeros(1)), column).integer()
    before = place - np.array(1)
    start = graph.add("Gather", levels, before)
    share = (column - start) / (graph.add("Gather", levels, place) - start)
    rank = graph.add("Gather", ranks, before)
    rise = graph.add("Gather", ranks, place) - rank
    return rank + share * rise


def _log_odds(graph, part, X):
    shares = X.then("Clip", RANK_EDGE, 1 - RANK_EDGE)
    return (shares / (1.0 - shares)).then("Log")


def _logits(graph, part, X):
    if part.edge > 0:
        X = (X.then("Clip", 0.0, 1.0) + part.edge).then("Log")
    distance = (X.then("ReduceMax", np.array([1]), keepdims=1) - X) / part.scale
    return -distance.then("Min", LARGEST_DISTANCE)


_WRITERS = {
    parts.Beside: _beside,
    parts.Chain: _chain,
    parts.Components: _components,
    parts.FillAndScale: _fill_and_scale,
    parts.GaussianBayes: _gaussian_bayes,
    parts.GaussianKernel: _gaussian_kernel,
    parts.Linear: _linear,
    parts.LogOdds: _log_odds,
    parts.Logits: _logits,
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
        place = _two_classes(graph, model, scores, names)
        score_shape = [None]
    else:
        place = _many_classes(model.link, scores, names)
        score_shape = [None, n_classes]
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
    towards = scores + model.link.offset
    margin = towards * model.link.slope + model.link.intercept
    probabilities = [(-margin).then("Sigmoid"), margin.then("Sigmoid")]
    is_first = model.positive == 0
    if is_first:
        probabilities.reverse()
    graph.beside(probabilities, output=names["probabilities"])
    flat = towards.then("Reshape", np.array([-1]))
    decision = flat.then("Neg" if is_first else "Identity", output=names["score"])
    if model.threshold is None:
        return decision.then("Greater", 0.0).integer()
    is_positive = flat.then("Greater", model.threshold)
    return is_positive.then("Where", np.array(model.positive), np.array(1 - model.positive))


def _many_classes(link, scores, names):
    """As `_two_classes`, with one score per class."""
    if isinstance(link, parts.Sigmoids):
        margins = (scores + link.offset) * link.slope + link.intercept
        shares = margins.then("Sigmoid")
        probabilities = shares.then("Div", shares.total(), output=names["probabilities"])
        score = probabilities.then("Log", output=names["score"])
    else:
        score = scores.then("Identity", output=names["score"])
        if isinstance(link, parts.Softmax):
            (scores * link.slope).then("Softmax", axis=1, output=names["probabilities"])
        else:
            scores.then("Identity", output=names["probabilities"])
    return score.then("ArgMax", axis=1, keepdims=0)
