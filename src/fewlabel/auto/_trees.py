"""Fitted trees as plain arrays, whatever library grew them: safe to read from a file, and quick to score with."""

import numpy as np

from fewlabel.kernels.trees import NO_CHILD, leaf_sums

_ARRAYS = {
    "roots": np.int32,
    "feature": np.int32,
    "left": np.int32,
    "right": np.int32,
    "threshold": np.float64,
    "gap_left": np.bool_,
    "value": np.float64,
}


class TreeTable:
    """The trees of a forest or a booster, whose scores are sums of leaf values.

    Compiled trees of scikit-learn, XGBoost and LightGBM follow whatever indices a file gives them. These are checked
    when they are made and whenever they are read, so that a damaged or crafted file is refused.

    Parameters
    ----------
    trees : iterable of dict
        One for each tree, with the arrays `feature`, `threshold`, `left`, `right`, `gap_left` and `value` of its nodes.
        Children come after their parents; leaves have `left` of -1.
    n_columns : int
        Columns of the table.
    single : bool
        Whether values are rounded to 32 bits before they are compared.
    """

    def __init__(self, trees, n_columns, single):
        trees = list(trees)
        sizes = np.cumsum([0, *(len(t["left"]) for t in trees)])
        joined = {"roots": sizes[:-1]}
        for name in ("feature", "threshold", "gap_left", "value"):
            joined[name] = np.concatenate([t[name] for t in trees])
        for name in ("left", "right"):
            joined[name] = np.concatenate(
                [np.where(t["left"] < 0, NO_CHILD, np.asarray(t[name]) + shift) for t, shift in zip(trees, sizes)]
            )
        joined["feature"] = np.where(joined["left"] < 0, 0, joined["feature"])
        self.__setstate__({**joined, "n_columns": n_columns, "single": single})

    def __setstate__(self, state):
        for name, dtype in _ARRAYS.items():
            setattr(self, name, np.ascontiguousarray(state[name], dtype=dtype))
        self.n_columns, self.single = int(state["n_columns"]), bool(state["single"])
        n = len(self.left)
        columns = (self.feature, self.right, self.threshold, self.gap_left, self.value)
        inner = np.flatnonzero(self.left != NO_CHILD)
        sound = (
            self.value.ndim == 2
            and all(len(a) == n and a.ndim == 1 for a in (self.left, *columns[:-1]))
            and len(self.value) == n
            and self.roots.ndim == 1
            and (self.roots >= 0).all()
            and (self.roots < n).all()
            # A child after its parent: every walk goes forward, and comes to an end.
            and all((child[inner] > inner).all() and (child[inner] < n).all() for child in (self.left, self.right))
            and (self.feature >= 0).all()
            and (self.feature < self.n_columns).all()
        )
        if not sound:
            raise ValueError("the trees of the model lead outside of their own table: the file is damaged")

    def __getstate__(self):
        return {name: getattr(self, name) for name in (*_ARRAYS, "n_columns", "single")}

    def decision_function(self, X):
        """Sum of the leaf values of each row; one column for each class if there are more than two."""
        X = np.asarray(X)
        if X.shape[1] != self.n_columns:
            raise ValueError(f"the trees were grown on {self.n_columns} columns, got {X.shape[1]}")
        X = np.ascontiguousarray(X.astype(np.float32) if self.single else X, dtype=np.float64)
        arrays = (self.roots, self.feature, self.threshold, self.left, self.right, self.gap_left, self.value)
        total = leaf_sums(X, *arrays)
        return total[:, 0] if total.shape[1] == 1 else total


def freeze(model, n_columns):
    """The model with its trees as a `TreeTable`; a model that has none is given back as it is."""
    kind = type(model).__name__
    if kind in ("ExtraTreesClassifier", "RandomForestClassifier"):
        return TreeTable(_forest_trees(model), n_columns, single=True)
    if kind == "HistGradientBoostingClassifier":
        return TreeTable(_hist_trees(model), n_columns, single=False)
    if kind == "XGBClassifier":
        return TreeTable(_xgboost_trees(model), n_columns, single=True)
    if kind == "LGBMClassifier":
        return TreeTable(_lightgbm_trees(model), n_columns, single=False)
    return model


def _forest_trees(model):
    binary = len(model.classes_) == 2
    for one in model.estimators_:
        tree = one.tree_
        shares = tree.value[:, 0, :] / len(model.estimators_)
        yield dict(
            feature=tree.feature,
            threshold=tree.threshold,
            left=tree.children_left,
            right=tree.children_right,
            gap_left=np.asarray(tree.missing_go_to_left, dtype=bool),
            value=shares[:, 1:] if binary else shares,
        )


def _hist_trees(model):
    # scikit-learn has no public way to the nodes of its histogram trees.
    for stage in model._predictors:
        for k, predictor in enumerate(stage):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"].astype(bool)
            yield dict(
                feature=nodes["feature_idx"],
                threshold=nodes["num_threshold"],
                left=np.where(leaf, NO_CHILD, nodes["left"].astype(np.int64)),
                right=np.where(leaf, NO_CHILD, nodes["right"].astype(np.int64)),
                gap_left=nodes["missing_go_to_left"].astype(bool),
                value=_in_column(np.where(leaf, nodes["value"], 0.0), k, len(stage)),
            )


def _xgboost_trees(model):
    table = model.get_booster().trees_to_dataframe()
    n_outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
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
            gap_left=(nodes["Missing"] == nodes["Yes"]).to_numpy(),
            value=_in_column(np.where(leaf, nodes["Gain"], 0.0), number % n_outputs, n_outputs),
        )


def _lightgbm_trees(model):
    table = model.booster_.trees_to_dataframe()
    n_outputs = 1 if len(model.classes_) == 2 else len(model.classes_)
    columns = {name: k for k, name in enumerate(model.booster_.feature_name())}
    for number, nodes in table.groupby("tree_index", sort=True):
        place = {name: k for k, name in enumerate(nodes["node_index"])}
        leaf = nodes["left_child"].isna().to_numpy()
        threshold = nodes["threshold"].fillna(0.0).to_numpy(dtype=float)
        # Where no gap was seen in training, LightGBM takes a gap for zero.
        marked = (nodes["missing_type"] == "NaN").to_numpy()
        yield dict(
            feature=np.array([columns.get(f, 0) for f in nodes["split_feature"]]),
            threshold=threshold,
            left=np.array([place.get(name, NO_CHILD) for name in nodes["left_child"]]),
            right=np.array([place.get(name, NO_CHILD) for name in nodes["right_child"]]),
            gap_left=np.where(marked, (nodes["missing_direction"] == "left").to_numpy(), threshold >= 0.0),
            value=_in_column(np.where(leaf, nodes["value"], 0.0), number % n_outputs, n_outputs),
        )


def _in_column(value, k, n):
    placed = np.zeros((len(value), n))
    placed[:, k] = value
    return placed
