"""Claims of the results pages are held against the results."""

import pytest

from bench.test_pages import results
from bench.toy import CURVES
from benchmarks.harness.pages import Page


@pytest.fixture
def page():
    experiment = CURVES.experiments[0]
    return Page(CURVES, results(experiment, {"mean": {"made": [0.7, 0.9]}, "other": {"made": [0.5]}}, "10%"))


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('t.score("mean") > t.score("other")', True),
        ('t.score("mean") < t.score("other", "made")', False),
        ('t.difference("mean", "other", "made") > 0.1', True),
        ('t.score("mean", "made") > t.published_score("mean", "made")', True),
        ('t.score("absent") > 0', False),  # a number that is not there supports nothing
        ('t.score("absent") <= 0', False),
    ],
)
def test_a_claim_is_printed_only_if_it_holds(page, condition, holds, monkeypatch):
    claim = f"{{% call claim({condition}) %}}A claim.{{% endcall %}}"
    text = f'{{% set t = table("Table 1", "10%") %}}\n{claim}\n\nThe rest.'
    monkeypatch.setattr(type(page.suite), "text", text)
    written = page.render({}, {})
    assert ("\nA claim." in written) == holds
    assert ("Not supported by these results, and left out: A claim." in written) != holds
    assert "The rest." in written


def test_a_sentence_keeps_the_end_of_its_line(page, monkeypatch):
    claim = '{% call claim(table("Table 1", "10%").score("mean") > 0) %}One.{% endcall %}'
    monkeypatch.setattr(type(page.suite), "text", f"{claim}\n{claim}\n\nThe rest.")
    assert "One.\nOne.\n\nThe rest." in page.render({}, {})


def test_only_parts_of_the_paper_are_cited(page):
    with pytest.raises((ValueError, KeyError)):
        page.cited("Table 99", lambda: "x")
