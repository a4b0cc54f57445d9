"""SSMAB and ASSEMBLE: the cost, the limits, and the errors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

import fewlabel
from fewlabel.boosting import AssembleClassifier, SemiSupervisedAdaBoostClassifier
from fewlabel.exceptions import LabelError
from reference import assemble, samme

BOTH = [SemiSupervisedAdaBoostClassifier, AssembleClassifier]
STUMP = DecisionTreeClassifier(max_depth=1, random_state=0)


def draw(seed, n=60, n_classes=3, labeled=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 1.5 * np.eye(max(n_classes, 3))[y][:, :3]
    return X, y, np.where((rng.random(n) < labeled) | (np.arange(n) < 2 * n_classes), y, -1)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
def test_equals_the_coded_cost_round_by_round(seed, n_classes):
    X, _, few = draw(seed, n_classes=n_classes, labeled=0.3)
    model = SemiSupervisedAdaBoostClassifier(
        GaussianNB(), n_estimators=8, labeled_weight=3.0, unlabeled_weight=1.0, labeled_factor=1.0
    ).fit(X, few)
    codes = model._pseudo_labels(X, few)
    betas, costs, H = samme.fit(X, codes, np.where(few >= 0, 3.0, 1.0), GaussianNB(), 8, n_classes)
    np.testing.assert_allclose(model.estimator_weights_, betas, rtol=1e-6, atol=1e-9)
    assert (np.diff(costs) <= 1e-12).all()  # the cost never rises
    if len(betas):
        np.testing.assert_array_equal(model.predict(X), np.argmax(H, axis=1))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
def test_without_unlabeled_rows_and_with_factor_1_it_is_samme(seed, n_classes):
    X, y, _ = draw(seed, n_classes=n_classes)
    model = SemiSupervisedAdaBoostClassifier(GaussianNB(), n_estimators=6, labeled_factor=1.0).fit(X, y)
    peer = AdaBoostClassifier(GaussianNB(), n_estimators=6).fit(X, y)
    n = min(model.n_iter_, len(peer.estimators_))
    np.testing.assert_allclose(model.estimator_errors_[:n], peer.estimator_errors_[:n], rtol=1e-6, atol=1e-9)
    factor = (n_classes - 1) ** 2 / n_classes
    np.testing.assert_allclose(model.estimator_weights_[:n], factor * peer.estimator_weights_[:n], rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), peer.predict(X))


def weights_of_each_round(model, X, y):
    """The weights that the base classifiers were given."""
    seen = []

    class Spy(GaussianNB):
        def fit(self, X, y, sample_weight=None):
            seen.append((np.asarray(sample_weight), np.asarray(y)))
            return super().fit(X, y, sample_weight=sample_weight)

    model.set_params(estimator=Spy()).fit(X, y)
    return seen


@pytest.mark.parametrize("update", ["samme", "damped"])
def test_the_last_classifier_has_the_error_of_chance_under_the_next_weights(update):
    X, _, few = draw(1, labeled=0.4)
    model = SemiSupervisedAdaBoostClassifier(
        n_estimators=5, labeled_weight=1.0, unlabeled_weight=1.0, labeled_factor=1.0, update=update
    )
    seen = weights_of_each_round(model, X, few)
    for m, (weight, codes) in enumerate(seen[1:]):
        wrong = model.estimators_[m].predict(X) != codes
        error = weight[wrong].sum() / weight.sum()
        assert weight.sum() == pytest.approx(len(X))
        if update == "samme":
            assert error == pytest.approx(2 / 3)
        else:
            assert model.estimator_errors_[m] < error < 2 / 3


def test_the_printed_sign_lowers_the_weight_of_mistakes():
    """Equation 5.7 as printed multiplies mistakes by exp(-beta / (K-1)^2): the cost would rise."""
    X, y, _ = draw(2)
    n_classes, first = 3, np.full(len(X), 1 / len(X))
    predicted = GaussianNB().fit(X, y).predict(X)
    error = first[predicted != y].sum()
    beta = 4 / 3 * (np.log((1 - error) / error) + np.log(2))
    printed = np.where(predicted != y, np.exp(-beta / 4), 1.0)
    corrected = np.where(predicted != y, np.exp(beta / 4), np.exp(-beta / 2))
    assert printed[predicted != y].sum() / printed.sum() < error
    cost = np.exp(-(samme.code(y, n_classes) * beta * samme.code(predicted, n_classes)).sum(axis=1) / n_classes)
    np.testing.assert_allclose(cost, corrected)


def test_labeled_mistakes_are_weighed_by_the_factor():
    X, _, few = draw(3, labeled=0.3)
    plain, doubled = (
        weights_of_each_round(SemiSupervisedAdaBoostClassifier(n_estimators=2, labeled_factor=f), X, few)
        for f in (1, 2)
    )
    (first, codes), (w1, _), (w2, _) = plain[0], plain[1], doubled[1]
    wrong = GaussianNB().fit(X, codes, sample_weight=first).predict(X) != codes
    ratio = w2 / w1
    hit = wrong & (few >= 0)
    assert hit.any()
    np.testing.assert_allclose(ratio[hit] / ratio[~hit][0], 2.0)
    np.testing.assert_allclose(ratio[~hit], ratio[~hit][0])


def test_one_round_is_the_base_classifier_and_a_perfect_one_ends_the_fit():
    X, y, _ = draw(4)
    base = DecisionTreeClassifier(random_state=0)
    model = SemiSupervisedAdaBoostClassifier(base, random_state=0).fit(X, y)
    assert model.n_iter_ == 1
    np.testing.assert_array_equal(model.predict(X), y)


def test_pseudo_labels_are_those_of_the_nearest_labeled_rows_in_scaled_columns():
    X, _, few = draw(5, labeled=0.3)
    X[:, 0] *= 1000
    scaled = MinMaxScaler().fit_transform(X)
    known = few >= 0
    expected = KNeighborsClassifier(3).fit(scaled[known], few[known]).predict(scaled[~known])
    codes = SemiSupervisedAdaBoostClassifier(n_neighbors=3)._pseudo_labels(X, few)
    np.testing.assert_array_equal(codes[~known], expected)
    np.testing.assert_array_equal(codes[known], few[known])


def test_assemble_follows_the_margins():
    """With weights instead of resampling: D ~ exp(-margin), and unlabeled rows take the class of the vote."""
    X, _, few = draw(6, labeled=0.4)
    model = AssembleClassifier(n_estimators=4, resample=False)
    seen = weights_of_each_round(model, X, few)
    known = few >= 0
    first = np.where(known, 0.9 / known.sum(), 0.1 / (~known).sum())
    np.testing.assert_allclose(seen[0][0] / seen[0][0].sum(), first)
    votes = np.zeros((len(X), 3))
    for m, (weight, codes) in enumerate(seen[1:]):
        votes[np.arange(len(X)), model.estimators_[m].predict(X)] += model.estimator_weights_[m]
        np.testing.assert_array_equal(codes[~known], votes.argmax(axis=1)[~known])
        others = votes.copy()
        others[np.arange(len(X)), codes] = -np.inf
        D = np.exp(-(votes[np.arange(len(X)), codes] - others.max(axis=1)))
        np.testing.assert_allclose(weight / weight.sum(), D / D.sum())


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 4))
def test_assemble_equals_the_loop_over_rows(seed, n_classes):
    X, _, few = draw(seed, n_classes=n_classes, labeled=0.3)
    model = AssembleClassifier(GaussianNB(), n_estimators=6).fit(X, few)
    betas, votes = assemble.fit(X, few, GaussianNB(), 6, n_classes)
    np.testing.assert_allclose(model.estimator_weights_[: len(betas)], betas, rtol=1e-6, atol=1e-9)
    if len(betas) == model.n_iter_:  # not ended by a round without errors, whose weight has no bound
        expected = votes[:, 1] - votes[:, 0] if n_classes == 2 else votes
        np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("Booster", BOTH)
def test_no_base_classifier_good_enough_gives_the_largest_class(Booster):
    rng = np.random.default_rng(0)
    X, y = np.ones((40, 2)), np.r_[np.zeros(10), np.ones(10), np.full(20, 2)].astype(int)
    y = rng.permutation(y)
    weight = np.where(y == 2, 0.5, 1.0)  # three classes of equal weight, and nothing to tell them by

    class Wrong(DecisionTreeClassifier):
        def predict(self, X):
            return np.full(len(X), 0)

    model = Booster(Wrong(), random_state=0).fit(X, y, weight)
    if model.n_iter_ == 0:
        assert set(model.predict(X)) <= {0, 1, 2}
        assert np.isfinite(model.predict_proba(X)).all()
    else:
        assert set(model.predict(X)) == {0}


@pytest.mark.parametrize("Booster", BOTH)
def test_reproducible_and_takes_any_labels(Booster):
    X, y = load_wine(return_X_y=True)
    few = fewlabel.hide_labels(y, labeled=0.2, random_state=0)
    names = np.array(["a", "b", "c", None], dtype=object)
    model, again = (Booster(random_state=3).fit(X, few) for _ in range(2))
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    named = Booster(random_state=3).fit(X, names[few])
    np.testing.assert_array_equal(named.predict(X), names[model.predict(X)])


def test_unlabeled_rows_help_a_weak_tree():
    X, y = load_digits(return_X_y=True)
    few = fewlabel.hide_labels(y, labeled=0.1, random_state=0)
    hidden = few == -1
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=0)
    alone = tree.fit(X[~hidden], y[~hidden]).predict(X[hidden])
    model = SemiSupervisedAdaBoostClassifier(tree, random_state=0).fit(X, few)
    assert (model.predict(X[hidden]) == y[hidden]).mean() > (alone == y[hidden]).mean() + 0.2


@pytest.mark.parametrize("Booster", BOTH)
def test_errors_say_what_to_do(Booster):
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(LabelError, match="PUAdaBoostClassifier"):
        Booster().fit(X, [1, 1, -1, -1, -1, -1])
    with pytest.raises(LabelError, match="no labeled row"):
        Booster().fit(X, [-1] * 6)
    with pytest.raises(ValueError, match="does not support sample_weight"):
        Booster(KNeighborsClassifier(1)).set_params(
            **({"resample": False} if Booster is AssembleClassifier else {})
        ).fit(X, [0, 1, 0, 1, -1, -1])
    with pytest.raises(ValueError, match="n_neighbors"):
        Booster(n_neighbors=0).fit(X, [0, 1, 0, 1, -1, -1])


@pytest.mark.parametrize("Booster", BOTH)
@pytest.mark.parametrize("kind", ["dense", "sparse", "gaps"])
def test_any_teacher_gives_the_first_labels(Booster, kind):
    """A teacher that learns from unlabeled rows sees them all, and its classes are better than the nearest labels."""
    X, _, y = fewlabel.make_two_moons(return_true=True, random_state=0)
    few = fewlabel.hide_labels(y, labeled=8, random_state=0)
    X = {"dense": X, "sparse": csr_matrix(X), "gaps": np.where(np.arange(len(X))[:, None] % 9 == 0, np.nan, X)}[kind]
    teacher = {"gaps": HistGradientBoostingClassifier()}.get(kind, fewlabel.PathNeighborsClassifier())
    tree = DecisionTreeClassifier(max_depth=4)
    taught, alone = (Booster(tree, n_estimators=5, teacher=t, random_state=0).fit(X, few) for t in (teacher, None))
    known = few >= 0
    assert (taught.transduction_[known] == few[known]).all()
    np.testing.assert_array_equal(taught.transduction_[~known], taught.predict(X[np.flatnonzero(~known)]))
    if kind != "gaps":
        assert (taught.transduction_ == y).mean() > max(0.9, (alone.transduction_ == y).mean())


@pytest.mark.parametrize("Booster", BOTH)
def test_of_equally_near_labels_the_order_of_the_rows_does_not_decide(Booster):
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(80, 2)).astype(float)
    y = np.where(rng.random(80) < 0.4, rng.integers(3, size=80), -1)
    model = Booster(n_neighbors=2, random_state=0)
    for _ in range(5):
        order = rng.permutation(80)
        np.testing.assert_array_equal(model._pseudo_labels(X[order], y[order]), model._pseudo_labels(X, y)[order])


@pytest.mark.parametrize("Booster", BOTH)
def test_sparse_rows_have_the_nearest_labels_of_dense_ones(Booster):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3)) * [1.0, 20.0, 0.1] + [0.0, 0.0, 5.0]
    X[::2, 1] = 0.0
    y = np.where(rng.random(80) < 0.4, rng.integers(3, size=80), -1)
    dense, other = (Booster(random_state=0)._pseudo_labels(rows, y) for rows in (X, csr_matrix(X)))
    np.testing.assert_array_equal(dense, other)


@pytest.mark.parametrize("Booster", BOTH)
def test_a_teacher_that_takes_no_gaps_is_not_given_any(Booster):
    X = np.array([[0.0], [1.0], [np.nan], [0.1]])
    with pytest.raises(ValueError, match="NaN"):
        Booster(teacher=KNeighborsClassifier(1)).fit(X, [0, 1, -1, -1])
