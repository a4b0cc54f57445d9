import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer, roc_auc_score
from sklearn.model_selection import cross_val_score

from fewlabel.exceptions import LabelError
from fewlabel.kernels.ranks import placements
from fewlabel.metrics import auc_confidence_interval, pnu_auc_score, pu_auc_score
from reference.auc import (
    binormal,
    combined_auc,
    combined_variance,
    delong_variance,
    from_pu,
    from_un,
    pair_auc,
    samples,
    tied_scores,
)

Z95 = stats.norm.isf(0.025)


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
