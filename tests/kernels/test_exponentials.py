"""Exponentials in place: against NumPy's, and at the ends of their range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fewlabel.kernels.exponentials import exp_in_place


@given(arrays(float, st.integers(0, 1100), elements=st.floats(-708, 700)))
def test_equals_the_exponential_to_two_units_in_the_last_place(values):
    found = values.copy()
    exp_in_place(found)
    np.testing.assert_array_max_ulp(found, np.exp(values), maxulp=2)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0, 1.0), (-0.0, 1.0), (-1e-300, 1.0), (-709.0, 0.0), (-1e300, 0.0), (-np.inf, 0.0), (np.nan, np.nan)],
)
def test_the_ends_of_the_range(value, expected):
    found = np.array([value])
    exp_in_place(found)
    np.testing.assert_equal(found[0], expected)


def test_chunks_do_not_touch_each_other():
    values = np.linspace(-40, 3, 1537)
    whole, parts = values.copy(), values.copy()
    exp_in_place(whole)
    for one in np.split(parts, [1, 511, 512, 513, 1024]):
        exp_in_place(one)
    np.testing.assert_array_equal(whole, parts)
