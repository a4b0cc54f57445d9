"""Tables with cells that stopped a command: each works, or the error names the column."""

import numpy as np
import pandas as pd
import pytest

from fewlabel.cli.main import run

QUICK = ["--method", "logistic-regression", "--quiet"]
N = 120


def make_rows():
    rng = np.random.default_rng(0)
    bad = rng.random(N) < 0.4
    labels = np.where(rng.random(N) < 0.6, np.where(bad, "bad", "good"), None)
    return pd.DataFrame({"age": (rng.normal(size=N) + bad).round(3), "y": labels})


def every(value, other, step=40):
    """A column with an odd value in some rows; step 40 leaves some of them in the second half."""
    column = pd.Series([other] * N, dtype=object)
    column[::step] = [value] * len(column[::step])
    return column


ODD = {
    "dates": every("9999-12-31", "2024-01-31"),
    "typos": every("0024-05-01", "2024-01-31 10:00"),
    "wide digits": every("\uff11\uff12", "7"),
    "Arabic digits": every("\u0661\u0662", "3,5"),
    "long category": every("x" * 500_000, "short"),
    "long texts": pd.Series([f"{k}, " + "word " * 30_000 if k < 2 else f"text {k}" for k in range(N)]),
    "two\nlines": every("a", "b"),
    "lists": every([1, 2], [3]),
    "records": every({"a": 1}, {"a": 2}),
    "bytes": every(b"\xff\x00", b"a"),
}


NESTED = ("lists", "records", "bytes")
CASES = [(name, "csv") for name in ODD if name not in NESTED]
CASES += [(name, "parquet") for name in ("dates", "wide digits", *NESTED)]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_column_of(name, kind, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = make_rows().assign(**{name: ODD[name]})
    path = f"rows.{kind}"
    if kind == "csv":
        rows.to_csv(path, index=False)
    else:
        rows.to_parquet(path)
    assert run(["check", path, "--target", "y"]) == 0
    assert run(["fit", path, "--target", "y", "--positive", "bad", *QUICK]) == 0, capsys.readouterr().err
    capsys.readouterr()
    assert run(["predict", "model.fewlabel", path, "--quiet"]) == 0, capsys.readouterr().err
    assert len(capsys.readouterr().out.splitlines()) == N + 1
    assert run(["next", path, "--target", "y", "--n", "3", "--out", "ask.csv", "--quiet"]) == 0, capsys.readouterr().err
