"""The files of `fewlabel fit` agree on twelve tables; skipped where these are not on the machine."""

import pytest

from benchmarks.quality.agreement import CASES, check
from fewlabel.auto import curves
from fewlabel.datasets import list_datasets


@pytest.mark.parametrize("case", CASES)
def test_no_two_figures_disagree(case, tmp_path, monkeypatch):
    name = CASES[case][0]
    if list_datasets()["where"][name] in ("", "OpenML"):
        pytest.skip(f"{name} is not on this machine")
    monkeypatch.setattr(curves, "_SHARES", (0.45, 1.0))  # two points are a curve too
    assert check(case, tmp_path / "case", "logistic-regression") == []
