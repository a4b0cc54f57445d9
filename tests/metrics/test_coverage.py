"""Intervals cover what they say: a part of the grid of `python tests/robustness coverage`, and its results."""

import numpy as np
import pandas as pd
import pytest

from fewlabel.metrics import auc_confidence_interval, paired_auc_test
from fewlabel.metrics._estimates import estimate
from fewlabel.metrics._intervals import _z_interval
from reference.scores import draw, draw_pair
from robustness import coverage

N_DRAWS = 600
# Three standard errors of a coverage of 92% in so many draws.
SLACK = 3 * np.sqrt(0.92 * 0.08 / N_DRAWS)
HARD = [
    ("exponential", 0.99, 50, 500),  # 74% in version 0.1.0
    ("exponential", 0.95, 20, 2000),  # 86%
    ("wide positives", 0.80, 20, 1000),
    ("wide positives", 0.99, 50, 500),
    ("wide negatives", 0.80, 10, 1000),
    ("contaminated", 0.99, 10, 100),
    ("contaminated", 0.99, 50, 500),
    ("contaminated", 0.95, 20, 1000),
    ("tied", 0.90, 10, 10),
    ("normal", 0.99, 10, 10),
    ("normal", 0.60, 10, 100),
]


def share(part, *setting):
    rng = np.random.default_rng(0)
    return np.mean([coverage.DRAWS[part](rng, *setting) for _ in range(N_DRAWS)])


@pytest.mark.parametrize(("kind", "auc", "n_p", "n_n"), HARD)
def test_95_percent_intervals_cover_92_to_98_percent(kind, auc, n_p, n_n):
    assert 0.92 - SLACK <= share("auc", kind, auc, n_p, n_n, 0.0) <= 0.98 + SLACK


@pytest.mark.parametrize(
    ("kind", "auc", "n_p", "n_n"), [("contaminated", 0.97, 5, 50), ("wide positives", 0.9, 5, 500)]
)
def test_with_five_positives_they_cover_90_percent(kind, auc, n_p, n_n):
    assert share("auc", kind, auc, n_p, n_n, 0.0) >= 0.90 - SLACK


@pytest.mark.parametrize(
    ("method", "setting", "most"),
    [("logit-delong", ("exponential", 0.99, 50, 500), 0.8), ("newcombe", ("wide positives", 0.80, 20, 1000), 0.85)],
)
def test_the_grid_can_fail(method, setting, most):
    rng, hits = np.random.default_rng(0), []
    for _ in range(N_DRAWS):
        p, n, true = draw(rng, *setting)
        low, high = _z_interval(estimate("pn", p, n), method, 1.96)
        hits.append(low <= true <= high)
    assert np.mean(hits) < most


@pytest.mark.parametrize(
    ("kinds", "auc", "n_p", "n_n", "correlation"),
    [
        ("normal and normal", 0.8, 5, 500, 0.5),  # 12.7% in version 0.1.0, with a normal quantile
        ("normal and normal", 0.8, 5, 50, 0.5),
        ("normal and normal", 0.8, 10, 10, 0.5),
        ("normal and exponential", 0.95, 10, 1000, 0.9),  # 13.8% with a quantile of Student's t
        ("normal and contaminated", 0.95, 20, 2000, 0.5),  # 16%
    ],
)
def test_paired_test_rejects_equal_aucs_in_6_5_percent_at_most(kinds, auc, n_p, n_n, correlation):
    rejected = share("paired", kinds, auc, n_p, n_n, correlation)
    assert rejected <= 0.065 + 3 * np.sqrt(0.065 * 0.935 / N_DRAWS)


def test_what_is_simulated_is_what_users_call():
    rng = np.random.default_rng(0)
    p, n, _ = draw(rng, "tied", 0.9, 8, 30)
    found = auc_confidence_interval(np.repeat([1, 0], [8, 30]), np.concatenate([p, n]))
    assert coverage.score_interval(estimate("pn", p, n), 0.95) == (found.low, found.high)
    a, b = draw_pair(rng, ("normal", "exponential"), 0.8, (8, 30), 0.5)
    test = paired_auc_test(np.repeat([1, 0], [8, 30]), np.concatenate(a), np.concatenate(b))
    assert coverage.compare_aucs(a, b, 0.95) == test


def test_the_results_of_the_grid_meet_the_bars_and_are_those_of_the_page():
    found = pd.read_csv(coverage.RESULTS)
    for part in ("auc", "paired"):
        settings = found[found.part == part][coverage.COLUMNS[1:6]].itertuples(index=False, name=None)
        assert sorted(settings) == sorted(coverage.SETTINGS[part])
    auc = found[found.part == "auc"]
    assert auc[auc["first"] >= 10].share.between(0.92, 0.98).all()
    assert auc.share.min() >= 0.90
    assert found[found.part == "paired"].share.max() <= 0.065
    page = coverage.PAGE.read_text("utf-8")
    assert page == coverage.with_tables(page)
    assert page == coverage.with_tables(page.replace("| 10, 1,000 |", "| 10, 999 |"))
