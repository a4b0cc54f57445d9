"""The public names: lazy, complete, and available without optional packages."""

import subprocess
import sys

import pytest

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
