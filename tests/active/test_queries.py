"""Which rows the strategies ask for, and that the order of the rows does not matter."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from benchmarks.quality.strategies import CoresetQuery, MarginQuery
from fewlabel.active import AuditQuery, BatchQuery, RandomQuery

QUICK = DecisionTreeClassifier(max_depth=3, random_state=0)
STRATEGIES = [
    BatchQuery(QUICK, random_share=0.2, random_state=0),
    MarginQuery(QUICK, random_share=0.2, random_state=0),
    CoresetQuery(random_share=0.2, random_state=0),
    RandomQuery(random_state=0),
    AuditQuery(QUICK, random_state=0),
]


@pytest.fixture(scope="module")
def rows():
    """Three classes of 60 rows with some gaps; 18 rows are labeled."""
    X, y = make_blobs(180, centers=3, n_features=4, cluster_std=3.0, random_state=0)
    X[::17, 2] = np.nan
    return X, np.where(np.arange(180) < 18, y, -1)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_rows_are_unlabeled_distinct_and_the_same_in_any_order(strategy, rows):
    X, y = rows
    found = strategy.query(X, y, n=20)
    assert len(set(found.rows)) == 20
    assert (y[found.rows] == -1).all()
    order = np.random.default_rng(1).permutation(len(X))
    again = clone(strategy).query(X[order], y[order], n=20)
    np.testing.assert_array_equal(order[again.rows], found.rows)
    np.testing.assert_array_equal(again.probability, found.probability)
    assert again.how == found.how


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_all_rows_are_returned_if_more_are_wanted_and_none_if_all_are_labeled(strategy, rows):
    X, y = rows
    assert sorted(strategy.query(X, y, n=500).rows) == list(range(18, 180))
    nothing = strategy.query(X[:18], y[:18], n=3)
    assert len(nothing.rows) == len(nothing.probability) == len(nothing.how) == 0


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_excluded_rows_are_not_chosen(strategy, rows):
    X, y = rows
    exclude = np.arange(180) % 2 == 0
    assert (strategy.query(X, y, n=20, exclude=exclude).rows % 2 == 1).all()
    if isinstance(strategy, RandomQuery):
        assert strategy.query(X, y, n=1, exclude=exclude).probability[0] == 1 / 81


def test_margin_takes_the_smallest_margins(rows):
    X, y = rows
    probability = np.random.default_rng(0).dirichlet(np.ones(3), len(X))
    found = MarginQuery(random_state=0).query(X, y, n=5, probability=probability)
    top = np.sort(probability, axis=1)
    margin = np.where(y < 0, top[:, 2] - top[:, 1], np.inf)
    np.testing.assert_array_equal(found.rows, np.argsort(margin)[:5])
    assert found.how == ["uncertain"] * 5
    assert (found.probability == 1).all()


def test_coreset_takes_the_farthest_row_each_time(rows):
    X, y = rows
    X = np.nan_to_num(X)
    found = CoresetQuery(random_state=0).query(X, y, n=4)
    Z = np.clip((X - X.mean(0)) / X.std(0), -3, 3)
    near = list(np.flatnonzero(y >= 0))
    for row in found.rows:
        distance = np.linalg.norm(Z[:, None] - Z[near][None], axis=2).min(axis=1)
        assert distance[row] == pytest.approx(distance.max())
        near.append(row)


def test_a_batch_is_uncertain_and_not_one_row_many_times():
    """Rows on the boundary come in tight groups: the margin asks for one group, the batch for all of them."""
    X = np.repeat([[-5.0, 0.0], [5.0, 0.0], [0.0, 0.0], [0.1, 4.0], [0.2, -4.0]], 20, axis=0)
    X += np.random.default_rng(0).normal(scale=0.05, size=X.shape)
    y = np.full(100, -1)
    y[:2], y[20:22] = 0, 1
    model = LogisticRegression()
    batch = BatchQuery(model, random_share=0, random_state=0).query(X, y, n=3)
    assert sorted(batch.rows // 20) == [2, 3, 4]
    margin = MarginQuery(model, random_state=0).query(X, y, n=3)
    assert len(set(margin.rows // 20)) == 1


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda s: type(s).__name__)
def test_rows_that_are_all_the_same_are_still_distinct_rows(strategy):
    for y in (np.full(30, -1), np.r_[0, 1, np.full(28, -1)], np.r_[1, np.full(29, -1)]):
        assert len(set(strategy.query(np.ones((30, 2)), y, n=6).rows)) == 6


def test_without_labels_every_cluster_is_asked_for():
    X, cluster = make_blobs(200, centers=5, cluster_std=0.3, random_state=3)
    found = BatchQuery(random_share=0, random_state=0).query(X, np.full(200, -1), n=5)
    assert found.how == ["diverse"] * 5
    assert len(set(cluster[found.rows])) == 5
    asked = np.zeros(200, dtype=bool)
    asked[found.rows[:3]] = True
    more = BatchQuery(random_share=0, random_state=0).query(X, np.full(200, -1), n=2, exclude=asked)
    assert set(cluster[more.rows]) == set(cluster[found.rows[3:]])


def rare_rows(seed):
    """190 usual rows and 10 rare ones, elsewhere."""
    rng = np.random.default_rng(seed)
    X = np.r_[rng.normal(size=(190, 3)), rng.normal(loc=2.5, scale=0.5, size=(10, 3))]
    return X, np.repeat([0, 1], [190, 10])


@pytest.fixture(scope="module")
def rare():
    return rare_rows(0)


@pytest.mark.parametrize("seed", range(4))
def test_with_usual_rows_only_the_rare_ones_are_searched_for(seed):
    X, y = rare_rows(seed)
    known = np.where(np.arange(200) < 20, 0, -1)
    found = BatchQuery(positive=1, random_share=0, random_state=0).query(X, known, n=6)
    assert set(found.how) == {"unlike the labeled"}
    assert y[found.rows].any()  # of six random rows, three times in ten


def test_with_positives_only_likely_positives_are_asked_for(rare):
    X, y = rare
    known = np.where(np.arange(200) >= 195, 1, -1)
    found = BatchQuery(random_share=0, random_state=0).query(X, known, n=10)
    assert set(found.how) == {"likely positive"}
    assert y[found.rows].mean() > 8 * y[known < 0].mean()


def test_random_draws_favor_rare_classes_with_the_stated_probability(rare):
    X, y = rare
    known = np.where(np.arange(200) == 0, 0, -1)
    probability = np.where(y[:, None] == [0, 1], 0.9, 0.1)
    share = probability[1:] / probability[1:].sum(axis=0)
    expected = 0.5 / 199 + 0.5 * share.mean(axis=1)
    drawn = [
        BatchQuery(random_share=1, random_state=seed).query(X, known, n=1, probability=probability)
        for seed in range(300)
    ]
    for found in drawn:
        assert found.probability[0] == pytest.approx(expected[found.rows[0] - 1])
    chance = expected[y[1:] == 1].sum()
    assert chance > 2 * y.mean()
    standard_error = np.sqrt(chance * (1 - chance) / len(drawn))
    assert np.mean([y[found.rows[0]] for found in drawn]) == pytest.approx(chance, abs=3 * standard_error)


def test_the_share_of_random_rows_holds_on_average(rows):
    X, y = rows
    counts = [CoresetQuery(random_share=0.25, random_state=s).query(X, y, n=2).how.count("random") for s in range(60)]
    assert set(counts) == {0, 1}
    assert np.mean(counts) == pytest.approx(0.5, abs=0.2)


@pytest.mark.parametrize(
    ("strategy", "given", "message"),
    [
        (BatchQuery(), dict(n=0), "n=0 should be a whole number"),
        (BatchQuery(random_share=2), dict(), "random_share=2 should be a number from 0 to 1"),
        (MarginQuery(), dict(probability=np.ones(180)), "one column per class"),
        (MarginQuery(), dict(probability=np.full((180, 2), np.nan)), "finite numbers"),
    ],
)
def test_unusable_arguments(strategy, given, message, rows):
    with pytest.raises(ValueError, match=message):
        strategy.query(*rows, **given)


def test_parameters_are_scikit_learns():
    strategy = BatchQuery(random_share=0.3, positive="bad", random_state=1)
    assert clone(strategy).get_params() == strategy.get_params()
    assert "random_share=0.3" in repr(strategy)
