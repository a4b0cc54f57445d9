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


# Numbered parts as the papers print them; the thesis is spread over four suites.
NUMBERED = {
    "pnu-auc": {"Procedure": 1, "Definition": 3, "Algorithm": 2, "Lemma": 12, "Theorem": 3, "Remark": 1}
    | {"Problem OP": 4, "Equation": 72, "Table": 3, "Figure": 2, "Definition of appendix D": 1},
    "auc-dcd": {"Algorithm": 3, "Lemma": 2, "Equation": 8, "Equation by letter": 5, "Table": 2, "Figure": 2},
    "fscrf": {"Equation 2.": 20, "Table 2.": 2, "Figure 2.": 4, "Definition 3.": 5, "Theorem 3.": 1, "Equation 3.": 9}
    | {"Figure 1.": 1, "Table 3.": 8, "Figure 3.": 3},
    "cross-training": {"Table 4.": 5, "Figure 4.": 5},
    "ssmab": {"Equation 5.": 10, "Table 5.": 3, "Figure 5.": 4},
    "paths": {"Definition 6.": 5, "Theorem 6.": 2, "Corollary 6.": 1, "Remark 6.": 1, "Equation 6.": 20}
    | {"Table 6.": 6, "Figure 6.": 7},
    "bssel": {"Equation": 8, "Theorem 1.": 1, "Algorithm 1.": 1, "Table": 3, "Figure": 3},
    "ada-pu": {"Algorithm": 4, "Definition 4.": 1, "Theorem 4.": 3, "Equation": 13, "Table": 2, "Figure": 5},
}
KINDS = "Procedure|Definition|Algorithm|Lemma|Theorem|Corollary|Remark|Problem|Equation|Table|Figure"
PART = r"(\d+|[a-z]\b)"
SPAN = re.compile(rf"({KINDS})s? (OP|\d\.)?{PART}(?: (?:to|and) (?:OP|\d\.)?{PART})?( of appendix \w)?")


def numbers_of(parts):
    """Numbers of each kind of part that a list of labels names, such as ``Tables 2.1 and 2.2, Figures 2.1 to 2.4``."""
    found = {}
    for label in parts:
        for kind, prefix, first, last, appendix in SPAN.findall(label):
            letters = "by letter" if first.isalpha() else ""
            name = " ".join(filter(None, [kind, prefix, letters, appendix.strip()]))
            found.setdefault(name, set()).update(range(place_of(first), place_of(last or first) + 1))
    return found


def place_of(text):
    """The number that a text is, or the place of a letter in the alphabet."""
    return int(text) if text.isdigit() else ord(text) - ord("a") + 1


def test_labels_of_parts_are_read():
    found = numbers_of(["Tables 2.1 and 2.2, Figures 2.1 to 2.4", "Problems OP1 to OP3", "Equation 7"])
    assert found == {"Table 2.": {1, 2}, "Figure 2.": {1, 2, 3, 4}, "Problem OP": {1, 2, 3}, "Equation": {7}}
    found = numbers_of(["Equations a to c", "Definition 1 of appendix D, a hull", "Definition 2"])
    assert found == {"Equation by letter": {1, 2, 3}, "Definition of appendix D": {1}, "Definition": {2}}


@pytest.mark.parametrize("name", NUMBERED)
def test_no_numbered_part_is_left_out(name):
    parts = get_suite(name).published["paper"]["parts"]
    printed = {kind: set(range(1, last + 1)) for kind, last in NUMBERED[name].items()}
    assert numbers_of(parts) == printed
    # Every entry counts: a list without it is not complete.
    for part in parts:
        assert numbers_of([other for other in parts if other != part]) != printed, part
