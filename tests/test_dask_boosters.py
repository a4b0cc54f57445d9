"""Dask boosters: what they choose by hashes of rows, and how workers are asked."""

from functools import reduce

import numpy as np
import pytest

import fewlabel

pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")
pytest.importorskip("distributed", reason="Dask's scheduler is not installed: pip install 'fewlabel[dask]'")

import dask.array as da

from fewlabel import dask as spread
from fewlabel.dask._samples import merge_samples, sample
from reference.dask_blocks import assert_same, in_blocks, table


@pytest.fixture(autouse=True)
def on_workers(monkeypatch):
    """Rows stay in their partitions, however few they are."""
    monkeypatch.setattr("fewlabel.dask._estimators._MOST_CELLS", 0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("PNUAUCBoostClassifier", {"gamma": 0.9}),
        ("PNUAUCBoostClassifier", {}),
        ("PUAdaBoostClassifier", {"prior": 0.4}),
    ],
)
def test_weighted_rows_give_the_model_of_one_machine(name, options):
    X, y, _ = table()
    y = np.where(y == 1, 1, -1) if name.startswith("PU") else y
    weight = np.random.default_rng(3).integers(0, 4, len(y)).astype(float) / 2
    form = dict(n_estimators=20, random_state=0, max_bins=12, **options)
    local = getattr(fewlabel, name)(**form)
    local = (local.fit if options == {} else local.fit_ranking)(X, y, sample_weight=weight)
    for sizes in ((1200,), (1, 300, 0, 899)):
        blocks = in_blocks(X, y, sizes)
        far = getattr(spread, name)(**form).fit(*blocks, da.from_array(weight, chunks=(sizes,)))
        assert_same(local, far, X)


def test_weights_stand_for_repeated_rows():
    X, y, _ = table(levels=0)
    times = np.random.default_rng(3).integers(0, 3, len(y))
    form = dict(n_estimators=20, gamma=0.9, random_state=0, max_bins=12)
    repeated = in_blocks(np.repeat(X, times, axis=0), np.repeat(y, times), (400, times.sum() - 400))
    weighted = (*in_blocks(X, y, (600, 600)), da.from_array(times.astype(float), chunks=600))
    one, other = (spread.PNUAUCBoostClassifier(**form).fit(*blocks) for blocks in (repeated, weighted))
    assert_same(one, other, X)


def test_weights_with_a_prior_to_estimate():
    X, y, _ = table()
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    rows, labels = in_blocks(X, np.where(y == 1, 1, -1), (500, 700))
    pu = spread.PUAdaBoostClassifier(5, random_state=0).fit(rows, labels, da.from_array(weight, chunks=300))
    assert 0 < pu.prior_ < 1


@pytest.mark.parametrize(
    ("weight", "message"),
    [(np.full(1200, -1.0), "sample_weight"), (np.full(1200, np.nan), "sample_weight"), (np.ones(900), "900")],
)
def test_bad_weights_are_reported(weight, message):
    X, y, _ = table()
    with pytest.raises(ValueError, match=message):
        spread.PNUAUCBoostClassifier(5).fit(*in_blocks(X, y, (600, 600)), da.from_array(weight, chunks=300))


@pytest.mark.parametrize("name", ["PNUAUCBoostClassifier", "TreeAUCBoostClassifier"])
def test_early_stopping_on_held_out_rows_is_for_rows_in_memory(name):
    X, y, _ = table(40)
    with pytest.raises(ValueError, match="for rows in memory"):
        getattr(spread, name)(5, early_stopping=True).fit(*in_blocks(X, y, (20, 20)))


def test_the_threshold_is_that_of_the_rounds_that_are_kept():
    X, y, _ = table(levels=200)
    y[150:] = -1
    form = dict(n_estimators=300, gamma=0.95, learning_rate=1.0, early_stopping="alarm", random_state=0)
    local = fewlabel.PNUAUCBoostClassifier(**form).fit_ranking(X, y)
    far = spread.PNUAUCBoostClassifier(**form).fit(*in_blocks(X, y, (600, 600)))
    assert local.n_iter_ < 300
    assert_same(local, far, X)
    assert far.offset_ == pytest.approx(local.offset_, abs=1e-9)


def test_the_prior_is_estimated_from_a_sample():
    X, y, true = fewlabel.make_pu(3000, prior=0.3, separation=3.0, return_true=True, random_state=0)
    one, other = (
        spread.PUAdaBoostClassifier(30, random_state=0).fit(*in_blocks(X, y, sizes))
        for sizes in ((3000,), (1000, 1500, 500))
    )
    assert one.prior_ == other.prior_
    assert one.prior_ == pytest.approx(true[y != 1].mean(), abs=0.08)


def test_samples_do_not_depend_on_the_blocks():
    X, y, _ = table()
    parts = [sample(X[k::3], y[k::3], lambda X, y: (X, np.sign(y), None), 50) for k in range(3)]
    merged = reduce(lambda one, other: merge_samples(one, other, 50), parts)
    whole = sample(X, y, lambda X, y: (X, np.sign(y), None), 50)
    for one, other in zip(merged, whole):  # weights are None
        np.testing.assert_array_equal(one, other)
    assert whole[2] is None
    assert np.unique(whole[1], return_counts=True)[1].tolist() == [50, 50, 50]


def test_workers_that_the_client_cannot_reach_are_asked_by_the_scheduler(monkeypatch):
    from distributed import Client, LocalCluster
    from distributed.actor import ProxyRPC

    asked, start = [], ProxyRPC.__init__

    def counted(*args):
        asked.append(1)
        start(*args)

    monkeypatch.setattr(ProxyRPC, "__init__", counted)
    X, y, _ = table()
    local = fewlabel.PNUAUCBoostClassifier(3, random_state=0).fit(X, y)
    blocks = in_blocks(X, y, (600, 600))
    options = dict(n_workers=1, threads_per_worker=1, dashboard_address=None)
    with LocalCluster(**options) as cluster:
        with Client(cluster) as client:
            assert_same(local, spread.PNUAUCBoostClassifier(3, random_state=0).fit(*blocks, client=client), X)
            assert not asked
            assert not client.direct_to_workers  # as it was
        with Client(cluster) as client:
            connect, scheduler = client.rpc.connect, client.scheduler.address

            async def refuse_workers(address, *args, **options):
                if address != scheduler:
                    raise OSError("no route to host")
                return await connect(address, *args, **options)

            monkeypatch.setattr(client.rpc, "connect", refuse_workers)
            assert_same(local, spread.PNUAUCBoostClassifier(3, random_state=0).fit(*blocks, client=client), X)
            assert asked
