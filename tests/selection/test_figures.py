"""The figures in the text of selection.md are those of the stored results."""

from pathlib import Path

import pandas as pd

from benchmarks.harness import get_suite

DOCS = Path(__file__).parents[2] / "docs"


def test_means_over_the_tables_of_the_thesis():
    text = " ".join((DOCS / "methods" / "selection.md").read_text("utf-8").split())
    frame = pd.read_parquet(get_suite("fscrf").stored)
    inside = frame[frame["setting"] == "columns selected on the training rows"]
    means = inside.groupby(["experiment", "method", "dataset"])["score"].mean().groupby(["experiment", "method"]).mean()
    bayes, tree = ([f"{means[table, m]:.1f}" for m in ("all", "CFS", "FSCRF")] for table in ("Table 3.3", "Table 3.4"))
    assert (
        f"naive Bayes has {bayes[0]}% with all columns on average, {bayes[1]} with CFS, {bayes[2]} with FSCRF" in text
    )
    assert f"a pruned tree {tree[0]}, {tree[1]} and {tree[2]}" in text
