"""Pools: counts, uniform samples, and no dependence on how the rows are split and merged."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")

from fewlabel.dask.gather import Pool, _merged, gather, gather_frame
from fewlabel.dask.sources import find_sources
from fewlabel.exceptions import TableError


def make_parts(n_parts=8, n=500):
    rng = np.random.default_rng(0)
    return [
        pa.table({"row": np.arange(k * n, (k + 1) * n), "y": rng.choice([1.0, 0.0, np.nan], n, p=[0.01, 0.02, 0.97])})
        for k in range(n_parts)
    ]


def pools(parts, most):
    made = [Pool("y", most) for _ in parts]
    for k, (pool, part) in enumerate(zip(made, parts)):
        for b in range(0, len(part), 100):
            pool.add(part[b : b + 100], np.random.default_rng([7, k, b]))
    return made


def test_labeled_rows_are_all_there_and_samples_are_disjoint():
    parts = make_parts()
    whole = pa.concat_tables(parts).to_pandas()
    pool = gather(parts, lambda part: [part], "y", most=300, seed=3)
    assert {v: pool.counts[v] for v in (1.0, 0.0, None)} == {
        1.0: (whole["y"] == 1).sum(),
        0.0: (whole["y"] == 0).sum(),
        None: whole["y"].isna().sum(),
    }
    assert sorted(pool.rows([0.0, 1.0])["row"].to_pylist()) == whole["row"][whole["y"].notna()].tolist()
    first, second = pool.rows([None], 0, 150), pool.rows([None], 150, 300)
    assert len(first) == len(second) == 150
    assert not {*first["row"].to_pylist()} & {*second["row"].to_pylist()}
    assert first["y"].to_pandas().isna().all()
    again = gather(parts, lambda part: [part], "y", most=300, seed=3)
    assert again.rows([None], 0, 150)["row"] == first["row"]
    assert gather(parts, lambda part: [part], "y", most=300, seed=4).rows([None], 0, 150)["row"] != first["row"]


def test_the_order_of_merging_makes_no_difference():
    made = pools(make_parts(), most=40)
    left = made[0]
    for other in made[1:]:
        left = _merged(left, other)
    right = _merged(_merged(made[3], made[1]), _merged(made[0], made[2]))
    for other in made[:3:-1]:
        right = _merged(other, right)
    assert left.rows([None])["row"].to_pylist() == right.rows([None])["row"].to_pylist()
    assert left.rows([0.0, 1.0])["row"].to_pylist() == right.rows([0.0, 1.0])["row"].to_pylist()
    assert left.counts == right.counts
    assert len(pools(make_parts(), most=40)[0].rows([None])) == 40


def test_a_sample_is_uniform():
    """Every part of the rows is as likely, also with several labels of unlike frequency."""
    n, most, drawn = 2000, 50, np.zeros(2000)
    rows = pa.table({"row": np.arange(n), "y": np.where(np.arange(n) < 1600, "often", "seldom")})
    for seed in range(200):
        pool = gather([rows[:700], rows[700:]], lambda part: [part], "y", most=most, seed=seed)
        drawn[pool.rows(["often", "seldom"])["row"].to_numpy()] += 1
    shares = drawn.reshape(10, -1).sum(axis=1) / drawn.sum()
    assert abs(drawn[1600:].sum() / drawn.sum() - 0.2) < 0.02
    np.testing.assert_allclose(shares, 0.1, atol=0.015)


def test_weights_of_a_dask_dataframe():
    """Rows are drawn whatever their weights, which reach the estimator; it leaves out rows of weight 0."""
    dd = pytest.importorskip("dask.dataframe")
    from fewlabel import PNUAUCBoostClassifier
    from fewlabel.dask import TableClassifier

    class Seen(PNUAUCBoostClassifier):
        def fit(self, X, y, sample_weight=None):
            self.seen = sample_weight
            return super().fit(X, y, sample_weight)

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=1200), "weight": rng.choice(["x", "y"], 1200)})
    y = pd.Series(np.where(np.arange(1200) % 10 == 0, np.where(X["a"] > 0, "bad", "good"), None), name="outcome")
    weight = pd.Series(np.where(np.arange(1200) % 10 == 0, 2.0, np.where(X["a"] > 1, 0.0, 1.0)))
    table, labels, weights = (dd.from_pandas(part, npartitions=3) for part in (X, y, weight))
    model = TableClassifier(Seen(20, random_state=0), n_unlabeled=100, check_sample=False, random_state=0)
    model.fit(table, labels, weights)
    seen = model.estimator_.seen
    assert model.n_rows_["unlabeled"] == 1080
    assert seen[:120].tolist() == [2.0] * 120  # labeled rows are first
    assert {*seen[120:].tolist()} <= {0.0, 1.0}
    assert seen[120:].mean() == pytest.approx((weight[weight < 2]).mean(), abs=0.15)
    assert "weight" in model.encoder_.columns_
    assert TableClassifier(Seen(20), n_unlabeled=100, random_state=0).fit(table, labels, weights).agreement_ > 0.9
    with pytest.raises(ValueError, match="sample_weight has 2"):
        model.fit(table, labels, weights.repartition(npartitions=2))
    with pytest.raises(TypeError, match="sample_weight is a Series"):
        model.fit(table, labels, weight)


def test_parts_of_files_are_read_once(tmp_path):
    labels = np.where(np.arange(40_000) % 400 == 0, "bad", None)
    rows = pa.table({"row": np.arange(40_000), "y": pa.array(labels)})
    for k in range(2):
        pq.write_table(rows[k * 20_000 : (k + 1) * 20_000], tmp_path / f"{k}.parquet", row_group_size=1000)
    sources = find_sources([tmp_path])
    assert len(sources) == 6
    found = gather(sources, lambda source: source.batches(["row", "y"]), "y", most=1000, seed=5)
    assert found.counts == {"bad": 100, None: 39_900}
    assert len(found.rows(["bad"])) == 100
    assert len({*found.rows([None], 0, 1000)["row"].to_pylist()}) == 1000


def test_labeled_rows_beyond_the_limit_keep_the_shares_of_the_classes():
    rows = pa.table({"row": np.arange(9000), "y": np.arange(9000) % 3 // 2})
    found = gather([rows], lambda part: [part], "y", most=1000).rows([0, 1])["y"].to_numpy()
    assert len(found) > 1200
    assert abs(found.mean() - 1 / 3) < 0.04


def test_wrong_tables(tmp_path):
    rows = pa.table({"y": np.arange(2000.0)})
    with pytest.raises(TableError, match="more than 1000 different values"):
        gather([rows], lambda part: [part], "y")
    with pytest.raises(TableError, match="no rows"):
        gather([], lambda part: [part], "y")
    with pytest.raises(TableError, match="name another folder"):
        find_sources([tmp_path])


def test_partitions_of_a_dask_dataframe():
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(pa.concat_tables(make_parts()).to_pandas(), npartitions=5)
    pool = gather_frame(table[["row"]], {"y": table["y"]}, "y", most=100, seed=1)
    assert sum(pool.counts.values()) == 4000
    assert pool.rows([None], 0, 50).column_names == ["row", "y"]
    with pytest.raises(ValueError, match="repartition one of them"):
        gather_frame(table[["row"]], {"y": table["y"].repartition(npartitions=2)}, "y")


def test_a_second_sample_decides_how_many_rows_are_drawn(monkeypatch):
    """As `fewlabel fit --engine dask`: more rows until two samples give the same ranking."""
    dd = pytest.importorskip("dask.dataframe")
    from fewlabel import PNUAUCBoostClassifier
    from fewlabel.dask import TableClassifier, other_samples

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=1200), "b": rng.choice(["x", "y"], 1200)})
    y = pd.Series(np.where(np.arange(1200) % 10 == 0, np.where(X["a"] > 0, "bad", "good"), None), name="outcome")
    table, labels = dd.from_pandas(X, npartitions=3), dd.from_pandas(y, npartitions=3)
    monkeypatch.setattr(other_samples, "LARGEST", 400)
    monkeypatch.setattr(other_samples, "AGREE", 0.9)
    model = TableClassifier(PNUAUCBoostClassifier(20, random_state=0), n_unlabeled=100, random_state=0)
    assert model.fit(table, labels).agreement_ > 0.9  # unlabeled rows move the edges of bins only
    assert model.n_rows_ == {"labeled": 120, "unlabeled": 1080, "drawn": 100}
    answers = [0.5, 0.6, 0.7]
    monkeypatch.setattr(other_samples, "rank_agreement", lambda one, other: answers.pop(0))
    assert model.fit(table, labels).agreement_ == 0.7
    assert (model.n_rows_["drawn"], answers) == (400, [])
    assert model.set_params(check_sample=False).fit(table, labels).agreement_ is None
    assert model.n_rows_["drawn"] == 100


def test_texts_and_other_files_are_not_mixed(tmp_path):
    rows = pa.table({"row": np.arange(9), "y": ["bad", None, None] * 3})
    pq.write_table(rows, tmp_path / "rows.parquet")
    rows.to_pandas().to_csv(tmp_path / "rows.csv", index=False)
    with pytest.raises(TableError, match=r"rows.csv is a text file and .*rows.parquet is not"):
        find_sources([tmp_path])
