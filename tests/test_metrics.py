import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import cross_val_score

from fewlabel.exceptions import LabelError
from fewlabel.kernels.ranks import placements, variance_of_mean
from fewlabel.metrics import auc_confidence_interval, paired_auc_test, pnu_auc_score, pu_auc_score
from reference.auc import (
    combined_auc,
    combined_variance,
    delong_difference_variance,
    delong_variance,
    from_pu,
    from_un,
    newcombe_gap,
    pair_auc,
    pair_placements,
)

Z95 = stats.norm.isf(0.025)

# Few distinct values, so that ties within and between the samples are the rule.
tied_scores = st.lists(st.integers(0, 4), min_size=1, max_size=12).map(lambda v: np.array(v, dtype=float))


def binormal(rng, auc, n_p, n_n, n_u=0, prior=0.5):
    """PNU labels and normal scores with the given true AUC."""
    shift = math.sqrt(2) * stats.norm.ppf(auc)
    y = np.repeat([1, 0, -1], [n_p, n_n, n_u])
    positive = np.concatenate([np.ones(n_p), np.zeros(n_n), rng.random(n_u) < prior])
    return y, rng.normal(size=len(y)) + shift * positive


def samples(y, score):
    return score[y == 1], score[y == 0], score[y == -1]


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


class TestConfidenceInterval:
    @settings(max_examples=50)
    @given(high=tied_scores, low=tied_scores)
    def test_auc_is_scikit_learns(self, high, low):
        y = np.repeat([1, 0], [len(high), len(low)])
        score = np.concatenate([high, low])
        assert auc_confidence_interval(y, score).auc == pytest.approx(roc_auc_score(y, score))

    @settings(max_examples=100)
    @given(high=tied_scores, low=tied_scores, confidence=st.sampled_from([0.5, 0.95, 0.999]))
    def test_newcombe_bounds_solve_its_equation(self, high, low, confidence):
        y = np.repeat([1, 0], [len(high), len(low)])
        result = auc_confidence_interval(y, np.concatenate([high, low]), confidence=confidence)
        z = stats.norm.isf((1 - confidence) / 2)
        assert result.method == "newcombe"
        assert 0 <= result.low <= result.auc <= result.high <= 1
        for end in (result.low, result.high):
            assert newcombe_gap(end, result.auc, len(high), len(low), z) == pytest.approx(0, abs=1e-9)
        # t = 1 solves the equation at an AUC of 1, and t = 0 at 0, but neither is the far bound
        assert result.low < 0.999
        assert result.high > 0.001

    def test_newcombe_of_one_pair_is_wilsons_interval(self):
        for auc, score in ((1, [1, 0]), (0, [0, 1])):
            result = auc_confidence_interval([1, 0], score)
            wilson = stats.binomtest(auc, 1).proportion_ci(method="wilson")
            assert result.low == pytest.approx(wilson.low, abs=1e-9)
            assert result.high == pytest.approx(wilson.high, abs=1e-9)

    def test_newcombe_mirrors_when_scores_are_negated(self):
        y, score = binormal(np.random.default_rng(0), 0.8, 6, 9)
        one, other = auc_confidence_interval(y, score), auc_confidence_interval(y, -score)
        assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))

    def test_perfect_ranking_of_many_rows_has_a_bound_below_one(self):
        y = np.repeat([0, 1], 20_000)
        result = auc_confidence_interval(y, y)
        assert result.method == "newcombe"  # DeLong's variance is zero
        assert 0.999 < result.low < 0.99999
        assert result.high == 1

    def test_delong_intervals_hand_worked(self):
        # placements of P (0.75, 1), of N (1, 0.75): s^2 = 1/32 each, V = 1/64 + 1/64
        y, score = [1, 1, 0, 0], [2, 3, 1, 2]
        half = Z95 * math.sqrt(1 / 32)
        wald = auc_confidence_interval(y, score, method="wald-delong")
        assert wald == pytest.approx((0.875, 0.875 - half, 1, "wald-delong", "pn"))
        logit = auc_confidence_interval(y, score, method="logit-delong")
        half /= 0.875 * 0.125
        ends = [1 / (1 + math.exp(-(math.log(7) + side * half))) for side in (-1, 1)]
        assert (logit.low, logit.high) == pytest.approx(ends)

    @settings(max_examples=50)
    @given(high=tied_scores.filter(lambda v: len(v) > 1), low=tied_scores.filter(lambda v: len(v) > 1))
    def test_wald_interval_holds_the_delong_variance_of_all_pairs(self, high, low):
        y = np.repeat([1, 0], [len(high), len(low)])
        result = auc_confidence_interval(y, np.concatenate([high, low]), method="wald-delong")
        half = Z95 * math.sqrt(delong_variance(high, low))
        assert result.low == pytest.approx(max(0, result.auc - half), abs=1e-9)
        assert result.high == pytest.approx(min(1, result.auc + half), abs=1e-9)

    def test_auto_method_follows_the_smaller_sample(self):
        rng = np.random.default_rng(1)
        assert auc_confidence_interval(*binormal(rng, 0.8, 29, 500)).method == "newcombe"
        assert auc_confidence_interval(*binormal(rng, 0.8, 500, 29)).method == "newcombe"
        assert auc_confidence_interval(*binormal(rng, 0.8, 30, 30)).method == "logit-delong"
        assert auc_confidence_interval(np.arange(80) % 2, np.zeros(80)).method == "newcombe"

    def test_degenerate_delong_interval_is_a_point_and_one_row_an_error(self):
        for method in ("wald-delong", "logit-delong"):
            assert auc_confidence_interval([0, 0, 1, 1], [1, 2, 3, 4], method=method)[:3] == (1, 1, 1)
            with pytest.raises(ValueError, match="two rows in each sample, got 1 and 2: use method='newcombe'"):
                auc_confidence_interval([0, 0, 1], [1, 3, 2], method=method)

    def test_unlabeled_rows_are_left_out_of_pn(self):
        y, score = binormal(np.random.default_rng(2), 0.8, 8, 9, n_u=50)
        labeled = y >= 0
        assert auc_confidence_interval(y, score) == auc_confidence_interval(y[labeled], score[labeled])

    def test_larger_confidence_is_wider(self):
        y, score = binormal(np.random.default_rng(3), 0.8, 50, 50)
        widths = []
        for confidence in (0.8, 0.95, 0.99):
            result = auc_confidence_interval(y, score, confidence=confidence)
            widths.append(result.high - result.low)
        assert widths[0] < widths[1] < widths[2]

    @pytest.mark.parametrize(
        ("n_p", "n_n", "auc", "expected"),
        [  # Wald, logit, Newcombe; 40000 draws of Wald for the first row
            (5, 30, 0.80, (0.845, 0.930, 0.963)),
            (5, 30, 0.96, (0.714, 0.776, 0.961)),
            (10, 90, 0.80, (0.892, 0.927, 0.962)),
            (10, 90, 0.96, (0.773, 0.900, 0.967)),
            (30, 30, 0.80, (0.927, 0.957, 0.956)),
        ],
    )
    def test_coverage_of_nominal_95_percent(self, n_p, n_n, auc, expected):
        rng = np.random.default_rng(0)
        hits = []
        for _ in range(400):
            y, score = binormal(rng, auc, n_p, n_n)
            intervals = [
                auc_confidence_interval(y, score, method=m) for m in ("wald-delong", "logit-delong", "newcombe")
            ]
            hits.append([i.low <= auc <= i.high for i in intervals])
        # three standard errors of a coverage of 0.9 in 400 draws are 0.045
        np.testing.assert_allclose(np.mean(hits, axis=0), expected, atol=0.045)
        assert np.mean(hits, axis=0)[2] > 0.93


class TestIntervalsFromUnlabeledRows:
    @pytest.mark.parametrize("pairs", ["pu", "un"])
    @pytest.mark.parametrize("method", ["newcombe", "logit-delong", "wald-delong"])
    def test_interval_is_that_of_the_observed_auc_mapped_linearly(self, pairs, method):
        prior = 0.3
        y, score = binormal(np.random.default_rng(0), 0.7, 40, 50, n_u=200, prior=prior)
        p, n, u = samples(y, score)
        high, low, share = (p, u, 1 - prior) if pairs == "pu" else (u, n, prior)
        plain = auc_confidence_interval(
            np.repeat([1, 0], [len(high), len(low)]), np.concatenate([high, low]), method=method
        )
        result = auc_confidence_interval(y, score, method=method, pairs=pairs, prior=prior)
        expected = [(v - (1 - share) / 2) / share for v in plain[:3]]
        assert result[:3] == pytest.approx(tuple(np.clip(expected, 0, 1)))
        assert result[3:] == (method, pairs)

    def test_estimates_equal_all_pairs(self):
        y, score = binormal(np.random.default_rng(1), 0.7, 7, 8, n_u=30, prior=0.4)
        p, n, u = samples(y, score)
        pu = auc_confidence_interval(y, score, pairs="pu", prior=0.4)
        un = auc_confidence_interval(y, score, pairs="un", prior=0.4)
        assert pu.auc == pytest.approx(min(1, from_pu(p, u, 0.4)))
        assert un.auc == pytest.approx(np.clip(from_un(u, n, 0.4), 0, 1))

    def test_pu_reads_positive_unlabeled_labels_and_ignores_labeled_negatives(self):
        y, score = binormal(np.random.default_rng(2), 0.8, 10, 10, n_u=40)
        expected = auc_confidence_interval(y, score, pairs="pu", prior=0.5)
        without_n = y != 0
        result = auc_confidence_interval(y[without_n], score[without_n], pairs="pu", prior=0.5)
        assert result == expected
        zero_one = np.where(y[without_n] == 1, 1, 0)
        assert auc_confidence_interval(zero_one, score[without_n], pairs="pu", prior=0.5) == expected

    @pytest.mark.parametrize("pairs", ["pu", "un"])
    def test_prior_uncertainty_adds_its_variance(self, pairs):
        prior, prior_sd = 0.4, 0.03
        y, score = binormal(np.random.default_rng(3), 0.7, 60, 60, n_u=300, prior=prior)
        p, n, u = samples(y, score)
        observed, share = (pair_auc(p, u), 1 - prior) if pairs == "pu" else (pair_auc(u, n), prior)
        variance = delong_variance(p, u) if pairs == "pu" else delong_variance(u, n)
        total = variance / share**2 + ((observed - 0.5) / share**2 * prior_sd) ** 2
        result = auc_confidence_interval(y, score, method="wald-delong", pairs=pairs, prior=prior, prior_sd=prior_sd)
        assert result.auc - result.low == pytest.approx(Z95 * math.sqrt(total))

        # and the formula is the derivative of the estimate
        convert = from_pu if pairs == "pu" else from_un
        pair = (p, u) if pairs == "pu" else (u, n)
        slope = optimize.approx_fprime(prior, lambda t: convert(*pair, t.item()))[0]
        assert abs(slope) == pytest.approx(abs(observed - 0.5) / share**2, rel=1e-4)

    def test_prior_sd_widens_every_method(self):
        y, score = binormal(np.random.default_rng(4), 0.7, 40, 40, n_u=100)
        for method in ("newcombe", "logit-delong", "wald-delong"):
            options = {"method": method, "pairs": "pu", "prior": 0.5}
            exact, unsure = (auc_confidence_interval(y, score, prior_sd=s, **options) for s in (0, 0.1))
            assert unsure.low < exact.low
            assert unsure.high >= exact.high

    def test_auto_pairs_take_the_smallest_variance(self):
        rng = np.random.default_rng(5)
        options = {"pairs": "auto", "prior": 0.1}
        assert auc_confidence_interval(*binormal(rng, 0.8, 500, 5, 2000, 0.1), **options).pairs == "pu"
        options["prior"] = 0.5
        assert auc_confidence_interval(*binormal(rng, 0.8, 100, 100, 2000, 0.5), **options).pairs == "pn"
        options["prior"] = 0.6
        assert auc_confidence_interval(*binormal(rng, 0.8, 5, 500, 2000, 0.6), **options).pairs == "un"
        assert auc_confidence_interval([0, 1, 1], [1, 2, 3], **options).pairs == "pn"

    def test_zero_variance_of_few_perfect_pairs_is_not_taken_for_certainty(self):
        rng = np.random.default_rng(6)
        _, score = binormal(rng, 0.8, 500, 0, 2000, 0.1)
        y = np.concatenate([np.repeat([1, -1], [500, 2000]), [0, 0]])
        score = np.append(score, [-100.0, -100.0])  # two negatives below everything: A_PN = 1, DeLong's variance 0
        result = auc_confidence_interval(y, score, pairs="auto", prior=0.1)
        assert result.pairs == "pu"
        assert result.auc < 0.9

    def test_coverage_of_auto_with_scarce_negatives(self):
        rng = np.random.default_rng(7)
        hits = []
        for _ in range(200):
            y, score = binormal(rng, 0.8, 200, 4, 500, 0.2)
            result = auc_confidence_interval(y, score, pairs="auto", prior=0.2)
            hits.append(result.low <= 0.8 <= result.high)
        assert 0.90 < np.mean(hits) < 0.99

    def test_values_are_clipped_and_an_impossible_prior_warns(self):
        y = np.repeat([1, -1], [40, 400])
        score = np.concatenate([np.linspace(1, 2, 40), np.linspace(0, 1.2, 400)])
        with pytest.warns(UserWarning, match=r"lies outside \[0, 1\], so prior=0.9 is wrong"):
            result = auc_confidence_interval(y, score, pairs="pu", prior=0.9)
        assert result[:3] == (1, 1, 1)
        assert pu_auc_score(y, score, 0.9) > 1


class TestPairedTest:
    @settings(max_examples=50)
    @given(data=st.data(), n_p=st.integers(2, 8), n_n=st.integers(2, 8))
    def test_equals_delongs_matrices(self, data, n_p, n_n):
        a, b = (
            np.array(data.draw(st.lists(st.integers(0, 5), min_size=n_p + n_n, max_size=n_p + n_n))) for _ in range(2)
        )
        y = np.repeat([1, 0], [n_p, n_n])
        variance = delong_difference_variance([a[:n_p], b[:n_p]], [a[n_p:], b[n_p:]])
        result = paired_auc_test(y, a, b)
        assert result.auc_a == pytest.approx(roc_auc_score(y, a))
        assert result.auc_b == pytest.approx(roc_auc_score(y, b))
        assert result.difference == pytest.approx(result.auc_a - result.auc_b, abs=1e-12)
        if variance > 1e-12:
            z = result.difference / math.sqrt(variance)
            assert result.pvalue == pytest.approx(2 * stats.norm.sf(abs(z)), rel=1e-6)
            half = Z95 * math.sqrt(variance)
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


class TestPUScore:
    @settings(max_examples=50)
    @given(p=tied_scores, u=tied_scores, prior=st.floats(0.05, 0.9))
    def test_equals_all_pairs(self, p, u, prior):
        y = np.repeat([1, -1], [len(p), len(u)])
        assert pu_auc_score(y, np.concatenate([p, u]), prior) == pytest.approx(from_pu(p, u, prior))

    def test_exact_when_the_unlabeled_rows_hold_the_prior_exactly(self):
        # U = P and N together: A_PU = theta_P / 2 + theta_N A_PN without sampling error
        p, n = np.array([3.0, 4.0, 9.0]), np.array([1.0, 3.5, 5.0, 0.0, 2.0])
        score = np.concatenate([p, p, n])
        y = np.repeat([1, 0], [3, 8])
        assert pu_auc_score(y, score, prior=3 / 8) == pytest.approx(pair_auc(p, n))

    def test_may_leave_the_unit_interval(self):
        assert pu_auc_score([1, -1, -1], [3, 2, 1], prior=0.5) == 1.5

    def test_labeled_negatives_and_markers_are_an_error_that_names_pnu(self):
        with pytest.raises(LabelError, match="PNUAUCBoostClassifier"):
            pu_auc_score([1, 0, -1], [3, 2, 1], prior=0.5)

    def test_works_in_a_scorer(self):
        class FirstColumn(ClassifierMixin, BaseEstimator):
            def fit(self, X, y):
                self.classes_ = np.array([0, 1])
                return self

            def decision_function(self, X):
                return X[:, 0]

        y = np.tile([1, 0, 0], 10)
        X = np.random.default_rng(0).normal(size=(30, 2)) + y[:, None]
        scorer = make_scorer(pu_auc_score, prior=0.2, response_method="decision_function")
        folds = [(np.arange(15, 30), np.arange(15)), (np.arange(15), np.arange(15, 30))]
        scores = cross_val_score(FirstColumn(), X, y, cv=folds, scoring=scorer)
        np.testing.assert_allclose(scores, [pu_auc_score(y[t], X[t, 0], 0.2) for _, t in folds])


class TestPNUScore:
    @settings(max_examples=50)
    @given(p=tied_scores, n=tied_scores, u=tied_scores, gamma=st.floats(0, 1))
    def test_given_gamma_equals_all_pairs(self, p, n, u, gamma):
        y = np.repeat([1, 0, -1], [len(p), len(n), len(u)])
        score = np.concatenate([p, n, u])
        assert pnu_auc_score(y, score, gamma=gamma) == pytest.approx(combined_auc(p, n, u, gamma))

    @pytest.mark.parametrize(("n_p", "n_n", "prior"), [(10, 30, 0.2), (40, 4, 0.1), (4, 40, 0.7), (20, 20, 0.5)])
    def test_default_gamma_minimizes_the_variance(self, n_p, n_n, prior):
        for seed in range(5):
            y, score = binormal(np.random.default_rng(seed), 0.75, n_p, n_n, 60, prior)
            p, n, u = samples(y, score)
            best = optimize.minimize_scalar(
                lambda g, s=(p, n, u): combined_variance(*s, g), bounds=(0, 1), options={"xatol": 1e-8}
            ).x
            assert pnu_auc_score(y, score) == pytest.approx(combined_auc(p, n, u, best), abs=1e-5)

    def test_with_prior_it_is_the_estimate_of_smallest_variance(self):
        for seed, (n_p, n_n, prior) in enumerate([(30, 30, 0.5), (100, 4, 0.1), (4, 100, 0.7), (5, 5, 0.5)]):
            y, score = binormal(np.random.default_rng(seed), 0.75, n_p, n_n, 150, prior)
            p, n, u = samples(y, score)
            candidates = [
                (delong_variance(p, n), pair_auc(p, n)),
                (delong_variance(p, u) / (1 - prior) ** 2, from_pu(p, u, prior)),
                (delong_variance(u, n) / prior**2, from_un(u, n, prior)),
            ]
            assert pnu_auc_score(y, score, prior=prior) == pytest.approx(min(candidates)[1])

    def test_without_unlabeled_rows_it_is_the_plain_auc(self):
        y, score = binormal(np.random.default_rng(0), 0.8, 20, 30)
        for options in ({}, {"prior": 0.3}, {"gamma": 0.2}):
            assert pnu_auc_score(y, score, **options) == pytest.approx(roc_auc_score(y, score))

    def test_one_labeled_row_of_a_class_is_the_plain_auc(self):
        y, score = binormal(np.random.default_rng(1), 0.8, 1, 30, 50)
        assert pnu_auc_score(y, score) == pytest.approx(roc_auc_score(y[:31], score[:31]))

    def test_constant_scores(self):
        assert pnu_auc_score([1, 1, 0, 0, -1, -1], np.zeros(6)) == 0.5
        assert pnu_auc_score([1, 1, 0, 0, -1, -1], np.zeros(6), prior=0.3) == 0.5

    def test_prior_and_gamma_exclude_each_other(self):
        with pytest.raises(ValueError, match="either prior or gamma"):
            pnu_auc_score([1, 0, -1], [3, 2, 1], prior=0.5, gamma=0.5)
        for gamma in (-0.1, 1.1, "half", math.nan):
            with pytest.raises(ValueError, match=r"gamma=.* should be a number in \[0, 1\]"):
                pnu_auc_score([1, 0, -1], [3, 2, 1], gamma=gamma)


class TestVariancesBySimulation:
    """Standard deviations of the estimates over draws, against the estimated and the published ones."""

    @pytest.mark.parametrize(
        ("n_p", "n_n", "prior", "sd_pn", "sd_pu", "sd_un"),
        [
            (10, 90, 0.1, 0.074, 0.080, None),
            (30, 30, 0.5, 0.057, 0.090, None),
            (500, 5, 0.1, 0.101, 0.012, None),
            (5, 500, 0.1, 0.097, None, 0.146),
        ],
    )
    def test_which_pairs_are_precise(self, n_p, n_n, prior, sd_pn, sd_pu, sd_un):
        rng = np.random.default_rng(0)
        draws = []
        for _ in range(400):
            p, n, u = samples(*binormal(rng, 0.8, n_p, n_n, 2000, prior))
            a_pn, a_pu, a_un = (placements(*s)[0].mean() for s in ((p, n), (p, u), (u, n)))
            draws.append([a_pn, (a_pu - prior / 2) / (1 - prior), (a_un - (1 - prior) / 2) / prior])
        # all three estimate the same AUC
        errors = np.std(draws, axis=0) / math.sqrt(len(draws))
        assert (np.abs(np.mean(draws, axis=0) - 0.8) < 4 * errors).all()
        for sd, published in zip(np.std(draws, axis=0), (sd_pn, sd_pu, sd_un)):
            if published is not None:
                assert sd == pytest.approx(published, rel=0.15)

    def test_interval_width_from_pu_agrees_with_the_spread_of_the_estimate(self):
        rng = np.random.default_rng(1)
        estimates, half_widths = [], []
        for _ in range(200):
            y, score = binormal(rng, 0.75, 40, 40, 400, 0.3)
            result = auc_confidence_interval(y, score, method="wald-delong", pairs="pu", prior=0.3)
            estimates.append(pu_auc_score(y[y != 0], score[y != 0], 0.3))
            half_widths.append((result.auc - result.low) / Z95)
        assert np.mean(half_widths) == pytest.approx(np.std(estimates), rel=0.15)

    def test_influence_variance_of_the_combination_is_right(self):
        rng = np.random.default_rng(2)
        estimates, variances = [], []
        for _ in range(250):
            p, n, u = samples(*binormal(rng, 0.8, 10, 20, 25, 0.3))
            estimates.append(combined_auc(p, n, u, 0.6))
            variances.append(combined_variance(p, n, u, 0.6))
        assert np.mean(estimates) == pytest.approx(0.8, abs=4 * np.std(estimates) / math.sqrt(250))
        assert math.sqrt(np.mean(variances)) == pytest.approx(np.std(estimates), rel=0.15)


class TestInput:
    def test_labels_and_scores_of_many_kinds(self):
        y, score = [0, 1, 0, 1, -1], [1.0, 3.0, 2.0, 1.5, 9.0]
        expected = auc_confidence_interval(y, score)
        words = ["no", "yes", "no", "yes", None]
        for other in (words, pd.Series(words, dtype="category"), pd.array([0, 1, 0, 1, None], dtype="Int64")):
            assert auc_confidence_interval(other, pd.Series(score, index=list("abcde"))) == expected
        assert auc_confidence_interval(y, np.array(score, dtype=np.float32)) == expected
        assert auc_confidence_interval(y, pd.array([10, 30, 20, 15, 90], dtype="Int64")) == expected

    @pytest.mark.parametrize(
        ("score", "message"),
        [
            ([1, 2, np.nan, np.nan], r"y_score holds NaN in 2 of 4 rows: such rows have no rank. Drop them"),
            (pd.array([1, 2, 3, None], dtype="Int64"), "y_score"),
            ([1, 2, 3], r"y_true has 4 rows and y_score has 3"),
            (
                np.zeros((4, 2)),
                r"two columns: pass that of the positive class, e.g. predict_proba\(X\)\[:, 1\]",
            ),
            (np.zeros((4, 1)), r"1d array with one score a row, got shape \(4, 1\)"),
            (["a", "b", "c", "d"], "y_score should hold numbers"),
        ],
    )
    def test_bad_scores(self, score, message):
        for measure in (auc_confidence_interval, pnu_auc_score):
            with pytest.raises(ValueError, match=message):
                measure([0, 1, 0, 1], score)
        with pytest.raises(ValueError, match=message):
            pu_auc_score([0, 1, 0, 1], score, 0.5)

    def test_paired_test_names_the_bad_score(self):
        with pytest.raises(ValueError, match="score_b holds NaN in 1 of 4 rows"):
            paired_auc_test([0, 1, 0, 1], [1, 2, 3, 4], [1, np.nan, 2, 3])

    @pytest.mark.parametrize("prior", [0, 1, -0.2, 30, math.nan, "0.5", True])
    def test_bad_prior(self, prior):
        y, score = [1, 0, -1], [3, 1, 2]
        with pytest.raises(ValueError, match="should be a number between 0 and 1"):
            auc_confidence_interval(y, score, pairs="auto", prior=prior)
        with pytest.raises(ValueError, match="the share of positives among the unlabeled rows"):
            pnu_auc_score(y, score, prior=prior)
        with pytest.raises(ValueError, match="should be a number between 0 and 1"):
            pu_auc_score([1, -1, -1], score, prior)

    @pytest.mark.parametrize("pairs", ["pu", "un", "auto"])
    def test_missing_prior(self, pairs):
        with pytest.raises(ValueError, match=f"pairs='{pairs}' needs prior"):
            auc_confidence_interval([1, 0, -1], [3, 1, 2], pairs=pairs)

    @pytest.mark.parametrize("prior_sd", [-0.1, math.inf, math.nan, None])
    def test_bad_prior_sd(self, prior_sd):
        with pytest.raises(ValueError, match="the standard error of prior"):
            auc_confidence_interval([1, 0, -1], [3, 1, 2], pairs="pu", prior=0.5, prior_sd=prior_sd)

    def test_un_needs_unlabeled_rows_and_both_classes(self):
        with pytest.raises(ValueError, match="pairs='un' needs unlabeled rows, y_true has none"):
            auc_confidence_interval([1, 0], [3, 1], pairs="un", prior=0.5)
        with pytest.raises(LabelError, match="only one labeled class"):
            auc_confidence_interval([0, -1], [3, 1], pairs="un", prior=0.5)

    def test_bad_confidence(self):
        with pytest.raises(ValueError, match=r"confidence=95 .*for 95% write 0.95"):
            auc_confidence_interval([1, 0], [3, 1], confidence=95)
        for confidence in (0, 1, math.nan, "high"):
            with pytest.raises(ValueError, match="between 0 and 1"):
                paired_auc_test([1, 0], [3, 1], [3, 1], confidence=confidence)

    def test_unknown_choices(self):
        with pytest.raises(ValueError, match="method='delong' is not known: use one of 'auto', 'newcombe'"):
            auc_confidence_interval([1, 0], [3, 1], method="delong")
        with pytest.raises(ValueError, match="pairs='np' is not known: use one of 'pn', 'pu'"):
            auc_confidence_interval([1, 0], [3, 1], pairs="np")
        with pytest.raises(ValueError, match="method=None is not known"):
            auc_confidence_interval([1, 0], [3, 1], method=None)

    @pytest.mark.parametrize("measure", [auc_confidence_interval, pnu_auc_score])
    def test_labels_have_their_usual_errors(self, measure):
        with pytest.raises(LabelError, match="if -1 is your negative class, recode it as 0"):
            measure([1, -1, -1], [3, 2, 1])
        with pytest.raises(LabelError, match="y holds 3 classes"):
            measure([0, 1, 2], [3, 2, 1])
