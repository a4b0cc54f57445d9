"""The pages: every public name is in the reference, links lead somewhere, and the code and the examples run."""

import importlib
import re
import runpy
import sys
import types
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import fewlabel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("methods/*.md")]
SITE = sorted({*DOCS.rglob("*.md"), ROOT / "CONTRIBUTING.md"})  # CONTRIBUTING.md is included as a page
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAME = re.compile(r"`(fewlabel(?:\.[a-z_]+)?\.\w+)(?:\([^`]*)?`")  # `fewlabel.tables.compare(...)` in a text
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
SOURCE_FILE = re.compile(r"(?<![\w/.<-])((?:[\w-]+/)*\w+\.(?:py|toml))(?!\w)")  # in a text: auto/members.py
FOLDER = re.compile(r"(?<![\w/.<>-])((?:[a-z_]+/)+)(?![\w<])")  # in a text: kernels/
# Modules and what the reference explains in a sentence.
NOT_LISTED = ("UNLABELED", "all_estimators", "bench", "dask", "monitor", "report")
REPOSITORY = "https://github.com/fewlabel/fewlabel/blob/main/"


def test_no_picture_is_older_than_its_script():
    assert runpy.run_path(str(DOCS / "pictures.py"))["find_stale"]() == []


def links(page):
    without_code = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    return LINK.findall(without_code)


def test_the_reference_names_everything_public():
    reference = (DOCS / "api.md").read_text("utf-8")
    public = set(fewlabel.__all__) - set(fewlabel._MODULES) - set(NOT_LISTED)
    missing = {name for name in public if not re.search(rf"fewlabel\.\w+\.{name}$", reference, re.MULTILINE)}
    assert not missing


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_names_on_a_page_are_importable_and_in_the_reference(page):
    reference = (DOCS / "api.md").read_text("utf-8")
    for full in NAME.findall(page.read_text("utf-8")):
        module, _, name = full.rpartition(".")
        if module == "fewlabel" and (name in fewlabel._MODULES or name in NOT_LISTED):
            continue
        assert hasattr(importlib.import_module(module), name), full
        assert re.search(rf"^   fewlabel\.\w+\.{name}$", reference, re.MULTILINE), f"docs/api.md does not list {full}"


@pytest.mark.parametrize("page", SITE, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_no_link_leaves_the_site(page):
    folder = DOCS if page.parent == ROOT else page.parent
    for link in links(page):
        if "://" in link or link.startswith("gallery/"):  # the gallery is made when the site is built
            continue
        target = (folder / link).resolve()
        assert target.is_relative_to(DOCS), f"{link} leaves the site: link to {REPOSITORY}..."
        assert target.exists(), f"{link} does not exist"


@pytest.mark.parametrize("page", [*SITE, *ROOT.glob("*.md")], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_into_the_repository_lead_to_files(page):
    for link in links(page):
        if link.startswith(REPOSITORY):
            assert (ROOT / link.removeprefix(REPOSITORY)).exists(), link
        elif page.parent == ROOT and "://" not in link:
            assert (ROOT / link).exists(), link


def repository_files():
    """Every file of the project as "/folder/name", by which the end of a path can be looked up."""
    found = [path for path in ROOT.iterdir() if path.is_file()]
    for folder in ("src", "tests", "benchmarks", "docs", "examples", "requirements"):
        found += [ROOT / folder, *(ROOT / folder).rglob("*")]
    return [f"/{path.relative_to(ROOT).as_posix()}" for path in found]


@pytest.mark.parametrize("page", [*SITE, ROOT / "README.md"], ids=lambda p: p.relative_to(ROOT).as_posix())
def test_files_that_a_page_names_are_there(page):
    files = repository_files()
    text = page.read_text("utf-8")
    named = set(SOURCE_FILE.findall(text))
    if page.name == "CONTRIBUTING.md":
        named |= {folder.rstrip("/") for folder in FOLDER.findall(text)}
        assert {"boosting/_pnu_auc.py", "tests/golden/models.py", "src/fewlabel", "kernels"} <= named
    missing = {path for path in named if not any(file.endswith(f"/{path}") for file in files)}
    assert not missing, f"{page.name} names files that are gone: {sorted(missing)}"


def stand_in_for_mlflow():
    """The part of MLflow that docs/production.md uses: a model is loaded and predicts, as in its server."""
    module = types.ModuleType("mlflow")

    def log_model(*, name, python_model, artifacts, pip_requirements):
        python_model.load_context(types.SimpleNamespace(artifacts=artifacts))
        rows = pd.DataFrame({"age": [41.0, None], "purpose": ["car", None]})
        assert len(python_model.predict(None, rows)) == 2

    module.pyfunc = types.SimpleNamespace(PythonModel=object, log_model=log_model)
    return module


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text("utf-8"))], ids=lambda p: p.name)
def test_the_code_on_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    given = {"X": X, "y": fewlabel.hide_labels(y, labeled=0.3, random_state=0)}  # what a page leaves to the reader
    if "mlflow" in page.read_text("utf-8"):
        monkeypatch.setitem(sys.modules, "mlflow", stand_in_for_mlflow())
        rows = pd.DataFrame({"age": [41.0, 23.0, 35.0, 67.0] * 10, "purpose": ["car", "trip", None, "car"] * 10})
        model = fewlabel.TableClassifier(fewlabel.PNUAUCBoostClassifier(random_state=0))
        Path("model").mkdir()
        fewlabel.save(model.fit(rows, ["good", "bad"] * 20), "model/model.fewlabel")
    for block in BLOCK.findall(page.read_text("utf-8")):
        for package, extra in (("dask", "dask"), ("onnxruntime", "onnx")):
            if package in block:
                pytest.importorskip(package, reason=f"{package} is not installed: pip install 'fewlabel[{extra}]'")
        exec(compile(block, page.name, "exec"), given)
    plt.close("all")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs(example, monkeypatch, tmp_path):
    if "dask" in example.read_text("utf-8"):
        pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FEWLABEL_DATA", raising=False)
    monkeypatch.setattr(plt, "show", lambda: None)
    runpy.run_path(str(example))
    plt.close("all")
