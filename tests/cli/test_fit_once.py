"""One `fewlabel fit`, report included, reads the labels once and encodes the table once."""

import collections

import numpy as np
import pandas as pd
import pytest

from fewlabel import labels
from fewlabel.cli.main import run
from fewlabel.labels import _reading, _written
from fewlabel.parts import columns
from fewlabel.tables import kinds

N_ROWS = 90


@pytest.fixture
def calls(tmp_path, monkeypatch):
    """Counts of the calls, in a folder with a table."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    bad = rng.random(N_ROWS) < 0.4
    table = pd.DataFrame(
        {"age": rng.normal(size=N_ROWS) + bad, "city": rng.choice(["a", "b", "c"], N_ROWS), "row": range(N_ROWS)}
    )
    table["outcome"] = np.where(rng.random(N_ROWS) < 0.6, np.where(bad, "bad", "good"), None)
    table["only_bad"] = np.where(table["outcome"] == "bad", "yes", None)
    table.to_csv("rows.csv", index=False)
    counts = collections.Counter()

    def count(place, name, counts_if=lambda *_: True):
        original = getattr(place, name)

        def counted(*arguments, **more):
            counts[name] += counts_if(*arguments)
            return original(*arguments, **more)

        monkeypatch.setattr(place, name, counted)

    # Every reading of labels starts with as_series. Metrics read the codes of labeled rows with it, as arrays.
    for module in (_reading, _written):
        count(module, "as_series", lambda y: isinstance(y, pd.Series) or len(y) == len(table))
    count(kinds, "why_dropped")
    count(columns, "read_as")
    count(columns.Columns, "encode")
    return counts


@pytest.mark.parametrize("more", [[], ["--positive", "bad"]])
def test_a_fit_reads_the_labels_once_and_encodes_the_table_once(calls, more):
    command = ["fit", "rows.csv", "--target", "outcome", "--drop", "only_bad", "--method", "logistic-regression"]
    assert run([*command, *more, "--quiet"]) == 0
    assert calls == {"as_series": 1, "why_dropped": 3, "encode": 1}


def test_positives_only(calls, monkeypatch):
    read = []
    originals = _reading.read, _written.read_column
    monkeypatch.setattr(_reading, "read", lambda y: read.append(y) or originals[0](y))
    monkeypatch.setattr(labels, "read_column", lambda y, **more: read.append(y) or originals[1](y, **more))
    command = ["fit", "rows.csv", "--target", "only_bad", "--drop", "outcome", "--method", "logistic-regression"]
    assert run([*command, "--quiet"]) == 0
    assert sum(isinstance(y, pd.Series) for y in read) == 1  # metrics read arrays, of all rows
    assert calls["encode"] == 1


@pytest.mark.parametrize("command", ["prior", "select"])
def test_prior_and_select_read_once_too(calls, command):
    assert run([command, "rows.csv", "--target", "outcome", "--drop", "only_bad"]) == 0
    assert calls["why_dropped"] == 3
    assert calls["encode"] == (command == "prior")


def test_the_labels_are_reported_before_the_table_is_encoded(calls, monkeypatch, capsys):
    """Encoding imports what takes a second: until then the user should have seen a line."""

    def encode(*_, **__):
        raise ValueError("stop here")

    monkeypatch.setattr("fewlabel.tables.TableClassifier.encode", encode)
    assert run(["fit", "rows.csv", "--target", "outcome"]) == 1
    assert "note: labels: 'bad'" in capsys.readouterr().err
