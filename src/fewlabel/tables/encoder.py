"""TableEncoder: a table with text, dates, categories, booleans and missing values as numbers."""

import json
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import fit_context
from fewlabel.exceptions import TableError
from fewlabel.tables.kinds import DATE, NUMBER, TEXT, Converted, as_kind, factorized, read_columns
from fewlabel.tables.profile import profile_columns
from fewlabel.text import did_you_mean, distinct, short
from fewlabel.warning_filters import keep_filters

_MANY = 8  # names that an error lists
_TEXT_COMPONENTS = 30
_MEMO = 50_000  # distinct values of a column that are kept with their features


class _Encoded(NamedTuple):
    """Distinct values of a column and their features; the last row of features is that of missing values."""

    values: pd.Index
    features: np.ndarray

    def after(self, other: "_Encoded | None") -> "_Encoded":
        if other is None:
            return self
        return _Encoded(other.values.append(self.values), np.concatenate([other.features[:-1], self.features]))


Memo = dict[str, _Encoded]


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table with text, dates, categories, booleans and missing values as numbers.

    Numbers and booleans stay as they are, missing values included. Dates and text are encoded by skrub's
    `TableVectorizer`: the parts of a date; one feature per category; for text with many distinct values, the leading
    components of its character n-grams [1]_. Columns that are empty, constant or look like an identifier are dropped.

    Parameters
    ----------
    dayfirst : bool, default=None
        Whether 03/04/2024 is the third of April or March the fourth, in a column whose dates can all be read either
        way. By default such a column is an error.
    random_state : int, RandomState instance or None, default=None
        Seed of the text components.

    Attributes
    ----------
    columns_ : dict
        Kind of each column in use: "number", "boolean", "date" or "text".
    notations_ : dict
        How the texts of a column write numbers or dates, if not as 1234.5 or 2024-12-31: for instance "1.234,5" or
        "31/12/2024". New rows are read in the same notation.
    dropped_ : dict
        The other columns, each with the reason: "empty", "constant" or "looks like an identifier".
    profile_ : dict
        What each column in use looked like: shares of missing values, categories or deciles, range. See
        :func:`fewlabel.tables.compare`.
    features_ : list of str
        Names of the features.
    sources_ : list of str
        The column that each feature comes from.
    n_features_in_ : int
        Number of columns seen by `fit`, dropped ones included.
    feature_names_in_ : ndarray of str
        Their names. Only if `fit` was given a table with column names.

    See Also
    --------
    fewlabel.TableClassifier : This encoder and a classifier.

    Notes
    -----
    New rows may have their columns in any order, and further columns, which are ignored; a column in use that is
    missing is an error. A category that `fit` did not see has no feature of its own: its row holds zeros.

    References
    ----------
    .. [1] Deerwester, Dumais, Furnas, Landauer, Harshman. Indexing by latent semantic analysis. Journal of the
       American Society for Information Science 41(6), 1990.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel import TableEncoder
    >>> rows = pd.DataFrame({"city": list("abc") * 10, "row": range(30), "age": [1.5, None] * 15})
    >>> encoder = TableEncoder().fit(rows)
    >>> encoder.dropped_
    {'row': 'looks like an identifier'}
    >>> encoder.get_feature_names_out()
    array(['age', 'city_a', 'city_b', 'city_c'], dtype=object)
    >>> encoder.transform(rows[["age", "city"]][:2])  # in any order
    array([[1.5, 1. , 0. , 0. ],
           [nan, 0. , 1. , 0. ]])
    """

    _parameter_constraints: dict = {"dayfirst": ["boolean", None], "random_state": ["random_state"]}

    def __init__(self, *, dayfirst: bool | None = None, random_state: Any = None) -> None:
        self.dayfirst = dayfirst
        self.random_state = random_state

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn the kinds of the columns and how to encode them.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            pandas, polars or Arrow table, or a 2-D array.
        y : None
            Ignored.

        Returns
        -------
        self : object
        """
        self._learn(X)
        return self

    @fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """Fit to a table and encode it, with one pass over its columns.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        y : None
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        return self.encode(self._learn(X))

    def transform(self, X: Any) -> np.ndarray:
        """Encode a table.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            With the columns of `columns_`, in any order. A 2-D array has the same columns as in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Floats, NaN where a value is missing.

        Raises
        ------
        TableError
            If columns are missing; the message names them.
        """
        return self.encode(self.read(X))

    def read(self, X: Any, *, keep_categories: bool = False, memo: dict[str, Converted] | None = None) -> pd.DataFrame:
        """Convert the columns in use to their kinds, the first half of `transform`.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        keep_categories : bool, default=False
            Whether to return dates and texts as categories where `X` has them as such, which is faster.
        memo : dict, default=None
            Empty at first, then passed again with further rows: categories in it are not converted again. Threads may
            share it.

        Returns
        -------
        DataFrame
            Floats, dates or text; missing values where a value does not fit the kind or the notation of its column.
        """
        check_is_fitted(self)
        table = self._as_frame(X)
        if not hasattr(self, "feature_names_in_"):
            if table.shape[1] != self.n_features_in_:
                raise TableError(
                    f"X has {table.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                    "features as input"
                )
            table = table.set_axis(_numbered_names(table.shape[1]), axis=1)
        self.require_columns(list(table.columns))
        converted = {
            name: as_kind(table[name], kind, self.notations_.get(name, ""), keep_categories=keep_categories, memo=memo)
            for name, kind in self.columns_.items()
        }
        return pd.DataFrame(converted, index=table.index, copy=False)

    def plain_numbers(self) -> set[str]:
        """The columns in use to read as floats from a text file; the others are text, whatever they look like there."""
        return {name for name, kind in self.columns_.items() if kind == NUMBER and name not in self.notations_}

    def require_columns(self, names: list[str]) -> None:
        """Raise a `TableError` that suggests names if a table with these columns lacks columns of the fit.

        Parameters
        ----------
        names : list of str
        """
        missing = [name for name in self.columns_ if name not in names]
        if missing:
            raise TableError(_missing_text(missing, [name for name in names if name not in self.columns_]))

    def encode(self, converted: pd.DataFrame, memo: "Memo | None" = None) -> np.ndarray:
        """Encode converted columns, the second half of `transform`.

        Parameters
        ----------
        converted : DataFrame
            What `read` returned.
        memo : dict, default=None
            Empty at first, then passed again with further rows: values in it are not encoded again. Threads may share
            it.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
        """
        plain, coded = self._split(converted)
        features = np.empty((len(converted), len(self.features_)))
        for k, name in enumerate(plain.columns):
            features[:, k] = plain[name]
        if self._vectorizer is not None:
            self._encode_distinct(coded, self._vectorizer, features[:, plain.shape[1] :], {} if memo is None else memo)
        return features

    def _encode_distinct(self, coded: pd.DataFrame, vectorizer: Any, features: np.ndarray, memo: "Memo") -> None:
        """Encode dates and texts. Steps work row by row, so each distinct value of a column is encoded once."""
        found = {name: factorized(coded[name]) for name in coded.columns}
        known = {name: memo[name] for name in found if name in memo}
        new = {
            name: values[known[name].values.get_indexer(values) < 0] if name in known else values
            for name, (_, values) in found.items()
        }
        if len(known) < len(found) or any(map(len, new.values())):
            for name, encoded in self._encode_values(new, vectorizer).items():
                known[name] = encoded.after(known.get(name))
            memo.update({name: of_column for name, of_column in known.items() if len(of_column.values) <= _MEMO})
        sources = np.array(self.sources_[len(self.sources_) - features.shape[1] :], dtype=object)
        for name, (codes, values) in found.items():
            places = np.append(known[name].values.get_indexer(values), -1)  # code -1 is the last place
            for k, feature in zip(np.flatnonzero(sources == name), known[name].features.T):
                features[:, k] = feature[places][codes]

    def _encode_values(self, values: dict[str, pd.Index], vectorizer: Any) -> "Memo":
        """Encode the given values of each column."""
        longest = 1 + max(map(len, values.values()))
        padded = [pd.Series(of_column, dtype=of_column.dtype).reindex(range(longest)) for of_column in values.values()]
        rows = pd.DataFrame({f"c{k}": column for k, column in enumerate(padded)})  # the last row is missing
        with keep_filters():
            warnings.filterwarnings("ignore", "Found unknown categories")  # they are encoded as zeros
            encoded = vectorizer.transform(rows).to_numpy(dtype=np.float64)
        sources = np.array(self.sources_[len(self.sources_) - encoded.shape[1] :], dtype=object)
        return {
            name: _Encoded(of_column, encoded[np.ix_([*range(len(of_column)), -1], sources == name)])
            for name, of_column in values.items()
        }

    @property
    def profile_(self) -> dict[str, dict[str, Any]]:
        return json.loads(self._profile)

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> np.ndarray:
        """Names of the features.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns, if `fit` was given an array. Otherwise they must be `feature_names_in_`.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        if input_features is None:
            return np.array(self.features_, dtype=object)
        if len(input_features) != self.n_features_in_:
            raise ValueError(
                f"input_features should have length equal to number of features ({self.n_features_in_}), got "
                f"{len(input_features)}"
            )
        if hasattr(self, "feature_names_in_"):
            if list(input_features) != list(self.feature_names_in_):
                raise ValueError("input_features is not equal to feature_names_in_: leave it out, or pass the same")
            return np.array(self.features_, dtype=object)
        named = dict(zip(_numbered_names(self.n_features_in_), map(str, input_features)))
        names = [named[source] + name[len(source) :] for name, source in zip(self.features_, self.sources_)]
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _learn(self, X: Any) -> pd.DataFrame:
        """Set the fitted attributes; returns the columns in use, converted to their kinds."""
        table = self._as_frame(X, reset=True)
        if len(table) < 2:
            raise TableError(f"the table has {len(table)} row(s): at least 2 are needed")
        found = read_columns(table, dayfirst=self.dayfirst)
        self.columns_, self.dropped_, self.notations_ = found.kinds, found.dropped, found.notations
        # One text, where nested numbers would make a model file large and slow to read.
        self._profile = json.dumps(profile_columns(table, found.table, found.kinds, found.notations))
        plain, coded = self._split(found.table)
        names, self.sources_ = list(plain.columns), list(plain.columns)
        self._vectorizer = None
        if coded.shape[1]:
            self._vectorizer, number_of = _fit_vectorizer(coded, self.random_state)
            for output, number in number_of.items():
                source = coded.columns[int(number[1:])]
                names.append(source + output[len(number) :])
                self.sources_.append(source)
        self.features_ = distinct(names)
        return found.table

    def _as_frame(self, X: Any, reset: bool = False) -> pd.DataFrame:
        """Any table as a DataFrame with texts as column names; `reset` keeps its columns as those of the fit."""
        if hasattr(X, "to_pandas"):  # polars and Arrow
            X = X.to_pandas()
        named = isinstance(X, pd.DataFrame)
        if not named:
            if not reset and hasattr(self, "feature_names_in_"):
                raise TableError(
                    "expected a table with named columns, as in fit, such as a pandas DataFrame, got "
                    f"{type(X).__name__}"
                )
            X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=2 if reset else 1)
            X = pd.DataFrame(X, columns=_numbered_names(X.shape[1]))
        X = X.set_axis(X.columns.map(str), axis=1)
        if reset:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            if named:
                self.feature_names_in_ = np.array(X.columns, dtype=object)
        return X

    def _split(self, converted: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """The columns that are numbers already, and those that have to be encoded."""
        coded = [name for name in converted.columns if self.columns_[name] in (DATE, TEXT)]
        return converted.drop(columns=coded), converted[coded]


def _fit_vectorizer(coded: pd.DataFrame, random_state: Any) -> tuple[Any, dict[str, str]]:
    """The fitted steps that encode new rows, and the column that each of their outputs comes from."""
    from skrub import StringEncoder, TableVectorizer, selectors

    n_components = min(_TEXT_COMPONENTS, max(2, len(coded) - 1))
    encoder = StringEncoder(n_components, random_state=random_state)
    vectorizer = TableVectorizer(high_cardinality=encoder).fit(_numbered(coded))
    # The vectorizer describes its fit at length, and the selectors of a step hold all steps before it. Neither is
    # needed for new rows, and each would be in a model file many times.
    steps = vectorizer._pipeline
    for _, step in steps.steps:
        if hasattr(step, "cols"):
            step.cols = selectors.all()
    return steps, vectorizer.output_to_input_


def _numbered(table: pd.DataFrame) -> pd.DataFrame:
    """Columns under plain names, so that skrub need not handle the user's."""
    return table.set_axis([f"c{k}" for k in range(table.shape[1])], axis=1).reset_index(drop=True)


def _numbered_names(n: int) -> list[str]:
    return [f"x{k}" for k in range(n)]


def _missing_text(missing: list[str], present: list[str]) -> str:
    shown = []
    for name in missing[:_MANY]:
        near = did_you_mean(name, present)
        shown.append(f"{short(name)!r}" + (f" (is it {short(near)!r}?)" if near else ""))
    more = f" and {len(missing) - _MANY} more" if len(missing) > _MANY else ""
    return f"the table lacks {len(missing)} column(s) of the model: {', '.join(shown)}{more}"
