import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fewlabel.kernels.tallies import tally

numbers = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)), max_size=30)


@given(numbers, st.lists(st.integers(-5, 5), unique=True).map(sorted))
def test_counts_and_logarithms_are_those_of_numpy(values, cuts):
    values, cuts = np.array(values, dtype=float), np.array(cuts, dtype=float)
    counts, logs = np.zeros(len(cuts) + 1, dtype=np.int64), np.zeros(3)
    far = tally(values, cuts, -3.0, 3.0, counts, logs)
    present = values[~np.isnan(values)]
    assert counts.tolist() == np.bincount(np.searchsorted(cuts, present), minlength=len(counts)).tolist()
    assert far == np.sum(np.abs(present) > 3)
    sizes = np.log2(np.abs(present[present != 0]))
    np.testing.assert_allclose(logs, [len(sizes), sizes.sum(), (sizes**2).sum()], rtol=1e-9, atol=1e-9)
