"""The public names: lazy, complete, and available without optional packages."""

import importlib
import inspect
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from sklearn.utils.validation import has_fit_parameter

import fewlabel

HIDE = """
import sys, importlib.abc

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_star_import_works_without_optional_packages():
    hidden = ("dask", "distributed", "torch", "xgboost", "lightgbm", "catboost", "pynndescent", "polars")
    done = run(HIDE.format(hidden=hidden) + "from fewlabel import *\nprint(TableEncoder.__name__, 'dask' in globals())")
    assert done.stderr == ""
    assert done.stdout == "TableEncoder False\n"


def test_dask_says_what_to_install():
    done = run(HIDE.format(hidden=("dask",)) + "import fewlabel\nfewlabel.dask")
    assert "pip install 'fewlabel[dask]'" in done.stderr


def test_names_are_imported_on_first_use():
    done = run("import sys, fewlabel; print(sorted(m for m in ('numpy', 'numba', 'sklearn') if m in sys.modules))")
    assert done.stdout == "[]\n"


def test_every_public_name_exists_and_functions_are_no_classes():
    assert len(set(fewlabel.__all__)) == len(fewlabel.__all__)
    for name in fewlabel.__all__:
        assert name in dir(fewlabel)
        assert getattr(fewlabel, name) is not None
    assert not [name for name in fewlabel._FUNCTIONS if isinstance(getattr(fewlabel, name), type)]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = fewlabel.nothing


DOCS = Path(__file__).parents[1] / "docs"
IS_DOCUMENTED = re.findall(r"^   (fewlabel\.\S+)$", (DOCS / "api.md").read_text("utf-8"), re.MULTILINE)


def test_every_public_name_has_a_place_on_the_api_page_and_can_be_imported_from_there():
    for place in IS_DOCUMENTED:
        module, _, name = place.rpartition(".")
        home = importlib.import_module(module)
        assert name in getattr(home, "__all__", dir(home)), place
        # Those of Dask take other rows.
        if name in fewlabel._HOME and module != "fewlabel.dask":
            assert getattr(fewlabel, name) is getattr(home, name)
    names = {place.rpartition(".")[2] for place in IS_DOCUMENTED}
    assert set(fewlabel._HOME) <= names
    modules = {place.split(".")[1] for place in IS_DOCUMENTED}
    assert modules <= {*fewlabel._MODULES, *fewlabel._EXTRAS}


def test_a_parameter_with_several_defaults_is_explained_on_its_page():
    """The table has each default, and the names of those that have it; "others" are all that it does not name."""
    defaults = defaultdict(dict)
    for owner in fewlabel._HOME:
        for parameter in inspect.signature(getattr(fewlabel, owner)).parameters.values():
            if parameter.default is not inspect.Parameter.empty:
                defaults[parameter.name][owner] = repr(parameter.default)
    page = (DOCS / "parameters.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == sorted(name for name in defaults if len(set(defaults[name].values())) > 1)
    for name, cell in rows:
        stated = {}
        others = None
        for default, owners in re.findall(r"`([^`]+)` ([^;]+)", cell):
            if owners.strip() == "others":
                others = default
            else:
                stated |= dict.fromkeys(owners.strip().split(", "), default)
        unnamed = [owner for owner in defaults[name] if owner not in stated]
        assert (others is None) == (not unnamed), (name, unnamed)
        assert stated | dict.fromkeys(unnamed, others) == defaults[name]


def test_boosters_stop_by_held_out_rows_of_both_classes_or_by_the_risk():
    """Those of many classes end by themselves, when a base classifier is no better than chance."""
    of_many_classes = {"AssembleClassifier", "SemiSupervisedAdaBoostClassifier"}
    for name, module in fewlabel.ESTIMATORS.items():
        if module == "fewlabel.boosting" and name not in of_many_classes:
            parameters = getattr(fewlabel, name)().get_params()
            assert ("early_stopping" in parameters) + ("stop_risk" in parameters) == 1, name


def test_an_objective_that_is_a_sum_over_rows_takes_weights():
    """The others repeat a base classifier, look for paths, or transform columns."""
    without = {name for name, cls in fewlabel.all_estimators() if not has_fit_parameter(cls, "sample_weight")}
    wrappers = {"CoTrainingClassifier", "CrossTrainingClassifier", "TriTrainingClassifier"}
    of_columns = {"TableEncoder", "VariableClusterer", *(name for name in fewlabel.ESTIMATORS if "Selector" in name)}
    assert without == {*wrappers, "PathNeighborsClassifier", *of_columns}
