"""The trees of CatBoost as plain arrays: one split per level makes them ten times quicker to score than other trees."""

import json
import tempfile
from pathlib import Path

import numpy as np

_TYPES = {"columns": np.int64, "thresholds": np.float32, "missing_up": np.uint8, "values": np.float64}
_MAX_DEPTH = 16  # a leaf is a 16-bit number in the kernel


class FrozenSymmetricTrees:
    """Symmetric trees of a fitted booster, for scoring only.

    Parameters
    ----------
    columns, thresholds, missing_up : array-like of shape (n_trees, depth)
        A row goes up at a level where its value, rounded to 32 bits, is above the threshold or, if `missing_up`,
        missing.
    values : array-like of shape (n_outputs, n_trees, 2**depth)
        Of the leaves. The ups and downs of a row, the first level first, are the bits of its leaf.
    n_columns : int
        Number of columns of the table.
    start : array-like of shape (n_outputs,)
        The sum over the trees begins with these values.
    """

    def __init__(self, columns, thresholds, missing_up, values, n_columns, start):
        splits = {"columns": columns, "thresholds": thresholds, "missing_up": missing_up}
        self.__setstate__({**splits, "values": values, "n_columns": n_columns, "start": start})

    def __setstate__(self, state):
        self.n_columns = int(state["n_columns"])
        self.start = np.ascontiguousarray(state["start"], dtype=np.float64)
        for name, dtype in _TYPES.items():
            setattr(self, name, np.ascontiguousarray(state[name], dtype=dtype))
        if not self._is_sound():
            raise ValueError("an index of the model's trees points outside of their arrays: the file is damaged")

    def __getstate__(self):
        return dict(vars(self))

    def _is_sound(self):
        shape = self.columns.shape
        return (
            len(shape) == 2
            and shape[1] <= _MAX_DEPTH
            and self.thresholds.shape == self.missing_up.shape == shape
            and self.start.ndim == 1
            and self.values.shape == (len(self.start), shape[0], 2 ** shape[1])
            and bool(((self.columns >= 0) & (self.columns < self.n_columns)).all())
        )

    def decision_function(self, X):
        """Sum of the trees for each row, before it becomes a probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        from fewlabel.kernels import symmetric_trees  # its compiled code is read with it

        X = np.asarray(X, dtype=np.float32)
        if X.ndim != 2 or X.shape[1] != self.n_columns:
            raise ValueError(f"the trees were grown on {self.n_columns} columns, got an array of shape {X.shape}")
        total = np.repeat(self.start[:, None], len(X), axis=1)
        for scores, values in zip(total, self.values):
            symmetric_trees.score(X, self.columns, self.thresholds, self.missing_up, values, scores, 0, len(X))
        return total[0] if len(total) == 1 else np.ascontiguousarray(total.T)


def freeze_catboost(model):
    """The trees of a fitted ``CatBoostClassifier``; the model itself if it has others than symmetric ones of numbers.

    Parameters
    ----------
    model : CatBoostClassifier

    Returns
    -------
    FrozenSymmetricTrees or CatBoostClassifier
    """
    with tempfile.TemporaryDirectory() as folder:  # CatBoost writes its trees to files only
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        found = json.loads(path.read_text("utf-8"))
    trees = found.get("oblivious_trees")
    if trees is None or any(split["split_type"] != "FloatFeature" for tree in trees for split in tree["splits"] or ()):
        return model
    scale, start = found["scale_and_bias"]
    columns = {one["feature_index"]: one for one in found["features_info"]["float_features"]}
    # Shallower trees begin with levels at which every row goes down.
    depth = max(len(tree["splits"] or ()) for tree in trees)
    shape = (len(trees), depth)
    feature, missing_up = np.zeros(shape, np.int64), np.zeros(shape, np.uint8)
    threshold, values = np.full(shape, np.inf, np.float32), np.zeros((len(start), len(trees), 2**depth))
    for t, tree in enumerate(trees):
        leaves = np.reshape(tree["leaf_values"], (-1, len(start))).T
        values[:, t, : leaves.shape[1]] = scale * leaves
        for k, split in enumerate(tree["splits"] or ()):  # the first split of the list decides the last bit
            column, level = columns[split["float_feature_index"]], depth - 1 - k
            feature[t, level], threshold[t, level] = column["flat_feature_index"], split["border"]
            missing_up[t, level] = column["nan_value_treatment"] == "AsTrue"
    return FrozenSymmetricTrees(feature, threshold, missing_up, values, model.n_features_in_, start)
