"""Distances of rows to blocks of rows, and the nearest rows of some blocks; single precision, to find candidates.

A block holds its rows as columns: all distances of a row to a block are then sums of whole vectors.
"""

import numpy as np

from fewlabel.jit import njit

_REORDER = {"reassoc", "contract", "nsz"}  # sums in any order, for vector instructions


@njit(cache=True, nogil=True, fastmath=_REORDER)
def compare(rows, block):
    """Compute the squared distances of rows to the columns of a block.

    Parameters
    ----------
    rows : ndarray of shape (n, n_features), float32
    block : ndarray of shape (n_features, m), float32

    Returns
    -------
    ndarray of shape (n, m), float32
    """
    total = np.empty((len(rows), block.shape[1]), np.float32)
    for i in range(len(rows)):
        _measure(rows[i], block, total[i])
    return total


@njit(cache=True, nogil=True, fastmath=_REORDER)
def nearest(rows, own, visits, cells, starts, n_nearest):
    """Find the nearest rows, for each row, in the cells that it visits.

    Each cell is read once for all rows, so that it stays in the processor's cache.

    Parameters
    ----------
    rows : ndarray of shape (n, n_features), float32
    own : int
        If the rows are among those of the cells, the number of the first one, which is not its own neighbor; else -1.
    visits : ndarray of shape (n, n_cells), bool
    cells : ndarray, float32
        The blocks of all cells, one after the other.
    starts : ndarray of shape (n_cells + 1,), int64
        Number of the first row of each cell, then the number of rows.
    n_nearest : int

    Returns
    -------
    ndarray of shape (n, n_nearest), int32
        Numbers of rows, nearest first, of equal distances the lowest; -1 for none.
    """
    n_columns = rows.shape[1]
    neighbors = np.full((len(rows), n_nearest), -1, np.int32)
    smallest = np.full((len(rows), n_nearest), np.inf, np.float32)
    largest = (starts[1:] - starts[:-1]).max()
    space = np.empty(largest, np.float32)
    for cell in range(visits.shape[1]):
        first = starts[cell]
        size = starts[cell + 1] - first
        flat = cells[first * n_columns : (first + size) * n_columns]
        block = flat.reshape((n_columns, size))
        lengths = space[:size]
        for i in range(len(rows)):
            if not visits[i, cell]:
                continue
            _measure(rows[i], block, lengths)
            for j in range(size):
                row = first + j
                # Rows come in ascending order: of equal distances the lower number is there already.
                if lengths[j] < smallest[i, -1] and (own < 0 or row != own + i):
                    _insert(neighbors[i], smallest[i], row, lengths[j])
    return neighbors


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _measure(row, block, total):
    """Squared distances of a row to the columns of a block."""
    total[:] = 0
    for f in range(len(row)):
        value = row[f]
        for j in range(len(total)):
            total[j] += (block[f, j] - value) ** 2


@njit(cache=True, nogil=True)
def _insert(neighbors, smallest, j, length):
    """Put a row into a sorted list, behind those that are as near; the last one is dropped."""
    m = len(neighbors) - 1
    while m > 0 and smallest[m - 1] > length:
        smallest[m] = smallest[m - 1]
        neighbors[m] = neighbors[m - 1]
        m -= 1
    smallest[m] = length
    neighbors[m] = j
