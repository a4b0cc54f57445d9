"""The generator of positive-unlabelled data."""

import numpy as np
import pytest

from fewlabel.datasets import make_pu


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
