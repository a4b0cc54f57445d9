"""Columns that separate the classes by themselves."""

import numpy as np
import pandas as pd
import pytest

from fewlabel import TableClassifier, TableEncoder, check
from fewlabel.tables import TOO_FEW_FOR_LEAKS, enough_for_leaks, suspected_leaks
from fewlabel.tables.leaks import _log_chance_to_separate


def leaks(table, codes):
    encoder = TableEncoder(random_state=0)
    return list(suspected_leaks(encoder.fit_transform(table), codes, encoder.sources_))


def make_table(y):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "noise": rng.normal(size=len(y)),
            "number": y + rng.random(len(y)) / 2,
            "flag": np.where(y == 1, "b", "a"),
            "category": np.where(y == 1, "b", rng.choice(["a", "c"], len(y))),
            "mixed": rng.choice(["a", "b", "c"], len(y)),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(100 * y + rng.integers(0, 50, len(y)), unit="D"),
        }
    )


def test_columns_that_separate_the_classes_are_reported():
    y = np.repeat([0, 1, -1], 20)
    assert leaks(make_table(y), y) == ["number", "flag", "category", "when"]


def test_three_classes():
    y = np.repeat([0, 1, 2], 10)
    table = make_table(y)
    table["code"] = np.array(["x", "y", "z"])[y]
    found = leaks(table, y)
    assert {"number", "code"} <= set(found)
    assert not {"noise", "mixed", "flag"} & set(found)


@pytest.mark.parametrize("counts", [(7, 7), (7, 60), (10, 10), (10, 100), (20, 20), (40, 40)])
def test_a_good_column_seldom_separates_enough_labels(counts):
    """The formula of the chance, beside draws of a column with an AUC of .9: F is uniform, F^9 the other class."""
    rng = np.random.default_rng(0)
    n_draws = 20_000
    chances = []
    for low, high in (counts, counts[::-1]):
        below = rng.random((n_draws, low))
        above = rng.random((n_draws, high)) ** (1 / 9.0)
        chances.append(np.mean(below.max(axis=1) < above.min(axis=1)))
    chance = max(chances)
    assert np.exp(_log_chance_to_separate(*counts)) == pytest.approx(chance, abs=0.005, rel=0.1)
    y = np.repeat([0, 1], counts)
    assert enough_for_leaks(y) == (chance <= 0.01)


@pytest.mark.parametrize(("counts", "is_enough"), [((10, 10), False), ((20, 20), True)])
def test_a_leak_in_few_labels_is_named_with_a_word_of_caution(counts, is_enough):
    y = pd.Series(np.repeat(["no", "yes"], counts))
    table = pd.DataFrame({"late": (y == "yes") + 1.5, "x": np.arange(len(y)) % 3})
    notes = check(table, y).notes
    assert any("'late'" in note for note in notes)
    assert (TOO_FEW_FOR_LEAKS in notes) != is_enough


def test_few_labels_or_one_class_prove_nothing():
    y = np.repeat([0, 1, -1], 20)
    table = make_table(y)
    few = np.where(np.isin(np.arange(60), [0, 1, 20, 21]), y, -1)
    assert leaks(table, few) == []
    assert leaks(table, np.full(60, -1)) == []


def test_positives_against_unlabeled_rows():
    y = np.repeat([0, 1, 0], 20)
    table = make_table(y)
    assert leaks(table, np.where(y == 1, 1, -1)) == ["number", "flag", "category", "when"]
    refund = np.where((y == 1)[:, None], np.arange(60.0)[:, None], np.nan)
    found = suspected_leaks(refund, np.where(y == 1, 1, -1), ["refund"])
    assert found == {"refund": "is filled for labeled rows only"}


@pytest.mark.parametrize("n_labels", [100, 400])
def test_a_column_that_agrees_with_99_percent_of_the_labels(n_labels):
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, n_labels)
        legitimate = y[:, None] + rng.normal(size=(n_labels, 5))
        verdict = np.where(rng.random(n_labels) < 0.01, 1 - y, y)
        names = suspected_leaks(np.column_stack([legitimate, verdict]), y, [*"abcde", "verdict"])
        assert set(names) <= {"verdict"}
        found += "verdict" in names
    assert found >= 18


def test_several_good_columns_explain_each_other():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    good = 5 * y[:, None] + [1.7, 2.0, 2.2] * rng.normal(size=(400, 3))
    assert suspected_leaks(good, y, ["radius", "area", "perimeter"]) == {}
    assert list(suspected_leaks(np.c_[good[:, 0], rng.normal(size=400)], y, ["radius", "noise"])) == ["radius"]


def test_a_category_per_row_separates_by_chance():
    y = np.repeat([0, 1], 20)
    codes = np.eye(40)  # 40 categories of one row each
    assert suspected_leaks(codes, y, ["city"] * 40) == {}


def test_a_missing_value_does_not_hide_a_leak():
    y = np.repeat([0, 1], 20)
    column = np.where(np.arange(40) == 33, np.nan, 1.0 * y)
    found = suspected_leaks(column[:, None], y, ["a"])
    assert found == {"a": "alone nearly separates the classes (AUC 1.000)"}


def written_leaks():
    """Columns that say the class in words, by a day, by gaps, and for one class among three."""
    rng = np.random.default_rng(0)
    y = np.repeat(["fraud", "error", "fine"], 40)
    words = {"fraud": "it was a fraud indeed", "error": "somebody made an error", "fine": "nothing was found"}
    table = pd.DataFrame(
        {
            "note": [f"{words[name]} in case {k}" for k, name in enumerate(y)],
            "closed": [f"2024-{1 + 4 * (name == 'fraud'):02}-{k % 28 + 1:02}" for k, name in enumerate(y)],
            "amount": (y == "fraud") + rng.random(120) / 2,
            "refund": np.where(y == "fraud", 1.0 * np.arange(120), np.nan),
            "noise": rng.normal(size=120),
        }
    )
    return table, pd.Series(y)


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("labels", ["three classes", "one of three", "two classes", "positives only", "few"])
def test_a_check_and_a_fit_suspect_the_same_columns(labels, as_array):
    table, y = written_leaks()
    positive = None if labels == "three classes" else "fraud"
    if labels == "two classes":
        y = y.mask(y == "error")
    elif labels == "positives only":
        y = y.where(y == "fraud")
    elif labels == "few":
        y = y.where(np.arange(120) % 8 == 0)
    if as_array:
        table = table[["amount", "refund", "noise"]].to_numpy()
    model = TableClassifier(positive=positive, random_state=0)
    model.encode(table, y)
    checked = check(table, y, positive=positive)
    suspected = set()
    for note in checked.notes:
        if "leave it out" in note:
            suspected.add(note.split("'")[1])
    assert suspected == set(model.leaks_)
    assert (TOO_FEW_FOR_LEAKS in checked.notes) == (labels == "few")
    if labels in ("one of three", "two classes"):
        others = {"x0", "x1"} if as_array else {"note", "closed", "amount", "refund"}
        assert suspected == others
