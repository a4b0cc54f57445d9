"""TableClassifier on Dask DataFrames: the labeled rows, and a sample of the others, fit into memory."""

import numbers

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.utils import check_random_state

from fewlabel import labels, tables
from fewlabel.base import Interval
from fewlabel.dask import other_samples
from fewlabel.dask._lazy import lazily
from fewlabel.dask.gather import MOST, gather_frame


class TableClassifier(tables.TableClassifier):
    """`fewlabel.TableClassifier` for Dask DataFrames: all labeled rows and a random sample of the unlabeled ones.

    One pass over the partitions gathers the rows; the model is then fitted in memory. More unlabeled rows seldom
    change a model that has ten thousand of them; that is checked by a second fit with as many others.

    Parameters
    ----------
    estimator, positive, dayfirst, random_state
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

    _parameter_constraints: dict = {
        **tables.TableClassifier._parameter_constraints,
        "n_unlabeled": [Interval(numbers.Integral, 1, MOST, closed="both")],
        "check_sample": ["boolean"],
    }

    def __init__(
        self,
        estimator=None,
        *,
        positive=None,
        dayfirst=None,
        random_state=None,
        n_unlabeled=10_000,
        check_sample=True,
    ):
        super().__init__(estimator, positive=positive, dayfirst=dayfirst, random_state=random_state)
        self.n_unlabeled = n_unlabeled
        self.check_sample = check_sample

    def fit(self, X, y, sample_weight=None, *, callback=None):
        """Gather the labeled rows and a sample of the others, and fit the model to them.

        Parameters
        ----------
        X : dask DataFrame
        y : dask Series
            As in `fewlabel.TableClassifier.fit`, with the partitions of `X`.
        sample_weight : dask Series, default=None
            Weights of the rows, with the partitions of `X`, for estimators that take weights. The next unlabeled row
            to be drawn is each one with a probability proportional to its weight, and those drawn count as their weight
            divided by the probability to be drawn: up to a factor, sums of the sample are unbiased estimates of those
            of all rows.
        callback : callable, default=None
            As in `fewlabel.TableClassifier.fit`.

        Returns
        -------
        self : object
        """
        for name, value in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            if not hasattr(value, "to_delayed") and not (name == "sample_weight" and value is None):
                raise TypeError(
                    f"{name} is a {type(value).__name__} and must be a Dask DataFrame or Series: for a table in memory "
                    "use fewlabel.TableClassifier"
                )
        target = str(y.name or "label")
        column = target if target not in X.columns else f"{target} (label)"
        weight = "weight"
        while weight in (*X.columns, column):
            weight += "_"
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        pool = gather_frame(X, y, column, sample_weight=sample_weight, weight=weight, seed=seed)
        values = pd.Series(list(pool.counts), dtype=object).infer_objects()
        known = labels.read_positive(values, self.positive).codes >= 0
        labeled, others = ([v for v, k in zip(pool.counts, known) if k == kind] for kind in (True, False))
        counted = [sum(pool.counts[v] for v in kind) for kind in (labeled, others)]

        def sample(start, stop):
            """The labeled rows and some unlabeled ones: columns, labels and weights, and the number of the latter."""
            parts = pool.sample(labeled, others, start, stop)
            rows = pa.concat_tables(parts, promote_options="permissive").to_pandas()
            X, y = rows.drop(columns=[column, weight], errors="ignore"), rows[column].rename(target)
            return X, y, None if sample_weight is None else rows[weight].to_numpy(), len(parts[1])

        n = self.n_unlabeled
        while True:
            *rows, n_drawn = sample(0, n)
            super().fit(*rows, callback=callback)
            further = pool.rows(others, 2 * n, 2 * n + other_samples.JUDGED).to_pandas()
            further = further.drop(columns=[column, weight], errors="ignore")
            self.agreement_ = None
            if self.check_sample and len(further) >= other_samples.LEAST_JUDGED:
                self.agreement_ = self._agreement(*sample(n, 2 * n)[:3], further)
            is_same = self.agreement_ is None or self.agreement_ >= other_samples.AGREE
            if is_same or 2 * n > min(other_samples.LARGEST, counted[1]):
                break
            n *= 2
        self.n_rows_ = {"labeled": counted[0], "unlabeled": counted[1], "drawn": n_drawn}
        return self

    def _agreement(self, X, y, sample_weight, further):
        """How alike this model and one fitted to other rows rank further ones."""
        again = tables.TableClassifier(
            other_samples.same_methods(self.estimator_),
            positive=self.positive,
            dayfirst=self.dayfirst,
            random_state=self.random_state,
        )
        again.fit(X, y, sample_weight)
        return other_samples.rank_agreement(super().decision_function(further), again.decision_function(further))

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
