"""Views of a table."""

import numpy as np
import pytest

from fewlabel.auto.members import portfolio
from fewlabel.auto.views import Views, learn_components, learn_scale, learn_smooth


def test_scaled_columns_have_mean_0_and_variance_1_whatever_their_tails():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(5, 2, 4000), rng.lognormal(0, 2, 4000), rng.standard_cauchy(4000)])
    z = learn_scale(X)(X)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=0.05)
    np.testing.assert_allclose(z.std(axis=0), 1, atol=0.05)
    assert np.abs(z).max() <= 4


def test_huge_values_leave_differences_between_the_others():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 1))
    X[:5] = 1e3  # the standard deviation of the column is 70
    z = learn_scale(X)(X)[5:, 0]
    assert z.std() > 0.5
    np.testing.assert_array_equal(z.argsort(), X[5:, 0].argsort())


def test_constant_overflowing_and_missing_columns_are_finite():
    X = np.column_stack([np.ones(6), [1e308, -1e308] * 3, [np.nan] * 6, [0.0, np.nan, 1, 2, 3, 4]])
    with np.errstate(all="ignore"):
        z = learn_scale(X)(X)
    assert z.shape == (6, 6)  # two columns have gaps
    assert np.isfinite(z).all()
    assert not z[:, 0].any()


def test_smooth_functions_do_not_depend_on_the_order_of_tied_rows():
    """Rows of a grid are tied in distance: a new row gets the same features wherever its neighbors stand."""
    grid = np.array(np.meshgrid(np.arange(12.0), np.arange(10.0))).reshape(2, -1).T
    scale = learn_scale(grid)
    smooth = learn_smooth(scale(grid), np.random.RandomState(0))
    new = scale(np.array([[3.25, 4.5], [7.0, 2.0]]))
    together = smooth(new)
    np.testing.assert_array_equal(together[1:], smooth(new[1:]))
    np.testing.assert_array_equal(together[:1], smooth(new[:1]))


@pytest.mark.parametrize(("n_columns", "error"), [(500, 1e-8), (501, 1e-4)])
def test_components_are_the_principal_ones(n_columns, error):
    """One column more than 500, and they are found by random projections."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 10)) * np.arange(20, 10, -1)
    rows = scores @ rng.normal(size=(10, n_columns)) + rng.normal(size=(300, n_columns))
    axes = learn_components(rows).axes
    exact = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[2][:10]
    np.testing.assert_allclose(np.abs(np.sum(axes * exact.T, axis=0)), 1, atol=error)


def test_components_of_a_wide_table_with_few_rows_are_as_many_as_vary():
    rows = np.random.default_rng(0).normal(size=(8, 600))
    assert learn_components(rows).n_outputs == 7


def test_the_table_of_a_view_is_what_its_formula_gives():
    X = np.random.default_rng(0).normal(size=(60, 5))
    X[3, 1] = np.nan
    members = [member for member in portfolio() if member.view != "raw"]
    views = Views(X, np.arange(20), 0)
    views.learn(members)
    for member in members:
        np.testing.assert_array_equal(views.table(member), views.formula(member)(X))
