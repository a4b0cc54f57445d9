"""Cross-validation with unlabeled rows, and hiding labels to measure the effect of few labels."""

import numbers
from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold
from sklearn.utils import indexable

from fewlabel import labels
from fewlabel.checks import check_choice, check_share
from fewlabel.folds import split_labeled
from fewlabel.metrics import pu_auc_score
from fewlabel.random_streams import draw_seed, own_stream
from fewlabel.rows import Rows
from fewlabel.types import MatrixLike, Seed

__all__ = ["LabeledStratifiedKFold", "hide_labels", "make_pu_scorer"]

Mechanism = Literal["scar", "per-class", "positives-only"]


class LabeledStratifiedKFold(BaseCrossValidator):
    """Stratified k-fold over the labeled rows; unlabeled rows are in every training set and in no test set.

    With scikit-learn's `StratifiedKFold`, unlabeled rows would count as a class of their own, and models would be
    scored on predicting it. With `groups`, rows of one are on one side of every split. With `time`, models learn from
    the past, and are tested on later rows. Unlabeled rows of tested groups, or not earlier than the tested rows, are
    then left out of the training set.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2 and at most the number of labeled rows (with `groups`: of groups) of the rarest
        class.
    shuffle : bool, default=False
        Whether to shuffle the rows of each class before splitting. As in `StratifiedKFold`, the default gives the same
        folds in every call, so that the scores of two models can be compared fold by fold.
    random_state : int, RandomState instance or None, default=None
        Shuffles the rows if `shuffle` is True. Pass an int for the same folds in every call.

    See Also
    --------
    hide_labels : Hide labels of a fully labeled `y`.

    Notes
    -----
    :func:`sklearn.model_selection.cross_val_score` passes `groups`; for `time` give it the folds themselves,
    ``cv=list(LabeledStratifiedKFold().split(X, y, time=dates))``.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.model_selection import LabeledStratifiedKFold
    >>> y = np.array([0, 1, -1, 0, 1, -1])
    >>> for train, test in LabeledStratifiedKFold(n_splits=2).split(np.zeros((6, 1)), y):
    ...     print(train, test)
    [2 3 4 5] [0 1]
    [0 1 2 5] [3 4]
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = False, random_state: Seed = None) -> None:
        # Validates the arguments here, as scikit-learn's splitters do.
        StratifiedKFold(n_splits, shuffle=shuffle, random_state=random_state)
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state

    def split(self, X: MatrixLike, y: ArrayLike, groups: Any = None, time: Any = None) -> Iterator:
        """Generate the indices of the training and test rows of each fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows; only their number is used.
        y : array-like of shape (n_samples,)
            Labels; ``-1`` or a missing value marks an unlabeled row.
        groups : array-like of shape (n_samples,), default=None
            The patient, customer or device of each row.
        time : array-like of shape (n_samples,), default=None
            When each row was recorded, as numbers or dates. The later half of the labeled rows is tested, in at most
            `n_splits` blocks; each is predicted from the rows before it. `shuffle` has no effect.

        Yields
        ------
        train : ndarray
            Labeled rows that are not tested, and unlabeled rows.
        test : ndarray
            The labeled rows of this fold.
        """
        # Raises scikit-learn's error for unequal lengths.
        indexable(X, y, groups, time)
        rows = Rows.read(None, y, groups=groups, time=time)
        labels.require_labels(rows.labels)
        if time is None:
            self._check_counts(rows)
        return self._split_labeled(rows)

    def _check_counts(self, rows):
        codes = rows.codes[rows.labeled]
        unit = "labeled row(s)"
        more = "more rows of it"
        if rows.groups is not None:
            # One row of each class in each group.
            codes, _ = np.unique([codes, rows.groups[rows.labeled]], axis=1)
            unit = "group(s)"
            more = "rows of it in more groups"
        counts = np.bincount(codes)
        least = counts.min()
        if least < self.n_splits:
            rarest = rows.classes.tolist()[counts.argmin()]
            remedy = f"use n_splits={least} or fewer, or label" if least > 1 else "label"
            raise ValueError(
                f"n_splits={self.n_splits} is more than the {least} {unit} of class {rarest!r}, so some test "
                f"sets would hold none: {remedy} {more}"
            )

    def _split_labeled(self, rows):
        labeled = rows.labeled
        seed = self.random_state
        if rows.groups is not None and self.shuffle:
            seed = draw_seed(seed)
        folds = split_labeled(
            rows.take(labeled), self.n_splits, seed=seed, shuffle=self.shuffle, n_blocks=self.n_splits
        )
        for left_out, test in folds:
            tested = labeled[test]
            in_training = np.ones(len(rows), dtype=bool)
            if rows.groups is not None:
                in_training &= ~np.isin(rows.groups, rows.groups[tested])
            if rows.time is not None:
                in_training &= rows.time < rows.time[tested].min()
            in_training[labeled[left_out]] = False
            yield np.flatnonzero(in_training), tested

    def get_n_splits(self, X: MatrixLike | None = None, y: ArrayLike | None = None, groups: Any = None) -> int:
        """Return the number of folds.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored.

        Returns
        -------
        int
            The parameter `n_splits`; with `time` there may be fewer folds.
        """
        return self.n_splits


def hide_labels(
    y: ArrayLike,
    labeled: float = 0.1,
    *,
    mechanism: Mechanism = "scar",
    random_state: Seed = None,
) -> Any:
    """Return a copy of `y` in which most labels are hidden.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels. Rows that are already unlabeled stay unlabeled.
    labeled : float in (0, 1] or int, default=0.1
        How many labels to keep: a float is a share, an int a count. The base depends on `mechanism`. A share is
        rounded to whole rows, with at least one row of each class. Note that ``1`` means one row and ``1.0`` all.
    mechanism : {"scar", "per-class", "positives-only"}, default="scar"
        Which labels to keep:

        - ``"scar"`` (selected completely at random): a uniform sample of the labeled rows. If a class is missing from
          the sample, a random row of it replaces the row drawn last, so that one row of each class is kept; this only
          matters for small samples of rare classes.
        - ``"per-class"``: a uniform sample of the labeled rows of each class; `labeled` applies to each class.
        - ``"positives-only"``: a uniform sample of the labeled positives (the last of two classes), to which `labeled`
          applies; every negative is hidden. This gives positive-unlabeled data.
    random_state : int, RandomState instance or None, default=None
        Draws the rows. Pass an int for the same rows in every call.

    Returns
    -------
    array-like of shape (n_samples,)
        The labels, in a new container of the same type as `y`. Hidden rows hold

        - ``-1`` in NumPy arrays, lists and pandas columns of numbers (an unsigned type becomes signed),
        - the missing value of types that have one: pandas nullable, string and categorical columns, polars, Arrow,
        - ``None`` in lists of strings or bools, and in NumPy arrays of strings, which become arrays of objects,
        - ``pd.NA`` in arrays and pandas columns of bools, which become pandas ``"boolean"``, because scikit-learn's
          scorers do not accept bools in arrays of objects.

    See Also
    --------
    LabeledStratifiedKFold : Cross-validation with unlabeled rows.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.model_selection import hide_labels
    >>> y = np.array([0, 0, 0, 0, 1, 1])
    >>> hide_labels(y, 0.5, mechanism="per-class", random_state=0)
    array([ 0,  0, -1, -1, -1,  1])
    >>> hide_labels(["no", "yes", "no", "yes"], 1, mechanism="positives-only", random_state=0)
    [None, 'yes', None, None]
    """
    check_choice("mechanism", mechanism, get_args(Mechanism))
    _check_labeled(labeled)
    read = labels.read(y)
    labels.require_labels(read)
    rng = own_stream(random_state, "hide_labels")
    n_classes = len(read.classes)
    if mechanism == "scar":
        shown = _draw_any(read, labeled, rng)
    elif mechanism == "per-class":
        shown = np.concatenate([_draw_of_class(read, code, labeled, rng) for code in range(n_classes)])
    else:
        # With both classes in y, read_binary reports what is wrong with it; a single class must be positive.
        _ = labels.read_pu(y) if n_classes == 1 else labels.read_binary(y)
        shown = _draw_of_class(read, n_classes - 1, labeled, rng)
    hidden = np.ones(len(read.codes), dtype=bool)
    hidden[shown] = False
    return _hide(y, hidden, numeric=read.classes.dtype.kind in "iuf")


def _draw_any(read, labeled, rng):
    """A uniform sample of the labeled rows, corrected to include every class."""
    rows = rng.permutation(np.flatnonzero(read.codes >= 0))
    n_classes = len(read.classes)
    if isinstance(labeled, numbers.Integral) and labeled < n_classes:
        raise ValueError(f"labeled={labeled} is fewer than the {n_classes} classes of y: keep at least one row of each")
    n_shown = _n_shown(labeled, len(rows), n_classes, "y")
    shown = rows[:n_shown]
    rest = rows[n_shown:]
    counts = np.bincount(read.codes[shown], minlength=n_classes)
    for missing in np.flatnonzero(counts == 0):
        # The row drawn last whose class has others makes room.
        last = np.flatnonzero(counts[read.codes[shown]] > 1)[-1]
        counts[read.codes[shown[last]]] -= 1
        counts[missing] += 1
        shown[last] = rest[read.codes[rest] == missing][0]
    return shown


def _draw_of_class(read, code, labeled, rng):
    """A uniform sample of the rows of one class."""
    rows = np.flatnonzero(read.codes == code)
    n_shown = _n_shown(labeled, len(rows), 1, f"class {read.classes.tolist()[code]!r}")
    return rng.permutation(rows)[:n_shown]


def _n_shown(labeled, n_rows, least, what):
    """Number of labels to keep, from a count or a share of the rows."""
    if not isinstance(labeled, numbers.Integral):
        return max(round(labeled * n_rows), least)
    if labeled > n_rows:
        raise ValueError(f"labeled={labeled} is more than the {n_rows} labeled rows of {what}: keep fewer")
    return int(labeled)


def _hide(y, hidden, numeric):
    """A copy of `y` with the usual marker of its container in the hidden rows."""
    library = type(y).__module__.partition(".")[0]
    if library in ("pandas", "polars", "pyarrow") and hasattr(y, "columns"):
        # A table of one column.
        if library == "pandas":
            y = y.iloc[:, 0]
        else:
            y = y[y.columns[0]] if library == "polars" else y.column(0)
    if library == "pandas":
        return _hide_in_pandas(y, hidden, numeric)
    if library == "polars":
        return y.set(type(y)(hidden), None)
    if library == "pyarrow":
        import pyarrow
        from pyarrow import compute

        return compute.if_else(pyarrow.array(hidden), pyarrow.scalar(None, y.type), y)
    if isinstance(y, (list, tuple)):
        marker = labels.UNLABELED if numeric else None
        return type(y)(marker if hide else value for value, hide in zip(y, hidden))
    array = np.ravel(np.asarray(y))
    if array.dtype.kind == "b":
        return _hide_in_pandas(pd.Series(array), hidden, numeric).array
    return _hide_in_array(array, hidden, numeric)


def _hide_in_pandas(y, hidden, numeric):
    series = pd.Series(y)
    if isinstance(series.dtype, np.dtype):
        values = _hide_in_array(series.to_numpy(), hidden, numeric)
        # A type is given, because pandas would convert objects to strings.
        dtype = "boolean" if series.dtype.kind == "b" else values.dtype
        result = pd.Series(values, index=series.index, name=series.name, dtype=dtype)
    else:
        result = series.mask(hidden)
    if isinstance(y, pd.Series):
        return result
    return pd.Index(result, name=y.name) if isinstance(y, pd.Index) else result.array


def _hide_in_array(y, hidden, numeric):
    if not numeric:
        y = y.astype(object)
    elif y.dtype.kind == "u":
        # A signed type that holds the classes and -1.
        y = y.astype(np.int64 if y.dtype.itemsize >= 4 else np.result_type(y.dtype, np.int8))
    else:
        y = y.copy()
    y[hidden] = labels.UNLABELED if numeric else None
    return y


def _check_labeled(labeled):
    is_whole = isinstance(labeled, numbers.Integral)
    is_count = is_whole and not isinstance(labeled, bool) and labeled >= 1
    is_share = isinstance(labeled, numbers.Real) and not is_whole and 0 < labeled <= 1
    if not (is_count or is_share):
        raise ValueError(
            f"labeled={labeled!r} should be a float in (0, 1], the share of labels to keep, or an int >= 1, their "
            "number"
        )


def make_pu_scorer(prior: float) -> Any:
    """Make a scorer for model selection without labeled negatives: the AUC from positives and unlabeled rows.

    Parameters
    ----------
    prior : float
        P(y = positive) among the unlabeled rows. It maps the scores of all models by the same increasing function, so
        the choice between models does not depend on it.

    Returns
    -------
    callable
        A scorer for the parameter `scoring` of `GridSearchCV` and `cross_val_score`.

    See Also
    --------
    fewlabel.metrics.pu_auc_score : The score.

    Notes
    -----
    Encode unlabeled rows as 0 and positives as 1, so that scikit-learn stratifies its folds.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from fewlabel import PUAdaBoostClassifier, make_pu, make_pu_scorer
    >>> X, y = make_pu(400, prior=0.4, labeled=80, random_state=0)
    >>> y = (y == 1).astype(int)
    >>> model = PUAdaBoostClassifier(prior=0.25, random_state=0)
    >>> search = GridSearchCV(model, {"n_estimators": [5, 50]}, scoring=make_pu_scorer(0.25), cv=3)
    >>> bool(search.fit(X, y).best_score_ > 0.7)
    True
    """
    prior = check_share("prior", prior)
    return make_scorer(_pu_auc_of_second, prior=prior, response_method="decision_function")


def _pu_auc_of_second(y_true, decision, prior):
    """As `pu_auc_score`, by a decision function, whose sign favors the second of the sorted classes."""
    classes, positive = labels.read_pu(y_true)
    _, (_, position) = labels.sorted_classes(classes)
    return pu_auc_score(positive.astype(int), decision if position == 1 else -decision, prior)
