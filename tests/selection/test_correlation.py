"""CFS with Weka's rules, against loops over rows and values."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.papers.weka import CorrelationSelector, WekaMerits, distribute_gaps
from fewlabel import CorrelationSubsetSelector
from fewlabel.selection._correlation import Merits, count_pairs, symmetric_uncertainty


def uncertainty_by_loops(a, b):
    """Symmetric uncertainty of two columns; None is a gap, whose row is shared out by the frequencies of the values.

    A gap in `a` goes to the values of `a` by their frequency over all rows; if both are gaps, the row goes to the pairs
    by their frequency among the rows without gaps.
    """
    values_a, values_b = (sorted({v for v in column if v is not None}) for column in (a, b))
    joint = dict.fromkeys([(u, v) for u in values_a for v in values_b], 0.0)
    complete = [(u, v) for u, v in zip(a, b) if u is not None and v is not None]
    for u, v in zip(a, b):
        if u is None and v is None:
            for pair in complete:
                joint[pair] += 1 / len(complete)
        elif u is None:
            for value in [w for w in a if w is not None]:
                joint[value, v] += 1 / sum(w is not None for w in a)
        elif v is None:
            for value in [w for w in b if w is not None]:
                joint[u, value] += 1 / sum(w is not None for w in b)
        else:
            joint[u, v] += 1
    table = np.array([[joint[u, v] for v in values_b] for u in values_a])
    h, h_a, h_b = (
        -sum(x / table.sum() * np.log2(x / table.sum()) for x in part.ravel() if x > 0)
        for part in (table, table.sum(axis=1), table.sum(axis=0))
    )
    return 2 * (h_a + h_b - h) / (h_a + h_b) if h_a + h_b > 1e-9 else 0.0


def codes(column):
    """As `discretize` encodes a column: the gaps first."""
    return np.unique([-1 if v is None else v for v in column], return_inverse=True)[1]


@given(st.lists(st.tuples(*[st.sampled_from([None, 0, 1, 2])] * 2), min_size=2, max_size=12))
def test_gaps_are_distributed_as_in_weka(rows):
    a, b = zip(*rows)
    if all(u is None for u in a) or all(v is None for v in b):
        return
    if not any(u is not None and v is not None for u, v in rows) and (None, None) in rows:
        return  # nothing to distribute such a row by
    counts = distribute_gaps(count_pairs(codes(a), codes(b)), int(None in a), int(None in b))
    assert symmetric_uncertainty([counts])[0] == pytest.approx(uncertainty_by_loops(a, b), abs=1e-9)


def test_gaps_alone_stay_a_value():
    counts = np.array([[2.0, 3.0]])
    np.testing.assert_array_equal(distribute_gaps(counts, 1, 0), counts)


def test_columns_without_correlation():
    """Independent columns count as fully correlated with each other in Weka, and not at all with the plain rules."""
    a, b = np.repeat([0, 1], 4), np.tile([0, 1], 4)
    table = np.array([a, b])
    weka = WekaMerits(table, a, np.zeros(2, dtype=bool))
    assert weka.between(0)[1] == 1
    assert Merits(table, a).between(0)[1] == 0
    assert weka.with_class.tolist() == [1, 0]


def test_without_gaps_and_with_correlated_columns_the_rules_agree():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=200)
    X = pd.DataFrame({f"c{k}": (y + rng.integers(3, size=200) * (k > 0)) % 3 for k in range(5)}).astype(str)
    plain, weka = (kind().fit(X, y) for kind in (CorrelationSubsetSelector, CorrelationSelector))
    np.testing.assert_array_equal(plain.support_, weka.support_)
    np.testing.assert_allclose(plain.scores_, weka.scores_)
