"""VariableClusterer: equal to the definitions, planted clusters, mixed and broken tables."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

import fewlabel
from fewlabel import VariableClusterer, make_multiview_credit
from fewlabel.multiview import _coding as coding


def mixed_table(seed, n=200):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    table = pd.DataFrame(
        {
            "a1": a + 0.3 * rng.normal(size=n),
            "b1": b + 0.3 * rng.normal(size=n),
            "a2": -2 * a + 0.3 * rng.normal(size=n),
            "b2": 5 * b + rng.normal(size=n) + 100,
            "a_text": pd.cut(a, [-9, -0.5, 0.5, 9], labels=["low", "mid", "high"]).astype(str),
            "b_flag": b > 0,
            "a3": a + 0.5 * rng.normal(size=n),
            "b3": b + 0.5 * rng.normal(size=n),
        }
    )
    return table, np.array([0, 1, 0, 1, 0, 1, 0, 1])


def correlation_ratio(f, levels):
    """Between-group over total variance of f."""
    groups = [f[levels == level] for level in np.unique(levels)]
    return sum(len(g) * (g.mean() - f.mean()) ** 2 for g in groups) / ((f - f.mean()) ** 2).sum()


def partitions(items):
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i in range(len(rest)):
            yield [*rest[:i], [items[0], *rest[i]], *rest[i + 1 :]]


def test_similarities_are_squared_correlations_and_correlation_ratios():
    table, _ = mixed_table(0)
    model = VariableClusterer(2, random_state=0).fit(table)
    components = model.transform(table)
    for j, name in enumerate(table):
        f, column = components[:, model.labels_[j]], table[name].to_numpy()
        numeric = column.dtype.kind == "f"
        expected = np.corrcoef(f, column)[0, 1] ** 2 if numeric else correlation_ratio(f, column)
        assert model.similarities_[j] == pytest.approx(expected, abs=1e-9)
    for g in range(2):
        assert model.similarities_[model.labels_ == g].sum() == pytest.approx(model.homogeneities_[g])
        assert components[:, g].var() == pytest.approx(model.homogeneities_[g])


@pytest.mark.parametrize("seed", range(4))
def test_finds_the_best_of_all_partitions(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 6)) @ rng.normal(size=(6, 6))
    C = np.corrcoef(X.T)
    best = max(
        sum(np.linalg.eigvalsh(C[np.ix_(g, g)])[-1] for g in p) for p in partitions(list(range(6))) if len(p) == 3
    )
    model = VariableClusterer(3, n_init=30, random_state=0).fit(X)
    assert model.homogeneities_.sum() == pytest.approx(best)
    whole = np.linalg.eigvalsh(C)[-1]
    assert model.explained_ == pytest.approx((best - whole) / (6 - whole))


def test_correlations_of_a_sample_are_those_of_the_repeated_table():
    table, _ = mixed_table(1)
    codings = coding.learn_coding(table, "auto")
    Z = coding.code(table, codings)
    counts = np.bincount(np.random.default_rng(0).integers(len(table), size=len(table)), minlength=len(table))
    again = table.iloc[np.repeat(np.arange(len(table)), counts)]
    expected = coding.code(again, coding.learn_coding(again, "auto"))
    found = coding.correlations_of_sample(Z, counts, codings)
    np.testing.assert_allclose(found, expected.T @ expected / len(again), atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_planted_clusters_and_their_number_are_found(seed):
    table, planted = mixed_table(seed)
    model = VariableClusterer(random_state=seed).fit(table)
    assert model.n_clusters_ == 2
    assert adjusted_rand_score(planted, model.labels_) == 1
    assert model.stability_[:, 0].tolist() == [2, 3, 4]
    assert model.stability_[0, 1] > 0.99


def test_views_of_the_credit_generator_are_found():
    X, _, views = make_multiview_credit(3000, n_nuisance=0, return_views=True, random_state=0)
    model = VariableClusterer(random_state=0).fit(X)
    assert model.n_clusters_ == 4
    assert adjusted_rand_score(views, model.labels_) == 1


def test_order_of_columns_scale_and_gaps_do_not_matter():
    table, planted = mixed_table(2)
    turned = table[table.columns[::-1]].copy()
    turned["a1"] *= -1000
    turned.loc[::7, "b1"] = np.nan
    turned.loc[::9, "a_text"] = None
    model = VariableClusterer(2, random_state=0).fit(turned)
    assert adjusted_rand_score(planted[::-1], model.labels_) == 1


def test_constant_columns_are_in_no_cluster():
    table, planted = mixed_table(3)
    table.insert(0, "flat", 3.0)
    table["same"] = "x"
    table["nothing"] = np.nan
    model = VariableClusterer(2, random_state=0).fit(table)
    assert model.labels_[[0, -2, -1]].tolist() == [-1, -1, -1]
    assert adjusted_rand_score(planted, model.labels_[1:-2]) == 1
    assert model.transform(table).shape == (200, 2)
    with pytest.raises(ValueError, match="every column of X is constant"):
        VariableClusterer().fit(np.ones((5, 3)))


def test_few_columns():
    rng = np.random.default_rng(0)
    for p in (1, 2, 3):
        model = VariableClusterer(random_state=0).fit(rng.normal(size=(50, p)))
        assert model.n_clusters_ == 1
        assert len(model.stability_) == 0
    each = VariableClusterer(3).fit(rng.normal(size=(50, 3)))
    assert sorted(each.labels_) == [0, 1, 2]
    np.testing.assert_allclose(each.homogeneities_, 1)
    assert each.explained_ == pytest.approx(1)


def test_a_cluster_that_runs_empty_is_filled_again():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 1)), 6, axis=1)  # all columns equal: every start but one cluster collapses
    model = VariableClusterer(3, random_state=0).fit(X)
    assert np.bincount(model.labels_).min() >= 1
    assert model.n_clusters_ == 3


def test_new_levels_count_as_missing_and_names_of_outputs():
    table, _ = mixed_table(4)
    model = VariableClusterer(2, random_state=0).fit(table)
    new = table.copy()
    new["a_text"] = "never seen"
    missing = table.copy()
    missing["a_text"] = None
    np.testing.assert_allclose(model.transform(new), model.transform(missing))
    assert model.get_feature_names_out().tolist() == ["variableclusterer0", "variableclusterer1"]
    framed = model.set_output(transform="pandas").transform(table)
    assert framed.shape == (200, 2)


def test_arrays_with_text_and_named_categories():
    table, planted = mixed_table(5)
    array = table.to_numpy(dtype=object)
    model = VariableClusterer(2, random_state=0).fit(array)
    assert adjusted_rand_score(planted, model.labels_) == 1
    codes = table.assign(a_text=table.a_text.map({"low": 2, "mid": 0, "high": 1}), b_flag=table.b_flag.astype(int))
    for asked in (["a_text", "b_flag"], [4, 5], [j in (4, 5) for j in range(8)]):
        again = VariableClusterer(2, categorical_features=asked, random_state=0).fit(codes)
        np.testing.assert_allclose(again.similarities_, model.similarities_, atol=1e-9)


def test_large_tables_are_sampled_and_runs_repeat(monkeypatch):
    X, _ = make_multiview_credit(2000, random_state=0)
    monkeypatch.setattr("fewlabel.multiview._variables._MOST_ROWS", 500)
    models = [VariableClusterer(n_bootstraps=10, random_state=3).fit(X) for _ in range(2)]
    np.testing.assert_array_equal(models[0].labels_, models[1].labels_)
    np.testing.assert_array_equal(models[0].stability_, models[1].stability_)


@pytest.mark.parametrize(
    ("X", "parameters", "message"),
    [
        (np.eye(4), {"n_clusters": 5}, "more than the 4 non-constant column"),
        (np.eye(4), {"categorical_features": [7]}, "columns that X does not have"),
        (np.eye(4), {"categorical_features": [True]}, "mask of 1 columns"),
        (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), {"categorical_features": ["b"]}, "not numbers"),
        (pd.DataFrame({"a": [np.inf, 1.0, 2.0]}), {}, "infinity"),
        (pd.DataFrame({"id": [f"row {i}" for i in range(300)]}), {}, "300 categories"),
        (pd.DataFrame({"a": [1.0]}), {}, "minimum of 2"),
    ],
)
def test_bad_tables(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        VariableClusterer(**parameters).fit(X)


def test_saved_clusterers_transform_the_same(tmp_path):
    table, _ = mixed_table(6)
    model = VariableClusterer(random_state=0).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(again.transform(table), model.transform(table))
