import os
import pickle
import signal
import time
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

import fewlabel

dask = pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")
pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'fewlabel[dask]'")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from fewlabel import dask as spread  # noqa: E402
from fewlabel.boosting.rows import SpreadRows  # noqa: E402
from reference.dask_blocks import assert_same, in_blocks, table  # noqa: E402


@pytest.fixture(autouse=True)
def on_workers(monkeypatch):
    """Rows stay in their partitions, however few they are."""
    monkeypatch.setattr("fewlabel.dask._estimators._MOST_CELLS", 0)


BOOSTERS = {
    "PNUAUCBoostClassifier": {},
    "PUAdaBoostClassifier": {"prior": 0.4},
}


def labels_for(name, y):
    return np.where(y == 1, 1, -1) if name.startswith("PU") else y


@pytest.mark.parametrize("name", BOOSTERS)
@pytest.mark.parametrize("sizes", [(1200,), (600, 600), (1, 300, 0, 499, 100, 200, 100)])
def test_the_model_is_that_of_one_machine(name, sizes):
    X, y, _ = table()
    y = labels_for(name, y)
    options = dict(BOOSTERS[name], n_estimators=40, random_state=0)
    local = getattr(fewlabel, name)(**options).fit(X, y)
    assert_same(local, getattr(spread, name)(**options).fit(*in_blocks(X, y, sizes)), X)


def test_models_of_unlabeled_rows_are_those_of_one_machine_without_its_calibration():
    X, y, _ = table()
    options = dict(gamma=0.8, n_estimators=40, random_state=0)
    local = fewlabel.PNUAUCBoostClassifier(**options).fit_ranking(X, y)
    assert_same(local, spread.PNUAUCBoostClassifier(**options).fit(*in_blocks(X, y, (600, 600))), X)


def test_many_labels_are_not_gathered(monkeypatch):
    X, y, _ = table()
    monkeypatch.setattr("fewlabel.dask._estimators.MOST_OUT_OF_FOLD", 100)
    local = fewlabel.PNUAUCBoostClassifier(20, random_state=0).fit_ranking(X, y)
    assert_same(local, spread.PNUAUCBoostClassifier(20, random_state=0).fit(*in_blocks(X, y, (600, 600))), X)


def test_sketched_bins_rank_as_well():
    X, y, true = table(n=40_000, levels=None)
    options = dict(n_estimators=40, random_state=0)
    local = fewlabel.PNUAUCBoostClassifier(**options).fit(X, y)
    far = spread.PNUAUCBoostClassifier(**options).fit(*in_blocks(X, y, (20_000, 20_000)))
    aucs = [roc_auc_score(true, model.decision_function(X)) for model in (local, far)]
    assert aucs[0] == pytest.approx(aucs[1], abs=0.002)


@pytest.mark.parametrize("risk", ["pn", "samult", "pnu"])
def test_least_squares_by_moments(risk):
    X, y, _ = table()
    X = np.nan_to_num(X)
    local = fewlabel.LeastSquaresAUCClassifier(risk)
    local = (local.fit if risk == "pn" else local.fit_ranking)(X, y)
    far = spread.LeastSquaresAUCClassifier(risk).fit(*in_blocks(X, y, (700, 0, 500)))
    np.testing.assert_allclose(local.coef_, far.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(local.predict_proba(X), far.predict_proba(X), atol=1e-9)


def test_data_frames_with_names_and_text_labels():
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=list("abcde"))
    text = pd.Series(np.where(y == 1, "bad", np.where(y == 0, "good", None)), dtype=object)
    options = dict(n_estimators=20, random_state=0)
    local = fewlabel.PNUAUCBoostClassifier(**options).fit(frame, text)
    far = spread.PNUAUCBoostClassifier(**options).fit(dd.from_pandas(frame, 3), dd.from_pandas(text, 3))
    assert far.feature_names_in_.tolist() == list("abcde")
    assert far.classes_.tolist() == local.classes_.tolist()
    assert_same(local, far, frame)
    lazy = far.predict(dd.from_pandas(frame, 3))
    assert (lazy.compute() == local.predict(frame)).all()


def test_columns_of_parquet_files_keep_their_partitions_together(tmp_path):
    X, y, _ = table()
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(label=y)
    for k, rows in enumerate(np.array_split(np.arange(len(y)), 6)):
        frame.iloc[rows].to_parquet(tmp_path / f"{k}.parquet")
    rows = dd.read_parquet(tmp_path / "*.parquet")  # Dask's optimizer joins partitions, unlike for X and for y
    model = spread.PNUAUCBoostClassifier(5, random_state=0).fit(rows.drop(columns="label"), rows["label"])
    alone = fewlabel.PNUAUCBoostClassifier(5, random_state=0).fit(frame.drop(columns="label"), y)
    assert_same(model.model_, alone, frame.drop(columns="label"))


def test_prediction_is_lazy_and_keeps_the_blocks():
    X, y, _ = table()
    rows, labels = in_blocks(X, y, (700, 0, 500))
    model = spread.PNUAUCBoostClassifier(10, random_state=0).fit(rows, labels)
    for method in ("decision_function", "predict", "predict_proba"):
        lazy = getattr(model, method)(rows)
        assert lazy.chunks[0] == (700, 0, 500)
        frame = dd.from_dask_array(rows)
        np.testing.assert_array_equal(getattr(model, method)(frame).compute(), getattr(model.model_, method)(X))
        np.testing.assert_array_equal(lazy.compute(), getattr(model.model_, method)(X))


def test_the_ordinary_model_can_be_saved(tmp_path):
    X, y, _ = table()
    model = spread.PNUAUCBoostClassifier(10, random_state=0).fit(*in_blocks(X, y, (600, 600))).model_
    assert type(model) is fewlabel.PNUAUCBoostClassifier
    fewlabel.save(model, tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(fewlabel.load(tmp_path / "model.fewlabel").predict(X), model.predict(X))


def test_partitions_without_labels_and_unknown_sizes():
    X, y, _ = table()
    y[:600] = -1
    rows, labels = in_blocks(X, y, (600, 600))
    keep = da.from_array(np.ones(1200, dtype=bool), chunks=600)
    rows, labels = rows[keep], labels[keep]  # of unknown size
    far = spread.PNUAUCBoostClassifier(20, random_state=0).fit(rows, labels)
    assert_same(fewlabel.PNUAUCBoostClassifier(20, random_state=0).fit(X, y), far, X)


def test_parameters_are_those_of_the_ordinary_model():
    for name in (*BOOSTERS, "LeastSquaresAUCClassifier"):
        model = getattr(spread, name)()
        assert clone(model).get_params() == getattr(fewlabel, name)().get_params()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (X, y), "must be a Dask array or DataFrame"),
        (lambda X, y: in_blocks(X, np.full(len(y), -1), (600, 600)), "label"),
        (lambda X, y: (in_blocks(X, y, (600, 600))[0], da.from_array(y[:-1], chunks=600)), "rows"),
        (lambda X, y: in_blocks(np.where(X == 3, np.inf, X), y, (600, 600)), "infinite"),
        (lambda X, y: in_blocks(X[:0], y[:0], (0,)), "no rows"),
    ],
)
def test_bad_input_is_reported(change, message):
    X, y, _ = table()
    with pytest.raises((ValueError, TypeError), match=message):
        spread.PNUAUCBoostClassifier(5).fit(*change(X, y))


@pytest.mark.parametrize("name", BOOSTERS)
def test_warm_start_continues(name):
    X, y, _ = table()
    y = labels_for(name, y)
    rows, labels = in_blocks(X, y, (600, 600))
    options = dict(BOOSTERS[name], random_state=0)
    model = getattr(spread, name)(15, warm_start=True, **options).fit(rows, labels)
    model.set_params(n_estimators=40).fit(rows, labels)
    assert_same(getattr(fewlabel, name)(40, **options).fit(X, y), model, X)


def test_progress_is_reported_after_each_round():
    X, y, _ = table()
    calls = []
    model = spread.PNUAUCBoostClassifier(3, random_state=0)
    model.fit(*in_blocks(X, y, (600, 600)), callback=lambda *step: calls.append(step))
    assert calls == [(1, 3, "round 1"), (2, 3, "round 2"), (3, 3, "round 3")]


def test_constant_columns_are_reported():
    _, y, _ = table()
    with pytest.warns(UserWarning, match="constant"):
        spread.PNUAUCBoostClassifier(5, random_state=0).fit(*in_blocks(np.ones((1200, 2)), y, (600, 600)))


def test_a_fit_within_a_task(tmp_path):
    """The only thread of the only worker waits for the fit, which needs a thread."""
    from distributed import Client

    X, y, _ = table(300)

    def fit():
        return spread.PNUAUCBoostClassifier(5, random_state=0).fit(*in_blocks(X, y, (200, 100))).model_

    with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None) as client:
        model = client.submit(fit).result(timeout=60)
    assert_same(fewlabel.PNUAUCBoostClassifier(5, random_state=0).fit(X, y), model, X)


@pytest.mark.parametrize("risk", ["pn", "samult", "pnu"])
def test_sparse_blocks_of_least_squares(risk):
    from scipy import sparse

    X, y, _ = table()
    X = np.where(np.isnan(X) | (X < 15), 0.0, X)
    rows = da.from_array(X, chunks=(400, 5)).map_blocks(sparse.csr_matrix)
    labels = da.from_array(y, chunks=400)
    far = spread.LeastSquaresAUCClassifier(risk).fit(rows, labels)
    local = fewlabel.LeastSquaresAUCClassifier(risk)
    local = (local.fit if risk == "pn" else local.fit_ranking)(X, y)
    np.testing.assert_allclose(far.coef_, local.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(far.predict_proba(rows).compute(), local.predict_proba(X), atol=1e-9)


def test_sketches_merge_to_about_the_quantiles():
    from fewlabel.dask._sketch import merge_sketches, sketch

    rng = np.random.default_rng(0)
    numbers = np.exp(rng.normal(size=64_000))
    values, counts = reduce(
        lambda a, b: merge_sketches(a, b, 512), (sketch(part, 512) for part in np.split(numbers, 64))
    )
    assert counts.sum() == len(numbers)
    assert len(values) <= 512
    assert {numbers.max()} <= set(values)
    ranks = np.searchsorted(np.sort(numbers), values, side="right")
    assert np.abs(ranks - np.cumsum(counts)).max() < 0.05 * len(numbers)
    few = rng.integers(0, 100, 5000).astype(float)
    exact = reduce(merge_sketches, (sketch(part) for part in np.split(few, 5)))
    np.testing.assert_array_equal(exact, np.unique(few, return_counts=True))
    for empty in (sketch(few[:0]), merge_sketches(sketch(few[:0]), sketch(few[:0]))):
        assert len(empty[0]) == len(empty[1]) == 0


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def test_two_workers_give_the_model_of_one_machine(client):
    X, y, _ = table()
    local = fewlabel.PNUAUCBoostClassifier(20, random_state=0).fit(X, y)
    far = spread.PNUAUCBoostClassifier(20, random_state=0).fit(*in_blocks(X, y, (500, 0, 700)), client=client)
    assert_same(local, far, X)


def test_what_travels_in_a_round_does_not_grow_with_the_rows(monkeypatch):
    call, sent = SpreadRows.ask, []

    def weigh(self, *question, merge=None):
        message = self._commands, question
        found = call(self, *question, merge=merge)
        if merge is np.add and found.ndim > 1:  # the messages of a round
            sent.append(len(pickle.dumps(message)) + found.nbytes)
        return found

    monkeypatch.setattr(SpreadRows, "ask", weigh)
    sizes = []
    for n in (500, 5000):
        sent.clear()
        X, y, _ = table(n)
        spread.PNUAUCBoostClassifier(10, max_features=1.0, random_state=0).fit(*in_blocks(X, y, (n // 2, n // 2)))
        assert len(sent) == 2 * 10
        sizes.append(max(sent))
    assert abs(sizes[0] - sizes[1]) < 400  # the codes of a stump, 256 bytes, travel with it or not
    assert max(sizes) < 2 * X.shape[1] * 256 * 8


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_a_killed_worker_ends_in_a_clear_error_and_the_fit_can_be_repeated():
    from distributed import Client, LocalCluster

    X, y, _ = table()
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        pid = next(iter(client.run(os.getpid).values()))
        model = spread.PNUAUCBoostClassifier(10_000, random_state=0)

        def kill(done, total, name):
            if done == 6:
                os.kill(pid, signal.SIGKILL)
                time.sleep(1)

        with pytest.raises(RuntimeError, match="worker was lost"):
            model.fit(*in_blocks(X, y, (600, 600)), client=client, callback=kill)
        client.wait_for_workers(2)  # the nanny has started another
        again = spread.PNUAUCBoostClassifier(20, random_state=0)
        again.fit(*in_blocks(X, y, (600, 600)), client=client)
    assert_same(fewlabel.PNUAUCBoostClassifier(20, random_state=0).fit(X, y), again, X)
