"""TableClassifier on Dask DataFrames: the labeled rows, and a sample of the others, fit into memory."""

import numbers

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.utils import check_random_state

from fewlabel import labels, tables
from fewlabel.base import Interval
from fewlabel.dask._lazy import lazily
from fewlabel.dask.gather import MOST, gather_frame


class TableClassifier(tables.TableClassifier):
    """`fewlabel.TableClassifier` for Dask DataFrames: all labeled rows and a random sample of the unlabeled ones.

    One pass over the partitions gathers the rows; the model is then fitted in memory. More unlabeled rows seldom
    change a model that has ten thousand of them; `fewlabel fit --engine dask` checks it.

    Parameters
    ----------
    estimator, positive, dayfirst, random_state
        As in `fewlabel.TableClassifier`. The seed also draws the sample, which depends on the partitions.
    n_unlabeled : int, default=10000
        Unlabeled rows to draw, at most 100,000.

    Attributes
    ----------
    n_rows_ : dict
        Number of "labeled" and "unlabeled" rows of the table, and how many of the latter were "drawn". At most
        100,000 rows of each class are gathered.
    estimator_, encoder_, classes_, ...
        As in `fewlabel.TableClassifier`.

    Examples
    --------
    >>> import dask.dataframe as dd, pandas as pd
    >>> from fewlabel import AutoClassifier
    >>> from fewlabel.dask import TableClassifier
    >>> rows = pd.DataFrame({"city": list("aabb") * 50, "age": [1.5, None] * 100, "y": ["no", "no", "yes", None] * 50})
    >>> table = dd.from_pandas(rows, npartitions=3)
    >>> model = TableClassifier(AutoClassifier("small", random_state=0), n_unlabeled=20, random_state=0)
    >>> model = model.fit(table[["city", "age"]], table["y"])
    >>> model.n_rows_
    {'labeled': 150, 'unlabeled': 50, 'drawn': 20}
    >>> bool((model.predict(table).compute()[:3] == ["no", "no", "yes"]).all())
    True
    """

    _parameter_constraints: dict = {
        **tables.TableClassifier._parameter_constraints,
        "n_unlabeled": [Interval(numbers.Integral, 1, MOST, closed="both")],
    }

    def __init__(self, estimator=None, *, positive=None, dayfirst=None, random_state=None, n_unlabeled=10_000):
        super().__init__(estimator, positive=positive, dayfirst=dayfirst, random_state=random_state)
        self.n_unlabeled = n_unlabeled

    def fit(self, X, y, *, callback=None):
        """Gather the labeled rows and a sample of the others, and fit the model to them.

        Parameters
        ----------
        X : dask DataFrame
        y : dask Series
            As in `fewlabel.TableClassifier.fit`, with the partitions of `X`.
        callback : callable, default=None
            As in `fewlabel.TableClassifier.fit`.

        Returns
        -------
        self : object
        """
        for name, value in (("X", X), ("y", y)):
            if not hasattr(value, "to_delayed"):
                raise TypeError(
                    f"{name} is a {type(value).__name__} and must be a Dask DataFrame or Series: for a table in memory "
                    "use fewlabel.TableClassifier"
                )
        target = str(y.name or "label")
        column = target if target not in X.columns else f"{target} (label)"
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        pool = gather_frame(X, y, column, seed=seed)
        values = pd.Series(list(pool.counts), dtype=object).infer_objects()
        known = labels.read_positive(values, self.positive).codes >= 0
        labeled, others = ([v for v, k in zip(pool.counts, known) if k == kind] for kind in (True, False))
        parts = [pool.rows(labeled), pool.rows(others, 0, self.n_unlabeled)]
        rows = pa.concat_tables(parts, promote_options="permissive").to_pandas()
        counted = [sum(pool.counts[v] for v in kind) for kind in (labeled, others)]
        super().fit(rows.drop(columns=column), rows[column].rename(target), callback=callback)
        self.n_rows_ = {"labeled": counted[0], "unlabeled": counted[1], "drawn": len(parts[1])}
        return self

    def decision_function(self, X):
        """As in memory; lazy if `X` is a Dask DataFrame."""
        return lazily(super().decision_function, X, float, self._n_columns)

    def predict_proba(self, X):
        """As in memory; lazy if `X` is a Dask DataFrame."""
        return lazily(super().predict_proba, X, float, len(self.classes_))

    def predict(self, X):
        """As in memory; lazy if `X` is a Dask DataFrame."""
        return lazily(super().predict, X, np.asarray(self.classes_).dtype)

    @property
    def _n_columns(self):
        return None if len(self.classes_) == 2 else len(self.classes_)
