"""Forests and boosters as plain arrays, so that they can be read from a file safely.

Compiled trees of scikit-learn, XGBoost, LightGBM and CatBoost follow whatever indices a file gives them. `FrozenTrees`
checks every index when it is made and when it is read. Its scores are those of the original, bit for bit; for CatBoost
up to rounding.
"""

import copy
import json
from types import ModuleType

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit

from fewlabel.kernels.trees import NO_CHILD, leaf_sums
from fewlabel.persistence.symmetric import freeze_catboost

_SIZED_BY_NODE = {"feature": np.int32, "threshold": np.float64, "missing_left": np.bool_}


class FrozenTrees:
    """The trees of a fitted forest or booster, for scoring only.

    Parameters
    ----------
    trees : iterable of dict
        One per tree, with the arrays `feature`, `threshold`, `left`, `right`, `missing_left` and `value` of its nodes.
        Children come after their parents; leaves have `left` of -1.
    n_columns : int
        Number of columns of the table.
    start : array-like of shape (n_outputs,)
        The sum over the trees begins with these values.
    divisor : int, default=1
        The sum is divided by it.
    single_values : bool, default=False
        Whether values of the table are rounded to 32 bits before they are compared.
    single_sums : bool, default=False
        Whether sums are made with 32 bits.
    """

    def __init__(self, trees, n_columns, start, *, divisor=1, single_values=False, single_sums=False):
        trees = list(trees)
        sizes = np.cumsum([0, *(len(t["left"]) for t in trees)])
        joined = {name: np.concatenate([t[name] for t in trees]) for name in (*_SIZED_BY_NODE, "value")}
        children = [
            np.where(t["left"] < 0, NO_CHILD, np.array([t["left"], t["right"]]) + shift)
            for t, shift in zip(trees, sizes)
        ]
        joined["children"] = np.concatenate(children, axis=1)
        joined["feature"] = np.where(joined["children"][0] < 0, 0, joined["feature"])
        joined |= {"roots": sizes[:-1], "n_columns": n_columns, "start": start, "divisor": divisor}
        self.__setstate__({**joined, "single_values": single_values, "single_sums": single_sums})

    def __setstate__(self, state):
        self.single_values, self.single_sums = bool(state["single_values"]), bool(state["single_sums"])
        self.n_columns, self.divisor = int(state["n_columns"]), int(state["divisor"])
        of_sums = np.float32 if self.single_sums else np.float64
        types = {**_SIZED_BY_NODE, "children": np.int32, "roots": np.int32, "start": of_sums, "value": of_sums}
        for name, dtype in types.items():
            setattr(self, name, np.ascontiguousarray(state[name], dtype=dtype))
        if not self._is_sound():
            raise ValueError("an index of the model's trees points outside of their arrays: the file is damaged")

    def __getstate__(self):
        return dict(vars(self))

    def _is_sound(self):
        n = len(self.feature)
        return (
            self.children.shape == (2, n)
            and all(getattr(self, name).shape == (n,) for name in _SIZED_BY_NODE)
            and self.start.ndim == 1
            and self.value.shape == (n, len(self.start))
            and self.roots.ndim == 1
            and bool(((self.roots >= 0) & (self.roots < n)).all())
            and bool(((self.feature >= 0) & (self.feature < self.n_columns)).all())
            and self._goes_forward(n)
        )

    def _goes_forward(self, n):
        """Whether children come after their parents, so that every walk ends."""
        inner = np.flatnonzero(self.children[0] != NO_CHILD)
        children = self.children[:, inner]
        return bool(((children > inner) & (children < n)).all())

    def decision_function(self, X):
        """Score of each row, as the original computes it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For forests the probability of the positive class or of each class, for boosters the sum of the trees
            before it becomes a probability.
        """
        X = np.asarray(X)
        if X.ndim != 2 or X.shape[1] != self.n_columns:
            raise ValueError(f"the trees were grown on {self.n_columns} columns, got an array of shape {X.shape}")
        X = np.ascontiguousarray(X.astype(np.float32) if self.single_values else X, dtype=np.float64)
        arrays = (self.start, self.roots, self.feature, self.threshold, self.children, self.missing_left, self.value)
        total = leaf_sums(X, *arrays) / self.divisor
        return total[:, 0] if total.shape[1] == 1 else total


class FrozenClassifier:
    """A fitted decision tree, forest, or histogram boosting of two classes, for predictions only.

    Parameters
    ----------
    trees : FrozenTrees
        Their sum is the probability of each class or, with `logistic`, the log-odds of the second of two.
    classes : ndarray of shape (n_classes,)
    logistic : bool, default=False
    """

    def __init__(self, trees, classes, logistic=False):
        self.__setstate__({"trees": trees, "classes_": classes, "logistic": logistic})

    def __setstate__(self, state):
        self.trees, self.classes_, self.logistic = state["trees"], np.asarray(state["classes_"]), state["logistic"]
        n_outputs = 1 if self.logistic else len(self.classes_)
        if type(self.trees) is not FrozenTrees or len(self.trees.start) != n_outputs:
            raise ValueError("the trees of the model do not match its classes: the file is damaged")
        self.n_features_in_ = self.trees.n_columns

    def predict_proba(self, X):
        """Probability of each class, as the original computes it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        total = self.trees.decision_function(X.toarray() if issparse(X) else X)
        if not self.logistic:
            return total.reshape(len(total), len(self.classes_))
        positive = expit(total)
        return np.column_stack([1.0 - positive, positive])

    def predict(self, X):
        """Class of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def freeze(model):
    """The trees of a forest or booster as plain arrays; any other model as it is.

    Parameters
    ----------
    model : estimator
        Fitted to two or more classes.

    Returns
    -------
    FrozenTrees, FrozenSymmetricTrees or estimator
    """
    convert = _CONVERTERS.get(type(model).__name__)
    return model if convert is None else convert(model)


def freeze_classifier(model):
    """A decision tree, forest, or histogram boosting of two classes, as `FrozenClassifier`; any other model as it is.

    Parameters
    ----------
    model : estimator
        A fitted classifier.

    Returns
    -------
    FrozenClassifier or estimator
    """
    kind = type(model).__name__
    if kind == "DecisionTreeClassifier" and model.n_outputs_ == 1:
        nodes = _nodes(model.tree_, model.tree_.value[:, 0, :])
        trees = FrozenTrees([nodes], model.n_features_in_, np.zeros(len(model.classes_)), single_values=True)
        return FrozenClassifier(trees, model.classes_)
    if kind in ("ExtraTreesClassifier", "RandomForestClassifier") and model.n_outputs_ == 1:
        return FrozenClassifier(_freeze_forest(model, all_classes=True), model.classes_)
    if kind == "HistGradientBoostingClassifier" and len(model.classes_) == 2:
        trees = _freeze_hist_boosting(model)
        return model if trees is model else FrozenClassifier(trees, model.classes_, logistic=True)
    return model


def with_frozen_forests(model):
    """A copy of a model, for a file: trees are frozen where only their scores or predictions are needed.

    The attribute of a class that holds them is ``_scores_when_saved``, or ``_predicts_when_saved`` for a list of
    classifiers. Arrays are shared with the original.

    Parameters
    ----------
    model : object

    Returns
    -------
    object
        The model itself if nothing is to be frozen.
    """
    memo, stack, seen, found = {}, [model], set(), False
    while stack:
        one = stack.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, np.ndarray):
            memo[id(one)] = one
            continue
        for held, frozen in _frozen_parts(one):
            if frozen is not held:
                memo[id(held)], found = frozen, True
                seen.add(id(held))
        if isinstance(one, dict):
            stack.extend(one.values())
        elif isinstance(one, (list, tuple)):
            stack.extend(one)
        elif isinstance(getattr(one, "__dict__", None), dict) and not isinstance(one, (type, ModuleType)):
            stack.extend(vars(one).values())
    return copy.deepcopy(model, memo) if found else model


def _frozen_parts(one):
    """Pairs of a model that an object holds, and how it is saved."""
    name = getattr(type(one), "_scores_when_saved", None)
    if name is not None:
        held = getattr(one, name)
        yield held, freeze(held)
    name = getattr(type(one), "_predicts_when_saved", None)
    for held in getattr(one, name, ()) if name is not None else ():
        yield held, freeze_classifier(held)


def _nodes(tree, value):
    """The nodes of a tree of scikit-learn."""
    return dict(
        feature=tree.feature,
        threshold=tree.threshold,
        left=tree.children_left,
        right=tree.children_right,
        missing_left=np.asarray(tree.missing_go_to_left, dtype=bool),
        value=value,
    )


def _freeze_forest(model, all_classes=False):
    """The trees of a forest; of two classes the second will do, unless the sums for both are wanted."""
    binary = len(model.classes_) == 2 and not all_classes
    trees = (
        _nodes(tree, tree.value[:, 0, 1:] if binary else tree.value[:, 0, :])
        for tree in (one.tree_ for one in model.estimators_)
    )
    start = np.zeros(1 if binary else len(model.classes_))
    return FrozenTrees(trees, model.n_features_in_, start, divisor=len(model.estimators_), single_values=True)


def _freeze_hist_boosting(model):
    if model.is_categorical_ is not None:
        return model
    # scikit-learn has no public access to the nodes of its histogram trees, nor to the baseline.
    start = np.ravel(model._baseline_prediction)

    def trees():
        for stage in model._predictors:
            for k, predictor in enumerate(stage):
                nodes = predictor.nodes
                leaf = nodes["is_leaf"].astype(bool)
                yield dict(
                    feature=nodes["feature_idx"],
                    threshold=nodes["num_threshold"],
                    left=np.where(leaf, NO_CHILD, nodes["left"].astype(np.int64)),
                    right=np.where(leaf, NO_CHILD, nodes["right"].astype(np.int64)),
                    missing_left=nodes["missing_go_to_left"].astype(bool),
                    value=_in_column(np.where(leaf, nodes["value"], 0.0), k, len(start)),
                )

    return FrozenTrees(trees(), model.n_features_in_, start)


def _freeze_xgboost(model):
    booster = model.get_booster()
    table = booster.trees_to_dataframe().astype({"Tree": int, "Split": float, "Gain": float})  # nullable since 3.4
    table = table.astype(dict.fromkeys(("ID", "Yes", "No", "Missing"), object))
    n_outputs = _n_outputs(model)

    def trees():
        for number, nodes in table.groupby("Tree", sort=True):
            place = {name: k for k, name in enumerate(nodes["ID"])}
            leaf = (nodes["Feature"] == "Leaf").to_numpy()
            split = nodes["Split"].fillna(0.0).to_numpy(dtype=np.float32)
            yield dict(
                feature=np.array([0 if f == "Leaf" else int(f[1:]) for f in nodes["Feature"]]),
                # XGBoost goes left below the split, not at it.
                threshold=np.nextafter(split, np.float32(-np.inf)),
                left=np.array([place.get(name, NO_CHILD) for name in nodes["Yes"]]),
                right=np.array([place.get(name, NO_CHILD) for name in nodes["No"]]),
                missing_left=(nodes["Missing"] == nodes["Yes"]).fillna(False).to_numpy(dtype=bool),
                value=_in_column(np.where(leaf, nodes["Gain"], 0.0), number % n_outputs, n_outputs),
            )

    start = _xgboost_start(booster, n_outputs)
    return FrozenTrees(trees(), model.n_features_in_, start, single_values=True, single_sums=True)


def _xgboost_start(booster, n_outputs):
    """The base score before the first tree, on the scale of the sums."""
    text = json.loads(booster.save_config())["learner"]["learner_model_param"]["base_score"]
    score = np.atleast_1d(np.asarray(json.loads(text), dtype=np.float32))
    if n_outputs == 1:
        return -np.log(np.float32(1.0) / score - np.float32(1.0))
    return np.broadcast_to(score, n_outputs)


def _freeze_lightgbm(model):
    table = model.booster_.trees_to_dataframe()
    n_outputs = _n_outputs(model)
    columns = {name: k for k, name in enumerate(model.booster_.feature_name())}

    def trees():
        for number, nodes in table.groupby("tree_index", sort=True):
            place = {name: k for k, name in enumerate(nodes["node_index"])}
            leaf = nodes["left_child"].isna().to_numpy()
            threshold = nodes["threshold"].fillna(0.0).to_numpy(dtype=float)
            # LightGBM reads a missing value as 0 in a column where training had none.
            marked = (nodes["missing_type"] == "NaN").to_numpy()
            yield dict(
                feature=np.array([columns.get(f, 0) for f in nodes["split_feature"]]),
                threshold=threshold,
                left=np.array([place.get(name, NO_CHILD) for name in nodes["left_child"]]),
                right=np.array([place.get(name, NO_CHILD) for name in nodes["right_child"]]),
                missing_left=np.where(marked, (nodes["missing_direction"] == "left").to_numpy(), threshold >= 0.0),
                value=_in_column(np.where(leaf, nodes["value"], 0.0), number % n_outputs, n_outputs),
            )

    return FrozenTrees(trees(), model.n_features_in_, np.zeros(n_outputs))


_CONVERTERS = {
    "CatBoostClassifier": freeze_catboost,
    "ExtraTreesClassifier": _freeze_forest,
    "RandomForestClassifier": _freeze_forest,
    "HistGradientBoostingClassifier": _freeze_hist_boosting,
    "XGBClassifier": _freeze_xgboost,
    "LGBMClassifier": _freeze_lightgbm,
}


def _n_outputs(model):
    return 1 if len(model.classes_) == 2 else len(model.classes_)


def _in_column(value, k, n):
    placed = np.zeros((len(value), n))
    placed[:, k] = value
    return placed
