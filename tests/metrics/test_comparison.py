import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from fewlabel.metrics import compare_methods, plot_critical_difference
from fewlabel.metrics._comparison import _cliques

# Table 6 of Demsar (2006): AUC of four variants of C4.5 on 14 datasets; section 3.2 computes the tests by hand.
DEMSAR = pd.DataFrame(
    {
        "C4.5": [0.763, 0.599, 0.954, 0.628, 0.882, 0.936, 0.661, 0.583, 0.775, 1.0, 0.940, 0.619, 0.972, 0.957],
        "m": [0.768, 0.591, 0.971, 0.661, 0.888, 0.931, 0.668, 0.583, 0.838, 1.0, 0.962, 0.666, 0.981, 0.978],
        "cf": [0.771, 0.590, 0.968, 0.654, 0.886, 0.916, 0.609, 0.563, 0.866, 1.0, 0.965, 0.614, 0.9751, 0.946],
        "m+cf": [0.798, 0.569, 0.967, 0.657, 0.898, 0.931, 0.685, 0.625, 0.875, 1.0, 0.962, 0.669, 0.975, 0.970],
    }
)


def test_the_worked_example_of_the_reference():
    comparison = compare_methods(DEMSAR)
    assert comparison.ranks.round(3).to_dict() == {"m+cf": 1.964, "m": 2.0, "cf": 2.893, "C4.5": 3.143}
    assert comparison.critical_difference == pytest.approx(2.569 * np.sqrt(4 * 5 / (6 * 14)), abs=1e-3)
    assert comparison.friedman_p == pytest.approx(stats.friedmanchisquare(*DEMSAR.T.to_numpy()).pvalue, rel=1e-9)


def test_holm_by_hand():
    rng = np.random.default_rng(0)
    base = rng.random(20)
    scores = pd.DataFrame({"a": base, "b": base + 0.1 * rng.random(20), "c": base + 0.2 * rng.normal(size=20)})
    raw = {
        (i, j): stats.wilcoxon(scores[i] - scores[j], zero_method="zsplit").pvalue
        for i, j in (("a", "b"), ("a", "c"), ("b", "c"))
    }
    ordered = sorted(raw, key=raw.get)
    expected, largest = {}, 0.0
    for factor, pair in zip((3, 2, 1), ordered):
        largest = max(largest, min(1.0, factor * raw[pair]))
        expected[pair] = largest
    table = compare_methods(scores).p_values
    for (i, j), p in expected.items():
        assert table.loc[i, j] == table.loc[j, i] == pytest.approx(p)


def test_lower_can_be_better_and_gaps_are_left_out():
    errors = pd.concat([1 - DEMSAR, pd.DataFrame({"C4.5": [np.nan], "m": [0.1], "cf": [0.1], "m+cf": [0.1]})])
    comparison = compare_methods(errors, higher_is_better=False)
    assert comparison.ranks.to_dict() == pytest.approx(compare_methods(DEMSAR).ranks.to_dict())
    assert comparison.n_datasets == 14


def test_equal_methods_do_not_differ():
    comparison = compare_methods(pd.DataFrame({"a": [0.5, 0.6], "b": [0.5, 0.6]}))
    assert comparison.friedman_p == 1.0
    assert (comparison.p_values == 1.0).all(axis=None)


def test_too_little_to_compare():
    with pytest.raises(ValueError, match=r"scores holds 2 methods and 0 datasets.*drop the methods"):
        compare_methods(pd.DataFrame({"a": [0.5], "b": [np.nan]}))


def test_bars_join_what_does_not_differ():
    assert _cliques(np.array([1.0, 1.5, 2.2, 4.0]), 1.0) == [(0, 1), (1, 2)]
    assert _cliques(np.array([1.0, 1.2, 1.4]), 1.0) == [(0, 2)]
    assert _cliques(np.array([1.0, 3.0]), 1.0) == []


def test_the_diagram_names_every_method():
    ax = plot_critical_difference(compare_methods(DEMSAR))
    text = " ".join(t.get_text() for t in ax.texts)
    assert all(f"{method} (" in text for method in DEMSAR)
    plt.close(ax.figure)


@pytest.mark.skipif(not hasattr(stats, "quantile"), reason="SciPy before 1.16 approximates the p-values of ties")
@pytest.mark.parametrize("n", [3, 6, 9])
def test_signed_rank_p_values_are_those_of_scipy_with_ties_and_zeros(n):
    rng = np.random.default_rng(n)
    for _ in range(5):
        difference = np.round(rng.normal(size=n) * 2 + 0.5) / 2
        if difference.any():
            scores = pd.DataFrame({"a": difference, "b": 0.0})
            p = compare_methods(scores).p_values.loc["a", "b"]
            assert p == pytest.approx(stats.wilcoxon(difference, zero_method="zsplit").pvalue)
