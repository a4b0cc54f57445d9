"""Exported models give what predict gives: ONNX by onnxruntime, SQL by DuckDB and SQLite, JSON read back."""

import json
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import fewlabel
from fewlabel import AutoClassifier, PNUAUCBoostClassifier, TableClassifier, TreeAUCBoostClassifier, parts
from fewlabel.cli.main import run
from fewlabel.exceptions import ExportError
from fewlabel.exporting.flat_trees import flat_trees, thresholds_before_rounding
from fewlabel.exporting.onnx_graph import onnx_columns
from fewlabel.persistence.records import read_part

# Portfolios of small tables, together with every part that ONNX can express; the default one takes half a minute each.
TABLES = {
    "breast cancer": (load_breast_cancer, ["RankBoost", "extra trees + components"]),
    "diabetes": (load_diabetes, ["histogram boosting", "RBF-SVM on graph features"]),
    "digits": (load_digits, ["tree AUC boosting"]),
    "iris": (load_iris, ["quadratic SVM", "nearest neighbors"]),
    "wine": (load_wine, ["linear discriminant", "extra trees + graph features"]),
}


def make_table(load):
    """Rows with numbers, categories, booleans and gaps; half of the labels are hidden."""
    rng = np.random.default_rng(0)
    X, y = load(return_X_y=True, as_frame=True)
    rows = rng.permutation(len(X))[:220]
    X = X.iloc[rows, :6].reset_index(drop=True)
    y = y.iloc[rows].reset_index(drop=True)
    if y.nunique() > 3:
        y = (y > y.median()).astype(int)
    ranks = X.iloc[:, 2].rank(pct=True)
    X["kind"] = np.array(["a", "it's", 'a "b"', "\N{GREEK SMALL LETTER ALPHA}"], dtype=object)[
        (ranks * 3.99).astype(int)
    ]
    X["owner"] = np.where(X.iloc[:, 3].rank(pct=True) > 0.6, "yes", "no")
    X.loc[rng.random(len(X)) < 0.1, "kind"] = None
    X.iloc[rng.random(len(X)) < 0.1, 0] = np.nan
    y = y.map("class {}".format).astype(object)
    return X, y.where(rng.random(len(y)) < 0.5, None)


def new_rows(X, n=10_000):
    """Rows like those of a table, with further gaps, numbers beyond all others, and categories that are new."""
    rng = np.random.default_rng(1)
    rows = X.iloc[rng.integers(0, len(X), n)].reset_index(drop=True)
    for name in X.select_dtypes("number"):
        shuffled = rng.permutation(rows[name].to_numpy())
        shift = (rng.random(n) < 0.5) * rng.normal(size=n) * np.nanstd(shuffled)
        rows[name] = np.where(rng.random(n) < 0.05, np.nan, shuffled + shift)
    rows.iloc[:2, 1] = [1e100, -1e100]
    for text in (None, "N/A", "  ", "unseen"):
        rows.loc[rng.random(n) < 0.03, "kind"] = text
    rows.loc[rng.random(n) < 0.03, "owner"] = None
    return rows


@pytest.fixture(scope="module", params=TABLES)
def fitted(request):
    load, portfolio = TABLES[request.param]
    X, y = make_table(load)
    model = TableClassifier(AutoClassifier(portfolio, n_repeats=1, random_state=0)).fit(X, y)
    return model, new_rows(X)


@pytest.fixture(scope="module")
def trees():
    X, y = make_table(load_breast_cancer)
    model = TableClassifier(TreeAUCBoostClassifier(n_estimators=20, random_state=0), positive="class 0").fit(X, y)
    return model, new_rows(X)


def in_onnx(path, inputs):
    runtime = pytest.importorskip("onnxruntime")
    return runtime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, inputs)


def as_inputs(model, rows):
    cells = {name: rows[name].to_numpy() for name in rows}
    if not isinstance(model.encoder.by_name["owner"], parts.CategoryColumn):
        cells["owner"] = rows["owner"].map({"yes": 1.0, "no": 0.0}).to_numpy(dtype=float)
    return onnx_columns(model, cells)


def test_onnx_of_tables_gives_what_predict_gives(fitted, tmp_path):
    pytest.importorskip("onnx")
    model, rows = fitted
    fewlabel.export(model, tmp_path / "model.onnx")
    label, probabilities, score = in_onnx(tmp_path / "model.onnx", as_inputs(model.model_, rows))
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=0, atol=1e-6)
    np.testing.assert_allclose(score, model.decision_function(rows), rtol=0, atol=1e-6)
    assert label.tolist() == model.predict(rows).tolist()


ESTIMATORS = [
    RandomForestClassifier(10, random_state=0),  # values are rounded to 32 bits
    HistGradientBoostingClassifier(max_iter=10),
    GaussianNB(),
    KNeighborsClassifier(3, weights="distance"),
]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_onnx_of_matrices_gives_what_the_estimator_gives(estimator, tmp_path):
    pytest.importorskip("onnx")
    X, y = load_wine(return_X_y=True)
    estimator.fit(X, y)
    fewlabel.export(parts.model_of(estimator), tmp_path / "model.onnx")
    label, probabilities, _ = in_onnx(tmp_path / "model.onnx", {"X": X})  # the rows of the fit: distances of 0
    np.testing.assert_allclose(probabilities, estimator.predict_proba(X), rtol=0, atol=1e-6)
    assert label.tolist() == estimator.predict(X).tolist()


def test_a_column_may_be_called_as_an_output(tmp_path):
    pytest.importorskip("onnx")
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["score", "value1"])
    model = TableClassifier(PNUAUCBoostClassifier(n_estimators=5, random_state=0)).fit(X, np.arange(40) // 20)
    fewlabel.export(model, tmp_path / "model.onnx")
    inputs = {name: X[name].to_numpy()[:, None] for name in X}
    np.testing.assert_allclose(in_onnx(tmp_path / "model.onnx", inputs)[2], model.decision_function(X), atol=1e-6)


@pytest.mark.parametrize("kind", [".onnx", ".sql"])
def test_what_differs_is_not_written(kind, trees, tmp_path, monkeypatch):
    if kind == ".onnx":
        pytest.importorskip("onnxruntime")
    model = trees[0].model_
    usual = type(model).decision_function
    monkeypatch.setattr(type(model), "decision_function", lambda self, X: usual(self, X) + 1e-5)
    with pytest.raises(ExportError, match="other"):
        fewlabel.export(model, tmp_path / f"model{kind}")
    assert not list(tmp_path.iterdir())


def in_sqlite(rows, sql):
    with sqlite3.connect(":memory:") as connection:
        rows.to_sql("rows", connection, index_label="key")
        return pd.read_sql(sql.rstrip().rstrip(";"), connection).sort_values("key", ignore_index=True)


def in_duckdb(rows, sql):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect() as connection:
        connection.register("rows", rows.rename_axis("key").reset_index())
        return connection.execute(sql).df().sort_values("key", ignore_index=True)


@pytest.fixture(scope="module")
def ensemble():
    X, y = make_table(load_breast_cancer)
    portfolio = ["RankBoost", "histogram boosting"]
    return TableClassifier(AutoClassifier(portfolio, n_repeats=1, random_state=0)).fit(X, y).set_threshold(
        0.2
    ), new_rows(X)


@pytest.mark.parametrize("engine", [in_sqlite, in_duckdb])
@pytest.mark.parametrize("name", ["trees", "ensemble"])
def test_sql_of_trees_gives_what_predict_gives(name, engine, request, tmp_path):
    model, rows = request.getfixturevalue(name)
    fewlabel.export(model, tmp_path / "model.sql")
    rows = rows.iloc[:3000].copy()
    if engine is in_duckdb:
        rows.iloc[:2, 1] = [np.inf, -np.inf]  # gaps to predict
    found = engine(rows, (tmp_path / "model.sql").read_text())
    expected = fewlabel.tables.score_table(model, rows)
    np.testing.assert_allclose(found["score"], expected["score"], rtol=0, atol=1e-9)
    positive = model.classes_[model.positive_]
    np.testing.assert_allclose(found["probability"], expected[f"probability of {positive}"], rtol=0, atol=1e-9)
    assert found["label"].tolist() == expected["label"].tolist()


def test_too_many_trees_for_sql_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    model = TreeAUCBoostClassifier(n_estimators=400, random_state=0).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    with pytest.raises(ExportError, match="1 MB"):
        fewlabel.export(model, tmp_path / "model.sql")


def test_json_has_every_number(trees, tmp_path):
    model, rows = trees
    fewlabel.export(model, tmp_path / "model.json")
    arrays = {}

    def name_arrays(value):
        if isinstance(value, dict) and value.keys() == {"dtype", "shape", "values"}:
            name = str(len(arrays))
            arrays[name] = np.array(value["values"], dtype=value["dtype"]).reshape(value["shape"])
            return name
        if isinstance(value, dict):
            return {key: name_arrays(one) for key, one in value.items()}
        return [name_arrays(one) for one in value] if isinstance(value, list) else value

    document = json.loads((tmp_path / "model.json").read_text("utf-8"))
    again = read_part(name_arrays(document["model"]), arrays)
    assert again.decision_function(rows).tolist() == model.decision_function(rows).tolist()


def test_thresholds_before_rounding():
    rng = np.random.default_rng(0)
    largest = np.finfo(np.float32).max
    special = [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 1e39, -1e39, np.inf, largest, -largest]
    thresholds = np.concatenate([rng.normal(size=500), rng.normal(size=500).astype(np.float32), special])
    moved = thresholds_before_rounding(thresholds)
    with np.errstate(over="ignore"):
        for x in (moved, np.nextafter(moved, np.inf), np.nextafter(moved, -np.inf), thresholds):
            np.testing.assert_array_equal(x <= moved, x.astype(np.float32) <= thresholds)


def test_flat_trees_are_the_same_sums():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    depth = 3
    symmetric = parts.SymmetricTrees(
        rng.integers(0, 4, (5, depth)),
        np.where(rng.random((5, depth)) < 0.2, np.inf, rng.normal(size=(5, depth))),
        rng.random((5, depth)) < 0.5,
        rng.normal(size=(2, 5, 2**depth)),
        rng.normal(size=2),
        4,
        single=True,
    )
    edges = np.sort(rng.normal(size=(3, 6)), axis=1).ravel()
    starts = np.array([0, 6, 12, 18, 18])
    steps = parts.Steps(np.array([0, 1, 2, 3]), starts, edges, rng.normal(size=22), rng.normal(size=4), 4)
    for formula in (symmetric, steps):
        np.testing.assert_allclose(flat_trees(formula)(X), formula(X), rtol=0, atol=1e-12)


def test_parts_and_columns_that_cannot_be_expressed_are_named(tmp_path):
    pytest.importorskip("onnx")
    X, y = make_table(load_breast_cancer)
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(len(X)) * 7, unit="D")
    booster = PNUAUCBoostClassifier(n_estimators=20, random_state=0)
    dated = TableClassifier(booster).fit(X.assign(since=since), np.arange(len(X)) > 100)
    for kind in (".onnx", ".sql"):
        with pytest.raises(ExportError, match="'since' is read as dates"):
            fewlabel.export(dated, tmp_path / f"model{kind}")
    paths = AutoClassifier(["path neighbors"], n_repeats=1, random_state=0)
    model = TableClassifier(paths).fit(X, y)
    with pytest.raises(ExportError, match="'paths'"):
        fewlabel.export(model, tmp_path / "model.onnx")
    with pytest.raises(ExportError, match="'fill-and-scale'"):
        fewlabel.export(model, tmp_path / "model.sql")
    with pytest.raises(ExportError, match="SVC cannot be exported"):
        fewlabel.export(SVC(), tmp_path / "model.onnx")


def test_a_missing_package_is_named_with_its_extra(trees, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"onnx is not installed.*fewlabel\[onnx\]"):
        fewlabel.export(trees[0], tmp_path / "model.onnx")


def test_the_command(trees, tmp_path, capsys):
    fewlabel.save(trees[0], tmp_path / "model.fewlabel")
    options = ["--out", str(tmp_path / "model.sql"), "--table", "my rows"]
    assert run(["export", str(tmp_path / "model.fewlabel"), *options]) == 0
    assert 'FROM "my rows" AS t' in (tmp_path / "model.sql").read_text()
    assert run(["export", str(tmp_path / "model.fewlabel"), "--out", str(tmp_path / "model.pmml")]) == 2
    assert ".onnx, .sql or .json" in capsys.readouterr().err
