"""Names that scikit-learn keeps private."""

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions

__all__ = ["SET_OUTSIDE_FIT", "HasMethods", "Interval", "RealNotInt", "StrOptions"]

# Beginnings of attributes that scikit-learn sets outside fit: set_output, set_fit_request, callbacks of a search.
SET_OUTSIDE_FIT = ("_skl", "_metadata_request", "_parent_callback_ctx")


def validate_parameters(estimator):
    """Raise an error for a parameter that its `_parameter_constraints` do not allow."""
    estimator._validate_params()


def neighbor_rows(model):
    """Rows and codes of the classes that a fitted nearest-neighbor classifier keeps."""
    return model._fit_X, np.asarray(model._y, dtype=np.int64)


def kernel_width(model):
    """The number that a fitted support vector machine uses for `gamma`."""
    return float(model._gamma)


def boosted_trees(model):
    """Start of the scores, and nodes of the trees by stage and output, of fitted histogram boosting."""
    stages = [[tree.nodes for tree in stage] for stage in model._predictors]
    return np.ravel(model._baseline_prediction), stages
