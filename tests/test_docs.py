"""The pages: every public name is in the reference, links lead somewhere, and the code and the examples run."""

import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from scipy.stats import wilcoxon

import fewlabel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("methods/*.md")]
SITE = sorted({*DOCS.rglob("*.md"), ROOT / "CONTRIBUTING.md"})  # CONTRIBUTING.md is included as a page
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s#]+)(?:#[^)]*)?\)")
REPOSITORY = "https://github.com/fewlabel/fewlabel/blob/main/"


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
        if "dask" in block:
            pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")
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


def test_the_figures_of_auto_are_those_of_its_cells():
    page = (DOCS / "methods" / "auto.md").read_text("utf-8")
    cells = pd.read_csv(ROOT / "benchmarks" / "quality" / "experience.csv")
    aucs = cells.drop(columns=["table", "share", "draw", "CatBoost (defaults)"])
    columns = [*aucs.groupby(cells["share"]).mean().to_numpy(), aucs.mean().to_numpy()]
    ranks = aucs.rank(axis=1, ascending=False).mean()
    found = 0
    first_table = page[: page.index("## How it chooses")]
    for k, name in enumerate(aucs):
        row = re.search(rf"^\| {re.escape(name)} \| (.*) \|$", first_table, re.MULTILINE)
        if row:
            found += 1
            shown = row[1].replace("*", "").split(" | ")
            assert shown == [*(f"{c[k]:.4f}"[1:] for c in columns), f"{ranks[name]:.1f}"]
    assert found == 12
    tables = aucs.groupby(cells["table"]).mean()
    below = tables["AutoClassifier"] - tables.drop(columns="AutoClassifier").max(axis=1)
    assert f"on {(below < -0.02).sum()} it is more than .02 below" in page
    assert f"{len(cells)} cells of {len(tables)} tables" in page
    for other, text in (
        ("tree AUC boosting + components", "the best single method, in {}"),
        ("extra trees + components", "than extra trees + components in {}"),
        ("CatBoost", "than CatBoost in {}"),
        ("CatBoost + components", "than CatBoost + components in {}"),
    ):
        assert text.format(f"{(aucs['AutoClassifier'] > aucs[other]).mean():.0%}") in page
        assert wilcoxon(tables["AutoClassifier"], tables[other]).pvalue < (0.0055 if "tree" in other else 0.001)
    assert aucs.drop(columns="AutoClassifier").mean().idxmax() == "tree AUC boosting + components"
    both = cells.dropna()
    shown = [f"{both[name].mean():.4f}"[1:] for name in ("CatBoost (defaults)", "CatBoost", "AutoClassifier")]
    expected = "on {} of\nthe cells: {} there, the member {}, AutoClassifier {}."
    assert expected.format(len(both), *shown) in page


def test_the_table_of_the_readme_is_that_of_the_results():
    text = (ROOT / "README.md").read_text("utf-8")
    cells = pd.read_parquet(ROOT / "benchmarks/quality/few_labels/results.parquet").query("experiment == 'All methods'")
    header = re.search(r"^\| labels \| (.*) \|$", text, re.MULTILINE)[1].split(" | ")
    by_draw = cells.pivot_table(index=["setting", "dataset", "repeat"], columns="method", values="score")[
        header
    ].dropna()
    means = by_draw.groupby(["setting", "dataset"]).mean()
    for percent in (1, 5, 15):
        shown = re.search(rf"^\| {percent}%[^|]*\| (.*) \|$", text, re.MULTILINE)[1].replace("*", "").split(" | ")
        scores = means.loc[f"{percent}% labeled"].mean()
        assert shown == [f"{score:.3f}"[1:] for score in scores]
        assert scores.idxmax() == "AutoClassifier"
    left_out = cells.query("method == 'AutoClassifier, table left out'").groupby("setting")["score"].mean()
    shown = [f"{left_out[f'{percent}% labeled']:.3f}"[1:] for percent in (1, 5, 15)]
    assert "with each left out it has {}, {} and {}".format(*shown) in text
    more = means.loc["15% labeled"]["AutoClassifier"] - means.loc["15% labeled"]["CatBoost"]
    assert abs(more.mean()) < 2 * more.sem()  # level
    n_tables, draws = len(means.loc["15% labeled"]), by_draw.index.get_level_values("repeat").nunique()
    assert f"over {n_tables} real tables of our own suite, {draws} draw" in text
