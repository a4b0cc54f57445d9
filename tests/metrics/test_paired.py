import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import roc_auc_score

from fewlabel.metrics import paired_auc_test
from reference.auc import (
    binormal,
    delong_difference_variances,
    unseen_variances,
)


class TestPairedTest:
    @settings(max_examples=50)
    @given(data=st.data(), n_p=st.integers(2, 8), n_n=st.integers(2, 8))
    def test_equals_delongs_matrices(self, data, n_p, n_n):
        a, b = (
            np.array(data.draw(st.lists(st.integers(0, 5), min_size=n_p + n_n, max_size=n_p + n_n))) for _ in range(2)
        )
        y = np.repeat([1, 0], [n_p, n_n])
        found = delong_difference_variances([a[:n_p], b[:n_p]], [a[n_p:], b[n_p:]])
        of_p, of_n = unseen_variances(found, (n_p, n_n), (roc_auc_score(y, a), roc_auc_score(y, b)))
        variance = of_p + of_n
        result = paired_auc_test(y, a, b)
        assert result.auc_a == pytest.approx(roc_auc_score(y, a))
        assert result.auc_b == pytest.approx(roc_auc_score(y, b))
        assert result.difference == pytest.approx(result.auc_a - result.auc_b, abs=1e-12)
        if sum(found) > 1e-12:
            student = stats.t(variance**2 / (of_p**2 / (n_p - 1) + of_n**2 / (n_n - 1)))
            assert result.pvalue == pytest.approx(
                2 * student.sf(abs(result.difference) / math.sqrt(variance)), rel=1e-6
            )
            half = student.isf(0.025) * math.sqrt(variance)
            assert result.low == pytest.approx(max(-1, result.difference - half), abs=1e-9)
            assert result.high == pytest.approx(min(1, result.difference + half), abs=1e-9)
        assert 0 <= result.pvalue <= 1

    @pytest.mark.parametrize("change", [lambda s: s, lambda s: 2 * s + 1, np.exp])
    def test_scores_with_the_same_order_are_not_different(self, change):
        y, score = binormal(np.random.default_rng(0), 0.8, 13, 17)
        result = paired_auc_test(y, score, change(score))
        assert result[:4] == (0, 0, 0, 1)

    def test_swapping_the_scores_mirrors_the_result(self):
        rng = np.random.default_rng(1)
        y, a = binormal(rng, 0.8, 20, 30)
        b = a + rng.normal(size=50)
        one, other = paired_auc_test(y, a, b), paired_auc_test(y, b, a)
        assert one.pvalue == pytest.approx(other.pvalue)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low))

    def test_zero_variance_with_a_difference_is_judged_cautiously(self):
        # perfect against constant, and perfect against reversed
        few = paired_auc_test([0, 0, 1, 1], [1, 1, 2, 2], [0, 0, 0, 0])
        assert few.difference == 0.5
        assert 0.05 < few.pvalue < 1
        assert few.low < 0 < few.high
        y = np.repeat([0, 1], 30)
        many = paired_auc_test(y, y, -y)
        assert many.difference == 1
        assert 0 < many.pvalue < 1e-6
        assert 0 < many.low < many.high == 1

    def test_cautious_pvalue_agrees_with_its_interval(self):
        y = np.repeat([0, 1], 5)
        pvalue = paired_auc_test(y, y, np.zeros(10)).pvalue
        assert paired_auc_test(y, y, np.zeros(10), confidence=1 - pvalue).low == pytest.approx(0, abs=1e-6)

    def test_false_positives_are_as_rare_as_promised(self):
        rng = np.random.default_rng(2)
        rejected = []
        for _ in range(400):
            y, signal = binormal(rng, 0.75, 60, 60)
            a, b = (signal + rng.normal(scale=0.7, size=120) for _ in range(2))
            rejected.append(paired_auc_test(y, a, b).pvalue < 0.05)
        assert 0.02 < np.mean(rejected) < 0.085

    def test_a_real_difference_is_found(self):
        rng = np.random.default_rng(3)
        y, signal = binormal(rng, 0.85, 150, 150)
        result = paired_auc_test(y, signal, signal + rng.normal(scale=2, size=300))
        assert result.low > 0
        assert result.pvalue < 0.01

    def test_unlabeled_rows_are_left_out(self):
        y, a = binormal(np.random.default_rng(4), 0.8, 8, 9, n_u=30)
        b = np.roll(a, 1)
        labeled = y >= 0
        assert paired_auc_test(y, a, b) == paired_auc_test(y[labeled], a[labeled], b[labeled])

    def test_one_row_of_a_class_is_an_error(self):
        with pytest.raises(ValueError, match="two labeled rows of each class, got 1 positive and 2 negative"):
            paired_auc_test([1, 0, 0], [1, 2, 3], [3, 2, 1])
