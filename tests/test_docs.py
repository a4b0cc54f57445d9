"""The pages: every public name is in the reference, and the code on the pages runs."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import fewlabel

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [DOCS.parent / "README.md", *DOCS.glob("*.md"), *DOCS.glob("methods/*.md")]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def test_the_reference_names_everything_public():
    reference = (DOCS / "api.md").read_text()
    public = set(fewlabel.__all__) - set(fewlabel._MODULES) - {"UNLABELED", "all_estimators"}
    missing = {name for name in public if not re.search(rf"fewlabel\.\w+\.{name}$", reference, re.MULTILINE)}
    assert not missing


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", [p for p in PAGES if BLOCK.search(p.read_text())], ids=lambda p: p.name)
def test_the_code_on_a_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    given = {"X": X, "y": fewlabel.hide_labels(y, labeled=0.3, random_state=0)}  # what a page leaves to the reader
    for block in BLOCK.findall(page.read_text()):
        if "dask" in block:
            pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")
        exec(compile(block, page.name, "exec"), given)
    plt.close("all")
