"""The stumps of a fitted booster, as the papers write them."""

import numpy as np

STUMP = np.dtype(
    [("column", int), ("threshold", float), ("sign", int), ("on_missing", bool), ("low", float), ("high", float)]
)


def stumps_of(model):
    """A stump fires above its threshold if `sign` is 1, else at or below it; `high` is added where it fires."""
    splits, values = model.splits_[:, 0], model.leaf_values_
    stumps = np.empty(len(splits), STUMP)
    stumps["column"], stumps["threshold"] = splits["column"], splits["threshold"]
    fires_above = values[:, 1] > values[:, 0]
    stumps["sign"] = np.where(fires_above, 1, -1)
    stumps["on_missing"] = splits["missing_up"] == fires_above
    stumps["low"], stumps["high"] = values.min(axis=1, initial=np.inf), values.max(axis=1, initial=-np.inf)
    return stumps
