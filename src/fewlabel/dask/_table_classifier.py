"""TableClassifier on Dask DataFrames: the labeled rows, and a sample of the others, fit into memory."""

import numbers
from dataclasses import KW_ONLY
from typing import Annotated

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.utils import check_random_state

from fewlabel import labels, tables
from fewlabel.base import Interval, parametrized
from fewlabel.dask import other_samples
from fewlabel.dask._lazy import lazily
from fewlabel.dask.gather import MOST, gather_frame


@parametrized
class TableClassifier(tables.TableClassifier):
    """`fewlabel.TableClassifier` for Dask DataFrames: all labeled rows and a random sample of the unlabeled ones.

    One pass over the partitions gathers the rows; the model is then fitted in memory. More unlabeled rows seldom
    change a model that has ten thousand of them; that is checked by a second fit with as many others.

    Parameters
    ----------
    estimator, positive, dayfirst, special_values, random_state
        As in `fewlabel.TableClassifier`. The seed also draws the sample, which depends on the partitions.
    n_unlabeled : int, default=10000
        Unlabeled rows to draw, at most 100,000.
    check_sample : bool, default=True
        Whether to fit the same methods again with as many other unlabeled rows. If the two models do not rank 10,000
        further rows alike (Spearman correlation below .99), twice as many rows are drawn, up to 40,000.

    Attributes
    ----------
    n_rows_ : dict
        Number of "labeled" and "unlabeled" rows of the table, and how many of the latter were "drawn". At most
        100,000 rows of each class are gathered.
    agreement_ : float or None
        Spearman correlation of the two rankings; None without the check, or if fewer than 100 further rows are left.
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

    _: KW_ONLY
    n_unlabeled: Annotated[int, Interval(numbers.Integral, 1, MOST, closed="both")] = 10_000
    check_sample: bool = True

    def fit(self, X, y, sample_weight=None, *, callback=None):
        """Gather the labeled rows and a sample of the others, and fit the model to them.

        Parameters
        ----------
        X : dask DataFrame
        y : dask Series
            As in `fewlabel.TableClassifier.fit`, with the partitions of `X`.
        sample_weight : dask Series, default=None
            Weights of the rows, with the partitions of `X`, for estimators that take weights.
        callback : callable, default=None
            As in `fewlabel.TableClassifier.fit`.

        Returns
        -------
        self : object
        """
        given = {"X": X, "y": y}
        if sample_weight is not None:
            given["sample_weight"] = sample_weight
        for name, value in given.items():
            if not hasattr(value, "to_delayed"):
                raise TypeError(
                    f"{name} is a {type(value).__name__} and must be a Dask DataFrame or Series: for a table in memory "
                    "use fewlabel.TableClassifier"
                )
        # The labels and weights are gathered as columns of the table, under names of their own.
        name_of = {name: _unused_name(name, X.columns) for name in given if name != "X"}
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        pool = gather_frame(X, {name_of[name]: given[name] for name in name_of}, name_of["y"], seed=seed)
        values = pd.Series(list(pool.counts), dtype=object).infer_objects()
        codes = labels.read_positive(values, self.positive).codes
        labeled = [value for value, code in zip(pool.counts, codes) if code >= 0]
        unlabeled = [value for value, code in zip(pool.counts, codes) if code < 0]

        def read(*parts):
            """Rows of the pool as arguments of `fit`: columns, labels and weights."""
            rows = pa.concat_tables(parts, promote_options="permissive").to_pandas()
            labels_of_rows = rows.pop(name_of["y"]).rename(str(y.name or "label"))
            weights = None if sample_weight is None else rows.pop(name_of["sample_weight"]).to_numpy()
            return rows, labels_of_rows, weights

        labeled_rows = pool.rows(labeled)
        n_unlabeled = pool.count(unlabeled)
        n = self.n_unlabeled
        while True:
            drawn = pool.rows(unlabeled, 0, n)
            super().fit(*read(labeled_rows, drawn), callback=callback)
            self.agreement_ = None
            # Rows of neither sample: the first n are those of this fit, the second n those of the other one.
            further = pool.rows(unlabeled, 2 * n, 2 * n + other_samples.JUDGED)
            if self.check_sample and len(further) >= other_samples.LEAST_JUDGED:
                judged, _, _ = read(further)
                others, y_others, weights = read(labeled_rows, pool.rows(unlabeled, n, 2 * n))
                self.agreement_ = other_samples.agreement(self, others, y_others, judged, sample_weight=weights)
            if not other_samples.take_more(self.agreement_, n, n_unlabeled):
                break
            n *= 2
        self.n_rows_ = {"labeled": pool.count(labeled), "unlabeled": n_unlabeled, "drawn": len(drawn)}
        return self

    def decision_function(self, X):
        """As in memory; lazy if `X` is a Dask DataFrame."""
        n_classes = len(self.classes_)
        # Two classes have one score per row.
        return lazily(super().decision_function, X, float, None if n_classes == 2 else n_classes)

    def predict_proba(self, X):
        """As in memory; lazy if `X` is a Dask DataFrame."""
        return lazily(super().predict_proba, X, float, len(self.classes_))

    def predict(self, X):
        """As in memory; lazy if `X` is a Dask DataFrame."""
        return lazily(super().predict, X, np.asarray(self.classes_).dtype)


def _unused_name(name, names):
    """The name of a further column, beside these."""
    while name in names:
        name += "_"
    return name
