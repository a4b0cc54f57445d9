"""LabelSpreadingClassifier: equal to the dense solution, its bound, and new rows."""

import numpy as np
import pytest
from sklearn.semi_supervised import LabelSpreading

import fewlabel
from fewlabel import LabelSpreadingClassifier, make_three_circles, make_two_moons
from fewlabel.graph._label_spreading import _conjugate_gradients


def dense_scores(X, y, k, alpha, width):
    """LLGC from the definitions, with all pairs in memory: weights of the union of the k nearest neighbors."""
    distance = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distance, np.inf)
    nearest = np.argsort(distance, axis=1)[:, :k]
    chosen = np.zeros(distance.shape, bool)
    np.put_along_axis(chosen, nearest, True, axis=1)
    sigma = width * np.median(np.take_along_axis(distance, nearest, axis=1))
    W = np.where(chosen | chosen.T, np.exp(-((distance / sigma) ** 2) / 2), 0.0)
    root = np.sqrt(W.sum(axis=1))
    S = W / root[:, None] / root
    Y = (y[:, None] == np.unique(y[y >= 0])).astype(float)
    return np.linalg.solve(np.eye(len(X)) - alpha * S, (1 - alpha) * Y), W, root


def table(seed=0, n=80):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(rng.random(n) < 0.2, rng.integers(0, 3, size=n), -1)
    y[:3] = [0, 1, 2]
    return X, y


@pytest.mark.parametrize(("alpha", "width", "k"), [(0.95, 0.35, 10), (0.5, 2.0, 4), (0.99, 1.0, 79)])
def test_scores_are_the_dense_solution(alpha, width, k):
    X, y = table()
    model = LabelSpreadingClassifier(k, alpha=alpha, width=width, scale=False, class_balance=None).fit(X, y)
    scores = dense_scores(X, y, k, alpha, width)[0]
    shares = scores / scores.sum(axis=1, keepdims=True)
    rest = y < 0
    assert model.reached_.all()
    np.testing.assert_allclose(model.label_distributions_[rest], shares[rest], rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_[rest], shares[rest].argmax(axis=1))
    np.testing.assert_array_equal(model.transduction_[~rest], y[~rest])


@pytest.mark.filterwarnings("ignore:only 0% of the unlabeled rows:UserWarning")
def test_the_error_is_within_its_bound():
    X, y = table(1)
    exact = np.sort(dense_scores(X, y, 6, 0.95, 1.0)[0], axis=0)  # vertices are ordered otherwise
    for tol in (1e-1, 1e-3, 1e-6):
        model = LabelSpreadingClassifier(6, alpha=0.95, width=1.0, scale=False, class_balance=None, tol=tol).fit(X, y)
        assert np.abs(np.sort(model._vertex_scores, axis=0) - exact).max() <= model.error_bound_
    assert model.error_bound_ < 1e-5


def test_with_all_neighbors_it_is_scikit_learns():
    X, y = table(2)
    sigma = LabelSpreadingClassifier(79, width=0.5, scale=False).fit(X, y).sigma_
    ours = LabelSpreadingClassifier(79, width=0.5, scale=False, alpha=0.8, class_balance=None).fit(X, y)
    theirs = LabelSpreading(gamma=1 / (2 * sigma**2), alpha=0.8, max_iter=10_000, tol=1e-12).fit(X, y)
    rest = y < 0
    np.testing.assert_allclose(ours.label_distributions_[rest], theirs.label_distributions_[rest], atol=1e-6)


def test_balanced_labels_keep_a_rare_class_and_the_ranking():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(270, 2)), rng.normal(size=(30, 2)) + [2.0, 0]])
    true = np.repeat([0, 1], [270, 30])
    y = np.where(np.arange(300) % 10 == 0, true, -1)
    plain, balanced = (LabelSpreadingClassifier(10, class_balance=b).fit(X, y) for b in (None, "rows"))
    moved = (balanced.decision_function(X) - plain.decision_function(X))[np.abs(plain.decision_function(X)) < 1e3]
    assert len(moved) > 250
    np.testing.assert_allclose(moved, np.log(9), rtol=1e-3)  # by the ratio of the labels
    assert (balanced.transduction_ == 1).sum() > (plain.transduction_ == 1).sum()


def test_new_rows_get_the_mean_of_their_neighbors():
    X, y = table(3)
    model = LabelSpreadingClassifier(5, alpha=0.95, scale=False, width=1.0, class_balance=None).fit(X, y)
    scores, _, root = dense_scores(X, y, 5, 0.95, 1.0)
    new = np.array([[0.1, 0.2, 0.3], [50.0, 50.0, 50.0]])
    for row, found in zip(new, model.predict_proba(new), strict=True):
        distance = np.linalg.norm(X - row, axis=1)
        nearest = np.argsort(distance)[:5]
        squares = distance[nearest] ** 2 / (2 * model.sigma_**2)
        total = (np.exp(squares.min() - squares)[:, None] * scores[nearest] / root[nearest, None]).sum(axis=0)
        np.testing.assert_allclose(found, total / total.sum(), rtol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_labels_reach_the_far_end_of_a_circle(seed):
    X, y, true = make_three_circles(noise=0.05, return_true=True, random_state=seed)
    np.testing.assert_array_equal(LabelSpreadingClassifier().fit(X, y).transduction_, true)


def test_moons_new_rows_and_files(tmp_path):
    X, y, true = make_two_moons(return_true=True, random_state=0)
    new, _, new_true = make_two_moons(return_true=True, random_state=9)
    model = LabelSpreadingClassifier().fit(X, y)
    np.testing.assert_array_equal(model.transduction_, true)
    np.testing.assert_array_equal(model.predict(X), true)
    np.testing.assert_array_equal(model.predict(new), new_true)
    assert np.isfinite(model.decision_function(new)).all()
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(again.predict_proba(new), model.predict_proba(new))


def noisy_columns(seed):
    """Two classes that differ a little in 10 of 60 columns; 40 labels."""
    rng = np.random.default_rng(seed)
    true = np.arange(400) % 2
    X = rng.normal(size=(400, 60))
    X[:, :10] += 0.8 * true[:, None]
    return X, np.where(np.arange(400) < 40, true, -1), true


def test_hubs_do_not_decide_the_class_of_all_rows():
    """In many noisy columns the class with the better connected labels would win; held-out labels tell it."""
    errors = {"rows": [], "degree": [], "auto": []}
    for seed in (2, 3):
        X, y, true = noisy_columns(seed)
        for balance, found in errors.items():
            model = LabelSpreadingClassifier(10, class_balance=balance).fit(X, y)
            found.append(np.mean(model.transduction_ != true))
        assert model.class_balance_ == "degree"
    assert np.mean(errors["rows"]) > np.mean(errors["degree"]) + 0.1
    assert errors["auto"] == errors["degree"]


@pytest.mark.parametrize("kind", ["moons", "noise"])
def test_the_neighbors_and_the_balance_are_chosen_by_held_out_labels(kind, tmp_path):
    X, y, _ = make_two_moons(return_true=True, random_state=0) if kind == "moons" else noisy_columns(2)
    model = LabelSpreadingClassifier().fit(X, y)
    expected = (10, "rows") if kind == "moons" else (50, "degree")
    assert (model.n_neighbors_, model.class_balance_) == expected
    same = LabelSpreadingClassifier(expected[0], class_balance=expected[1]).fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, same.label_distributions_)
    new = X[:50] + 0.01
    np.testing.assert_array_equal(model.predict_proba(new), same.predict_proba(new))
    fewlabel.save(model, tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(
        fewlabel.load(tmp_path / "model.fewlabel").predict_proba(new), same.predict_proba(new)
    )


def test_a_given_balance_or_number_of_neighbors_is_kept():
    X, y, _ = noisy_columns(2)
    model = LabelSpreadingClassifier(class_balance="rows").fit(X, y)
    assert model.class_balance_ == "rows"
    assert model.n_neighbors_ in (10, 50)
    assert LabelSpreadingClassifier(7).fit(X, y).n_neighbors_ == 7
    assert LabelSpreadingClassifier(class_balance=None).fit(X, y).class_balance_ is None


def test_large_tables_have_few_neighbors(monkeypatch):
    monkeypatch.setattr("fewlabel.graph._label_spreading._MOST_VERTICES", 399)
    X, y, _ = noisy_columns(2)
    model = LabelSpreadingClassifier().fit(X, y)
    assert (model.n_neighbors_, model.class_balance_) == (10, "degree")
    assert model._search.graph()[0].shape == (400, 10)


def test_conjugate_gradients_solve_all_columns():
    rng = np.random.default_rng(0)
    A = rng.random((30, 30))
    spread = 0.9 * (A + A.T) / np.linalg.norm(A + A.T, 2)
    target = rng.normal(size=(30, 4)) * [1.0, 1e-8, 0.0, 1e8]
    target[:, 3] = np.linalg.eigh(spread)[1][:, 0] * 5  # solved by the first step: the others go on
    scores, n_steps = _conjugate_gradients(spread, target, 1e-10, 100)
    assert 1 < n_steps < 100
    expected = np.linalg.solve(np.eye(30) - spread, target)
    size = np.abs(expected).max(axis=0)
    assert (np.abs(scores - expected) <= 1e-8 * size).all()


def test_a_balance_by_degree_gives_each_class_the_same_total():
    X, y = table(5)
    model = LabelSpreadingClassifier(10, class_balance="degree", scale=False, width=1.0, alpha=0.95).fit(X, y)
    _, _, root = dense_scores(X, y, 10, 0.95, 1.0)
    order = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model._search.rows]
    # The roots of the degrees are an eigenvector of the spread: their product with the scores is that with the labels.
    totals = root[order] @ model._vertex_scores
    np.testing.assert_allclose(totals, totals[0], rtol=1e-5)
