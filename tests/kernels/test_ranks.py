import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fewlabel.kernels.ranks import area, placements, variance_of_mean, weighted_placements
from reference.auc import (
    pair_auc,
    pair_placements,
    tied_scores,
)


@given(high=tied_scores, low=tied_scores, seed=st.integers(0, 99))
def test_area_equals_all_pairs(high, low, seed):
    positive, scores = np.repeat([True, False], [len(high), len(low)]), np.concatenate([high, low])
    order = np.random.default_rng(seed).permutation(len(scores))
    assert area(positive[order], scores[order]) == pytest.approx(pair_auc(high, low))
    weight = np.random.default_rng(seed).integers(1, 4, len(scores))
    repeated = pair_auc(np.repeat(high, weight[positive]), np.repeat(low, weight[~positive]))
    assert area(positive[order], scores[order], weight[order].astype(float)) == pytest.approx(repeated)


class TestPlacements:
    def test_hand_worked(self):
        psi_high, psi_low = placements(np.array([3.0, 2.0]), np.array([1.0, 2.0, 5.0]))
        np.testing.assert_allclose(psi_high, [2 / 3, 1.5 / 3])
        np.testing.assert_allclose(psi_low, [1, 0.75, 0])

    @given(high=tied_scores, low=tied_scores)
    def test_equals_all_pairs(self, high, low):
        for fast, slow in zip(placements(high, low), pair_placements(high, low)):
            np.testing.assert_allclose(fast, slow, rtol=1e-12)

    @given(high=tied_scores, low=tied_scores)
    def test_both_means_are_the_auc(self, high, low):
        psi_high, psi_low = placements(high, low)
        assert psi_high.mean() == pytest.approx(pair_auc(high, low))
        assert psi_low.mean() == pytest.approx(pair_auc(high, low))

    @given(high=tied_scores, low=tied_scores)
    def test_swapped_and_negated_samples_have_the_same_placements(self, high, low):
        psi_high, psi_low = placements(high, low)
        swapped_high, swapped_low = placements(-low, -high)
        np.testing.assert_array_equal(psi_high, swapped_low)
        np.testing.assert_array_equal(psi_low, swapped_high)

    @given(high=tied_scores, low=tied_scores, seed=st.integers(0, 99))
    def test_order_of_rows_does_not_matter(self, high, low, seed):
        order = np.random.default_rng(seed).permutation(len(high))
        np.testing.assert_array_equal(placements(high[order], low)[0], placements(high, low)[0][order])
        np.testing.assert_array_equal(placements(high[order], low)[1], placements(high, low)[1])

    def test_infinite_and_large_integer_scores_keep_their_order(self):
        psi, _ = placements(np.array([np.inf, -np.inf]), np.array([-np.inf, 0.0]))
        np.testing.assert_array_equal(psi, [1, 0.25])
        psi, _ = placements(np.array([2**60 + 1]), np.array([2**60]))  # equal as floats
        assert psi[0] == 1

    def test_variance_of_equal_values_is_zero_in_spite_of_rounding(self):
        values = np.full(7, 0.1) + np.array([0, 1, 0, 1, 0, 1, 0]) * 1e-17 + 0.2
        assert variance_of_mean(values) == 0
        assert variance_of_mean(np.array([0.0, 1.0])) == 0.25


class TestWeightedPlacements:
    @given(high=tied_scores, low=tied_scores, seed=st.integers(0, 99))
    def test_a_whole_weight_counts_as_repeated_rows(self, high, low, seed):
        rng = np.random.default_rng(seed)
        weights = [rng.integers(1, 4, len(sample)) for sample in (high, low)]
        repeated = placements(np.repeat(high, weights[0]), np.repeat(low, weights[1]))
        as_floats = [weight.astype(np.float64) for weight in weights]
        for psi, slow, weight in zip(weighted_placements(high, low, *as_floats), repeated, weights):
            np.testing.assert_allclose(np.repeat(psi, weight), slow, atol=1e-12)
