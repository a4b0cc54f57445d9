"""Boosters of symmetric trees on Dask collections: the trees of one machine, however the rows are split."""

import numpy as np
import pytest

import fewlabel

pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")
pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'fewlabel[dask]'")

import dask.array as da
import dask.dataframe as dd
import pandas as pd

from fewlabel import dask as spread
from fewlabel.boosting import pairs
from fewlabel.boosting.rows import SpreadRows
from fewlabel.dask import _estimators
from reference.dask_blocks import assert_same_trees, in_blocks, table

SPLITS = [(1200,), (1, 300, 0, 499, 100, 200, 100)]
FORMS = [
    ("TreeAUCBoostClassifier", {}),
    ("TreeAUCBoostClassifier", {"gamma": 0.8, "splitter": "mixed", "split_noise": 0.3}),
    ("TreeAUCBoostClassifier", {"gamma": 0.8, "loss": "exponential", "splitter": "best", "max_features": 1.0}),
    ("TreePUBoostClassifier", {"prior": 0.4}),
]


@pytest.fixture
def on_workers(monkeypatch):
    """Rows stay in their blocks, and sums over pairs are interpolated, however few they are."""
    monkeypatch.setattr(_estimators, "_MOST_CELLS", 0)
    monkeypatch.setattr(pairs, "MOST_PAIRS", 0)
    made, start = [], SpreadRows.__init__

    def counted(rows, *args):
        made.append(1)
        start(rows, *args)

    monkeypatch.setattr(SpreadRows, "__init__", counted)
    yield
    assert made, "the rows were gathered"


def both(name, options, sizes, weight=None, n_estimators=12):
    X, y, _ = table()
    y = np.where(y == 1, 1, -1) if name.startswith("TreePU") else y
    form = dict(n_estimators=n_estimators, max_depth=3, learning_rate=0.3, random_state=0, **options)
    local = getattr(fewlabel, name)(**form).fit_ranking(X, y, weight)
    blocks = in_blocks(X, y, sizes)
    weights = None if weight is None else da.from_array(weight, chunks=(sizes,))
    return local, getattr(spread, name)(**form).fit(*blocks, weights), X


@pytest.mark.parametrize(("name", "options"), FORMS)
@pytest.mark.parametrize("sizes", SPLITS)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_blocks_give_the_trees_of_one_machine(on_workers, name, options, sizes, weighted):
    weight = np.random.default_rng(3).integers(0, 4, 1200).astype(float) / 2 if weighted else None
    assert_same_trees(*both(name, options, sizes, weight))


@pytest.mark.parametrize(("name", "options"), FORMS)
def test_few_rows_are_gathered(name, options, monkeypatch):
    monkeypatch.setattr(SpreadRows, "__init__", None)
    assert_same_trees(*both(name, options, SPLITS[1]))


def test_two_workers(on_workers):
    from distributed import Client, LocalCluster

    X, y, _ = table()
    form = dict(n_estimators=8, gamma=0.8, max_depth=3, random_state=0)
    local = fewlabel.TreeAUCBoostClassifier(**form).fit_ranking(X, y)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        rows, labels = (part.persist() for part in in_blocks(X, y, (300, 500, 0, 400)))
        far = spread.TreeAUCBoostClassifier(**form).fit(rows, labels, client=client)
        assert_same_trees(local, far, X)
        assert (far.predict(rows).compute() == local.predict(X)).all()


def test_few_pairs_are_summed_exactly_even_if_there_are_many_columns(monkeypatch):
    monkeypatch.setattr(_estimators, "_MOST_CELLS", 0)
    assert_same_trees(*both("TreeAUCBoostClassifier", {}, SPLITS[1]))


def test_a_warm_start_goes_on(on_workers):
    X, y, _ = table()
    blocks = in_blocks(X, y, (500, 700))
    form = dict(gamma=0.8, max_depth=3, splitter="random", random_state=0)  # noise would fade over other rounds
    whole = spread.TreeAUCBoostClassifier(10, **form).fit(*blocks)
    parts = spread.TreeAUCBoostClassifier(4, warm_start=True, **form).fit(*blocks)
    assert_same_trees(whole, parts.set_params(n_estimators=10).fit(*blocks), X)


def test_the_number_of_rounds_and_the_probabilities_are_those_of_one_machine():
    X, _, true = table(1500)
    form = dict(learning_rate=0.3, max_depth=3, random_state=0)
    local = fewlabel.TreeAUCBoostClassifier(**form).fit(X, true)
    assert local.n_iter_ < 1000
    far = spread.TreeAUCBoostClassifier(**form).fit(*in_blocks(X, true, (1000, 500)))
    assert_same_trees(local, far, X)
    # The folds that chose the number of rounds calibrate as well, in memory and here.
    np.testing.assert_allclose(far.calibration_, local.calibration_, rtol=1e-9)


def test_the_number_of_rounds_from_a_sample(on_workers, monkeypatch):
    monkeypatch.setattr(_estimators, "_CHOOSING", 600)
    X, _, true = table(1500)
    form = dict(learning_rate=0.3, max_depth=3, splitter="random", random_state=0)
    one, other = (spread.TreeAUCBoostClassifier(**form).fit(*in_blocks(X, true, s)) for s in ((1500,), (1000, 0, 500)))
    assert_same_trees(one, other, X)
    assert 0 < one.n_iter_ < 1000
    again = fewlabel.TreeAUCBoostClassifier(one.n_iter_, **form)
    assert np.corrcoef(again.fit_ranking(X, true).decision_function(X), one.decision_function(X))[0, 1] > 0.99


def test_the_prior_is_estimated_and_data_frames_are_read():
    X, y, true = fewlabel.make_pu(3000, prior=0.3, separation=3.0, return_true=True, random_state=0)
    frame = pd.DataFrame(X).rename(columns="x{}".format)
    calls = []
    model = spread.TreePUBoostClassifier(30, random_state=0).fit(
        dd.from_pandas(frame, 3), dd.from_pandas(pd.Series(y), 3), callback=lambda *progress: calls.append(progress)
    )
    assert model.prior_ == pytest.approx(true[y != 1].mean(), abs=0.08)
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert calls[-1] == (model.n_iter_, 30, f"round {model.n_iter_}")
    assert type(model.model_) is fewlabel.TreePUBoostClassifier


def test_probabilities_are_calibrated_out_of_fold():
    X, y, _ = table()
    # With the default penalty the labeled rows are hardly fitted better than others.
    form = dict(n_estimators=200, max_depth=3, l2_regularization=0.5, random_state=0)
    local = fewlabel.TreeAUCBoostClassifier(**form).fit(X, y)
    far = spread.TreeAUCBoostClassifier(**form).fit(*in_blocks(X, y, (600, 600)))
    extreme = fewlabel.TreeAUCBoostClassifier(**form).fit_ranking(X, y)
    assert far.calibration_[0] == pytest.approx(local.calibration_[0], rel=0.05)  # folds have bins of labeled rows only
    assert far.calibration_[0] < 0.8 * extreme.calibration_[0]


def test_plain_stumps_are_those_of_pnu_aucboost():
    X, y, _ = table()
    form = dict(max_depth=1, loss="exponential", splitter="best", split_noise=0, bootstrap=False, l2_regularization=0)
    form |= dict(n_estimators=20, max_features=0.5, max_bins=30, random_state=0)
    blocks = in_blocks(X, y, (600, 600))
    stumps = spread.PNUAUCBoostClassifier(20, learning_rate=0.02, max_features=0.5, max_bins=30, random_state=0)
    assert_same_trees(spread.TreeAUCBoostClassifier(**form).fit(*blocks), stumps.fit(*blocks), X)
