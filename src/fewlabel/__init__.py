"""fewlabel: learning from tables whose labels are few, skewed, or only positive.

Public names are imported on first use, which keeps ``import fewlabel`` fast.
"""

from importlib import import_module

__version__ = "0.2.0.dev0"
UNLABELED = -1

# Where each estimator is. Model files name classes of this list, and no others.
ESTIMATORS = {
    "AssembleClassifier": "fewlabel.boosting",
    "AutoClassifier": "fewlabel.auto",
    "BalancedMultiviewClassifier": "fewlabel.multiview",
    "CoTrainingClassifier": "fewlabel.wrappers",
    "ConsistencySubsetSelector": "fewlabel.selection",
    "CorrelationSubsetSelector": "fewlabel.selection",
    "CrossTrainingClassifier": "fewlabel.wrappers",
    "GraphScoreSelector": "fewlabel.selection",
    "LeastSquaresAUCClassifier": "fewlabel.linear",
    "LinearAUCClassifier": "fewlabel.linear",
    "LinearAUCClassifierCV": "fewlabel.linear",
    "LinearPUClassifier": "fewlabel.linear",
    "MultiviewKernelClassifier": "fewlabel.multiview",
    "NeuralPUClassifier": "fewlabel.neural",
    "OneVsRestRankingClassifier": "fewlabel.linear",
    "PNUAUCBoostClassifier": "fewlabel.boosting",
    "PNUAdaBoostClassifier": "fewlabel.boosting",
    "PUAdaBoostClassifier": "fewlabel.boosting",
    "LabelSpreadingClassifier": "fewlabel.graph",
    "PathNeighborsClassifier": "fewlabel.graph",
    "PseudoLabelSelector": "fewlabel.selection",
    "QuasiBaggingClassifier": "fewlabel.multiview",
    "ReliefFSelector": "fewlabel.selection",
    "SemiSupervisedAdaBoostClassifier": "fewlabel.boosting",
    "StabilitySelector": "fewlabel.selection",
    "SubsetReliefSelector": "fewlabel.selection",
    "TableClassifier": "fewlabel.tables",
    "TableEncoder": "fewlabel.tables",
    "TreeAUCBoostClassifier": "fewlabel.boosting",
    "TreePUBoostClassifier": "fewlabel.boosting",
    "TriTrainingClassifier": "fewlabel.wrappers",
    "VariableClusterer": "fewlabel.multiview",
}
_SPLITTERS = {"LabeledStratifiedKFold": "fewlabel.model_selection"}
_STRATEGIES = {
    "AuditQuery": "fewlabel.active",
    "BatchQuery": "fewlabel.active",
    "RandomQuery": "fewlabel.active",
}
_FUNCTIONS = {
    "check": "fewlabel.tables",
    "export": "fewlabel.exporting",
    "load": "fewlabel.persistence",
    "report": "fewlabel.reporting",
    "save": "fewlabel.persistence",
    "list_datasets": "fewlabel.datasets",
    "load_dataset": "fewlabel.datasets",
    "make_multiview_credit": "fewlabel.datasets",
    "make_pu": "fewlabel.datasets",
    "make_three_circles": "fewlabel.datasets",
    "make_two_moons": "fewlabel.datasets",
    "make_pu_scorer": "fewlabel.model_selection",
    "hide_labels": "fewlabel.model_selection",
    "estimate_class_prior": "fewlabel.prior",
    "draw_weights": "fewlabel.active",
    "linear_auc_path": "fewlabel.linear",
    "auc_confidence_interval": "fewlabel.metrics",
    "compare_methods": "fewlabel.metrics",
    "hand_till_score": "fewlabel.metrics",
    "paired_auc_test": "fewlabel.metrics",
    "plot_critical_difference": "fewlabel.metrics",
    "pnu_auc_score": "fewlabel.metrics",
    "pu_auc_score": "fewlabel.metrics",
    "contributions": "fewlabel.inspection",
    "plot_shape_functions": "fewlabel.inspection",
    "scorecard": "fewlabel.inspection",
}
_MODULES = (
    "active",
    "auto",
    "boosting",
    "datasets",
    "decisions",
    "exceptions",
    "exporting",
    "graph",
    "inspection",
    "labels",
    "linear",
    "metrics",
    "model_selection",
    "monitor",
    "multiview",
    "neural",
    "parts",
    "persistence",
    "population",
    "prior",
    "reporting",
    "selection",
    "tables",
    "wrappers",
)
_EXTRAS = ("dask",)  # modules that need a package which may not be installed: not imported by `import *`
_HOME = {**ESTIMATORS, **_SPLITTERS, **_STRATEGIES, **_FUNCTIONS}

__all__ = ["UNLABELED", "all_estimators", *_HOME, *_MODULES]  # noqa: PLE0604


def all_estimators() -> list[tuple[str, type]]:
    """List all estimators of the library.

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
    return [(name, getattr(import_module(module), name)) for name, module in sorted(ESTIMATORS.items())]


def __getattr__(name):
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in (*_MODULES, *_EXTRAS):
        value = import_module(f"fewlabel.{name}")
    else:
        raise AttributeError(f"module 'fewlabel' has no attribute {name!r}")
    globals()[name] = value  # the next access finds it without this function
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_EXTRAS})
