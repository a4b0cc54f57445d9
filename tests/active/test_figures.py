"""The figures on the page about labeling are those of the stored benchmark."""

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


def test_the_page_states_the_stored_results():
    cells = pd.read_csv(ROOT / "benchmarks" / "quality" / "active.csv")
    areas = cells.pivot_table(index="table", columns="strategy", values="area")
    assert areas.shape == (20, 4)
    assert cells["seed"].nunique() == 10
    page = (ROOT / "docs" / "label.md").read_text("utf-8")

    def numbers(row):
        line = next(line for line in page.splitlines() if line.startswith(f"| {row} "))
        return [float(text) for text in re.findall(r"(?<!± )(?<![\d.])(\.?\d[\d.]*)", line.replace("of 20", ""))]

    others = ["random", "margin", "coreset"]
    assert numbers("mean AUC") == pytest.approx(areas[["batch", *others]].mean().tolist(), abs=0.0005)
    better = areas[others].rsub(areas["batch"], axis=0)
    assert numbers("`BatchQuery` is higher by") == pytest.approx(better.mean().tolist(), abs=0.0006)
    assert numbers("on tables") == (better > 0).sum().tolist()


def test_the_tables_that_the_page_names_differ_as_it_says():
    cells = pd.read_csv(ROOT / "benchmarks" / "quality" / "active.csv")
    areas = cells.pivot_table(index="table", columns="strategy", values="area")
    gain = areas["batch"] - areas["random"]
    assert set(gain.nlargest(3).index) == {"soybean", "car", "sick"}
    assert gain.nlargest(3).between(0.025, 0.065).all()
    assert gain[["ring", "pima"]].round(3).tolist() == [-0.015, -0.010]
    gain = areas["batch"] - areas["coreset"]
    assert gain[["anneal", "tic-tac-toe"]].between(-0.04, -0.03).all()
    assert gain[["splice", "sick"]].between(0.075, 0.086).all()
