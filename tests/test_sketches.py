"""Sketches of sorted numbers: every value while there are few, else the ends of equal parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")

from fewlabel.dask import _sketch


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
def test_sketch(numbers, points, weighted, dtype):
    numbers = np.sort(np.array(numbers, dtype=dtype))
    weight = 1.0 + np.arange(len(numbers)) % 3 if weighted else np.ones(len(numbers))
    found = _sketch.sketch(numbers, points, weight if weighted else None)
    for one, other in zip(found, naive(numbers, weight, points)):
        np.testing.assert_array_equal(one, other)
    assert found[0].dtype == dtype
    assert len(found[0]) <= points


def test_weights_too_small_to_count():
    numbers, weight = np.arange(50.0), np.full(50, 1e-30)
    weight[0] = 1.0
    values, counts = _sketch.sketch(numbers, 10, weight)
    assert (values.tolist(), counts.tolist()) == ([0.0], [1.0])


@given(*[st.lists(st.integers(0, 20), max_size=40)] * 2)
def test_merged_sketches_are_those_of_all_rows(one, other):
    parts = [_sketch.sketch(np.array(part, dtype=float)) for part in (one, other)]
    for merged, whole in zip(_sketch.merge_sketches(*parts), _sketch.sketch(np.array(one + other, dtype=float))):
        np.testing.assert_array_equal(merged, whole)


@pytest.mark.parametrize("weighted", [False, True])
def test_sketches_of_columns(weighted):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (50, 20)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    weight = rng.random(50) if weighted else None
    for column, (values, counts, n_missing) in zip(X.T, _sketch.sketch_columns(X, weight)):
        present = ~np.isnan(column)
        assert n_missing == (~present).sum()
        expected = naive_sums(column[present], np.ones(50)[present] if weight is None else weight[present])
        np.testing.assert_array_equal(values, list(expected))
        np.testing.assert_allclose(counts, list(expected.values()), rtol=1e-12)


def naive_sums(numbers, weight):
    """Weight of each number."""
    return {value: weight[numbers == value].sum() for value in np.unique(numbers).tolist()}
