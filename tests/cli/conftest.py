import pytest

from fewlabel.auto import curves


@pytest.fixture(autouse=True)
def _curves_of_two_points(monkeypatch):
    """The learning curve of a report is most of the time of a fit with one quick method; two points are a curve too."""
    monkeypatch.setattr(curves, "_SHARES", (0.45, 1.0))
