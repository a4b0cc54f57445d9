"""Intervals cover what they say: a part of the grid of distributions that intervals find hard."""

import numpy as np
import pytest

from fewlabel.metrics import auc_confidence_interval, paired_auc_test
from reference.scores import draw, paired

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


def coverage(kind, auc, n_p, n_n, method="score"):
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [n_p, n_n])
    hits = 0
    for _ in range(N_DRAWS):
        p, n, true = draw(rng, kind, auc, n_p, n_n)
        found = auc_confidence_interval(y, np.concatenate([p, n]), method=method)
        hits += found.low <= true <= found.high
    return hits / N_DRAWS


@pytest.mark.parametrize(("kind", "auc", "n_p", "n_n"), HARD)
def test_95_percent_intervals_cover_92_to_98_percent(kind, auc, n_p, n_n):
    assert 0.92 - SLACK <= coverage(kind, auc, n_p, n_n) <= 0.98 + SLACK


@pytest.mark.parametrize(
    ("kind", "auc", "n_p", "n_n"), [("contaminated", 0.97, 5, 50), ("wide positives", 0.9, 5, 500)]
)
def test_with_five_positives_they_cover_90_percent(kind, auc, n_p, n_n):
    assert coverage(kind, auc, n_p, n_n) >= 0.90 - SLACK


def test_the_grid_can_fail():
    assert coverage("exponential", 0.99, 50, 500, "logit-delong") < 0.8
    assert coverage("wide positives", 0.80, 20, 1000, "newcombe") < 0.85


@pytest.mark.parametrize(("n_p", "n_n"), [(5, 500), (5, 50), (10, 10), (20, 2000)])
def test_paired_test_rejects_equal_aucs_in_6_5_percent_at_most(n_p, n_n):
    rng = np.random.default_rng(1)
    y = np.repeat([1, 0], [n_p, n_n])
    rejected = [paired_auc_test(y, *paired(rng, 0.8, n_p, n_n, 0.5)).pvalue < 0.05 for _ in range(N_DRAWS)]
    # Version 0.1.0, with a normal quantile, rejected 12.7% at 5 against 500.
    assert np.mean(rejected) <= 0.065 + 3 * np.sqrt(0.065 * 0.935 / N_DRAWS)
