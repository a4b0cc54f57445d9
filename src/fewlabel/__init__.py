"""fewlabel: learning from tables whose labels are few, skewed, or only positive.

Public names are imported when they are first used, so that ``import fewlabel`` costs next to nothing.
"""

from importlib import import_module

__version__ = "0.1.0"
UNLABELED = -1

_ESTIMATORS = {
    "BalancedMultiviewClassifier": "fewlabel.multiview",
    "MultiviewKernelClassifier": "fewlabel.multiview",
    "QuasiBaggingClassifier": "fewlabel.multiview",
    "VariableClusterer": "fewlabel.multiview",
    "AutoClassifier": "fewlabel.auto",
    "CoTrainingClassifier": "fewlabel.wrappers",
    "CrossTrainingClassifier": "fewlabel.wrappers",
    "TriTrainingClassifier": "fewlabel.wrappers",
    "ConsistencySubsetSelector": "fewlabel.selection",
    "CorrelationSubsetSelector": "fewlabel.selection",
    "ReliefFSelector": "fewlabel.selection",
    "SubsetReliefSelector": "fewlabel.selection",
    "LeastSquaresAUCClassifier": "fewlabel.linear",
    "AssembleClassifier": "fewlabel.boosting",
    "LinearAUCClassifier": "fewlabel.linear",
    "LinearAUCClassifierCV": "fewlabel.linear",
    "LinearPUClassifier": "fewlabel.linear",
    "NeuralPUClassifier": "fewlabel.neural",
    "PNUAUCBoostClassifier": "fewlabel.boosting",
    "PNUAdaBoostClassifier": "fewlabel.boosting",
    "PUAdaBoostClassifier": "fewlabel.boosting",
    "PathNeighborsClassifier": "fewlabel.graph",
    "RankBoostClassifier": "fewlabel.boosting",
    "SemiSupervisedAdaBoostClassifier": "fewlabel.boosting",
}
_FUNCTIONS = {
    "TableClassifier": "fewlabel.tables",
    "load": "fewlabel.persistence",
    "save": "fewlabel.persistence",
    "list_datasets": "fewlabel.datasets",
    "load_dataset": "fewlabel.datasets",
    "make_multiview_credit": "fewlabel.datasets",
    "make_pu": "fewlabel.datasets",
    "make_three_circles": "fewlabel.datasets",
    "make_two_moons": "fewlabel.datasets",
    "make_pu_scorer": "fewlabel.model_selection",
    "hide_labels": "fewlabel.model_selection",
    "LabeledStratifiedKFold": "fewlabel.model_selection",
    "estimate_class_prior": "fewlabel.prior",
    "linear_auc_path": "fewlabel.linear",
    "auc_confidence_interval": "fewlabel.metrics",
    "compare_methods": "fewlabel.metrics",
    "paired_auc_test": "fewlabel.metrics",
    "plot_critical_difference": "fewlabel.metrics",
    "pnu_auc_score": "fewlabel.metrics",
    "pu_auc_score": "fewlabel.metrics",
    "plot_shape_functions": "fewlabel.inspection",
    "scorecard": "fewlabel.inspection",
}
_MODULES = (
    "auto",
    "bench",
    "boosting",
    "dask",
    "datasets",
    "exceptions",
    "graph",
    "inspection",
    "labels",
    "linear",
    "metrics",
    "model_selection",
    "multiview",
    "neural",
    "persistence",
    "prior",
    "selection",
    "tables",
    "wrappers",
)

__all__ = ["UNLABELED", "all_estimators", *_ESTIMATORS, *_FUNCTIONS, *_MODULES]  # noqa: PLE0604


def all_estimators():
    """All estimators of the library.

    Returns
    -------
    list of (str, type)
        Name and class, sorted by name.

    Examples
    --------
    >>> import fewlabel
    >>> "PNUAUCBoostClassifier" in dict(fewlabel.all_estimators())
    True
    """
    return [(name, getattr(import_module(module), name)) for name, module in sorted(_ESTIMATORS.items())]


def __getattr__(name):
    module = _ESTIMATORS.get(name) or _FUNCTIONS.get(name)
    if module is not None:
        value = getattr(import_module(module), name)
    elif name in _MODULES:
        value = import_module(f"fewlabel.{name}")
    else:
        raise AttributeError(f"module 'fewlabel' has no attribute {name!r}")
    globals()[name] = value  # the next access does not come here
    return value


def __dir__():
    return sorted([*globals(), *__all__])
