"""Sketches of sorted numbers: every value while there are few, else the ends of equal parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabel.kernels import sketches


def naive(numbers, weight, points):
    """The definition, with NumPy: the value at the end of each part, and the weight up to its last row."""
    values, first = np.unique(numbers, return_index=True)
    if len(values) <= points:
        return values, np.add.reduceat(weight, first) if len(values) else weight[:0]
    up_to = np.cumsum(weight)[np.append(first[1:], len(numbers)) - 1]
    ends = np.linspace(0, up_to[-1], points + 1)[1:]
    kept = np.unique(np.searchsorted(up_to, ends).clip(max=len(values) - 1))
    return values[kept], np.diff(up_to[kept], prepend=0)


@given(st.lists(st.integers(0, 40), max_size=120), st.integers(1, 30), st.booleans(), st.sampled_from(["f4", "f8"]))
def test_compress(numbers, points, weighted, dtype):
    numbers = np.sort(np.array(numbers, dtype=dtype))
    weight = 1.0 + np.arange(len(numbers)) % 3 if weighted else np.ones(len(numbers))
    found = sketches.compress(numbers, weight if weighted else sketches.ROWS, points)
    for one, other in zip(found, naive(numbers, weight, points)):
        np.testing.assert_array_equal(one, other)
    assert found[0].dtype == dtype
    assert len(found[0]) <= points


def test_weights_too_small_to_count():
    numbers, weight = np.arange(50.0), np.full(50, 1e-30)
    weight[0] = 1.0
    values, counts = sketches.compress(numbers, weight, 10)
    assert (values.tolist(), counts.tolist()) == ([0.0], [1.0])


@given(*[st.lists(st.integers(0, 20), max_size=40)] * 2)
def test_interleave(one, other):
    parts = [np.unique(np.array(part, dtype=float), return_counts=True) for part in (one, other)]
    numbers, weight = sketches.interleave(*parts[0], *parts[1])
    assert (np.diff(numbers) >= 0).all()
    values, counts = np.unique(np.array(one + other, dtype=float), return_counts=True)
    np.testing.assert_array_equal(np.unique(numbers), values)
    assert [weight[numbers == value].sum() for value in values] == counts.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_take_columns(order):
    X, taken = np.asarray(np.arange(21.0).reshape(7, 3), order=order), np.empty((2, 7))
    sketches.take_columns(X, 1, taken)
    np.testing.assert_array_equal(taken, X.T[1:])
