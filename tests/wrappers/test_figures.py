"""The figures in the text of cross-training.md are those of the stored results."""

from pathlib import Path

import pandas as pd
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def gaps():
    """Mean accuracy of each method less that of the labels alone, by experiment and setting."""
    frame = pd.read_parquet(DOCS / "results" / "cross-training" / "results.parquet")
    means = frame.pivot_table(index=["experiment", "setting"], columns="method", values="score")
    return means.sub(means["labels only"], axis=0)


def test_text_of_the_page(gaps):
    text = " ".join((DOCS / "methods" / "cross-training.md").read_text("utf-8").split())
    trees = gaps.loc["Tables 4.4 and 4.5"]
    unguarded = gaps[["NC-T", "ICT", "Co-T", "Se-T", "tri-training"]]
    assert "it can cost 7 points: the network, 20% of the labels" in text
    assert unguarded.min(axis=1).idxmin() == ("Tables 4.2 and 4.3", "20% labeled")
    assert round(unguarded.min().min()) == -7
    guard = gaps["NC-T, guard"].sort_values()
    assert "within 0.1 points of the black line in seven of the eight tables, and 0.2 below it in one" in text
    assert round(guard.iloc[0], 1) == -0.2
    assert guard.iloc[1:].abs().max() < 0.1
    assert "costs a tree 2 to 6 points" in text
    assert [round(-trees["Co-T"].max()), round(-trees["Co-T"].min())] == [2, 6]
    assert "above the line for trees by 0.6 to 1.0 points" in text
    assert [round(x, 1) for x in (trees["tri-training"].min(), trees["tri-training"].max())] == [0.6, 1.0]
    vote = trees["vote of 3"]
    assert "0.7 below it with 20% of the labels, and 0.6 to 1.0 above with more" in text
    assert [round(x, 1) for x in (vote["20% labeled"], *sorted(vote.drop("20% labeled"))[::2])] == [-0.7, 0.6, 1.0]
