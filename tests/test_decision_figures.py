"""The figures on the page about decisions are those of the stored benchmark."""

import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def runs():
    return pd.read_csv(ROOT / "benchmarks" / "quality" / "decisions.csv")


def numbers(page, labels, position):
    """Percentages in one of the two tables, in the row of this number of labels."""
    lines = [line for line in page.splitlines() if line.startswith(f"| {labels:,} |")]
    return [float(text) for text in re.findall(r"([\d.]+)%", lines[position])]


@pytest.mark.parametrize("labels", [100, 300, 1000])
def test_the_page_states_the_stored_results(runs, labels):
    page, found = (ROOT / "docs" / "decide.md").read_text("utf-8"), runs[runs["labels"] == labels]
    covers = found.groupby("what")["covers"].mean()
    tops = [100 * covers[f"top {n}"] for n in (20, 50, 100, 200, 500)]
    assert numbers(page, labels, 0) == pytest.approx(tops, abs=0.51)
    costs = found.groupby(["what", "table"])[["value", "other"]].mean().groupby("what").sum()
    above = 100 * (costs["value"] / costs["other"] - 1)
    assert numbers(page, labels, 1) == pytest.approx([above[f"cost {r}:1"] for r in (1, 5, 20, 100)], abs=0.051)


def test_bands_of_the_cost_and_the_number_of_draws(runs):
    page = (ROOT / "docs" / "decide.md").read_text("utf-8")
    stated = re.search(r"contained the observed cost in (\d+)% of the runs", page)[1]
    assert int(stated) == round(100 * runs.loc[runs["what"].str.startswith("cost"), "covers"].mean())
    low, high = re.search(r"With 1,000 labels the cut costs (\d+) to (\d+)% more", page).groups()
    above = numbers(page, 1000, 1)[:3]
    assert [int(low), int(high)] == [round(min(above)), round(max(above))]
    assert f"--draws {runs['draw'].nunique()}`" in page
