"""One carrier of a table, from the file to the report: the columns, and what is known about each row."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_consistent_length

from fewlabel.labels import Labels, read
from fewlabel.parts.cells import DATE, TEXT, convert, read_cells


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table: their columns, their labels, and how they were sampled.

    Attributes
    ----------
    X : DataFrame or ndarray of shape (n_samples, n_features), or None
        The columns: as they were read, or as numbers with NaN where a value is missing.
    codes : ndarray of int of shape (n_samples,)
        Position of each row's class in `classes`, ``-1`` where it is unlabeled.
    classes : ndarray
    groups : ndarray of int or None
        Rows of the same patient, customer or device have the same number.
    time : ndarray of float or None
        Order of the rows in time; infinite where the time of an unlabeled row is missing.
    weight : ndarray of float or None
        How much each row counts.
    label_probability : ndarray of float or None
        Known probability with which each row was chosen to be labeled.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.rows import Rows
    >>> rows = Rows.read(np.arange(6.0).reshape(3, 2), ["no", None, "yes"], groups=["b", "a", "b"])
    >>> rows.codes.tolist(), rows.groups.tolist(), rows.labeled.tolist()
    ([0, -1, 1], [0, 1, 0], [0, 2])
    >>> rows.take(rows.unlabeled).X
    array([[2., 3.]])
    """

    X: Any
    codes: np.ndarray
    classes: np.ndarray
    groups: np.ndarray | None = None
    time: np.ndarray | None = None
    weight: np.ndarray | None = None
    label_probability: np.ndarray | None = None

    @classmethod
    def read(
        cls,
        X: Any,
        y: Any,
        *,
        groups: Any = None,
        time: Any = None,
        weight: np.ndarray | None = None,
        label_probability: np.ndarray | None = None,
    ) -> "Rows":
        """Read what a user passed to `fit` or `split`.

        Parameters
        ----------
        X : DataFrame or ndarray of shape (n_samples, n_features), or None
        y : array-like of shape (n_samples,) or Labels
        groups, time : array-like of shape (n_samples,), default=None
        weight, label_probability : ndarray of shape (n_samples,), default=None

        Returns
        -------
        Rows
        """
        labels = read(y)
        check_consistent_length(X, labels.codes, groups, time, weight, label_probability)
        numbers = None if groups is None else _read_groups(groups)
        moments = None if time is None else _read_time(time, labels.codes)
        return cls(X, labels.codes, labels.classes, numbers, moments, weight, label_probability)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def labels(self) -> Labels:
        """Classes and codes, for what takes labels alone."""
        return Labels(self.classes, self.codes)

    @property
    def labeled(self) -> np.ndarray:
        """Positions of the labeled rows."""
        return np.flatnonzero(self.codes >= 0)

    @property
    def unlabeled(self) -> np.ndarray:
        """Positions of the other rows."""
        return np.flatnonzero(self.codes < 0)

    def take(self, positions: np.ndarray) -> "Rows":
        """Some of the rows, or all in another order."""
        return replace(self, **{name: _at(values, positions) for name, values in self._by_row()})

    @classmethod
    def concatenate(cls, blocks: "Sequence[Rows]") -> "Rows":
        """Rows of several blocks of numbers, of the same classes and with the same things known."""
        first = blocks[0]
        joined = {name: np.concatenate([getattr(one, name) for one in blocks]) for name, _ in first._by_row()}
        return replace(first, **joined)

    def with_groups_in_order(self) -> "Rows":
        """The same rows; groups are numbered as they first occur, whatever their numbers were before."""
        if self.groups is None:
            return self
        return replace(self, groups=pd.factorize(self.groups)[0])

    def _by_row(self) -> Iterator[tuple[str, Any]]:
        """Name and values of all that is known of each row."""
        for field in fields(self):
            values = getattr(self, field.name)
            if field.name != "classes" and values is not None:
                yield field.name, values


def effective_number(weight: np.ndarray) -> float:
    r"""Kish's effective number of rows, :math:`(\sum w)^2 / \sum w^2`, whatever the order and unit of the weights.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)
        Greater than 0.

    Returns
    -------
    float

    References
    ----------
    .. [1] L. Kish. Survey Sampling. Wiley, 1965.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.rows import effective_number
    >>> effective_number(np.array([2.0, 2.0, 2.0])), round(effective_number(np.array([8.0, 1.0, 1.0])), 2)
    (3.0, 1.52)
    """
    # Squares of tiny weights would underflow.
    relative = weight / weight.max()
    return math.fsum(relative) ** 2 / math.fsum(relative**2)


def _at(values: Any, positions: np.ndarray) -> Any:
    return values.iloc[positions] if isinstance(values, pd.DataFrame) else values[positions]


def _read_groups(groups: Any) -> np.ndarray:
    numbers = pd.factorize(_series(groups))[0]
    # A row without a group is one by itself.
    missing = numbers < 0
    numbers[missing] = numbers.max(initial=-1) + 1 + np.arange(missing.sum())
    return numbers


def _read_time(time: Any, codes: np.ndarray) -> np.ndarray:
    cells = read_cells(_series(time))
    if cells.kind == TEXT:
        written = cells
        cells = convert(cells, DATE)
        unread = np.flatnonzero(cells.gaps() & ~written.gaps())
        if len(unread):
            raise ValueError(
                f"time has values that are neither numbers nor dates, such as {written.rows()[unread[0]]!r}: convert "
                "them first, for instance with pandas.to_datetime(column, format=...)"
            )
    missing = cells.gaps()
    n_missing = int(missing[codes >= 0].sum())
    if n_missing:
        raise ValueError(f"time is missing for {n_missing} labeled rows: fill it in, or hide the labels of these rows")
    ranks = pd.Series(cells.rows()).rank(method="dense").to_numpy(dtype=np.float64)
    return np.where(missing, np.inf, ranks)


def _series(values: Any) -> pd.Series:
    if isinstance(values, pd.DataFrame):
        values = values.squeeze(axis=1)
    return pd.Series(values).reset_index(drop=True)
