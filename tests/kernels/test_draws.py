"""Draws of columns are NumPy's."""

import numpy as np
import pytest

from fewlabel.kernels.draws import MOST_COLUMNS, draw_columns


@pytest.mark.parametrize(("n_columns", "n_drawn"), [(1, 1), (2, 1), (7, 7), (10, 3), (50, 15), (MOST_COLUMNS, 3000)])
def test_draws_are_those_of_numpy(n_columns, n_drawn):
    seeds = np.random.default_rng(0).integers(0, 2**31, 40).tolist()
    for seed in [0, 1, 2**31 - 1, 2**32 - 1, *seeds]:
        for start in (0, 149, 10_000):
            for t, drawn in enumerate(draw_columns(seed, (start, start + 2), n_columns, n_drawn), start):
                expected = np.sort(np.random.default_rng([seed, t]).choice(n_columns, n_drawn, replace=False))
                np.testing.assert_array_equal(drawn, expected)
