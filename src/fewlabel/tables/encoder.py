"""TableEncoder: a table with text, dates, categories, booleans and missing values as numbers."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from typing import Annotated, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import fit_context, parametrized
from fewlabel.exceptions import TableError
from fewlabel.parts import Columns
from fewlabel.parts.cells import Cells
from fewlabel.tables.kinds import ReadColumns, read_columns
from fewlabel.tables.learning import learn_column
from fewlabel.tables.profile import profile_columns
from fewlabel.text import distinct
from fewlabel.types import PlainDict, Seed

SpecialValues = Annotated[Any, "array-like", Mapping, None]


@parametrized
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table with text, dates, categories, booleans and missing values as numbers.

    Numbers and booleans stay as they are, missing values included; "?", "N/A" and the like are gaps in every column.
    Dates and text are encoded as by skrub's `TableVectorizer`: the parts of a date; one feature per category; for text
    with many distinct values, the leading components of its character n-grams [1]_. Columns that are empty, constant or
    look like an identifier are dropped, and so are those that hold lists, records or bytes.

    Parameters
    ----------
    dayfirst : bool, default=None
        Whether 03/04/2024 is the third of April or March the fourth, in a column whose dates can all be read either
        way. By default such a column is an error.
    special_values : list, or dict of str to list, default=None
        Values in columns of numbers that stand for something else, such as ``[-999, "unknown"]``: they are missing
        among the numbers, and each has a feature of its own. A dict has those of each column, a list those of all.
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
    part_ : Columns
        What was learned, as plain texts and arrays; it encodes new rows without pandas or scikit-learn.
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
    missing is an error. A category that `fit` did not see has no feature of its own: its row holds zeros. Dates from
    the year 1 to 9999 are kept as they are; 9999-12-31 counts as a date like any other.

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

    _: KW_ONLY
    dayfirst: bool | None = None
    special_values: SpecialValues = None
    random_state: Seed = None

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
        cells = self._learn(X)
        return self.part_.encode(cells)

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
        cells = self.read(X)
        return self.part_.encode(cells)

    def read(self, X: Any) -> dict[str, Cells]:
        """Convert the columns in use to their kinds, the first half of `transform`.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        dict of str to Cells
            Floats, dates or text; gaps where a value does not fit the kind or the notation of its column.
        """
        check_is_fitted(self)
        if self.part_.named and not hasattr(X, "columns"):
            raise TableError(
                f"expected a table with named columns, as in fit, such as a pandas DataFrame, got {type(X).__name__}"
            )
        table = as_frame(X)
        if not self.part_.named and table.shape[1] != self.n_features_in_:
            raise TableError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} "
                "features as input"
            )
        return self.part_.read(table)

    @property
    def columns_(self) -> dict[str, str]:
        return self.part_.kinds

    @property
    def notations_(self) -> dict[str, str]:
        return self.part_.notations

    @property
    def dropped_(self) -> dict[str, str]:
        return self.part_.dropped

    @property
    def profile_(self) -> dict[str, PlainDict]:
        return self.part_.profile

    @property
    def features_(self) -> list[str]:
        return self.part_.features

    @property
    def sources_(self) -> list[str]:
        return self.part_.sources

    @property
    def n_features_in_(self) -> int:
        return len(self.part_.names)

    @property
    def feature_names_in_(self) -> np.ndarray:
        if not self.part_.named:
            raise AttributeError("fit was given a table without names")
        return np.array(self.part_.names, dtype=object)

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
        names = self.part_.features
        if input_features is not None:
            if len(input_features) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), got "
                    f"{len(input_features)}"
                )
            if not self.part_.named:
                given = dict(zip(self.part_.names, map(str, input_features)))
                names = [given[source] + name[len(source) :] for name, source in zip(names, self.sources_)]
            elif list(input_features) != self.part_.names:
                raise ValueError("input_features is not equal to feature_names_in_: leave it out, or pass the same")
        return np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    def _learn(self, X) -> dict[str, Cells]:
        """Learn the part; returns the columns in use, converted to their kinds."""
        # An array has no names, and its columns are matched by position.
        named = hasattr(X, "columns")
        table = as_frame(X, least=2)
        if len(table) < 2:
            raise TableError(f"the table has {len(table)} row(s): at least 2 are needed")
        found = read_columns(table, dayfirst=self.dayfirst, special_values=self.special_values)
        self.part_ = learn_columns(found, [str(name) for name in table.columns], named, self.random_state)
        return found.cells


def as_frame(X: Any, least: int = 1) -> pd.DataFrame:
    """Any table as a DataFrame; an array has `least` rows or more, and its columns are called x0, x1 and so on."""
    # Tables of polars and Arrow.
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if isinstance(X, pd.DataFrame):
        return X
    X = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=least)
    return pd.DataFrame(X).add_prefix("x")


def learn_columns(found: ReadColumns, names: list[str], named: bool, random_state: Any) -> Columns:
    """How to encode the columns that were read from a table; `names` are those of all its columns."""
    learned = [
        learn_column(name, cells, found.notations.get(name, ""), random_state) for name, cells in found.cells.items()
    ]
    # Numbers come first: the order of the features of version 0.1.
    learned.sort(key=lambda encoded: encoded.is_derived)
    return Columns(
        columns=[encoded.column for encoded in learned],
        features=distinct(name for encoded in learned for name in encoded.features),
        names=names,
        named=named,
        dropped=found.dropped,
        profile=profile_columns(found),
    )
