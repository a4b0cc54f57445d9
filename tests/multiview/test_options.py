"""The multi-view classifiers: exact systems, options, penalties by held-out score, weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from fewlabel import BalancedMultiviewClassifier, MultiviewKernelClassifier
from fewlabel.multiview import _spaces
from fewlabel.multiview._basis import gaussian, sum_of_views
from fewlabel.multiview._losses import HingeLoss, SquaredLoss
from fewlabel.multiview._spaces import KernelSpace, choose_landmarks
from fewlabel.multiview._system import LabeledRows, Penalties
from reference import multiview as reference
from reference.multiview import VIEWS, few_rows

WIDTHS = [1.3, 0.8, 2.0]


def skewed(seed=0, n_labeled=40, n_hidden=60, n_rare=8):
    rng = np.random.default_rng(seed)
    true = (rng.permutation(n_labeled + n_hidden) % 5 == 0).astype(int)
    true[:n_labeled] = np.arange(n_labeled) < n_rare
    X = rng.normal(size=(len(true), 6)) + 1.2 * true[:, None] * [1, 0, 1, 1, 0, 1]
    return X, np.where(np.arange(len(true)) < n_labeled, true, -1), true


# Exact systems --------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    gammas=st.tuples(st.sampled_from([1e-3, 0.1]), st.sampled_from([0.0, 0.3, 20.0]), st.sampled_from([0.0, 0.5])),
    loss=st.sampled_from(["squared", "hinge"]),
    n_views=st.integers(1, 3),
)
def test_a_group_of_all_rows_is_all_rows_as_shared_landmarks(seed, gammas, loss, n_views):
    X, y = few_rows(seed, 2, n=20, n_labeled=8)
    views = [X[:, columns] for columns in VIEWS][:n_views]
    widths = WIDTHS[:n_views]
    penalties = Penalties(*gammas, 4)
    weights, outputs, held = np.array([0.5, 0.2, 0.3])[:n_views], [], []
    for shared in (None, np.arange(20)):
        space = KernelSpace(views, widths, shared)
        made = SquaredLoss(2) if loss == "squared" else HingeLoss(2, tol=1e-10, max_iter=50_000)
        labeled = LabeledRows(np.arange(8), y[:8], np.full(8, 1 / 8))
        found, held_out = space.learn(np.arange(20), labeled, made, penalties, weights)
        outputs.append(sum_of_views(views, widths, space.landmarks, found))
        held.append(held_out)
    tolerance = 1e-6 if loss == "squared" else 2e-3
    np.testing.assert_allclose(outputs[0], outputs[1], atol=tolerance)
    np.testing.assert_allclose(held[0], held[1], atol=tolerance)


def test_the_rbf_kernel_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(23, 4)), rng.normal(size=(11, 4))
    np.testing.assert_allclose(gaussian(X, Y, 1.7), rbf_kernel(X, Y, gamma=0.5 / 1.7**2), rtol=1e-13)
    np.testing.assert_allclose(
        gaussian(X + 1e6, Y + 1e6, 1.7), gaussian(X, Y, 1.7), rtol=1e-8
    )  # rows far from the origin


def test_groups_are_exact_up_to_the_limit_and_landmarks_beyond(monkeypatch):
    X, y, true = skewed()
    model = BalancedMultiviewClassifier(views=VIEWS, initial=LogisticRegression(), n_components=30, random_state=0)
    exact = clone(model).fit(X, y)
    assert [len(rows) for rows in exact.landmarks_] == [100] * 3
    monkeypatch.setattr("fewlabel.multiview._model._EXACT", 50)  # groups of 25 rows in 3 views
    some = clone(model).fit(X, y)
    assert max(len(rows) for rows in some.landmarks_) == 30
    scores = [roc_auc_score(true[40:], m.decision_function(X[40:])) for m in (exact, some)]
    assert abs(scores[0] - scores[1]) < 0.1
    monkeypatch.setattr(_spaces, "MOST_COLUMNS", 10)
    with pytest.raises(MemoryError, match="set approximation='nystroem'"):
        clone(model).set_params(approximation=None).fit(X, y)


@pytest.mark.parametrize(("n", "expected"), [(8, (2, 2, 4)), (40, (3, 17, 20)), (300, (3, 97, 200))])
def test_landmarks_are_drawn_evenly_from_the_classes(n, expected):
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, -1], [97, 3, 900]))
    chosen = choose_landmarks(codes, n, np.random.RandomState(0))
    assert len(np.unique(chosen)) == n
    assert (np.sum(codes[chosen] == 1), np.sum(codes[chosen] == 0), np.sum(codes[chosen] == -1)) == expected
    few = choose_landmarks(codes[codes >= 0], 20, np.random.RandomState(0))  # no unlabeled rows
    assert len(few) == 20
    assert len(choose_landmarks(codes, 5000, np.random.RandomState(0))) == 1000


# Bad options ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"length_scale": 0.0}, "length_scale"),
        ({"gamma_A": "best"}, "gamma_A"),
    ],
)
def test_options_that_make_no_sense(parameters, message):
    X, y = few_rows(18)
    for family in (MultiviewKernelClassifier, BalancedMultiviewClassifier):
        with pytest.raises(ValueError, match=message):
            family(**{"views": VIEWS, **parameters}).fit(X, y)


# Penalties by the held-out score ------------------------------------------------------------------------------------


def test_auto_takes_the_penalties_with_the_best_held_out_score():
    X, y, _ = skewed(1, n_labeled=60, n_rare=20)
    known = y >= 0
    auto = MultiviewKernelClassifier(views=VIEWS, gamma_A="auto", gamma_B="auto", gamma_W="auto").fit(X, y)
    best = roc_auc_score(y[known], auto.held_out_decision_)
    used = (auto.gamma_A_, auto.gamma_B_, auto.gamma_W_)
    again = MultiviewKernelClassifier(views=VIEWS, gamma_A=used[0], gamma_B=used[1], gamma_W=used[2]).fit(X, y)
    np.testing.assert_allclose(again.held_out_decision_, auto.held_out_decision_, atol=1e-9)
    for gamma_A in (1e-3, 1e-2, 1e-1, 1.0):
        other = MultiviewKernelClassifier(views=VIEWS, gamma_A=gamma_A).fit(X, y)
        assert roc_auc_score(y[known], other.held_out_decision_) <= best + 1e-12
        assert other.gamma_A_ == gamma_A
    one = MultiviewKernelClassifier(views=VIEWS, gamma_B="auto").fit(X, y)
    assert (one.gamma_A_, one.gamma_W_) == (0.01, 0.1)


def test_auto_of_the_ensemble_maximizes_the_score_of_its_first_round():
    X, y, _ = skewed(2)
    shared = dict(views=VIEWS, initial=LogisticRegression(), max_iter=1, random_state=0)
    auto = BalancedMultiviewClassifier(gamma_A="auto", gamma_B="auto", **shared).fit(X, y)
    for gamma_A in (1e-3, 1e-2, 1e-1, 1.0):
        other = BalancedMultiviewClassifier(gamma_A=gamma_A, **shared).fit(X, y)
        assert other.history_[0]["score"] <= auto.history_[0]["score"] + 1e-12
    fixed = BalancedMultiviewClassifier(gamma_A=auto.gamma_A_, gamma_B=auto.gamma_B_, **shared).fit(X, y)
    np.testing.assert_allclose(fixed.decision_function(X), auto.decision_function(X), atol=1e-9)


# Weights of the ensemble ----------------------------------------------------------------------------------------------


def test_weights_of_the_ensemble():
    X, y, _ = skewed(3)
    model = BalancedMultiviewClassifier(views=VIEWS, initial=LogisticRegression(), random_state=0, scale=False)
    equal = clone(model).fit(X, y, sample_weight=np.full(len(X), 3.0))
    np.testing.assert_allclose(equal.decision_function(X), clone(model).fit(X, y).decision_function(X), atol=1e-9)
    weight = np.ones(len(X))
    weight[[10, 70]] = 0.0
    kept = weight > 0
    without = clone(model).fit(X[kept], y[kept])
    weighted = clone(model).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(weighted.decision_function(X), without.decision_function(X), atol=1e-9)
    one = dict(views=VIEWS, gamma_B=0.1, gamma_W=0.2, random_state=0)  # one group: the plain model
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    group = BalancedMultiviewClassifier(n_groups=1, initial=LogisticRegression(), **one).fit(X, y, weight)
    plain = MultiviewKernelClassifier(**one).fit(X, y, weight)
    np.testing.assert_allclose(group.decision_function(X), plain.decision_function(X), atol=1e-9)


# Theorem 1.1 ---------------------------------------------------------------------------------------------------------


def ramp(scores, y):
    """The loss A_2 of the theorem's proof, at the largest other score less that of the class."""
    margin = np.delete(scores, y).max() - scores[y]
    return float(np.clip(1 + margin, 0, 1))


@settings(max_examples=200, deadline=None)
@given(n_classes=st.integers(2, 6), seed=st.integers(0, 10**6), size=st.sampled_from([0.3, 1.0, 3.0]))
def test_equation_8_holds_with_the_factor_that_it_lacks(n_classes, seed, size):
    h = size * np.random.default_rng(seed).normal(size=n_classes - 1)
    scores = reference.simplex(n_classes).T @ h
    for y in range(n_classes):
        loss = reference.simplex_loss(h, y, n_classes)
        assert ramp(scores, y) <= 2 * (n_classes - 1) / n_classes * loss + 1e-12


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_equation_8_fails_as_printed_for_three_classes_or_more(n_classes):
    """An output that is wrong, and whose loss is P / (2 (P - 1)): below 1 unless there are two classes."""
    S = reference.simplex(n_classes)
    t = (n_classes - 2) / (2 * (n_classes - 1))
    wanted = np.full(n_classes, -1 / (n_classes - 1))
    wanted[:2] = t
    h = np.linalg.lstsq(S.T, wanted, rcond=None)[0]
    np.testing.assert_allclose(S.T @ h, wanted, atol=1e-12)  # the scores of an output sum to 0
    loss = reference.simplex_loss(h, 0, n_classes)
    assert ramp(np.round(S.T @ h, 12), 0) == 1
    assert loss == pytest.approx(n_classes / (2 * (n_classes - 1)))
    assert (loss < 1 - 1e-9) == (n_classes > 2)
