"""Stored cells that are drawn at random and run again."""

import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.harness import SUITES, get_suite, plan
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


def test_cells_of_each_method_and_commit_are_drawn():
    suite = get_suite("cross-training")
    drawn = module.draw([suite], 2, 1.0, seed=0, of_each=True)
    keys = ["experiment", "method", "commit"]
    assert set(drawn.groupby(keys).size()) <= {1, 2}
    stored, _ = read_stored(suite)
    cheap = stored[stored["seconds"] < 1.0]
    assert set(drawn.groupby(keys).groups) == set(cheap.groupby(keys).groups)
    assert not module.draw([suite], 2, 1.0, seed=1, of_each=True).equals(drawn)


def test_cells_of_a_former_version_are_neither_drawn_nor_planned():
    suite = get_suite("few-labels")
    methods = {method for experiment in suite.experiments for method in experiment.former}
    assert methods == {"AutoClassifier 0.1.0", "AutoClassifier 0.1.0, table left out"}
    stored, _ = read_stored(suite)
    assert set(stored.loc[stored["method"].isin(methods), "fewlabel"]) == {"0.1.0"}
    assert not methods & set(module.draw([suite], 1, 1e9, seed=0, of_each=True)["method"])
    cells, left_out = plan(suite, experiments=["All methods"], datasets=["wdbc"], repeats=1)
    assert not methods & {cell.method for cell in cells}
    assert "of version 0.1.0" in left_out["method AutoClassifier 0.1.0"]


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
    # A group with another number was run again, so that all numbers are those of the run.
    for name, mine in found.groupby("suite"):
        stored = pd.read_parquet(get_suite(name).stored)
        keys = ["experiment", "dataset", "setting", "method", "repeat"]
        both = mine.merge(stored, on=keys, how="left")
        np.testing.assert_allclose(both["again"].astype(float), both["score"], atol=module.SAME)


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_has_cells_to_draw(name):
    assert len(module.draw([get_suite(name)], 1, 60.0, seed=0)) == 1
