"""A classifier for tables as they are, which remembers its columns."""

import warnings

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fewlabel import labels
from fewlabel.exceptions import TableError
from fewlabel.tables._columns import DATE, TEXT, as_kind, kind_of, leaks, useless
from fewlabel.text import did_you_mean, short

_MANY = 8  # names that an error lists


class TableClassifier(ClassifierMixin, BaseEstimator):
    """Any classifier, on a DataFrame with text, dates, categories, booleans and gaps.

    Numbers and booleans are taken as they are, with gaps. Dates and text are turned into numbers by skrub's
    `TableVectorizer`: parts of the date; one column a category; for text of many values, the leading directions of its
    character n-grams. Columns that are empty, constant, or number or name the rows are left out, and a column that
    alone separates the labels is pointed out: is it known before the label is?

    Parameters
    ----------
    estimator : estimator, default=None
        Gets a table of floats with NaN for gaps; None is ``AutoClassifier(random_state=random_state)``.
    positive : str, int or bool, default=None
        The class to find. With more than two classes the others become one. By default the last in sorted order.
    random_state : int, RandomState instance or None, default=None
        Seeds the text encoder, and the default estimator.

    Attributes
    ----------
    classes_ : ndarray
        With two classes, the positive one is ``classes_[1]``.
    estimator_ : estimator
        Fitted.
    columns_ : dict
        Kind of each column that is used: "number", "boolean", "date" or "text".
    dropped_ : dict
        Columns that are left out, and why.
    leaks_ : list of str
        Columns that alone separate the labels.
    features_ : list of str
        Names of the features that the estimator sees.
    sources_ : list of str
        The column that each of them comes from.
    target_ : str
        Name of the label column, if it had one.

    See Also
    --------
    fewlabel.AutoClassifier : The default estimator.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel import AutoClassifier, TableClassifier
    >>> rows = pd.DataFrame({"city": list("aabb") * 10, "size": range(40), "age": [1.5, None] * 20})
    >>> y = pd.Series(["no", "no", "yes", None] * 10, name="bought")
    >>> model = TableClassifier(AutoClassifier("small", random_state=0)).fit(rows, y)
    >>> model.columns_
    {'city': 'text', 'age': 'number'}
    >>> model.dropped_
    {'size': 'numbers the rows'}
    >>> model.predict(rows[["age", "city"]][:3])  # in any order
    array(['no', 'no', 'yes'], dtype=object)
    """

    def __init__(self, estimator=None, *, positive=None, random_state=None):
        self.estimator = estimator
        self.positive = positive
        self.random_state = random_state

    __metadata_request__fit = {"callback": UNUSED}

    def fit(self, X, y, *, callback=None):
        """Learn what the columns are, and fit the classifier.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` where it is not known.
        callback : callable, default=None
            Progress of the estimator, if its `fit` takes a callback: ``callback(done, total, name)`` is called after
            each step.

        Returns
        -------
        self : object
        """
        features, codes = self.encode(X, y)
        hidden = pd.Series(codes, dtype="Int64").mask(codes < 0)
        from fewlabel.auto import AutoClassifier, check_counts

        default = AutoClassifier(random_state=self.random_state)
        self.estimator_ = default if self.estimator is None else clone(self.estimator)
        if isinstance(self.estimator_, AutoClassifier):
            check_counts(self.classes_, codes)  # which knows the classes by number only
        followed = {"callback": callback} if has_fit_parameter(self.estimator_, "callback") else {}
        self.estimator_.fit(features, hidden, **followed)
        return self

    def encode(self, X, y):
        """Learn what the columns are; the table as numbers, and the labels as codes.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,)

        Returns
        -------
        features : ndarray of shape (n_samples, n_features)
            Floats, NaN for gaps.
        codes : ndarray of int
            Position of each row's class in `classes_`, ``-1`` where it is not known.
        """
        codes = self._read_labels(y)
        cleaned = self._learn_columns(X, codes)
        self._learn_encoding(cleaned)
        return self._numbers(cleaned), codes

    def clean(self, X, y):
        """Learn what the columns are; those that are of use, with one type each.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
        y : array-like of shape (n_samples,)

        Returns
        -------
        DataFrame
        """
        return self._learn_columns(X, self._read_labels(y))

    def decision_function(self, X):
        """Score of each row, as the estimator gives it.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)
            Columns in any order; further ones are ignored.

        Returns
        -------
        ndarray
        """
        return self.estimator_.decision_function(self.transform(X))

    def predict_proba(self, X):
        """Probability of each class.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.estimator_.predict_proba(self.transform(X))

    def predict(self, X):
        """Class of each row.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.classes_[self.estimator_.predict(self.transform(X)).astype(np.intp)]

    def transform(self, X):
        """The table as the estimator sees it: floats, NaN for gaps.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_columns)

        Returns
        -------
        ndarray of shape (n_samples, n_features)

        Raises
        ------
        TableError
            If columns are missing; the message names them.
        """
        check_is_fitted(self, "columns_")
        X = _as_frame(X)
        missing = [name for name in self.columns_ if name not in X.columns]
        if missing:
            raise TableError(_missing_text(missing, [name for name in X.columns if name not in self.columns_]))
        return self._numbers(pd.DataFrame({name: as_kind(X[name], kind) for name, kind in self.columns_.items()}))

    def _read_labels(self, y):
        """Set `classes_`; the code of each row, with the positive class last."""
        self.target_ = str(getattr(y, "name", None) or "label")
        self.classes_, codes, _ = labels.read_positive(y, self.positive)
        return codes

    def _learn_columns(self, X, codes):
        X = _as_frame(X)
        if len(X) != len(codes):
            raise TableError(f"the table has {len(X)} rows and the label column {len(codes)}")
        if len(X) < 2:
            raise TableError(f"the table has {len(X)} row(s): there is nothing to compare")
        kinds = {name: kind_of(X[name]) for name in X.columns}
        cleaned = {name: as_kind(X[name], kind) for name, kind in kinds.items()}
        reasons = {name: useless(name, cleaned[name], kinds[name]) for name in kinds}
        self.dropped_ = {name: why for name, why in reasons.items() if why is not None}
        self.columns_ = {name: kind for name, kind in kinds.items() if reasons[name] is None}
        if not self.columns_:
            raise TableError("no column is left to learn from: all are empty, constant, or number the rows")
        kept = pd.DataFrame({name: cleaned[name] for name in self.columns_})
        self.leaks_ = leaks(kept, codes)
        self.n_features_in_ = len(self.columns_)
        return kept

    def _learn_encoding(self, cleaned):
        plain, coded = self._parts(cleaned)
        self.features_, self.sources_ = list(plain.columns), list(plain.columns)
        self.vectorizer_ = None
        if coded.shape[1] == 0:
            return
        from skrub import StringEncoder, TableVectorizer

        encoder = StringEncoder(n_components=min(30, max(2, len(coded) - 1)), random_state=self.random_state)
        self.vectorizer_ = TableVectorizer(high_cardinality=encoder).fit(_numbered(coded))
        for output, number in self.vectorizer_.output_to_input_.items():
            name = coded.columns[int(number[1:])]
            self.features_.append(name + output[len(number) :])
            self.sources_.append(name)

    def _parts(self, cleaned):
        """The columns that are numbers, and those that have to be made numbers."""
        coded = [name for name in cleaned.columns if self.columns_[name] in (DATE, TEXT)]
        return cleaned.drop(columns=coded), cleaned[coded]

    def _numbers(self, cleaned):
        plain, coded = self._parts(cleaned)
        blocks = [plain.to_numpy(dtype=np.float64)]
        if self.vectorizer_ is not None:
            with warnings.catch_warnings():  # a category that is new has no column: that is as it should be
                warnings.filterwarnings("ignore", "Found unknown categories")
                blocks.append(self.vectorizer_.transform(_numbered(coded)).to_numpy(dtype=np.float64))
        return np.hstack(blocks)


def _numbered(table):
    """Columns by number: whatever their names are, skrub need not cope with them."""
    return table.set_axis([f"c{k}" for k in range(table.shape[1])], axis=1).reset_index(drop=True)


def _as_frame(X):
    if hasattr(X, "to_pandas"):  # polars and Arrow
        X = X.to_pandas()
    if not isinstance(X, pd.DataFrame):
        raise TableError(f"expected a table with named columns, such as a pandas DataFrame, got {type(X).__name__}")
    return X.set_axis(X.columns.map(str), axis=1)


def _missing_text(missing, present):
    shown = []
    for name in missing[:_MANY]:
        near = did_you_mean(name, present)
        shown.append(f"{short(name)!r}" + (f" (is it {short(near)!r}?)" if near else ""))
    more = f" and {len(missing) - _MANY} more" if len(missing) > _MANY else ""
    return f"the table lacks {len(missing)} column(s) of the model: {', '.join(shown)}{more}"


def score_table(model, table):
    """Score, probabilities and label of each row.

    Parameters
    ----------
    model : TableClassifier
        Fitted.
    table : DataFrame

    Returns
    -------
    dict
        Columns of the result: `score` and `probability` of the positive class, or one probability for each of more than
        two classes; `label`.
    """
    seen = model.transform(table)
    inner = model.estimator_
    label = model.classes_[inner.predict(seen).astype(np.intp)]
    probability = inner.predict_proba(seen)
    if len(model.classes_) == 2:
        return {"score": inner.decision_function(seen), "probability": probability[:, 1], "label": label}
    named = {f"probability of {name}": probability[:, k] for k, name in enumerate(model.classes_)}
    return {**named, "label": label}
