"""The figures in the text of the pages on boosting are those of the stored results."""

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.harness import get_suite

DOCS = Path(__file__).parents[2] / "docs"


def text(page):
    return " ".join((DOCS / "methods" / page).read_text("utf-8").split())


def scores(suite, experiment):
    frame = pd.read_parquet(get_suite(suite).stored)
    return frame[frame["experiment"] == experiment]


def test_ssmab_beside_its_tree_and_a_forest():
    frame = scores("ssmab", "Table 5.2")
    means = frame.pivot_table(index="dataset", columns="method", values="score")
    above = {rival: int((means["SSMAB"] > means[rival]).sum()) for rival in ("tree", "random forest")}
    assert (
        f"its mean accuracy over {frame['repeat'].nunique()} splits is above that of its tree on {above['tree']} of "
        f"{len(means)} tables, and above a random forest on the labeled rows alone on {above['random forest']}."
        in text("ssmab.md")
    )


def test_no_gamma_below_1_has_a_better_mean():
    frame = scores("pnu-auc", "Gamma")
    means = frame.groupby(["setting", "method"])["score"].mean().unstack()
    assert f"over {frame['dataset'].nunique()} tables no value below 1 has a better mean" in text("boosting.md")
    assert (means.idxmax(axis=1) == "gamma 1").all()


@pytest.mark.parametrize("tables", ["Ranking", "Ranking, other tables"])
def test_corrections_of_ada_pu(tables):
    frame = scores("ada-pu", tables)
    means = frame.pivot_table(index="dataset", columns="method", values="score").mean()
    assert f"over {frame['dataset'].nunique()} tables" in text("pu_ada.md")
    assert means["Ada-PU"] > means["Ada-PU, defaults of version 0.1.0"]
    assert means["Ada-PU, no correction"] == means.filter(like="Ada-PU").max()
