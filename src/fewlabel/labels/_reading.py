"""Classes and codes of a label column, for each kind of estimator."""

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from fewlabel.exceptions import LabelError
from fewlabel.labels._column import as_series, plain_values, show
from fewlabel.warning_filters import caller_level

UNLABELED = -1


class Labels(NamedTuple):
    """Labels as numbers.

    Attributes
    ----------
    classes : ndarray
        The sorted classes that occur on labeled rows, in the type of `y`.
    codes : ndarray of int64
        Position of each row's class in `classes`, ``-1`` where the row is unlabeled.
    hidden_classes : tuple
        Declared categories of a categorical `y` that no labeled row holds.
    """

    classes: np.ndarray
    codes: np.ndarray
    hidden_classes: tuple = ()


class BinaryLabels(NamedTuple):
    """Two classes as signs: ``+1`` for ``classes[1]``, ``-1`` for ``classes[0]``, ``0`` if unlabeled."""

    classes: np.ndarray
    signs: np.ndarray


class PULabels(NamedTuple):
    """Positive-unlabeled reading: `positive` marks the labeled positives, every other row is unlabeled.

    ``classes[1]`` is the positive class and ``classes[0]`` the other one, named by `name_rest` if `y` does not name it.
    """

    classes: np.ndarray
    positive: np.ndarray


def read(y) -> Labels:
    """Read `y`, with any number of classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or Labels
        List, NumPy array, pandas, polars or Arrow column. Labels that were read before are returned as they are.

    Returns
    -------
    Labels

    Examples
    --------
    >>> from fewlabel.labels import read
    >>> read(["no", None, "yes", "no"]).codes
    array([ 0, -1,  1,  0])
    >>> read([0, 1, -1]).classes
    array([0, 1])
    """
    if isinstance(y, Labels):
        return y
    series = as_series(y)
    labeled = ~series.isna().to_numpy()
    values = plain_values(series[labeled])
    if values.dtype.kind in "iuf":
        marked = values == UNLABELED
        labeled[np.flatnonzero(labeled)[marked]] = False
        values = values[~marked]
    classes, labeled_codes = np.unique(values, return_inverse=True)
    codes = np.full(len(series), UNLABELED, dtype=np.int64)
    codes[labeled] = labeled_codes
    return Labels(classes, codes, hidden_categories(series))


def hidden_categories(series):
    """Declared categories of a categorical column that no row holds."""
    if not isinstance(series.dtype, pd.CategoricalDtype):
        return ()
    present = set(series.cat.remove_unused_categories().cat.categories)
    return tuple(name for name in series.cat.categories if name not in present and not _is_marker(name))


def read_binary(y) -> BinaryLabels:
    """Read `y` with two classes, as every binary ranker does; ``classes[1]`` is the positive class.

    Examples
    --------
    >>> from fewlabel.labels import read_binary
    >>> read_binary([1, 0, -1, 0]).signs
    array([ 1, -1,  0, -1], dtype=int8)
    """
    labels = read(y)
    _require_two_classes(labels)
    signs = np.zeros(len(labels.codes), dtype=np.int8)
    signs[labels.codes == 0] = -1
    signs[labels.codes == 1] = 1
    return BinaryLabels(labels.classes, signs)


def read_pu(y) -> PULabels:
    """Read `y` as positive-unlabeled.

    It holds one labeled class and markers, or two classes and no marker; ``classes[1]`` is positive.

    Examples
    --------
    >>> from fewlabel.labels import read_pu
    >>> read_pu([1, 0, 0, 1]).positive
    array([ True, False, False,  True])
    >>> read_pu(["fraud", None, None]).classes
    array(['not fraud', 'fraud'], dtype=object)
    """
    labels = read(y)
    require_labels(labels)
    n_classes = len(labels.classes)
    has_unlabeled = (labels.codes < 0).any()
    if n_classes == 2 and has_unlabeled:
        raise LabelError(
            f"y holds labeled rows of both classes ({show(labels.classes)}) and unlabeled rows: "
            "positive-unlabeled methods use labeled positives only. Use a semi-supervised method such as "
            "PNUAUCBoostClassifier, which learns from labeled negatives too, or hide the negatives first "
            "(mark them -1)"
        )
    if n_classes > 2:
        raise LabelError(
            "Only binary classification is supported. The type of the target is multiclass: positive-unlabeled "
            f"methods need one positive class, y holds {n_classes}: {show(labels.classes)}. Recode y: 1 for the "
            "positives, -1 or 0 for the rest"
        )
    if n_classes == 1 and not has_unlabeled:
        raise LabelError(
            f"every row is labeled {show(labels.classes)}: there is no unlabeled row to compare the "
            "positive class with; mark unlabeled rows with -1, None or NaN"
        )
    classes = labels.classes if n_classes == 2 else _with_rest(labels)
    return PULabels(classes, labels.codes == n_classes - 1)


def sorted_classes(names) -> tuple[np.ndarray, list[int]]:
    """Classes in sorted order, and the position of each of `names` there; a number beside a text becomes a text.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.labels import sorted_classes
    >>> sorted_classes(np.array(["not fraud", "fraud"]))[1]
    [1, 0]
    """
    if names.dtype == object and len({isinstance(name, str) for name in names}) > 1:
        names = np.array([str(name) for name in names], dtype=object)
    classes, positions = np.unique(names, return_inverse=True)
    return classes, positions.tolist()


def read_positive(y, positive=None) -> Labels:
    """Read `y` with the class to find last, and name the class of the other rows if `y` does not.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
    positive : str, int, float or bool, default=None
        The class to find, or its text; the other classes become one. None keeps all classes in sorted order.

    Returns
    -------
    Labels
        With at least two classes, also if only one is labeled.

    Examples
    --------
    >>> from fewlabel.labels import read_positive
    >>> read_positive(["a", "b", "c", None], positive="a")
    Labels(classes=array(['not a', 'a'], dtype=object), codes=array([ 1,  0,  0, -1]), hidden_classes=())
    >>> read_positive([1, -1, 1]).classes
    array([0, 1])
    """
    labels = read(y)
    require_labels(labels)
    names = labels.classes.tolist()
    if positive is None and len(names) > 1:
        return labels._replace(classes=_as_classes(names, labels.classes.dtype))
    chosen = names[0] if positive is None else find_class(positive, names)
    if len(names) == 1:
        return Labels(_with_rest(labels), np.where(labels.codes == 0, 1, UNLABELED))
    rest = name_rest(chosen, [name for name in names if name != chosen])
    is_chosen = (labels.codes == names.index(chosen)).astype(np.int64)
    codes = np.where(labels.codes < 0, UNLABELED, is_chosen)
    return Labels(_as_classes([rest, chosen], labels.classes.dtype), codes)


def name_rest(positive, others=()):
    """Name the class of all rows that are not positive.

    Parameters
    ----------
    positive : str, int, float or bool
    others : sequence, default=()
        The other classes, if they are known.

    Returns
    -------
    str, int or bool
        The other class if there is one. Of a bool the other bool. Of a text, or if several classes become one,
        "not " and the positive class. Of a number 0, or 1 if the positives are 0.

    Examples
    --------
    >>> from fewlabel.labels import name_rest
    >>> name_rest(1), name_rest(True), name_rest("fraud"), name_rest("b", ["a"]), name_rest(2, [0, 1])
    (0, False, 'not fraud', 'a', 'not 2')
    """
    if len(others) == 1:
        return others[0]
    if isinstance(positive, (bool, np.bool_)):
        return not positive
    # A number would be taken for one of the other classes.
    if isinstance(positive, str) or len(others) > 1:
        return f"not {positive}"
    return 0 if positive != 0 else 1


def require_labels(labels):
    """Raise `LabelError` if no row is labeled."""
    if len(labels.classes) == 0:
        raise LabelError(
            "y holds no labeled row: every value is missing or -1, the mark of unlabeled rows. Label a few "
            "rows of each class (if -1 is one of your classes, recode it, for instance as 0)"
        )


def require_y(y, estimator):
    """Raise `LabelError` if `y` was not passed; in scikit-learn's words, which its checks look for."""
    if y is None:
        raise LabelError(f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None")


def require_weight(codes, needed):
    """Raise `LabelError` if no row of a group is left.

    Parameters
    ----------
    codes : ndarray of int
        Group of each row whose weight is not 0.
    needed : dict
        What to call a row of each group that is needed.
    """
    present = np.unique(codes)
    for code, name in needed.items():
        if code not in present:
            raise LabelError(
                f"every {name} has sample_weight 0, and such rows are left out: rows of both classes are needed, so "
                "give one of them a positive weight"
            )


def read_classes(y, estimator) -> Labels:
    """Read `y` for an estimator that needs two classes or more."""
    require_y(y, estimator)
    labels = read(y)
    require_labels(labels)
    if len(labels.classes) < 2:
        raise LabelError(_one_class(labels))
    return labels


def warn_positive_unlabeled(y, labels):
    """Warn that a numeric `y` with one class and -1 is read as positive-unlabeled: -1 may be meant as a class."""
    # Whoever read labels before has seen the markers.
    if isinstance(y, Labels):
        return
    if labels.classes.dtype.kind in "iuf" and not as_series(y).isna().any():
        warnings.warn(
            f"only one labeled class ({show(labels.classes)}): read as positive-unlabeled. If -1 is your negative "
            "class, recode it as 0; -1 marks unlabeled rows",
            UserWarning,
            stacklevel=caller_level(),
        )


def _require_two_classes(labels):
    require_labels(labels)
    n_classes = len(labels.classes)
    if n_classes == 1:
        raise LabelError(_one_class(labels))
    if n_classes > 2:
        hint = ""
        if str(UNLABELED) in map(str, labels.classes):
            hint = f". The text {str(UNLABELED)!r} is a class: mark unlabeled rows of a text column with None"
        raise LabelError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"y holds {n_classes} classes, {show(labels.classes)}{hint}"
        )


def _one_class(labels):
    """What to tell if one class is labeled and two are needed."""
    remedy = "label rows of another class"
    if labels.hidden_classes:
        remedy = f"every row of class {show(labels.hidden_classes)} is hidden; label a few rows of it"
    elif labels.classes.dtype.kind in "iuf" and (labels.codes < 0).any():
        remedy = "if -1 is your negative class, recode it as 0; -1 marks unlabeled rows"
    return (
        f"only one labeled class ({show(labels.classes)}): {remedy}. If only positives are labeled, use a "
        "positive-unlabeled method such as PUAdaBoostClassifier"
    )


def _with_rest(labels):
    """The only labeled class, second, and the class of the other rows, first."""
    positive = labels.classes.tolist()[0]
    hidden = labels.hidden_classes if len(labels.hidden_classes) == 1 else ()
    return _as_classes([name_rest(positive, hidden), positive], labels.classes.dtype)


def _as_classes(names, dtype):
    """Classes as an array: of objects if one is a text, else of the type of `y`."""
    if any(isinstance(name, str) for name in names):
        dtype = object
    classes = np.empty(len(names), dtype=dtype)
    classes[:] = names
    return classes


def find_class(positive, names):
    """The class that is equal to `positive`, or has the same text, as on a command line."""
    for name in names:
        if name == positive or str(name) == str(positive):
            return name
    raise LabelError(f"no labeled row holds the positive class {positive!r}: the classes are {show(names)}")


def _is_marker(value):
    return not isinstance(value, (str, bool, np.bool_)) and value == UNLABELED
