import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.metrics import roc_auc_score

from fewlabel.metrics import auc_confidence_interval, pu_auc_score
from reference.auc import (
    binormal,
    delong_variance,
    from_pu,
    from_un,
    newcombe_gap,
    pair_auc,
    samples,
    score_gap,
    tied_scores,
)

Z95 = stats.norm.isf(0.025)


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
        score = np.concatenate([high, low])
        result = auc_confidence_interval(y, score, confidence=confidence, method="newcombe")
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
            result = auc_confidence_interval([1, 0], score, method="newcombe")
            wilson = stats.binomtest(auc, 1).proportion_ci(method="wilson")
            assert result.low == pytest.approx(wilson.low, abs=1e-9)
            assert result.high == pytest.approx(wilson.high, abs=1e-9)

    @pytest.mark.parametrize("method", ["score", "newcombe", "logit-delong"])
    def test_intervals_mirror_when_scores_are_negated(self, method):
        y, score = binormal(np.random.default_rng(0), 0.8, 6, 9)
        one, other = (auc_confidence_interval(y, s, method=method) for s in (score, -score))
        assert (one.low, one.high) == pytest.approx((1 - other.high, 1 - other.low))

    def test_perfect_ranking_of_many_rows_has_a_bound_below_one(self):
        y = np.repeat([0, 1], 20_000)
        result = auc_confidence_interval(y, y)  # DeLong's variance is zero
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

    @settings(max_examples=100)
    @given(high=tied_scores, low=tied_scores, confidence=st.sampled_from([0.5, 0.95, 0.999]))
    def test_score_bounds_solve_their_equation(self, high, low, confidence):
        y = np.repeat([1, 0], [len(high), len(low)])
        result = auc_confidence_interval(y, np.concatenate([high, low]), confidence=confidence)
        assert 0 <= result.low <= result.auc <= result.high <= 1
        assert score_gap(result.low, high, low, confidence) == pytest.approx(0, abs=1e-9)
        mirrored = [-v for v in high], [-v for v in low]
        assert score_gap(1 - result.high, *mirrored, confidence) == pytest.approx(0, abs=1e-9)

    def test_score_interval_of_binomial_placements_is_wilsons(self):
        # Placements are 0 or 1, and the negatives are one point: n_P Bernoulli trials, up to Student's t.
        high, low = np.repeat([1.0, -1.0], [300, 100]), np.zeros(100_000)
        y = np.repeat([1, 0], [len(high), len(low)])
        result = auc_confidence_interval(y, np.concatenate([high, low]))
        wilson = stats.binomtest(300, 400).proportion_ci(method="wilson")
        assert (result.low, result.high) == pytest.approx((wilson.low, wilson.high), abs=5e-4)

    def test_degenerate_delong_interval_is_a_point_and_one_row_an_error(self):
        for method in ("wald-delong", "logit-delong"):
            assert auc_confidence_interval([0, 0, 1, 1], [1, 2, 3, 4], method=method)[:3] == (1, 1, 1)
            with pytest.raises(ValueError, match="two rows in each sample, got 1 and 2: use method='score'"):
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


class TestWeights:
    def test_equal_weights_change_nothing_and_the_auc_is_scikit_learns(self):
        rng = np.random.default_rng(0)
        y, score = binormal(rng, 0.8, 12, 25)
        assert auc_confidence_interval(y, score, sample_weight=np.full(37, 3.0)) == pytest.approx(
            auc_confidence_interval(y, score)
        )
        weight = rng.exponential(size=37)
        found = auc_confidence_interval(y, score, sample_weight=weight)
        assert found.auc == pytest.approx(roc_auc_score(y, score, sample_weight=weight))

    def test_rows_without_weight_are_left_out_and_unequal_weights_widen_the_interval(self):
        y, score = binormal(np.random.default_rng(1), 0.8, 20, 40)
        kept = np.arange(60) % 3 > 0
        assert auc_confidence_interval(y, score, sample_weight=kept) == auc_confidence_interval(y[kept], score[kept])
        equal, unequal = (
            auc_confidence_interval(y, score, sample_weight=w) for w in (np.ones(60), np.where(kept, 0.1, 1.0))
        )
        assert unequal.high - unequal.low > equal.high - equal.low

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (dict(sample_weight=[1.0, 1.0]), r"one weight per row, shape \(3,\)"),
            (dict(sample_weight=[1.0, np.nan, 1.0]), "finite numbers >= 0, got nan"),
            (dict(sample_weight=[1.0, 1.0, 0.0]), "every positive row has sample_weight 0"),
            (dict(sample_weight=[1.0, 1.0, 1.0], method="newcombe"), "needs method='score'"),
        ],
    )
    def test_unusable_weights(self, given, message):
        with pytest.raises(ValueError, match=message):
            auc_confidence_interval([0, 0, 1], [1.0, 2.0, 3.0], **given)


class TestIntervalsFromUnlabeledRows:
    @pytest.mark.parametrize("pairs", ["pu", "un"])
    @pytest.mark.parametrize("method", ["score", "newcombe", "logit-delong", "wald-delong"])
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
