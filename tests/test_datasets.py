"""The generator of positive-unlabeled data."""

import numpy as np
import pytest

from fewlabel.datasets import make_multiview_credit, make_pu
from fewlabel.model_selection import hide_labels


@pytest.mark.parametrize("setting", ["censoring", "case-control"])
def test_make_pu_keeps_its_numbers(setting):
    X, y, true = make_pu(1000, prior=0.3, labeled=100, setting=setting, return_true=True, random_state=0)
    n = 1000 if setting == "censoring" else 1100
    assert X.shape == (n, 10)
    assert (y == 1).sum() == 100
    assert set(y) == {-1, 1}
    assert (true[y == 1] == 1).all()
    assert true[y == -1].mean() == pytest.approx(0.3 if setting == "case-control" else 200 / 900)


def test_make_pu_is_reproducible_and_fractions_count_positives():
    X, y = make_pu(500, prior=0.4, labeled=0.25, random_state=3)
    again, _ = make_pu(500, prior=0.4, labeled=0.25, random_state=3)
    np.testing.assert_array_equal(X, again)
    assert (y == 1).sum() == 50


@pytest.mark.parametrize("setting", ["censoring", "case-control"])
def test_bias_labels_the_easy_positives(setting):
    shared = dict(prior=0.4, labeled=100, setting=setting, separation=3.0, return_true=True, random_state=0)
    gaps = []
    for bias in (0.0, 2.0):
        X, y, true = make_pu(2000, bias=bias, **shared)
        hidden = (true == 1) & (y == -1)
        away = X[true == 1].mean(axis=0) - X[true == 0].mean(axis=0)
        gaps.append((X[y == 1] @ away).mean() - (X[hidden] @ away).mean())
    assert abs(gaps[0]) < 0.2 * gaps[1]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"prior": 1.0}, "prior"),
        ({"setting": "both"}, "setting"),
        ({"n_informative": 11}, "n_informative"),
        ({"labeled": 5000}, "labeled"),
        ({"labeled": 0}, "labeled"),
    ],
)
def test_bad_arguments_are_named(arguments, match):
    with pytest.raises(ValueError, match=match):
        make_pu(100, **arguments)


def test_make_multiview_credit_keeps_its_numbers():
    X, y, true, views = make_multiview_credit(4200, labeled=420, return_true=True, return_views=True, random_state=0)
    assert X.shape == (4200, 40)
    assert true.sum() == 200
    assert (y == 1).sum() == 20
    assert (y == 0).sum() == 400
    assert (true[y >= 0] == y[y >= 0]).all()
    assert np.isnan(X).mean() == pytest.approx(0.02, abs=0.002)
    assert np.bincount(views + 1).tolist() == [4, 12, 10, 8, 6]
    again, _ = make_multiview_credit(4200, labeled=420, random_state=0)
    np.testing.assert_array_equal(X, again)


def test_make_multiview_credit_has_blocks_and_a_class_in_each():
    X, _, true, views = make_multiview_credit(20_000, missing=0.0, return_true=True, return_views=True, random_state=1)
    C = np.abs(np.corrcoef(X.T))
    same = (views[:, None] == views) & (views >= 0) & ~np.eye(len(views), dtype=bool)
    apart = (views[:, None] != views) & (views >= 0)
    assert C[same].mean() > 3 * C[apart].mean()
    gap = np.abs(X[true == 1].mean(axis=0) - X[true == 0].mean(axis=0))
    assert gap[views >= 0].min() > 0.2
    assert gap[views < 0].max() < 0.15


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"n_samples": 1}, "n_samples=1"),
        ({"imbalance": 0.5}, "at least 1"),
        ({"missing": 1.0}, "shares"),
        ({"labeled": 0}, "labeled=0"),
        ({"n_samples": 100, "labeled": 200}, "2 to n_samples=100"),
    ],
)
def test_make_multiview_credit_says_what_is_wrong(arguments, match):
    with pytest.raises(ValueError, match=match):
        make_multiview_credit(**arguments)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_labels_hidden_with_the_seed_of_the_rows_are_drawn_at_random(seed):
    """With one stream for both functions 12% of the labels were positives, where 4.75% of the rows are."""
    _, _, true = make_multiview_credit(4000, return_true=True, random_state=seed)
    few = hide_labels(true, labeled=600, random_state=seed)
    share = true.mean()
    assert abs(true[few >= 0].mean() - share) < 3 * np.sqrt(share * (1 - share) / 600)
