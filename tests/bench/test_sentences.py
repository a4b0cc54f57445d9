"""Sentences of the results pages: none that compares numbers is mere text, and claims are held against the results."""

import re

import pytest

from bench.test_pages import results
from bench.toy import CURVES
from benchmarks.harness import SUITES, get_suite
from benchmarks.harness.pages import Page

CALL = re.compile(r"\{%-?\s*call (?:claim|cited)\(.*?\{%-?\s*endcall\s*-?%\}", re.DOTALL)
EXPRESSION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
COMPARES = re.compile(
    r"\b(better|worse|best|worst|more|less|fewer|higher|lower|larger|smaller|faster|slower|ahead|behind|leads?|trails?"
    r"|beats?|outperforms?|than|gains?|loses?|helps?|harms?|alike|close|improves?|below|above|largest|smallest|most"
    r"|least|hardly|little)\b",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w=.,])\d*\.\d+|\d%|\d points?\b")
SCORE = re.compile(r"(?<![\w=])0?\.\d{2,}")


def mere_text(text):
    """Sentences that compare, or print a result, without taking it from the results.

    The protocol has no results. In the section on differences, where words like "more than 255 values" describe
    settings, a sentence counts if it has a number too.
    """
    text = re.sub(r"\{%(?!-?\s*(?:end)?call).*?%\}|`[^`]*`", "", CALL.sub("", text), flags=re.DOTALL)
    section = ""
    for block in re.split(r"\n\s*\n|\n(?=- )", text):
        line = " ".join(block.split())
        if line.startswith("## "):
            section = line[3:]
            continue
        for sentence in re.split(r"(?<=[.;:])\s+(?=[A-Z{(])", line):
            plain = EXPRESSION.sub("", sentence)
            compares, number = COMPARES.search(plain), NUMBER.search(plain)
            if section == "Protocol":
                continue
            if section.startswith("Differences"):
                wrong = compares and number
            elif "{{" in sentence:
                wrong = SCORE.search(plain)
            else:
                wrong = compares or number
            if wrong:
                yield sentence


@pytest.mark.parametrize("name", SUITES)
def test_no_sentence_compares_numbers_by_itself(name):
    assert list(mere_text(get_suite(name).text)) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "A is better than B.",
        "A has .978 here.",
        'A has {{ t.mean("A") }} and B .978.',
        "## Differences from the paper\n\n- A is worse by 6.8 points.",
    ],
)
def test_such_a_sentence_is_found(sentence):
    assert list(mere_text(sentence))


@pytest.mark.parametrize(
    "sentence",
    [
        'A is better on {{ t.wins("A", "B") }} sets.',
        "{% call claim(t.score('A') > t.score('B')) %}A is better than B.{% endcall %}",
        '{% call cited("Table 2") %}A is better than B.{% endcall %}',
        "## Protocol\n\nMore than 20% of the rows.",
        "## Differences from the paper\n\n- More than one layer.",
    ],
)
def test_other_sentences_are_not(sentence):
    assert not list(mere_text(sentence))


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


@pytest.mark.parametrize("name", SUITES)
def test_no_claim_is_always_true(name):
    """A condition names the results."""
    conditions = re.findall(r"call claim\((.*?)\)\s*-?%\}", get_suite(name).text, re.DOTALL)
    results = r"\.(score|best|difference|better_on|ceiling|value)\(|chosen|significant"
    assert all(re.search(results, condition) for condition in conditions)
