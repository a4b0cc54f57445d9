"""predict on rows that differ from those of the fit: read right, refused or reported, never scored wrong silently."""

import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fewlabel
from fewlabel.cli.main import run
from fewlabel.cli.results import as_text

QUICK = ["--method", "logistic-regression", "--quiet"]


def make_rows(n=300, seed=0):
    """A number, an amount, a boolean, a category and a date; the label depends on all but the date."""
    rng = np.random.default_rng(seed)
    age, amount = rng.normal(40, 10, n).round(1), np.exp(rng.normal(6, 1, n)).round(2)
    member, city = rng.random(n) < 0.5, rng.choice(["Oslo", "Graz", "Lima"], n)
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), unit="D")
    score = (age - 40) / 10 + np.log(amount) - 6 + 2 * member + (city == "Oslo")
    y = np.where(score + rng.normal(size=n) > 1.3, "bad", "good")
    rows = pd.DataFrame({"age": age, "amount": amount, "member": member, "city": city, "since": since})
    return rows.assign(y=np.where(rng.random(n) < 0.5, y, None))


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_rows()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    make_rows().to_csv(folder / "rows.csv", index=False)
    assert run(["fit", f"{folder}/rows.csv", "--target", "y", "--positive", "bad", "--out", str(folder), *QUICK]) == 0
    return folder / "model.fewlabel"


@pytest.fixture
def fitted(model, rows, capsys):
    """What `predict` prints for the rows of the fit; the model and the rows are in the current folder."""
    shutil.copy(model, "model.fewlabel")
    rows.to_csv("rows.csv", index=False)
    assert run(["predict", "model.fewlabel", "rows.csv"]) == 0
    return capsys.readouterr().out


# Files ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda lines: [lines[0], *(line + "," for line in lines[1:])],
            "line 2: 7 fields, but the header has 6",
        ),
        (lambda lines: [*lines[:40], lines[40] + ",x", *lines[41:]], "line 41: 7 fields"),
        (lambda lines: [*lines[:40], "1,2", *lines[41:]], "line 41: 2 fields, but the header has 6"),
        (lambda lines: [*lines[:9], '3,"a, ""b""\n c",true,Oslo,,,', *lines[10:]], "line 10: 7 fields"),
    ],
    ids=["separator at the end", "long row", "short row", "quotes"],
)
def test_a_row_that_is_longer_or_shorter_than_the_header_is_refused(fitted, change, message, capsys):
    lines = Path("rows.csv").read_text().splitlines()
    Path("new.csv").write_text("\n".join(change(lines)) + "\n")
    assert run(["predict", "model.fewlabel", "new.csv", "--out", "out.csv"]) == 1
    assert message in capsys.readouterr().err
    assert run(["fit", "new.csv", "--target", "y", *QUICK]) == 1
    assert message in capsys.readouterr().err


def test_quoted_separators_line_breaks_and_blank_lines_are_no_fault(fitted, rows, capsys):
    lines = Path("rows.csv").read_text().splitlines()
    lines[5] = lines[5].replace(",Oslo,", ',"Oslo",').replace(",Graz,", ',"Graz",').replace(",Lima,", ',"Lima",')
    lines.insert(7, "  ")
    lines = ["note," + lines[0], *('"a, ""b""\n\nc",' + line if line.strip() else line for line in lines[1:])]
    Path("new.csv").write_text("\n".join(lines) + "\n")
    assert run(["predict", "model.fewlabel", "new.csv", "--quiet"]) == 0
    assert capsys.readouterr().out == fitted


# Notations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("1", "0"), ("1.0", "0.0"), ("TRUE", "FALSE"), ("yes", "no"), ("1", "false")])
def test_booleans_in_another_notation_are_the_same(fitted, rows, words, capsys):
    rows.assign(member=np.where(rows["member"], *words)).to_csv("new.csv", index=False)
    assert run(["predict", "model.fewlabel", "new.csv"]) == 0
    assert capsys.readouterr().out == fitted


@pytest.mark.parametrize(
    ("written", "notation"),
    [
        (lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")), "1.234,5"),
        (lambda v: f"${v:,.2f}", "1,234.5"),
        (lambda v: f"{v:.2f}".replace(".", ",") + " \N{EURO SIGN}", "1.234,5"),
    ],
    ids=["decimal comma", "dollars", "euros"],
)
def test_numbers_in_another_notation(fitted, rows, written, notation, capsys):
    other = rows.assign(amount=rows["amount"].map(written))
    other.to_csv("other.csv", index=False)
    assert run(["predict", "model.fewlabel", "other.csv", "--out", "out.csv", "--strict"]) == 1  # the fit saw 1234.5
    assert re.search(r"column 'amount': \d+\.\d% of the values are not numbers, such as", capsys.readouterr().err)
    assert not Path("out.csv").exists()
    assert run(["fit", "other.csv", "--target", "y", "--positive", "bad", *QUICK[:2]]) == 0
    assert f"note: numbers or dates are read like {notation}: amount" in capsys.readouterr().err
    assert run(["predict", "model.fewlabel", "other.csv", "--strict"]) == 0
    assert capsys.readouterr().out == fitted


def test_encoding_and_decimal_separator(fitted, rows, capsys):
    rows.to_csv("new.csv", index=False, sep=";", decimal=",", encoding="utf-16")
    assert run(["predict", "model.fewlabel", "new.csv", "--encoding", "utf-16", "--decimal", ",", "--strict"]) == 0
    assert capsys.readouterr().out == fitted


def test_dates_keep_the_order_of_the_fit(rows, capsys):
    dates = rows["since"]
    rows.assign(since=dates.dt.strftime("%d/%m/%Y")).to_csv("rows.csv", index=False)
    assert run(["fit", "rows.csv", "--target", "y", *QUICK]) == 0
    few = rows.assign(since=dates.dt.strftime("%d/%m/%Y"))[dates.dt.day <= 12]  # month first would fit, too
    few.to_csv("few.csv", index=False)
    few.assign(since=dates.dt.strftime("%Y-%m-%d")).to_csv("iso.csv", index=False)
    assert run(["predict", "model.fewlabel", "few.csv"]) == 0
    expected = capsys.readouterr().out
    assert run(["predict", "model.fewlabel", "iso.csv"]) == 0
    assert capsys.readouterr().out == expected
    assert run(["fit", "few.csv", "--target", "y", "--out", "made", *QUICK]) == 1
    assert "column 'since' has dates such as" in (message := capsys.readouterr().err)
    assert "choose with --day-first or --month-first" in message
    for option, notation in (("--day-first", "31/12/2024"), ("--month-first", "12/31/2024")):
        assert run(["fit", "few.csv", "--target", "y", option, *QUICK]) == 0
        assert fewlabel.load("model.fewlabel").encoder.notations == {"since": notation}
        assert option in json.loads(Path("metrics.json").read_text())["command"]


# Drift ------------------------------------------------------------------------------------------------------


def test_columns_that_do_not_fit_are_named_once_each(fitted, rows, capsys, monkeypatch):
    new = rows.assign(amount=rows["amount"] * 1000, city="<Bern>", member="maybe", age=np.nan)
    new.to_csv("new.csv", index=False)
    assert run(["predict", "model.fewlabel", "new.csv", "--out", "out.csv", "--drift", "drift.html"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if "column" in line] == [
        "note: column 'age': 100.0% of the values are missing (none at fit)",
        "note: column 'amount': the values are about 1,000 times larger than at fit",
        "note: column 'member': 100.0% of the values are not booleans, such as 'maybe' (none at fit); they count as "
        "missing",
        "note: column 'city': 100.0% of the values are categories that were not seen at fit, such as '<Bern>'",
    ]
    page = Path("drift.html").read_text()
    assert "4 of 5 columns do not fit" in page
    assert "&lt;Bern&gt;" in page
    monkeypatch.setattr("fewlabel.auto.BLOCK", 7)  # in chunks
    assert run(["predict", "model.fewlabel", "new.csv", "--out", "out.csv", "--drift", "drift.html"]) == 0
    assert capsys.readouterr().err.splitlines() == lines
    assert Path("drift.html").read_text() == page


@pytest.mark.usefixtures("fitted")
def test_the_drift_page_compares_month_by_month(rows, capsys):
    rows["since"] = np.where(np.arange(300) < 100, "2024-01-31", "2024-02-01")
    rows["seen"] = np.where(np.arange(300) < 200, "2023-12-31", "")
    rows.to_csv("new.csv", index=False)
    predict = ["predict", "model.fewlabel", "new.csv", "--out", "out.csv", "--quiet"]
    for column, months in [("since", {"2024-01": 100, "2024-02": 200}), ("seen", {"2023-12": 200, "no date": 100})]:
        assert run([*predict, "--drift", "drift.json", "--time", column]) == 0
        found = json.loads(Path("drift.json").read_text())["months"]
        assert {month["month"]: month["rows"] for month in found} == months
        assert found[0]["stability"]["age"] < 0.25
    assert run([*predict, "--drift", "drift.html", "--time", "since"]) == 0
    assert "Stability by month" in Path("drift.html").read_text()
    assert run([*predict, "--time", "since"]) == 2
    assert "--drift" in capsys.readouterr().err


def test_strict_writes_no_result(fitted, rows, capsys):
    rows.assign(city="Bern").to_csv("new.csv", index=False)
    Path("out.csv").write_text("old")
    options = ["--strict", "--drift", "drift.json", "--quiet"]
    assert run(["predict", "model.fewlabel", "new.csv", "--out", "out.csv", *options]) == 1
    captured = capsys.readouterr()
    assert "fewlabel: 1 column(s) do not fit the model, so --strict wrote no result: 'city'" in captured.err
    assert Path("out.csv").read_text() == "old"
    assert json.loads(Path("drift.json").read_text())["findings"][0]["reason"] == "unseen categories"
    assert run(["predict", "model.fewlabel", "new.csv", *options]) == 1
    assert capsys.readouterr().out == ""
    assert run(["predict", "model.fewlabel", "rows.csv", "--strict"]) == 0
    captured = capsys.readouterr()
    assert captured.out == fitted
    assert captured.err == ""
    assert run(["predict", "model.fewlabel", "rows.csv", "--drift", "drift.txt"]) == 2
    assert "ends in .html or .json" in capsys.readouterr().err


# Output -----------------------------------------------------------------------------------------------------


def test_columns_are_named_by_class(fitted, rows):
    assert fitted.splitlines()[0] == "rank,score,probability of bad,label"
    rows.assign(y=rows["y"].where(rows["age"] > 30, "young")).to_csv("three.csv", index=False)
    assert run(["fit", "three.csv", "--target", "y", *QUICK]) == 0
    assert run(["predict", "model.fewlabel", "three.csv", "--out", "out.csv", "--quiet"]) == 0
    names = ["probability of bad", "probability of good", "probability of young", "label"]
    assert list(pd.read_csv("out.csv")) == names


def test_the_highest_score_has_rank_one(fitted, rows):
    pd.concat([rows, rows.iloc[:5]]).to_csv("twice.csv", index=False)
    assert run(["predict", "model.fewlabel", "twice.csv", "--out", "out.csv", "--quiet"]) == 0
    scores = pd.read_csv("out.csv")
    assert scores["rank"].tolist() == scores["score"].rank(ascending=False, method="min").tolist()


def test_reasons_are_in_the_columns_of_the_table(fitted, rows):
    rows[:20].to_csv("few.csv", index=False)
    assert run(["predict", "model.fewlabel", "few.csv", "--reasons", "2", "--out", "out.csv", "--quiet"]) == 0
    scores = pd.read_csv("out.csv")
    assert list(scores)[-3:] == ["label", "reason 1", "reason 2"]
    assert scores["reason 1"].str.match(r"(age|amount|member|city|since) = .+ \([+-]\d+\.\d\d\)$").all()


def test_formulas_do_not_pass_into_text_files(rows):
    y = rows["y"].map({"bad": "=cmd|' /C calc'!A0", "good": "-good"})
    names = np.where(rows["age"] > 40, "@SUM(A1)", "+1-2")
    rows.assign(y=y, name=names, change=-rows["age"]).to_csv("rows.csv", index=False)
    assert run(["fit", "rows.csv", "--target", "y", *QUICK]) == 0
    keep = ["--keep", "name", "--keep", "change", "--quiet"]
    assert run(["predict", "model.fewlabel", "rows.csv", "--out", "out.csv", *keep]) == 0
    assert run(["predict", "model.fewlabel", "rows.csv", "--out", "out.parquet", *keep]) == 0
    found, plain = pd.read_csv("out.csv"), pd.read_parquet("out.parquet")
    assert set(found["label"]) <= {"'=cmd|' /C calc'!A0", "'-good"}
    assert set(found["name"]) == {"'@SUM(A1)", "'+1-2"}
    assert found["change"].tolist() == (-rows["age"]).tolist()
    assert set(plain["name"]) == {"@SUM(A1)", "+1-2"}


def test_text_is_what_pandas_reads_back():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "x": [0.1, 1 / 3, -2.5e-300, 7.0, np.nan],
            "n": np.array([1, -2, 3, 2**60, 5]),
            "a, b": ["plain", 'a "quoted" word', "two\nlines", "semi;colon, comma", None],
            "when": pd.Timestamp("2024-01-31 12:30") + pd.to_timedelta(rng.integers(0, 9, 5), unit="h"),
            "is": [True, False, True, True, False],
            "kind": pd.Categorical(["u", "v,w", None, "u", "u"]),
        }
    )
    for separator in (",", "\t"):
        header, text = as_text(pa.Table.from_pandas(table, preserve_index=False), separator)
        found = pd.read_csv(io.BytesIO(header + text), sep=separator, parse_dates=["when"])
        expected = table.astype({"kind": "str", "a, b": "str"})
        # pandas 2 writes a gap among texts as the text None.
        expected["a, b"] = expected["a, b"].where(table["a, b"].notna())
        expected["kind"] = expected["kind"].where(table["kind"].notna())
        pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-15)


def test_the_size_of_the_pieces_does_not_change_the_result(fitted, rows, monkeypatch, capsys):
    large = pd.concat([rows] * 4)
    large.to_csv("large.csv", index=False)
    large.to_parquet("large.parquet")
    monkeypatch.setattr("fewlabel.auto.BLOCK", 64)
    results = []
    for size in (2**24, 5000):
        monkeypatch.setattr("fewlabel.tables.pieces._BYTES", size)
        assert run(["predict", "model.fewlabel", "large.csv", "--keep", "city", "--quiet"]) == 0
        results.append(capsys.readouterr().out)
    assert results[0] == results[1]
    assert run(["predict", "model.fewlabel", "large.parquet", "--keep", "city", "--quiet"]) == 0
    assert capsys.readouterr().out == results[0]


def test_names_cannot_control_the_terminal(fitted, rows, capsys):
    rows.assign(**{"a\x1b[2Jb": 1}).to_csv("new.csv", index=False)
    assert run(["predict", "model.fewlabel", "new.csv"]) == 0
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "does not know: a\\x1b[2Jb" in err
    assert run(["predict", "model.fewlabel", "new.csv", "--keep", "zz\x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_scoring_imports_no_library_that_models_are_fitted_with(fitted, rows, name):
    """Their imports took most of the time of a command."""
    new = rows.drop(columns="y")
    if name.endswith("csv"):
        new.to_csv(name, index=False)
    else:
        new.to_parquet(name)
    heavy = {"sklearn", "scipy", "pandas", "skrub", "matplotlib", "skops"}
    # Files need no driver.
    heavy |= {"sqlite3", "duckdb", "adbc_driver_manager", "python_calamine", "fewlabel.tables.databases"}
    code = (
        "import sys; from fewlabel.cli.main import main\n"
        f"heavy = {heavy}\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n"
        "    print(end.code, *sorted(heavy & {*sys.modules}))"
    )
    command = [sys.executable, "-c", code, "predict", "model.fewlabel", name, "--out", "out.csv", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0"]
    assert len(pd.read_csv("out.csv")) == len(rows)


def test_a_result_does_not_replace_a_file_of_the_table(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.normal(size=80), "y": np.repeat(["bad", "good", None, None], 20)})
    Path("parquets").mkdir()
    rows.to_parquet("parquets/part0.parquet")
    assert run(["fit", "parquets", "--target", "y", "--method", "naive-bayes", "--quiet"]) == 0
    assert run(["predict", "model.fewlabel", "parquets", "--out", "parquets/part0.parquet"]) == 2
    assert "parquets/part0.parquet is read by this command" in capsys.readouterr().err
    pd.testing.assert_frame_equal(pd.read_parquet("parquets/part0.parquet"), rows)
