"""Stored cells that are drawn at random and run again."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.harness import SUITES, get_suite
from benchmarks.harness import rerun as module
from benchmarks.harness.cells import file_name
from benchmarks.harness.pages import read_stored
from benchmarks.harness.provenance import RERUN


def test_cells_that_took_long_and_run_times_are_not_drawn():
    suite = get_suite("pnu-auc")
    drawn = module.draw([suite], 200, 0.5, seed=0)
    assert len(drawn) == 200
    assert "Table 3" not in set(drawn["experiment"])  # seconds
    stored, _ = read_stored(suite)
    keys = ["experiment", "dataset", "setting", "method", "repeat"]
    assert (drawn.merge(stored, on=keys)["seconds"] < 0.5).all()
    assert not module.draw([suite], 200, 0.5, seed=1).equals(drawn)


def test_numbers_are_compared_with_those_of_the_chosen_parameters(monkeypatch):
    suite = get_suite("auc-dcd")
    drawn = module.draw([suite], 3, 1.0, seed=0)
    drawn["chosen"] = ["alpha 1", np.nan, np.nan]
    drawn["stored"] = [0.7, 0.8, 0.9]

    def write(suite, cells, folder, data_home):
        (folder / "cells").mkdir()
        records = [{"grid": {"alpha 1": [0.6, 0.7], "alpha 2": [0.9, 0.9]}}, {"score": 0.81}, {"error": "no"}]
        for cell, record in zip(cells, records):
            (folder / "cells" / file_name(cell)).write_text(json.dumps(record))

    monkeypatch.setattr(module, "run_cells", write)
    found = module.rerun([suite], drawn)
    assert found["same"].tolist() == [True, False, False]


def test_the_cells_that_were_run_again_are_those_stored_and_as_many_are_the_same_as_the_page_says(pytestconfig):
    found = pd.read_csv(RERUN, keep_default_na=False)
    same = found["same"].astype(str) == "True"
    page = (pytestconfig.rootpath / "docs" / "results" / "provenance.md").read_text("utf-8")
    assert f"Of {len(found)} stored cells drawn at random, {same.sum()} gave the same number again" in page
    for name, mine in found[same].groupby("suite"):
        stored = pd.read_parquet(get_suite(name).stored)
        keys = ["experiment", "dataset", "setting", "method", "repeat"]
        both = mine.merge(stored, on=keys, how="left")
        np.testing.assert_allclose(both["again"].astype(float), both["score"], atol=module.SAME)


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_has_cells_to_draw(name):
    assert len(module.draw([get_suite(name)], 1, 60.0, seed=0)) == 1
