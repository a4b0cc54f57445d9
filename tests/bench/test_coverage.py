"""The list of what of each paper is there, differs or is missing."""

import re
from importlib import import_module
from operator import attrgetter

import pandas as pd
import pytest

from bench.test_pages import results
from benchmarks.harness import SUITES, Suite, get_suite, read_stored
from benchmarks.harness.coverage import coverage


def suite_with(parts):
    suite = Suite("toy", "Toy", (get_suite("paths")["Tables 6.2 to 6.6"],))
    vars(suite)["published"] = {"paper": {"reference": "A. B. C.", "parts": parts}}
    return suite


TABLES = {f"Table 6.{k}": {} for k in range(2, 7)}


@pytest.fixture
def frame():
    experiment = get_suite("paths")["Tables 6.2 to 6.6"]
    scores = {"NMSNN": {"ssl-USPS": [1.0] * 10, "ssl-COIL": [4.0]}}
    return results(experiment, scores, "10 labeled rows")


def test_cells_and_repeats_that_are_lacking_are_named(frame):
    found = coverage(suite_with(TABLES), frame).loc["Table 6.2"]
    assert found["status"] == "differs"
    assert "cells were not run" in found["reason"]
    assert "Fewer repeats than published on ssl-COIL." in found["reason"]
    assert found["repeats"] == "1 to 10 / 10"


def test_other_parts_are_there_or_missing_with_a_reason(frame):
    more = {"Theorem 1": {"test": "tests/x.py::y"}, "Figure 6.6": {"missing": "a sketch"}}
    found = coverage(suite_with({**TABLES, **more}), frame)
    assert found.loc["Theorem 1", "status"] == "there"
    assert found.loc["Figure 6.6", ["status", "reason"]].tolist() == ["missing", "a sketch"]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({**TABLES, "Table 7": {}}, "Table 7 has no experiment"),
        ({**TABLES, "Table 6.2": {"missing": "no time"}}, "listed as missing, but is here"),
        ({}, "covers Table 6.2, which"),
        ({**TABLES, "Table 6.2": {"reason": "x"}}, "'reason' is not one of"),
    ],
)
def test_a_part_without_results_or_reason_is_an_error(parts, message, frame):
    with pytest.raises(ValueError, match=message):
        coverage(suite_with(parts), frame)


@pytest.mark.parametrize("name", [n for n in SUITES if get_suite(n).published.get("paper")])
def test_what_a_list_names_exists(name, pytestconfig):
    root = pytestconfig.rootpath
    suite = get_suite(name)
    for part, entry in suite.published["paper"]["parts"].items():
        if "test" in entry:
            path, test = entry["test"].split("::")
            assert re.search(rf"^def {test}\(", (root / path).read_text("utf-8"), re.MULTILINE), part
        if "page" in entry:
            assert (root / "docs" / entry["page"].split("#")[0]).exists(), part
        if "code" in entry:
            package, names = entry["code"].split(".", 1)
            assert attrgetter(names)(import_module(package)), part
        for test in re.findall(r"\btest_\w+", entry.get("differs", "")):
            assert test in (root / entry["test"].split("::")[0]).read_text("utf-8"), part


@pytest.mark.parametrize("name", [n for n in SUITES if get_suite(n).published.get("paper")])
def test_every_part_that_differs_says_how(name):
    found = coverage(get_suite(name), read_stored(get_suite(name))[0])
    assert isinstance(found, pd.DataFrame)
    assert set(found["status"]) <= {"there", "differs", "missing"}
    assert (found.loc[found["status"] != "there", "reason"] != "").all()
