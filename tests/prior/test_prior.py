"""Class-prior estimators: against slow versions, on known mixtures, and their errors."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit, ndtri
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from benchmarks.quality.prior.kernel_embedding import distance_to_hull
from fewlabel import TreePUBoostClassifier, estimate_class_prior, make_pu
from fewlabel.exceptions import LabelError, PriorWarning
from fewlabel.prior import _scores, auc_against_negatives, largest_prior
from fewlabel.prior._score_methods import bbe, dedpul, density, ratio_rise

pytestmark = pytest.mark.filterwarnings("ignore::fewlabel.exceptions.PriorWarning")


def mixture(share, seed=0, n_p=200, n_u=800, apart=4.0):
    X, y, true = make_pu(
        n_u, prior=share, labeled=n_p, separation=apart, setting="case-control", return_true=True, random_state=seed
    )
    return X, y, true[y == -1].mean()


def slow_bbe(p, u, delta=0.1, gamma=0.01):
    bar = (1 + gamma) * (np.sqrt(np.log(4 / delta) / (2 * len(u))) + np.sqrt(np.log(4 / delta) / (2 * len(p))))
    best, answer = np.inf, None
    for c in sorted(set(p) | set(u), reverse=True):
        q_p, q_u = np.mean(p >= c), np.mean(u >= c)
        if q_p > 0 and (q_u + bar) / q_p < best * (1 - 1e-12):
            best, answer = (q_u + bar) / q_p, q_u / q_p
    return min(1.0, answer)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), ties=st.booleans())
def test_bbe_equals_its_definition(seed, ties):
    rng = np.random.default_rng(seed)
    p, u = rng.beta(3, 2, rng.integers(1, 40)), rng.beta(2, 2, rng.integers(1, 60))
    if ties:
        p, u = np.round(p, 1), np.round(u, 1)
    assert bbe(p, u, np.ones(len(p)), np.ones(len(u))) == pytest.approx(slow_bbe(p, u))
    # Weights on any scale give the same estimate.
    assert bbe(p, u, np.full(len(p), 2.0), np.full(len(u), 4.0)) == pytest.approx(slow_bbe(p, u))


def test_bbe_by_hand():
    """Half of the unlabeled rows score like the positives, the rest below them all."""
    p, u = np.full(100, 0.9), np.r_[np.full(500, 0.9), np.full(500, 0.1)]
    assert bbe(p, u, np.ones(100), np.ones(1000)) == pytest.approx(0.5)


def test_dedpul_finds_the_fixed_point_of_expectation_maximization():
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-rng.normal(3, 1, 500)))
    u = 1 / (1 + np.exp(-np.r_[rng.normal(3, 1, 300), rng.normal(-3, 1, 700)]))
    assert dedpul(p, u, np.ones(500), np.ones(1000)) == pytest.approx(0.3, abs=0.03)


def test_density_integrates_to_one_and_equals_the_kernel_sum():
    x = np.random.default_rng(0).normal(size=200)
    grid = np.linspace(-6, 6, 2001)
    fast = density(x, np.ones(200), grid, 0.3)
    width = 0.3 * x.std()
    slow = np.exp(-0.5 * ((grid[:, None] - x) / width) ** 2).mean(axis=1) / (width * np.sqrt(2 * np.pi))
    assert np.trapezoid(fast, grid) == pytest.approx(1.0, abs=1e-3)
    np.testing.assert_allclose(fast, slow, atol=0.01)


@pytest.mark.parametrize(("worse", "n_fits"), [(True, 1), (False, 5)])
def test_a_model_that_is_clearly_worse_is_not_fitted_to_all_folds(monkeypatch, worse, n_fits):
    rng = np.random.default_rng(0)
    P, U = rng.normal(2, 1, (60, 1)), np.r_[rng.normal(2, 1, (40, 1)), rng.normal(-2, 1, (160, 1))]
    fits = []

    class Counted(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(X))
            return super().fit(rng.normal(size=X.shape) if worse else X, y, sample_weight)

    models = [make_pipeline(LogisticRegression(C=1e-3)), make_pipeline(Counted())]
    monkeypatch.setattr("fewlabel.prior._scores._models", lambda X, seed: [(model, X) for model in models])
    weights = np.ones(len(P)), np.ones(len(U))
    scores = _scores.out_of_fold_scores(P, U, *weights, np.random.RandomState(0))
    assert len(fits) == n_fits
    models.pop(0 if not worse else 1)
    again = _scores.out_of_fold_scores(P, U, *weights, np.random.RandomState(0))
    np.testing.assert_array_equal(np.concatenate(again), np.concatenate(scores))


def test_distance_to_the_hull_equals_a_general_solver():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    point = np.r_[np.full(6, 2 / 6), np.full(6, -1 / 6)]
    images = np.linalg.cholesky(K).T
    distance = distance_to_hull(images, images @ point)
    slow = minimize(
        lambda v: (v - point) @ K @ (v - point),
        np.full(12, 1 / 12),
        bounds=[(0, 1)] * 12,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        tol=1e-12,
    )
    assert distance == pytest.approx(np.sqrt(slow.fun), rel=1e-5)


@pytest.mark.parametrize("share", [0.15, 0.5])
@pytest.mark.parametrize("method", ["auto", "bbe", "dedpul"])
def test_known_mixtures(method, share):
    X, y, true = mixture(share)
    estimate = estimate_class_prior(X, y, method, setting="case-control", random_state=0)
    assert estimate.prior == pytest.approx(true, abs=0.15 if method == "auto" else 0.07)
    assert 0 <= estimate.low <= estimate.prior <= estimate.high <= 1
    assert estimate.population == estimate.prior
    assert set(estimate.methods) >= ({"bbe", "dedpul"} if method == "auto" else {method})


def test_elkan_noto_is_accurate_when_the_classes_do_not_overlap_in_either_setting():
    X, y, true = mixture(0.3, apart=12.0)
    separate = estimate_class_prior(X, y, "en", setting="case-control", random_state=0)
    assert separate.prior == pytest.approx(true, abs=0.06)
    X, y, labels = make_pu(1500, prior=0.4, labeled=0.5, separation=12.0, return_true=True, random_state=0)
    estimate = estimate_class_prior(X, y, "en", random_state=0)
    assert estimate.prior == pytest.approx(labels[y == -1].mean(), abs=0.06)
    assert estimate.population == pytest.approx(0.4, abs=0.05)


def test_energy_uses_labeled_negatives():
    rng = np.random.default_rng(0)
    true = (rng.random(1500) < 0.35).astype(int)
    X = rng.normal(size=(1500, 3)) + true[:, None]
    y = np.where(np.arange(1500) < 300, true, -1)
    estimate = estimate_class_prior(X, y, "energy", random_state=0)
    assert estimate.prior == pytest.approx(true[300:].mean(), abs=0.06)
    assert estimate.low < estimate.prior < estimate.high
    with pytest.raises(LabelError, match="only one labeled class"):
        estimate_class_prior(X, np.where(y == 1, 1, -1), "energy")
    with pytest.raises(LabelError, match="every row is labeled"):
        estimate_class_prior(X, true, "energy")


def test_reproducible_with_a_seed_and_takes_sparse_and_missing_values():
    X, y, true = mixture(0.3, n_p=60, n_u=240)
    assert estimate_class_prior(X, y, random_state=1) == estimate_class_prior(X, y, random_state=1)
    sparse = estimate_class_prior(sp.csr_array(np.maximum(X, 0)), y, random_state=0)
    assert 0 <= sparse.prior <= 1
    gaps = X.copy()
    gaps[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    assert estimate_class_prior(gaps, y, random_state=0).prior == pytest.approx(true, abs=0.1)


def test_wide_intervals_and_few_rows_give_warnings():
    X, y, _ = mixture(0.3, apart=0.5)
    with pytest.warns(PriorWarning, match="the data say little about the class prior"):
        estimate_class_prior(X, y, random_state=0)
    with pytest.warns(PriorWarning, match="single labeled positive") as caught:
        assert estimate_class_prior([[0.0], [1.0]], [1, -1]).prior == 0.5
    assert len(caught) == 1
    X, y, _ = mixture(0.05)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert estimate_class_prior(X, y, random_state=0).high < 0.3


def test_the_order_of_the_rows_does_not_matter():
    X, y, _ = mixture(0.3, n_p=60, n_u=240)
    order = np.random.default_rng(0).permutation(len(y))
    assert estimate_class_prior(X[order], y[order], random_state=0) == estimate_class_prior(X, y, random_state=0)


def test_rise_of_the_ratio_by_hand():
    """Of the unlabeled rows, 30% score like the positives; then 20% more reach the lower ones of these."""
    p = np.r_[np.full(50, 0.9), np.full(50, 0.5)]
    u = np.r_[np.full(150, 0.9), np.full(150, 0.5), np.full(700, 0.1)]
    counts = (np.ones(100), np.ones(1000))
    assert ratio_rise(p, u, *counts) == pytest.approx(0.0, abs=0.01)
    u[300:500] = 0.5
    assert ratio_rise(p, u, *counts) == pytest.approx(np.log(0.5 / 0.3), abs=0.01)


def slow_auc(auc, n_positive, n_unlabeled, prior, low, high, n_draws=200_000):
    """The posterior by importance sampling, straight from the model in the docstring of `_belief`."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=n_draws) / ndtri(0.95)
    middle = logit(prior)
    drawn = expit(middle + z * np.where(z < 0, middle - logit(low), logit(high) - middle))
    noise = np.sqrt(0.6 * (1 / (n_positive - 1) + 1 / (n_unlabeled - 1)))
    angle = rng.normal(2.3 + 0.13 * np.log(n_positive / 12), 0.5, size=n_draws)
    value = np.sin(np.clip(angle, 0, np.pi) / 2) ** 2
    against_unlabeled = (1 - drawn) * value + drawn / 2
    distance = (2 * np.arcsin(np.sqrt(auc)) - 2 * np.arcsin(np.sqrt(against_unlabeled))) / noise
    weight = np.exp(-0.5 * distance**2)
    # The AUC says nothing of the prior: draws of about the same prior have the same weight together.
    groups = np.digitize(drawn, np.quantile(drawn, np.linspace(0, 1, 201)[1:-1]))
    weight /= np.bincount(groups, weight)[groups]
    order = np.argsort(value)
    reached = np.cumsum(weight[order]) / weight.sum()
    ends = value[order][np.searchsorted(reached, [0.025, 0.975])]
    return np.average(value, weights=weight), *ends


@pytest.mark.parametrize("prior", [(0.2, 0.1, 0.3), (0.05, 0.01, 0.2)])
def test_the_auc_equals_its_slow_version(prior):
    np.testing.assert_allclose(auc_against_negatives(0.8, 50, 400, *prior), slow_auc(0.8, 50, 400, *prior), atol=0.01)


@settings(max_examples=60, deadline=None)
@given(
    auc=st.floats(0.0, 1.0),
    n_positive=st.integers(2, 10**6),
    n_unlabeled=st.integers(2, 10**6),
    prior=st.floats(0.001, 0.999),
    exact=st.booleans(),
)
@example(auc=0.0, n_positive=884090, n_unlabeled=907745, prior=0.25, exact=False)
def test_no_auc_is_perfect_and_every_interval_contains_it(auc, n_positive, n_unlabeled, prior, exact):
    low = prior if exact else prior / 2
    high = prior if exact else (1 + prior) / 2
    score, low, high = auc_against_negatives(auc, n_positive, n_unlabeled, prior, low, high)
    assert 0 <= low <= score <= min(high, 0.999) <= high <= 1


def test_the_interval_of_the_auc_carries_the_uncertainty_of_the_prior():
    _, low, high = auc_against_negatives(0.8, 10**5, 10**5, 0.2, 0.2, 0.2)
    assert high - low < 0.02
    _, low, high = auc_against_negatives(0.8, 10**5, 10**5, 0.2, 0.05, 0.38)
    assert low == pytest.approx((0.8 - 0.025) / 0.95, abs=0.02)
    assert high > 0.95


def test_an_impossible_prior_is_not_believed():
    """Positives against unlabeled rows have an AUC of .99, so at most 2% of these can be positive."""
    score, low, _ = auc_against_negatives(0.99, 500, 2000, 0.4, 0.4, 0.4)
    assert low < 0.99 <= score


@pytest.mark.parametrize(
    ("arguments", "match"), [({"method": "guess"}, "method='guess'"), ({"setting": "both"}, "setting='both'")]
)
def test_bad_choices_are_named(arguments, match):
    with pytest.raises(ValueError, match=match):
        estimate_class_prior([[0.0], [1.0]], [1, -1], **arguments)


def test_labeled_negatives_beside_unlabeled_rows_are_an_error():
    with pytest.raises(LabelError, match="PNUAUCBoostClassifier"):
        estimate_class_prior(np.arange(4.0)[:, None], [1, 0, -1, -1])


@pytest.mark.parametrize("seed", range(10))
def test_the_ceiling_is_above_the_prior(seed):
    X, y, true = mixture(0.3, seed=seed, apart=3.0)
    ceiling = largest_prior(X, y == 1)
    assert true < ceiling < 0.85
    assert largest_prior(sp.csr_array(X), y == 1) > true


def test_the_ceiling_is_one_without_evidence():
    X = np.random.default_rng(0).normal(size=(20, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert largest_prior(X, np.arange(20) < 5) == 1.0
        assert largest_prior(np.full((20, 2), np.nan), np.arange(20) < 5) == 1.0


@pytest.mark.parametrize("method", ["auto", "en", "energy"])
def test_weights_are_shares_on_any_scale(method):
    """Negatives of weight 0.25 make the positives among the unlabeled rows more frequent."""
    X, y, true = make_pu(
        600, prior=0.3, labeled=150, separation=5.0, setting="case-control", return_true=True, random_state=0
    )
    weight = np.where(true == 1, 1.0, 0.25)
    if method == "energy":
        y = np.where((y == -1) & (np.random.default_rng(0).random(len(y)) < 0.1), true, y)
    rows = y == -1
    expected = weight[rows & (true == 1)].sum() / weight[rows].sum()
    found = estimate_class_prior(X, y, method, sample_weight=weight, random_state=0)
    if method == "energy":
        assert found.prior == pytest.approx(expected, abs=0.1)
    if method == "auto":
        assert found.low < expected < found.high
    assert expected - true[rows].mean() > 0.25
    assert found.prior - estimate_class_prior(X, y, method, random_state=0).prior > 0.15
    for scale in (1e-6, 1e6):
        again = estimate_class_prior(X, y, method, sample_weight=scale * weight, random_state=0)
        assert again.prior == pytest.approx(found.prior, abs=1e-3)
    kept = np.random.default_rng(1).random(len(y)) < 0.8
    left_out = estimate_class_prior(X, y, method, sample_weight=kept.astype(float), random_state=0)
    assert left_out == estimate_class_prior(X[kept], y[kept], method, random_state=0)


def test_an_estimator_warns_of_a_single_positive():
    X, y = make_pu(60, prior=0.4, labeled=20, random_state=0)
    y[np.flatnonzero(y == 1)[1:]] = -1
    with pytest.warns(PriorWarning, match="single labeled positive") as caught:
        TreePUBoostClassifier(n_estimators=2, random_state=0).fit(X, y)
    assert caught[0].filename == __file__


def test_columns_with_many_values_are_coded():
    rng = np.random.default_rng(0)
    column = rng.normal(size=2000)
    column[:50] = np.nan
    coded = _scores._coded(column)
    assert len(np.unique(coded[50:])) == 255
    assert np.isnan(coded[:50]).all()
    assert (np.diff(coded[50:][np.argsort(column[50:])]) >= 0).all()
    np.testing.assert_array_equal(_scores._coded(np.round(column)), np.round(column))


@pytest.mark.parametrize(("apart", "share"), [(1.5, 0.1), (4.0, 0.6)])
def test_the_interval_contains_the_prior_also_where_the_classes_overlap(apart, share):
    hits = []
    for seed in range(4):
        X, y, true = mixture(share, seed, n_p=25, n_u=160, apart=apart)
        found = estimate_class_prior(X, y, random_state=seed)
        assert found.low <= found.prior <= found.high
        hits.append(found.low <= true <= found.high)
    assert sum(hits) >= 3
