"""fit, predict, prior, select and methods, on tables as people have them: any mistake is one clear line."""

import gzip
import hashlib
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import fewlabel
from fewlabel import AutoClassifier, TableClassifier, reporting
from fewlabel.auto import BLOCK
from fewlabel.cli.fit import FILES
from fewlabel.cli.main import run
from fewlabel.tables import read_table

QUICK = ["--method", "logistic-regression", "--quiet"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def make_table(n=160, seed=0, labeled=0.4):
    """Numbers with gaps, a category, text, a date, a boolean, an id and a constant; a label that is mostly empty."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    y = z + rng.normal(size=n) > 0
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": np.round(40 + 10 * z, 1),
            "income": np.where(rng.random(n) < 0.2, np.nan, np.exp(rng.normal(size=n) + z)),
            "city": rng.choice(["Paris", "Oslo", "Graz"], n),
            "note": [
                f"paid {k} times, {'late' if late else 'on time'}" for k, late in zip(rng.integers(99, size=n), y)
            ],
            "since": (pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), unit="D")).strftime(
                "%d.%m.%Y"
            ),
            "member": rng.choice(["yes", "no"], n),
            "constant": 7,
        }
    )
    table["outcome"] = np.where(rng.random(n) < labeled, np.where(y, "bad", "good"), None)
    return table


@pytest.fixture
def table():
    table = make_table()
    table.to_csv("rows.csv", index=False)
    return table


def one_line(capsys):
    captured = capsys.readouterr()
    assert captured.err.startswith("fewlabel: "), captured.err
    assert captured.err.count("\n") == 1
    return captured.err


# Fit and predict --------------------------------------------------------------------------------------------


def test_fit_then_predict_in_new_processes_is_the_python_api_bit_for_bit(table, tmp_path):
    for command in (
        ["fit", "rows.csv", "--target", "outcome", "--positive", "bad", "--method", "small", "--out", "here"],
        ["predict", "here/model.fewlabel", "rows.csv", "--out", "scores.csv", "--keep", "id"],
    ):
        done = subprocess.run([sys.executable, "-m", "fewlabel", *command], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "\x1b" not in done.stdout + done.stderr
    assert sorted(os.listdir("here")) == sorted(FILES)
    assert run(["predict", "here/model.fewlabel", "rows.csv", "--out", "scores.parquet"]) == 0
    rows = read_table("rows.csv")
    y = rows.pop("outcome")
    model = TableClassifier(AutoClassifier("small", random_state=0), positive="bad", random_state=0).fit(rows, y)
    for scores in (pd.read_csv("scores.csv", float_precision="round_trip"), pd.read_parquet("scores.parquet")):
        np.testing.assert_array_equal(scores["score"], -model.decision_function(rows))  # of "bad", which is classes_[0]
        np.testing.assert_array_equal(scores["probability of bad"], model.predict_proba(rows)[:, model.positive_])
        np.testing.assert_array_equal(scores["label"], model.predict(rows))
    assert list(pd.read_csv("scores.csv")["id"]) == list(rows["id"])
    found = json.loads((tmp_path / "here" / "metrics.json").read_text())
    assert found["leaderboard"][0]["score"] == model.estimator_.leaderboard_["score"].iloc[0]
    assert found["command"] == "fewlabel fit rows.csv --target outcome --positive bad --method small --out here"


@pytest.mark.parametrize("name", ["t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.arrow", "semicolons.csv"])
def test_every_kind_of_file_is_read_alike(name, table, capsys):
    if name.endswith(("feather", "arrow")):
        table.to_feather(name)
    elif name.endswith("parquet"):
        table.to_parquet(name)
    else:
        table.to_csv(name, index=False, sep="\t" if "tsv" in name else ";" if "semi" in name else ",")
    assert run(["fit", name, "--target", "outcome", *QUICK]) == 0
    assert run(["predict", "model.fewlabel", name]) == 0
    first = capsys.readouterr().out
    assert run(["predict", "model.fewlabel", "rows.csv"]) == 0
    assert capsys.readouterr().out == first


def test_pieces_and_their_edges_do_not_show(table, capsys, monkeypatch):
    # Of classes_[1], as decision_function is.
    assert run(["fit", "rows.csv", "--target", "outcome", "--positive", "good", *QUICK]) == 0
    many = pd.concat([make_table(seed=k) for k in range(2 + BLOCK // 160)], ignore_index=True).drop(columns="outcome")
    second = np.arange(len(many)) >= BLOCK
    many["city"] = np.where(second, 12, many["city"].astype(object))  # looks like a number, in the second piece only
    many["income"] = np.where(second, "none of your business", many["income"].astype(object))
    many.to_csv("many.csv", index=False)
    assert run(["predict", "model.fewlabel", "many.csv", "--out", "out.csv", "-q"]) == 0
    scores = pd.read_csv("out.csv", float_precision="round_trip")
    assert len(scores) == len(many) > BLOCK
    model = fewlabel.load("model.fewlabel")
    np.testing.assert_array_equal(scores["score"], model.decision_function(read_table("many.csv")))


def test_columns_in_any_order_more_or_fewer(table, capsys):
    assert run(["fit", "rows.csv", "--target", "outcome", *QUICK]) == 0
    assert run(["predict", "model.fewlabel", "rows.csv"]) == 0
    expected = capsys.readouterr().out
    table.iloc[:, ::-1].assign(another=1).drop(columns=["id", "constant", "outcome"]).to_csv("other.csv", index=False)
    assert run(["predict", "model.fewlabel", "other.csv"]) == 0
    captured = capsys.readouterr()
    assert captured.out == expected
    assert "note: ignored 1 column(s) that the model does not know: another" in captured.err
    table.rename(columns={"age": "Age", "city": "town"}).to_csv("fewer.csv", index=False)
    assert run(["predict", "model.fewlabel", "fewer.csv", "--out", "x.csv"]) == 1
    assert "lacks 2 column(s) of the model: 'age' (is it 'Age'?), 'city'" in one_line(capsys)
    assert not os.path.exists("x.csv")


def test_notes_name_dropped_columns_and_suspected_leaks(table, capsys):
    table["secret"] = np.where(table["outcome"] == "bad", 10.0, 1.0) + np.arange(160) / 1000
    table.to_csv("rows.csv", index=False)
    assert run(["fit", "rows.csv", "--target", "outcome", "--method", "logistic-regression"]) == 0
    captured = capsys.readouterr()
    assert "note: dropped (looks like an identifier): id" in captured.err
    assert "note: dropped (constant): constant" in captured.err
    assert "note: column 'secret' alone separates the classes" in captured.err
    assert [line.split()[-1] for line in captured.out.splitlines()[-len(FILES) :]] == list(FILES)
    assert run(["fit", "rows.csv", "--target", "outcome", "--drop", "secret", "--json", *QUICK]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["data"]["leaks"] == ["note"]  # which says the label in words
    assert "--drop secret" in found["command"]


def test_many_classes_positives_only_and_whole_numbers(table, capsys):
    table["grade"] = np.where(np.arange(160) % 2, np.arange(160) % 3, np.nan)
    table["fraud"] = np.where(table["outcome"] == "bad", 1, np.nan)
    table.to_parquet("rows.parquet")
    assert run(["fit", "rows.parquet", "--target", "grade", "--drop", "outcome", "--drop", "fraud", *QUICK]) == 0
    assert run(["predict", "model.fewlabel", "rows.parquet"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "probability of 0,probability of 1,probability of 2,label"
    assert out[1].rsplit(",", 1)[1] in ("0", "1", "2")
    assert run(["fit", "rows.parquet", "--target", "fraud", "--drop", "outcome", "--drop", "grade", *QUICK]) == 0
    assert run(["predict", "model.fewlabel", "rows.parquet"]) == 0
    assert {line.rsplit(",", 1)[1] for line in capsys.readouterr().out.splitlines()[1:]} <= {"0", "1"}
    assert run(["fit", "rows.parquet", "-t", "grade", "-p", "2", "--drop", "outcome", "--drop", "fraud", *QUICK]) == 0
    assert fewlabel.load("model.fewlabel").classes_.tolist() == ["2", "not 2"]


def test_prior_select_and_methods(table, capsys):
    table["fraud"] = np.where(table["outcome"] == "bad", "yes", None)
    table.drop(columns="outcome").to_csv("fraud.csv", index=False)
    assert run(["prior", "fraud.csv", "--target", "fraud", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["low"] <= found["prior"] <= found["high"]
    about_others = "labeled rows of other classes count as unlabeled here"
    assert not any(about_others in doubt for doubt in found["doubts"])
    # Of rows with labels of both classes, `fit` takes another share: it is named.
    assert run(["prior", "rows.csv", "--target", "outcome", "--positive", "bad", "--json"]) == 0
    labeled = table["outcome"].dropna()
    share = f"{(labeled == 'bad').mean():.1%} of the rows are 'bad', as among the labels"
    [said] = [doubt for doubt in json.loads(capsys.readouterr().out)["doubts"] if about_others in doubt]
    assert share in said
    assert run(["prior", "rows.csv", "--target", "outcome", "--positive", "bad", "--method", "energy"]) == 0
    assert "of the unlabeled rows are 'bad'" in capsys.readouterr().out
    assert run(["select", "rows.csv", "--target", "outcome", "--method", "relieff"]) == 0
    chosen = capsys.readouterr().out.split("\n")[:-1]
    assert set(chosen) <= set(table.columns)
    assert run(["select", "rows.csv", "--target", "outcome", "--method", "cfs", "--json"]) == 0
    by_cfs = json.loads(capsys.readouterr().out)
    assert set(by_cfs["columns"]) <= set(table.columns)
    assert run(["select", "rows.csv", "--target", "outcome", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == by_cfs
    assert run(["methods"]) == 0
    assert "extra-trees" in capsys.readouterr().out
    assert run(["methods", "--json"]) == 0
    names = {row["name"] for row in json.loads(capsys.readouterr().out)}
    assert {"logistic-regression", "pnu-aucboost", "xgboost", "ada-pu"} <= names


# Wrong use --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "rows.csv"], "--target"),
        (["fit", "none.csv", "--target", "outcome"], "none.csv"),
        (["fit", "rows.csv", "--target", "outcom"], "no column 'outcom'; did you mean 'outcome'?"),
        (["fit", "rows.csv", "--target", "OUTCOME"], "did you mean 'outcome'?"),
        (["fit", "rows.csv", "--target", "zzz"], "the columns are 'id', 'age'"),
        (["fit", "rows.csv", "--target", "outcome", "--drop", "agee"], "did you mean 'age'?"),
        (["fit", "rows.csv", "--target", "outcome", "--method", "extra-tree"], "did you mean 'extra-trees'?"),
        (["fit", "rows.csv", "--target", "outcome", "--out", "a/b/c"], "there is no folder"),
        (["fit", "rows.csv", "--target", "outcome", "--out", "rows.csv"], "is a file"),
        (["fit", "rows.csv", "--target", "outcome", "--scoring", "luck"], "luck"),
        (["predict", "none.fewlabel", "rows.csv"], "none.fewlabel"),
        (["predict", "rows.csv", "rows.csv", "--out", "x.xlsx"], ".csv, .tsv or .parquet"),
        (["prior", "rows.csv", "--target", "outcome", "--method", "magic"], "magic"),
        (["select", "rows.csv", "--target", "outcome", "--method", "magic"], "magic"),
    ],
)
def test_wrong_use_is_one_line_and_code_2(arguments, message, table, capsys):
    assert run(arguments) == 2
    assert message in one_line(capsys)
    assert os.listdir() == ["rows.csv"]


# Ugly tables ------------------------------------------------------------------------------------------------


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)


UGLY = {
    "empty.csv": ("", "is empty"),
    "blank.csv": ("\n\n", "is empty"),
    "header.csv": ("a,b,y\n", "has no rows"),
    "one.csv": ("a,b,y\n1,2,0\n", "has 1 row"),
    "none.csv": ("a,y\n" + "".join(f"{k},\n" for k in range(30)), "no labeled row"),
    "class.csv": ("a,y\n" + "".join(f"{k % 7},x\n" for k in range(30)), "every row is labeled"),
    "rare.csv": ("a,y\n" + "".join(f"{k % 7},{'x' if k else 'z'}\n" for k in range(30)), "'z' has 1 labeled row"),
    "numbers.csv": ("a,y\n" + "".join(f"{k % 7},{k / 7}\n" for k in range(30)), "not classes"),
    "alone.csv": ("y\n" + "x\nz\n" * 20, "no column is left"),
    "same.csv": ("a,y\n" + "3,x\n3,z\n" * 20, "no column is left"),
    "ragged.csv": ("a,y\n1,x\n1,2,3,4\n", "ragged.csv, line 3: 4 fields, but the header has 2"),
    "bytes.parquet": ("this is no parquet file", "cannot be read as a table"),
    "bytes.csv.gz": ("this is no gzip file", "not a gzip file"),
    "rows.xlsx": ("spreadsheet", "cannot be read as a table"),
    "rows.txt": ("a,y\n1,2\n", ".parquet"),
}


@pytest.mark.parametrize("name", UGLY)
def test_ugly_tables_are_one_line_and_leave_nothing(name, capsys):
    text, message = UGLY[name]
    write(name, text)
    assert run(["fit", name, "--target", "y", "--out", "made", *QUICK]) in (1, 2)
    assert message in one_line(capsys)
    assert os.listdir() == [name]


def test_text_that_is_not_utf_8(capsys):
    with open("latin.csv", "wb") as file:
        file.write("name,y\nJosé,1\n".encode("latin-1"))
    assert run(["fit", "latin.csv", "--target", "y"]) == 1
    assert "not UTF-8" in one_line(capsys)


def test_all_labeled_mixed_types_and_duplicate_names(capsys):
    rows = [
        f"{'x' if k % 5 == 0 else k % 9},{k % 4},{(k * 7) % 11},{'u' if (k * 7) % 11 > 5 else 'v'}" for k in range(60)
    ]
    write("t.csv", "mixed,a,a,y\n" + "\n".join(rows) + "\n")
    assert run(["fit", "t.csv", "--target", "y", "--method", "logistic-regression"]) == 0
    captured = capsys.readouterr()
    assert "columns with the same name are numbered: 'a'" in captured.err
    assert fewlabel.load("model.fewlabel").encoder.kinds == {"mixed": "text", "a": "number", "a.1": "number"}
    assert run(["predict", "model.fewlabel", "t.csv"]) == 0
    write("t.csv", "y,a,y\n" + "1,2,0\n" * 20)
    assert run(["fit", "t.csv", "--target", "y"]) == 2
    assert "2 columns called 'y'" in capsys.readouterr().err


def test_many_more_columns_than_rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    wide = pd.DataFrame(rng.normal(size=(60, 1000)) + 0.3 * y[:, None], columns=[f"c{k}" for k in range(1000)])
    wide["y"] = pd.Series(y, dtype="Int64").mask(rng.random(60) < 0.5)
    wide.to_csv("wide.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.PerformanceWarning)
        assert run(["fit", "wide.csv", "--target", "y", *QUICK]) == 0
        assert run(["predict", "model.fewlabel", "wide.csv", "--out", "s.csv", "-q"]) == 0
    assert len(pd.read_csv("s.csv")) == 60


@pytest.mark.parametrize("kind", ["text", "truncated", "other", "empty"])
def test_a_model_that_is_not_ours_or_not_whole(kind, table, capsys):
    if kind == "truncated":
        assert run(["fit", "rows.csv", "--target", "outcome", *QUICK]) == 0
        content = open("model.fewlabel", "rb").read()  # noqa: SIM115
        open("model.fewlabel", "wb").write(content[: len(content) // 2])  # noqa: SIM115
    elif kind == "other":
        fewlabel.save(fewlabel.LinearAUCClassifier().fit([[0.0], [1.0]], [0, 1]), "model.fewlabel")
    else:
        write("model.fewlabel", "hello" if kind == "text" else "")
    assert run(["predict", "model.fewlabel", "rows.csv", "--out", "x.csv"]) == 1
    assert "model.fewlabel" in one_line(capsys)
    assert not os.path.exists("x.csv")


def test_predict_on_an_empty_table_and_with_a_wrong_column_to_keep(table, capsys):
    assert run(["fit", "rows.csv", "--target", "outcome", *QUICK]) == 0
    table.iloc[:0].to_csv("none.csv", index=False)
    assert run(["predict", "model.fewlabel", "none.csv", "--out", "x.csv"]) == 1
    assert "has no rows" in one_line(capsys)
    assert run(["predict", "model.fewlabel", "rows.csv", "--keep", "ID", "--out", "x.csv"]) == 2
    assert "did you mean 'id'?" in one_line(capsys)
    assert not os.path.exists("x.csv")


def test_memory_of_predict_does_not_grow_with_the_table(table, tmp_path):
    """Ten times the rows, which is ten times the pieces: the same peak, but for what the allocators keep."""
    if not os.path.exists("/proc/self/status"):
        pytest.skip("memory is measured on Linux")
    unused = [f"--drop={name}" for name in ("note", "since")]
    assert run(["fit", "rows.csv", "--target", "outcome", *unused, *QUICK]) == 0
    block = make_table(2000)[["age", "income", "city", "member"]].to_csv(index=False).split("\n", 1)
    # Not ru_maxrss, which a child process inherits: it would measure the process of the tests.
    code = (
        "import re, sys; from fewlabel.cli.main import run; code = run(sys.argv[1:]); "
        "print(int(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1]) // 1024); "
        "print(*(name for name in ('catboost', 'lightgbm', 'torch', 'xgboost') if name in sys.modules)); sys.exit(code)"
    )
    peaks = []
    for repeats in (6, 60):
        write("long.csv", block[0] + "\n" + block[1] * repeats)
        command = [sys.executable, "-c", code, "predict", "model.fewlabel", "long.csv", "--out", "x.csv", "-q"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak, imported = done.stdout.splitlines()
        assert not imported, "the model holds none of these"
        peaks.append(int(peak))
    assert os.path.getsize("long.csv") > 2 * 2**20
    assert peaks[1] - peaks[0] < 100, peaks
    assert peaks[1] < 800


def test_a_refit_that_fails_leaves_the_old_set(table, tmp_path, monkeypatch):
    """The report is written after the model: without a set, the folder would hold files of two fits."""
    assert run(["fit", "rows.csv", "--target", "outcome", *QUICK]) == 0
    old = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)}
    digest = hashlib.sha256(old["model.fewlabel"]).hexdigest()
    assert json.loads(old["metrics.json"])["model_sha256"] == digest
    assert digest in old["report.html"].decode()
    command = ["fit", "rows.csv", "--target", "outcome", "--seed", "1", *QUICK]
    for name in ("write", "metrics"):
        with monkeypatch.context() as patch:
            patch.setattr(reporting, name, lambda *args: (_ for _ in ()).throw(OSError(28, "No space left on device")))
            assert run(command) == 1
            assert run([*command, "--out", "new"]) == 1
        assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == old
    assert run(command) == 0
    assert (tmp_path / "model.fewlabel").read_bytes() != old["model.fewlabel"]


def test_gzip_is_read_in_pieces_too(table, capsys):
    assert run(["fit", "rows.csv", "--target", "outcome", *QUICK]) == 0
    with gzip.open("rows.csv.gz", "wt") as file, open("rows.csv") as plain:
        file.write(plain.read())
    assert run(["predict", "model.fewlabel", "rows.csv.gz", "--out", "a.csv", "-q"]) == 0
    assert run(["predict", "model.fewlabel", "rows.csv", "--out", "b.csv", "-q"]) == 0
    assert open("a.csv").read() == open("b.csv").read()  # noqa: SIM115


def test_predict_says_that_the_metrics_are_of_another_model(table):
    assert run(["fit", "rows.csv", "--target", "outcome", *QUICK]) == 0
    metrics = json.loads(open("metrics.json").read())  # noqa: SIM115
    write("metrics.json", json.dumps({**metrics, "model_sha256": "0" * 64}))
    with pytest.warns(UserWarning, match=r"metrics\.json is of another model"):
        assert run(["predict", "model.fewlabel", "rows.csv", "--out", "x.csv", "--quiet"]) == 0


@pytest.mark.parametrize(("how", "classes"), [("keep", "abcd"), ("merge", ["a", "c", "other"]), ("drop", "ac")])
def test_rare_classes_are_kept_merged_or_dropped(how, classes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    # A class without tested rows is between others that have some.
    y = ["a"] * 8 + ["c"] * 8 + ["b", "d"] + [None] * 60
    place = {"a": 0, "b": 2, "c": 4, "d": 6, None: 1}
    pd.DataFrame({"x": [place[k] + rng.normal() for k in y], "z": rng.normal(size=len(y)), "y": y}).to_csv("t.csv")
    options = ["--method", "logistic-regression", "--rare-classes", how, "--drop", "Unnamed: 0"]
    assert run(["fit", "t.csv", "--target", "y", *options]) == 0
    found = json.loads((tmp_path / "metrics.json").read_text())
    assert found["data"]["classes"] == list(classes)
    said = any("one or two labels" in note for note in found["notes"])
    assert said == (how != "keep")
    assert ("not tested" in (tmp_path / "report.html").read_text()) == (how == "keep")
    assert "reshape" not in "".join(capsys.readouterr())
