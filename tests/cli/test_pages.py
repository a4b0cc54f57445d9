"""Every `fewlabel` line of README.md and the guide runs, page by page, on small tables of the names that pages use."""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from fewlabel.cli.main import run

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```\n(.*?)^```", re.DOTALL | re.MULTILINE)
# What a line contains, and why it does not run here.
LEFT_OUT = {
    "fewlabel label": "a server, see test_label.py",
    "fewlabel demo": "the default portfolio, see test_demo.py",
    "$BANK": "a PostgreSQL server",
}
ANSWERS = {"tumors.csv": ["malignant", "benign"], "rows.csv": ["bad", "good"], "claims.csv": ["yes", "no"]}


def lines_of(page):
    """Commands of a page, in their order, without comments."""
    text = "\n".join(BLOCK.findall(page.read_text("utf-8"))).replace("\\\n", " ")
    lines = [line.removeprefix("$ ") for line in text.splitlines()]
    commands = [line for line in lines if line.startswith("fewlabel ")]
    return [line for line in commands if not any(part in line for part in LEFT_OUT)]


PAGES = [page for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if lines_of(page)]


def make_rows(rng, n):
    """Clients: numbers, categories, an identifier, and the outcome, which follows the income."""
    income = rng.normal(40, 10, n).round(1)
    rows = pd.DataFrame({"id": rng.permutation(n) + 1000, "income": income, "age": rng.integers(18, 80, n)})
    rows["sex"] = rng.choice(["f", "m"], n)
    rows["outcome"] = np.where(income + rng.normal(0, 6, n) < 36, "bad", "good")
    return rows


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The tables that pages name, and a model of one of them."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    rows = make_rows(rng, 400)
    is_labeled = rng.random(len(rows)) < 0.3
    species = np.digitize(rows["income"], [35, 45])
    rows["species"] = np.where(is_labeled, np.array(["oak", "elm", "ash"])[species], None)
    rows["outcome"] = rows["outcome"].where(is_labeled)
    rows.to_csv(folder / "rows.csv", index=False)
    new = make_rows(rng, 100)
    new.assign(species=None).to_csv(folder / "new.csv", index=False)
    new.drop(columns="outcome").assign(species=None).to_csv(folder / "march.csv", index=False)
    new[["id", "outcome"]].rename(columns={"outcome": "label"}).to_csv(folder / "late.csv", index=False)
    claims = make_rows(rng, 300).assign(fraud=lambda rows: np.where(rows.pop("outcome") == "bad", "yes", None))
    claims.loc[claims.index % 2 == 0, "fraud"] = None  # half of the frauds are known
    claims.to_csv(folder / "claims.csv", index=False)

    (folder / "data").mkdir()
    both = make_rows(rng, 300).rename(columns={"outcome": "fraud"})
    both["fraud"] = both["fraud"].where(both.index % 4 == 0)
    both.to_parquet(folder / "data" / "1.parquet")

    data = load_breast_cancer(as_frame=True)
    tumors = data.data.iloc[:, :6].round(4)
    diagnosis = pd.Series(np.where(data.target == 1, "benign", "malignant"))
    tumors["diagnosis"] = diagnosis.where(rng.random(len(tumors)) < 0.1)
    tumors.to_csv(folder / "tumors.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        options = ["--target", "outcome", "--positive", "bad", "--drop", "species", "--out", "model"]
        assert run(["fit", "rows.csv", *options, "--method", "rankboost", "--quiet"]) == 0
        # What somebody who labels in the browser has.
        assert run(["next", "tumors.csv", "--target", "diagnosis", "--n", "6", "--out", "labels.csv"]) == 0
        answer("labels.csv", "tumors.csv")
    return folder


def answer(sheet, table):
    """Fill in the labels of a sheet, one class after the other."""
    asked = pd.read_csv(sheet)
    classes = ANSWERS[table]
    asked["label"] = [classes[k % len(classes)] for k in range(len(asked))]
    asked.to_csv(sheet, index=False)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_commands_of_a_page_run(page, tables, tmp_path, monkeypatch):
    folder = tmp_path / "here"
    shutil.copytree(tables, folder)
    monkeypatch.chdir(folder)
    for line in lines_of(page):
        command = shlex.split(line, comments=True)[1:]
        if "model.onnx" in command:
            pytest.importorskip("onnx", reason="onnx is not installed: pip install 'fewlabel[onnx]'")
        if "dask" in command:
            pytest.importorskip("dask", reason="Dask is not installed: pip install 'fewlabel[dask]'")
        if command[0] == "fit" and not {"--method", "--from"} & set(command):
            command += ["--method", "logistic-regression"]
        assert run(command) == 0, line
        if command[0] in ("audit", "next"):
            answer(command[command.index("--out") + 1], command[1])
