"""Formulas that show a table in another way: gaps filled, columns scaled, components, smooth functions."""

from typing import Annotated

import numpy as np

from fewlabel.parts.nearest import nearest_rows, rows_at, weighted_sums
from fewlabel.parts.part import Below, Finite, Floats, Formula, Ints, Positive, RowFormula, Table

# Standard deviations; larger values are compressed, so that outliers have little leverage.
SOFT_LIMIT = 4.0
_MOST_COLUMNS = 100_000
# Of a neighbor, so that the weights of a row do not sum to 0.
LEAST_WEIGHT = 1e-12


class FillAndScale(Formula):
    """Missing values replaced and flagged in extra columns; then mean 0, variance 1, outliers compressed.

    Attributes
    ----------
    fill : ndarray of shape (n_inputs,)
        Replaces a missing value.
    flagged : ndarray of int
        Columns whose missing values are flagged, in columns after the others.
    mean, spread : ndarray of shape (n_outputs,)
        Of the columns and flags. A constant column has an infinite spread, and becomes 0.
    """

    kind = "fill-and-scale"
    fill: Annotated[Floats, "n_inputs", Finite]
    flagged: Annotated[Ints, "n_flags", Below("n_inputs")]
    mean: Annotated[Floats, "n_outputs", Finite]
    spread: Annotated[Floats, "n_outputs", Positive]

    def check(self):
        self.require(self.n_outputs == self.n_inputs + self.n_flags, "there is not one scale per column")

    def values_at(self, X):
        return compress(fill_gaps(X, self.fill, self.flagged), self.mean, self.spread)


def fill_gaps(X, fill, flagged):
    """The table with gaps filled, and flags of some columns beside it."""
    gaps = np.isnan(X)
    filled = np.where(gaps, fill, X)
    return np.hstack([filled, gaps[:, flagged].astype(np.float64)]) if len(flagged) else filled


def compress(filled, mean, spread):
    """Scaled columns, of which values beyond `SOFT_LIMIT` are compressed."""
    z = filled - mean
    z /= spread
    size = z / SOFT_LIMIT
    size *= size
    size += 1.0
    z /= np.sqrt(size, out=size)
    return z


class Beside(Formula):
    """Formulas of the same rows, their outputs side by side.

    Attributes
    ----------
    blocks : list of Formula
    """

    kind = "beside"
    blocks: list[Formula]

    def check(self):
        self.require(self.blocks, "it has no blocks")
        self.require(len({block.n_inputs for block in self.blocks}) == 1, "its blocks differ in their inputs")
        # A file can name one array in many blocks: rows must not become much larger than it.
        self.require(self.n_outputs <= _MOST_COLUMNS, f"it has more than {_MOST_COLUMNS} outputs")

    @property
    def n_inputs(self):
        return self.blocks[0].n_inputs

    @property
    def n_outputs(self):
        return sum(block.n_outputs for block in self.blocks)

    def values_at(self, X):
        return np.hstack([block(X) for block in self.blocks])


class Components(Formula):
    """Positions along axes, such as the principal ones.

    Attributes
    ----------
    center : ndarray of shape (n_inputs,)
    axes : ndarray of shape (n_inputs, n_outputs)
    """

    kind = "components"
    center: Annotated[Floats, "n_inputs"]
    axes: Annotated[Table, "n_inputs n_outputs"]

    def values_at(self, X):
        return (X - self.center) @ self.axes


class Smooth(RowFormula):
    """Functions that are known at reference rows: elsewhere the weighted mean over the nearest of these.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
    width : ndarray of shape (n_rows,)
        Of the Gaussian weight around each row.
    functions : ndarray of shape (n_rows, n_outputs)
    n_neighbors : int
    """

    kind = "smooth"
    width: Annotated[Floats, "n_rows", Positive]
    functions: Annotated[Table, "n_rows n_outputs", Finite]
    n_neighbors: int

    def check(self):
        self.require(0 < self.n_neighbors <= self.n_rows, "it has fewer rows than neighbors")

    def values_at(self, X):
        found, lengths = nearest_rows(self.rows, X, self.n_neighbors)
        weight = np.exp(-((lengths / rows_at(found, self.width)) ** 2)) + LEAST_WEIGHT
        # A reference row does not count as its own neighbor.
        weight = np.where(lengths == 0, LEAST_WEIGHT, weight)
        weight = weight / np.sum(weight, axis=1, keepdims=True)
        return weighted_sums(weight, found, self.functions)
