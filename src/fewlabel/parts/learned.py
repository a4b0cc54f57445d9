"""From fitted estimators to formulas: the only file that knows how other libraries keep what they have learned.

Classes are recognized by their names, so that no library is imported here; a fitted estimator has imported its own.
"""

import json
import tempfile
from itertools import chain, combinations
from pathlib import Path

import numpy as np

from fewlabel.parts.expansions import GaussianBayes, GaussianKernel, PairsOfClasses, PolynomialKernel
from fewlabel.parts.model import Classes, FittedModel, Shares, Sigmoids, Softmax
from fewlabel.parts.nearest import Neighbors, Paths, Spreading
from fewlabel.parts.numbers import Chain, Linear, Select
from fewlabel.parts.part import Formula
from fewlabel.parts.trees import NO_CHILD, Steps, SymmetricTrees, Trees


class Opaque(Formula):
    """The scores of an estimator without a formula, such as a pretrained network: it predicts, but cannot be saved.

    Attributes
    ----------
    estimator : object
        Fitted.
    n_inputs, n_outputs : int
    """

    kind = "estimator"
    estimator: object
    n_inputs: int
    n_outputs: int

    def values_at(self, X):
        if hasattr(self.estimator, "decision_function"):
            scores = np.asarray(self.estimator.decision_function(X), dtype=np.float64)
            return scores[:, None] if scores.ndim == 1 else scores
        probability = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        return probability[:, 1:] if self.n_outputs == 1 else probability


def formula_of(estimator, n_outputs):
    """The formula of a fitted classifier's scores; higher means more likely of the (positive) class.

    Parameters
    ----------
    estimator : estimator
        Fitted to numbers: of scikit-learn, CatBoost, XGBoost, LightGBM or fewlabel.
    n_outputs : int
        1, or the number of classes if there are three or more.

    Returns
    -------
    Formula
        The decision function, or the probability of the positive class or of each class if there is none; of a booster
        of other libraries the sum of its trees. `Opaque` where the estimator has no formula.
    """
    formula = _formula(estimator)
    if formula is None:
        return Opaque(estimator, int(estimator.n_features_in_), n_outputs)
    # Probabilities of both classes.
    if n_outputs == 1 and formula.n_outputs == 2:
        of_second = Select(np.array([1]), 2)
        return Chain([formula, of_second])
    return formula


def model_of(estimator):
    """A fitted classifier of another library that predicts the same; None if it has no formula or no probabilities.

    Parameters
    ----------
    estimator : estimator

    Returns
    -------
    FittedModel or None
    """
    name = type(estimator).__name__
    formula = _formula(estimator) if name in _SHARES + _LOGISTIC else None
    if formula is None:
        return None
    classes = Classes.of(estimator.classes_)
    n_classes = len(classes.names)
    if name in _SHARES:
        # A forest adds up both classes, and their sum need not be 1.
        if formula.n_outputs == 1:
            formula = _forest(estimator, all_classes=True)
        return FittedModel(formula, Shares(n_classes), classes, None)
    if n_classes > 2:
        return FittedModel(formula, Softmax(1.0, n_classes), classes, None)
    link = Sigmoids(np.zeros(1), np.ones(1), np.zeros(1))
    return FittedModel(formula, link, classes, 1)


def ranking_model(estimator):
    """A fitted binary ranker of fewlabel as data; None if it has no formula.

    Parameters
    ----------
    estimator : RankingClassifier

    Returns
    -------
    FittedModel or None
    """
    formula = formula_of(estimator, 1)
    if isinstance(formula, Opaque):
        return None
    calibration = _floats(estimator.calibration_)
    slope, intercept = calibration[:, None]
    link = Sigmoids(np.zeros(1), slope, intercept)
    about = {}
    if getattr(estimator, "shape_functions_", None):
        importances = estimator.feature_importances_.tolist()
        about["additive"] = {"calibration": calibration.tolist(), "importances": importances}
    names = None
    if hasattr(estimator, "feature_names_in_"):
        names = list(estimator.feature_names_in_)
    classes = Classes.of(estimator.classes_)
    positive = int(getattr(estimator, "positive_", 1))
    return FittedModel(formula, link, classes, positive, names=names, about=about)


def _formula(estimator):
    """The formula of an estimator of a library that is known; None for others."""
    library = type(estimator).__module__.split(".")[0]
    convert = _CONVERTERS.get(type(estimator).__name__)
    if convert is None or library not in _LIBRARIES:
        return None
    return convert(estimator)


def _linear(model):
    coef = np.atleast_2d(_floats(model.coef_))
    intercept = np.atleast_1d(_floats(getattr(model, "intercept_", 0.0)))
    return Linear(coef, intercept)


def _floats(values):
    return np.array(values, dtype=np.float64)


def _gaussian_bayes(model):
    return GaussianBayes(_floats(model.theta_), _floats(model.var_), np.log(model.class_prior_))


def _neighbors(model):
    if model.weights != "distance" or model.effective_metric_ != "euclidean":
        return None
    from fewlabel.foreign.scikit_learn import neighbor_rows

    rows, codes = neighbor_rows(model)
    n_classes = len(model.classes_)
    return Neighbors(_floats(rows), codes, n_classes, int(model.n_neighbors))


def _support_vectors(model):
    from fewlabel.foreign.scikit_learn import kernel_width

    rows = _floats(model.support_vectors_)
    gamma = kernel_width(model)
    if model.kernel == "rbf":
        kernel = GaussianKernel(rows, gamma)
    elif model.kernel == "poly":
        kernel = PolynomialKernel(rows, gamma, float(model.coef0), int(model.degree))
    else:
        return None
    n_classes = len(model.classes_)
    intercept = _floats(model.intercept_)
    if n_classes == 2:
        return Chain([kernel, Linear(_floats(model.dual_coef_), intercept)])
    # Ties are broken by another rule, and "ovo" has a score per pair.
    if model.decision_function_shape != "ovr" or model.break_ties:
        return None
    # Row j - 1 of the coefficients of class i, or row i of those of class j, compares the two.
    owner = np.repeat(np.arange(n_classes), model.n_support_)
    coef = []
    for i, j in combinations(range(n_classes), 2):
        of_second = np.where(owner == j, model.dual_coef_[i], 0.0)
        of_both = np.where(owner == i, model.dual_coef_[j - 1], of_second)
        coef.append(of_both)
    pairs = Linear(_floats(coef), intercept)
    return Chain([kernel, pairs, PairsOfClasses(n_classes)])


def _forest(model, all_classes=False):
    """The mean of trees of scikit-learn, of which a decision tree is one."""
    if model.n_outputs_ != 1:
        return None
    # Of two classes the second is enough.
    first_class = 1 if len(model.classes_) == 2 and not all_classes else 0
    trees = []
    for estimator in getattr(model, "estimators_", [model]):
        nodes = estimator.tree_
        tree = {"feature": nodes.feature, "threshold": nodes.threshold}
        tree["missing_left"] = nodes.missing_go_to_left
        tree["left"] = nodes.children_left
        tree["right"] = nodes.children_right
        tree["value"] = nodes.value[:, 0, first_class:]
        trees.append(tree)
    start = np.zeros(len(model.classes_) - first_class)
    return Trees.join(trees, model.n_features_in_, start, divisor=len(trees), single_values=True)


def _hist_boosting(model):
    if model.is_categorical_ is not None:
        return None
    from fewlabel.foreign.scikit_learn import boosted_trees

    start, stages = boosted_trees(model)
    trees = []
    for nodes in chain.from_iterable(stages):
        is_leaf = nodes["is_leaf"].astype(bool)
        tree = {"feature": nodes["feature_idx"], "threshold": nodes["num_threshold"], "value": nodes["value"]}
        tree["missing_left"] = nodes["missing_go_to_left"].astype(bool)
        for side in ("left", "right"):
            children = nodes[side].astype(np.int64)
            tree[side] = np.where(is_leaf, NO_CHILD, children)
        trees.append(tree)
    return _join_in_turns(trees, model, start)


def _join_in_turns(trees, model, start, **settings):
    """Trees with one value per leaf, of which the first is for the first output, the next for the next one."""
    n_outputs = len(start)
    for k, tree in enumerate(trees):
        is_leaf = tree["left"] == NO_CHILD
        value = np.zeros((len(is_leaf), n_outputs))
        # Inner nodes of some libraries have a value, too.
        value[is_leaf, k % n_outputs] = tree["value"][is_leaf]
        tree["value"] = value
    return Trees.join(trees, model.n_features_in_, start, **settings)


def _n_outputs(model):
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def _xgboost(model):
    booster = model.get_booster()
    # The columns of the table are nullable since XGBoost 3.4.
    table = booster.trees_to_dataframe().astype({"Tree": int, "Split": float, "Gain": float})
    table = table.astype(dict.fromkeys(("ID", "Yes", "No", "Missing"), object))
    split = table["Split"].fillna(0.0).to_numpy(dtype=np.float32)
    nodes = table.rename(columns={"ID": "node", "Yes": "left", "No": "right", "Gain": "value"})
    # Columns are called f0, f1 and so on.
    nodes["feature"] = [0 if name == "Leaf" else int(name[1:]) for name in table["Feature"]]
    # XGBoost goes left below the split, not at it.
    nodes["threshold"] = np.nextafter(split, np.float32(-np.inf))
    to_left = table["Missing"] == table["Yes"]
    nodes["missing_left"] = to_left.fillna(False).astype(bool)
    trees = _trees_of_table(nodes, "Tree")
    start = _xgboost_start(booster, _n_outputs(model))
    return _join_in_turns(trees, model, start, single_values=True, single_sums=True)


def _trees_of_table(table, number):
    """Trees of a table of nodes, with the columns that `Trees.join` takes; children are called by their names."""
    trees = []
    for _, nodes in table.groupby(number, sort=True):
        place = {name: position for position, name in enumerate(nodes["node"])}
        tree = {name: nodes[name].to_numpy() for name in ("feature", "threshold", "missing_left", "value")}
        for side in ("left", "right"):
            tree[side] = np.array([place.get(name, NO_CHILD) for name in nodes[side]])
        trees.append(tree)
    return trees


def _xgboost_start(booster, n_outputs):
    """The base score before the first tree, on the scale of the sums."""
    config = json.loads(booster.save_config())
    text = config["learner"]["learner_model_param"]["base_score"]
    score = np.atleast_1d(np.asarray(json.loads(text), dtype=np.float32))
    if n_outputs == 1:
        # As XGBoost computes the log-odds, to the last bit.
        return -np.log(np.float32(1.0) / score - np.float32(1.0))
    return np.broadcast_to(score, n_outputs)


def _lightgbm(model):
    table = model.booster_.trees_to_dataframe()
    columns = {name: k for k, name in enumerate(model.booster_.feature_name())}
    nodes = table.rename(columns={"node_index": "node", "left_child": "left", "right_child": "right"})
    nodes["feature"] = [columns.get(name, 0) for name in table["split_feature"]]
    nodes["threshold"] = table["threshold"].fillna(0.0)
    # LightGBM reads a missing value as 0 in a column where training had none.
    reads_zero = table["missing_type"] != "NaN"
    to_left = table["missing_direction"] == "left"
    nodes["missing_left"] = to_left.mask(reads_zero, nodes["threshold"] >= 0.0)
    trees = _trees_of_table(nodes, "tree_index")
    return _join_in_turns(trees, model, np.zeros(_n_outputs(model)))


def _catboost(model):
    # CatBoost writes its trees to files only.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        written = json.loads(path.read_text("utf-8"))
    trees = written.get("oblivious_trees")
    if trees is None:
        return None
    splits = [tree["splits"] or [] for tree in trees]
    kinds = {split["split_type"] for split in chain.from_iterable(splits)}
    if not kinds <= {"FloatFeature"}:
        return None
    scale, start = written["scale_and_bias"]
    columns = {one["feature_index"]: one for one in written["features_info"]["float_features"]}
    # Shallower trees begin with levels at which every row goes down.
    depth = max(map(len, splits))
    n_trees = len(trees)
    shape = (n_trees, depth)
    feature = np.zeros(shape, dtype=np.int64)
    threshold = np.full(shape, np.inf)
    missing_up = np.zeros(shape, dtype=bool)
    values = np.zeros((len(start), n_trees, 2**depth))
    for t, tree in enumerate(trees):
        leaves = np.reshape(tree["leaf_values"], (-1, len(start))).T
        values[:, t, : leaves.shape[1]] = scale * leaves
        # The first split of the list decides the last bit.
        for k, split in enumerate(splits[t]):
            column = columns[split["float_feature_index"]]
            level = depth - 1 - k
            feature[t, level] = column["flat_feature_index"]
            threshold[t, level] = np.float32(split["border"])
            missing_up[t, level] = column["nan_value_treatment"] == "AsTrue"
    start = _floats(start)
    return SymmetricTrees(feature, threshold, missing_up, values, start, int(model.n_features_in_), single=True)


def _shifted(model, *steps):
    shift = Linear(np.ones((1, 1)), _floats([model.offset_]))
    return Chain([*steps, shift])


def _linear_ranker(model):
    return _shifted(model, _linear(model))


def _kernel_ranker(model):
    if getattr(model, "basis", "linear") == "linear":
        return _linear_ranker(model)
    # Sparse centers have no formula here.
    if not isinstance(model.components_, np.ndarray):
        return None
    steps = [GaussianKernel(_floats(model.components_), 0.5 / model.length_scale_**2)]
    if model.basis == "nystroem":
        features = np.ascontiguousarray(model._map.T)
        steps.append(Linear(features, np.zeros(len(features))))
    return _shifted(model, Chain([*steps, Linear(_floats(model.coef_), np.zeros(1))]))


def _stumps(model):
    columns = []
    starts = [0]
    # A model may have no step at all.
    edges = [np.empty(0)]
    values = [np.empty(0)]
    missing = []
    for function in model.shape_functions_:
        columns.append(function.column)
        starts.append(starts[-1] + len(function.edges))
        edges.append(function.edges)
        values.append(function.values)
        missing.append(function.missing)
    steps = Steps(
        np.array(columns, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        np.concatenate(edges),
        np.concatenate(values),
        _floats(missing),
        int(model.n_features_in_),
    )
    return _shifted(model, steps)


def _tree_booster(model):
    # The sums of a stump booster, in the same order.
    if model.max_depth == 1:
        return _stumps(model)
    splits = model.splits_
    trees = SymmetricTrees(
        columns=splits["column"],
        thresholds=splits["threshold"],
        missing_up=splits["missing_up"],
        values=model.leaf_values_[None],
        start=np.zeros(1),
        n_inputs=int(model.n_features_in_),
    )
    return _shifted(model, trees)


def _on_graph(model):
    """What the formulas on graphs share; None if rows are sparse, scaled, or not compared by the Euclidean distance."""
    space = model._space
    is_sparse = not isinstance(model._rows, np.ndarray)
    if is_sparse or model.metric != "euclidean" or model.recall_ < 1:
        return None
    is_moved = space["shift"] is not None and space["shift"].any()
    has_more_columns = len(space["gaps"]) or len(space["nominal"])
    if is_moved or has_more_columns or (space["divisor"] != 1).any():
        return None
    return dict(
        rows=_floats(model._rows),
        sources=model._sources.astype(np.int64),
        source_codes=model._source_codes.astype(np.int64),
    )


def _paths(model):
    graph = _on_graph(model)
    if graph is None:
        return None
    return Paths(
        **graph,
        n_neighbors=min(int(model.n_neighbors), len(graph["rows"])),
        costs=_floats(model._costs),
        codes=model._vertex_codes.astype(np.int64),
        exponential=model.cost == "exponential",
        delta=float(model.delta_),
    )


def _spreading(model):
    graph = _on_graph(model)
    if graph is None:
        return None
    return Spreading(
        **graph,
        n_neighbors=min(int(model.n_neighbors_), len(graph["rows"])),
        scores=_floats(model._vertex_scores),
        gives=_floats(model._gives),
        sigma=float(model.sigma_),
    )


_LIBRARIES = ("catboost", "fewlabel", "lightgbm", "sklearn", "xgboost")
# Classifiers whose formula gives probabilities, and those whose probabilities are the sigmoid or softmax of it.
_SHARES = (
    "DecisionTreeClassifier",
    "ExtraTreesClassifier",
    "GaussianNB",
    "KNeighborsClassifier",
    "RandomForestClassifier",
)
_LOGISTIC = (
    *("CatBoostClassifier", "HistGradientBoostingClassifier", "LGBMClassifier"),
    *("LinearDiscriminantAnalysis", "LogisticRegression", "XGBClassifier"),
)
_CONVERTERS = {
    "CatBoostClassifier": _catboost,
    "DecisionTreeClassifier": _forest,
    "ExtraTreesClassifier": _forest,
    "GaussianNB": _gaussian_bayes,
    "HistGradientBoostingClassifier": _hist_boosting,
    "KNeighborsClassifier": _neighbors,
    "LGBMClassifier": _lightgbm,
    "LabelSpreadingClassifier": _spreading,
    "LeastSquaresAUCClassifier": _kernel_ranker,
    "LinearAUCClassifier": _kernel_ranker,
    "LinearAUCClassifierCV": _kernel_ranker,
    "LinearDiscriminantAnalysis": _linear,
    "LinearPUClassifier": _linear_ranker,
    "LinearSVC": _linear,
    "LogisticRegression": _linear,
    "PNUAUCBoostClassifier": _tree_booster,
    "PNUAdaBoostClassifier": _stumps,
    "PUAdaBoostClassifier": _stumps,
    "PathNeighborsClassifier": _paths,
    "RandomForestClassifier": _forest,
    "RidgeClassifier": _linear,
    "SVC": _support_vectors,
    "TreeAUCBoostClassifier": _tree_booster,
    "TreePUBoostClassifier": _tree_booster,
    "XGBClassifier": _xgboost,
}
