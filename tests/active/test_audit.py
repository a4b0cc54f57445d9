"""Audits: rows drawn with known probability, and estimates that hold whoever chose the other labels."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from fewlabel import AutoClassifier
from fewlabel.active import AuditQuery
from fewlabel.active._audit import inclusion, influence_shares, pivotal

N_ROWS = 900


@pytest.fixture(scope="module")
def table():
    """Rows, their classes, and labels of which half are of rows that a second column hides from the model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3))
    y = (rng.random(N_ROWS) < expit(1.5 * X[:, 0] - 1)).astype(int)
    # Somebody labeled easy rows only, by the outcome itself: positives with a high value, negatives with a low one.
    easy = np.flatnonzero(np.where(y == 1, X[:, 0] > 0.8, X[:, 0] < -0.5))
    few = np.full(N_ROWS, -1)
    labeled = rng.permutation(easy)[:150]
    few[labeled] = y[labeled]
    return X, y, few


def audited(X, y, few, n, seed):
    """Labels and known probabilities after an audit."""
    found = AuditQuery(random_state=seed).query(X, few, n=n)
    answered = few.copy()
    answered[found.rows] = y[found.rows]
    return answered, found.label_probability(len(y))


def test_the_pivotal_method_draws_each_row_with_its_probability():
    rng = np.random.default_rng(0)
    chances = inclusion(np.array([0.5, 0.2, 0.1, 0.1, 0.06, 0.04]), 3)
    assert chances.sum() == pytest.approx(3)
    assert chances[0] == 1
    n_draws = 4000
    counts = np.zeros(6)
    for _ in range(n_draws):
        drawn = pivotal(chances, rng)
        assert len(set(drawn)) == len(drawn) == 3
        counts[drawn] += 1
    np.testing.assert_allclose(counts / n_draws, chances, atol=4 * np.sqrt(0.25 / n_draws))


def test_influence_is_that_of_each_answer_on_the_expected_auc():
    """Against the sums over all pairs, straight from the equation."""
    positive = np.sort(np.random.default_rng(0).uniform(0.05, 0.95, 40))
    n_rows = len(positive)
    negative = 1 - positive
    below = np.tri(n_rows, k=-1) + np.eye(n_rows) / 2  # row i over row j; a row ties with itself
    auc = positive @ below @ negative / (positive.sum() * negative.sum())
    of_positive = below @ negative / negative.sum() - auc
    of_negative = positive @ below / positive.sum() - auc
    squared = positive * (of_positive / positive.sum()) ** 2 + negative * (of_negative / negative.sum()) ** 2
    np.testing.assert_allclose(influence_shares(positive), np.sqrt(squared) / np.sqrt(squared).sum())


def test_no_weight_is_larger_than_three_times_that_of_a_uniform_draw(table):
    X, _, few = table
    found = AuditQuery(random_state=0).query(X, few, n=100)
    n_candidates = (few < 0).sum()
    assert found.probability.min() >= 1 / (3 * n_candidates)
    assert found.probability.max() > 1.1 / n_candidates


def test_neighbors_are_seldom_drawn_together():
    rng = np.random.default_rng(0)
    draws = [pivotal(np.full(60, 0.1), rng) for _ in range(200)]
    # Of 6 rows out of 60, independent draws would leave a half of the rows empty in 1 of 32 cases.
    assert all((drawn < 30).any() and (drawn >= 30).any() for drawn in draws)


def test_weighted_answers_are_unbiased_for_the_rows_that_were_unlabeled(table):
    X, y, few = table
    probability = np.column_stack([1 - expit(X[:, 0]), expit(X[:, 0])])
    shares = []
    for seed in range(150):
        found = AuditQuery(random_state=seed).query(X, few, n=30, probability=probability)
        shares.append((y[found.rows] / (30 * found.probability)).sum() / (few < 0).sum())
    assert np.mean(shares) == pytest.approx(y[few < 0].mean(), abs=3 * np.std(shares) / np.sqrt(len(shares)))


def test_without_labels_every_row_is_as_likely(table):
    X, _, _ = table
    found = AuditQuery(random_state=0).query(X, np.full(N_ROWS, -1), n=10)
    np.testing.assert_allclose(found.probability, 1 / N_ROWS)
    assert found.how == ["audit"] * 10


def test_positives_alone_are_enough_for_an_audit(table):
    X, y, _ = table
    positives = np.where((y == 1) & (X[:, 0] > 0.5), 1, -1)
    found = AuditQuery(random_state=0).query(X, positives, n=40)
    assert len(np.unique(found.probability.round(9))) > 5
    assert (positives[found.rows] == -1).all()


def test_the_headline_holds_after_an_audit_where_labels_deceived(table):
    X, y, few = table
    covered = []
    for seed in range(6):
        answered, chance = audited(X, y, few, 60, seed)
        members = ["logistic regression", "naive Bayes"]
        model = AutoClassifier(members, n_repeats=1, random_state=0).fit(X, answered, label_probability=chance)
        hidden = answered < 0
        truth = roc_auc_score(y[hidden], model.decision_function(X[hidden]))
        headline = model.headline_
        assert headline["audited"] == model.selection_.audited == 60
        assert "by 60 rows that were drawn with known probability" in model.selection_.text
        assert model.positive_proba(X[hidden]).mean() == pytest.approx(y[hidden].mean(), abs=0.2)
        covered.append(headline["low"] <= truth <= headline["high"])
    assert np.mean(covered) >= 0.8
    before = AutoClassifier(["logistic regression"], labels_drawn="random", random_state=0).fit(X, few)
    hidden = few < 0
    deceived = before.headline_
    assert deceived["low"] > roc_auc_score(y[hidden], before.decision_function(X[hidden]))


def test_an_audit_without_a_class_says_so(table):
    X, y, few = table
    answered, chance = audited(X, y, few, 30, 0)
    chance[answered == 1] = np.nan
    with pytest.warns(UserWarning, match="0 are positive.*Label more rows of an audit"):
        model = AutoClassifier(["logistic regression"], random_state=0).fit(X, answered, label_probability=chance)
    assert model.selection_.audited == 0
    with pytest.raises(ValueError, match="more than 0 and at most 1"):
        AutoClassifier(["logistic regression"]).fit(X, answered, label_probability=np.full(N_ROWS, 2.0))


@pytest.mark.filterwarnings("ignore:of the .* rows")
def test_an_audit_with_one_row_of_a_class_gives_no_number():
    """The other labels were chosen, and put the AUC at .96 where it is .76."""
    rng = np.random.default_rng(9)
    y = rng.random(1000) < 0.1
    X = rng.normal(size=(1000, 5)) + 0.75 * y[:, None]
    easy = np.where(y, X.sum(axis=1), -np.inf)
    known = np.where(np.argsort(-easy).argsort() < 40, 1, -1)
    query = AuditQuery(random_state=9).query(X, known, n=60)
    positives = query.rows[y[query.rows]]
    known[query.rows] = y[query.rows]
    known[positives[1:]] = -1  # not answered
    model = AutoClassifier(["logistic regression"], random_state=9)
    model.fit(X, known, label_probability=query.label_probability(1000))
    assert not model.selection_.can_tell
    assert np.isnan(model.headline_["score"])
    assert "rows that were drawn with known probability, 1 is positive" in model.headline_["reason"]
