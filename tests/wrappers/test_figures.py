"""The figures in the text of cross-training.md are those of the stored results."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.harness import get_suite

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def frame():
    return pd.read_parquet(get_suite("cross-training").stored)


@pytest.fixture(scope="module")
def gaps(frame):
    """Mean accuracy of each method less that of the labels alone, by experiment and setting."""
    means = frame.pivot_table(index=["experiment", "setting"], columns="method", values="score")
    return means.sub(means["labels only"], axis=0)


def test_text_of_the_page(gaps, frame):
    text = " ".join((DOCS / "methods" / "cross-training.md").read_text("utf-8").split())
    assert f"{frame['repeat'].nunique()} splits of {frame['dataset'].nunique()} tables" in text
    trees = gaps.loc["Tables 4.4 and 4.5"]
    unguarded = gaps[["NC-T", "ICT", "Co-T", "Se-T", "tri-training"]]
    assert "it can cost 6 points: the network, 20% of the labels" in text
    assert unguarded.min(axis=1).idxmin() == ("Tables 4.2 and 4.3", "20% labeled")
    assert round(unguarded.min().min()) == -6
    assert "within 0.2 points of the black line in all eight tables" in text
    assert gaps["NC-T, guard"].abs().max() < 0.2
    assert "costs a tree 2 to 6 points" in text
    assert [round(-trees["Co-T"].max()), round(-trees["Co-T"].min())] == [2, 6]
    for method, words in (("tri-training", "above the line for trees"), ("vote of 3", "that saw no unlabeled row")):
        gains = trees[method]
        assert f"{words} by {gains.min():.1f} to {gains.max():.1f}" in text
