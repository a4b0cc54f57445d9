"""The pages: every public name is in the reference, links lead somewhere, and the code and the examples run."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import fewlabel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("methods/*.md")]
SITE = sorted({*DOCS.rglob("*.md"), ROOT / "CONTRIBUTING.md"})  # CONTRIBUTING.md is included as a page
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
REPOSITORY = "https://github.com/fewlabel/fewlabel/blob/main/"


def test_no_picture_is_older_than_its_script():
    assert runpy.run_path(str(DOCS / "pictures.py"))["find_stale"]() == []


def links(page):
    without_code = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    return LINK.findall(without_code)


def test_the_reference_names_everything_public():
    reference = (DOCS / "api.md").read_text("utf-8")
    public = set(fewlabel.__all__) - set(fewlabel._MODULES) - {"UNLABELED", "all_estimators"}
    missing = {name for name in public if not re.search(rf"fewlabel\.\w+\.{name}$", reference, re.MULTILINE)}
    assert not missing


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


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text("utf-8"))], ids=lambda p: p.name)
def test_the_code_on_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    given = {"X": X, "y": fewlabel.hide_labels(y, labeled=0.3, random_state=0)}  # what a page leaves to the reader
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
