"""What model files may hold: exact names of types, by the loader of skops that builds them.

No state that a file could give to these types makes them run code or read memory out of bounds. scikit-learn's trees,
k-d trees and SciPy's sparse matrices are left out on purpose: compiled code follows the indices they hold without
checking them.
"""

import numpy as np
import scipy.special

from fewlabel.persistence._skops import scikit_learn_estimators

SCALARS = {
    f"numpy.{kind.__name__}"
    for kind in np.sctypeDict.values()
    if issubclass(kind, (np.number, np.bool_, np.str_, np.bytes_, np.datetime64, np.timedelta64))
}
KEY_TYPES = {"builtins.bool", "builtins.float", "builtins.int", "builtins.str", *SCALARS}
CONTAINERS = {
    "DictNode": {"builtins.dict", "collections.OrderedDict"},
    "DTypeNode": {"numpy.dtype"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "MaskedArrayNode": {"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "TupleNode": {"builtins.tuple"},
}
# Functions that models refer to. Loading does not call them.
FUNCTIONS = {
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.metrics._ranking.roc_auc_score",
}
# Losses of scikit-learn's linear models: compiled classes that hold a number or nothing.
LOSSES = {
    "sklearn._loss._loss.CyHalfBinomialLoss",
    "sklearn.linear_model._sgd_fast.Hinge",
    "sklearn.linear_model._sgd_fast.ModifiedHuber",
    "sklearn.linear_model._sgd_fast.SquaredHinge",
}
_SCIPY_UFUNCS = ("scipy.special", "scipy.special._special_ufuncs", "scipy.special._ufuncs")
# Parts of scikit-learn's meta-estimators, beside its public estimators.
SCIKIT_LEARN = {
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.StratifiedKFold",
}
OURS = {
    "fewlabel.parts.expansions.GaussianBayes",
    "fewlabel.parts.expansions.GaussianKernel",
    "fewlabel.parts.expansions.PairsOfClasses",
    "fewlabel.parts.expansions.PolynomialKernel",
    "fewlabel.parts.model.Classes",
    "fewlabel.parts.model.Evidence",
    "fewlabel.parts.model.FittedModel",
    "fewlabel.parts.model.Sigmoids",
    "fewlabel.parts.model.Softmax",
    "fewlabel.parts.nearest.Neighbors",
    "fewlabel.parts.nearest.Paths",
    "fewlabel.parts.nearest.Spreading",
    "fewlabel.parts.numbers.Chain",
    "fewlabel.parts.numbers.Linear",
    "fewlabel.parts.numbers.LogOdds",
    "fewlabel.parts.numbers.Ranks",
    "fewlabel.parts.numbers.Select",
    "fewlabel.parts.numbers.WeightedSum",
    "fewlabel.parts.trees.Steps",
    "fewlabel.parts.trees.SymmetricTrees",
    "fewlabel.parts.trees.Trees",
    "fewlabel.parts.views.Beside",
    "fewlabel.parts.views.Components",
    "fewlabel.parts.views.FillAndScale",
    "fewlabel.parts.views.Smooth",
    "fewlabel.model_selection.LabeledStratifiedKFold",
    *(f"fewlabel.parts.columns.{name}Column" for name in ("Number", "Boolean", "Date", "Category", "Text")),
    *(f"fewlabel.parts.columns.{name}" for name in ("TextDateColumn", "TextNumberColumn", "Columns")),
    "fewlabel.persistence.forests.FrozenClassifier",
    "fewlabel.persistence.forests.FrozenTrees",  # checks its indices itself
    "fewlabel.persistence.symmetric.FrozenSymmetricTrees",  # so does this
}


def is_object(name):
    """Whether this is the name of a class whose attributes a file may set."""
    if name in OURS or name in SCIKIT_LEARN or _is_our_estimator(name):
        return True
    return name.startswith("sklearn.") and name in scikit_learn_estimators()


def is_ufunc(name):
    """Whether this is the name of an elementwise function of NumPy or SciPy."""
    module, _, attribute = name.rpartition(".")
    if module == "numpy":
        return isinstance(getattr(np, attribute, None), np.ufunc)
    return module in _SCIPY_UFUNCS and isinstance(getattr(scipy.special, attribute, None), np.ufunc)


def _is_our_estimator(name):
    """Whether this is a public estimator; only the module that holds it is imported."""
    import fewlabel

    cls = getattr(fewlabel, name.rpartition(".")[2], None) if name.startswith("fewlabel.") else None
    return isinstance(cls, type) and hasattr(cls, "fit") and f"{cls.__module__}.{cls.__qualname__}" == name
