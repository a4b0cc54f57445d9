"""fewlabel monitor on the command line: files, late labels by row or by key, exit codes, what it refuses."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fewlabel.active.answers import row_keys
from fewlabel.cli.main import run


def make_rows(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    age = rng.normal(40 + 10 * shift, 10, n).round(1)
    amount = np.exp(rng.normal(6, 1, n)).round(2)
    city = rng.choice(["Oslo", "<b>Graz</b>"], n)
    y = np.where((age - 40) / 10 + np.log(amount) - 6 + rng.normal(size=n) > 0.8, "bad", "good")
    when = np.datetime64("2024-01-01") + rng.integers(0, 60, n)
    return pd.DataFrame({"id": np.arange(n) + 1000, "age": age, "amount": amount, "city": city, "when": when}), y


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    rows, y = make_rows(500, 0)
    rows.drop(columns="when").assign(y=np.where(np.arange(500) < 200, y, None)).to_csv(folder / "rows.csv", index=False)
    fit = ["fit", f"{folder}/rows.csv", "--target", "y", "--positive", "bad", "--drop", "id", "--out", str(folder)]
    assert run([*fit, "--method", "logistic-regression", "--quiet"]) == 0
    return str(folder / "model.fewlabel")


@pytest.fixture(autouse=True)
def new(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows, y = make_rows(300, 1)
    rows.to_csv("new.csv", index=False)
    return rows, y


def summary(folder="."):
    return json.loads(Path(folder, "monitor.json").read_text())


def test_page_summary_and_history(model, capsys):
    command = [
        "monitor",
        model,
        "new.csv",
        "--out",
        "watch",
        "--time",
        "when",
        "--cost-miss",
        "10",
        "--cost-alarm",
        "1",
    ]
    assert run(command) == 0
    printed = capsys.readouterr().out
    assert "300 new rows, 0 with a label" in printed
    assert re.search(r"AUC +0\.\d{3} \(0\.\d{3} to 0\.\d{3}\)", printed)
    found = summary("watch")
    assert found["expected"].keys() == {"auc", "share", "precision", "recall", "lift", "cost"}
    assert [month["month"] for month in found["drift"]["months"]] == ["2024-01", "2024-02"]
    page = Path("watch/monitor.html").read_text()
    assert "Stability by month" in page
    assert "<b>Graz" not in page  # names of categories are escaped
    assert run([*command, "--batch", "again", "--quiet"]) == 0
    lines = Path("watch/monitor_history.jsonl").read_text().splitlines()
    assert [json.loads(line)["batch"] for line in lines] == ["new.csv", "again"]
    assert "2 batches" in Path("watch/monitor.html").read_text()


def test_months_of_dates_in_another_notation(model, new, capsys):
    """Dates such as 31.01.2024 and 31-Jan-2024 were all "no date"."""
    rows, _ = new
    for written in ("%d.%m.%Y", "%d-%b-%Y", "%m/%d/%Y"):
        rows.assign(when=rows["when"].dt.strftime(written)).to_csv("other.csv", index=False)
        assert run(["monitor", model, "other.csv", "--time", "when", "--quiet"]) == 0
        assert [month["month"] for month in summary()["drift"]["months"]] == ["2024-01", "2024-02"]
    # January and February the third, or the first and the second of March.
    rows.assign(when=np.where(np.arange(300) < 100, "01/03/2024", "02/03/2024")).to_csv("other.csv", index=False)
    capsys.readouterr()
    assert run(["monitor", model, "other.csv", "--time", "when"]) == 1
    assert "--day-first" in capsys.readouterr().err
    assert run(["monitor", model, "other.csv", "--time", "when", "--day-first", "--quiet"]) == 0
    assert [month["month"] for month in summary()["drift"]["months"]] == ["2024-03"]
    rows.assign(when=["", *["2024-01-03"] * 299]).to_csv("other.csv", index=False)
    assert run(["monitor", model, "other.csv", "--time", "when", "--quiet"]) == 0
    assert [month["month"] for month in summary()["drift"]["months"]] == ["2024-01", "no date"]
    assert run(["monitor", model, "new.csv", "--time", "city"]) == 1
    assert "name a column of dates" in capsys.readouterr().err


def test_strict_fails_after_the_files_are_written(model, capsys):
    shifted, _ = make_rows(300, 2, shift=2.0)
    shifted.to_csv("shifted.csv", index=False)
    assert run(["monitor", model, "new.csv", "--strict", "--quiet"]) == 0
    assert run(["monitor", model, "shifted.csv", "--strict", "--quiet"]) == 1
    assert "reason(s) to look closer, such as" in capsys.readouterr().err
    assert summary()["batch"] == "shifted.csv"
    assert any(alarm.startswith("age: ") for alarm in summary()["alarms"])


def test_late_labels_by_key_and_by_row_are_the_same(model, new, capsys):
    rows, y = new
    late = np.arange(300) % 2 == 0
    by_key = pd.DataFrame({"id": rows["id"], "y": y})[late].sample(frac=1, random_state=0)
    by_key.to_csv("by_key.csv", index=False)
    keys = np.array(row_keys(pd.read_csv("new.csv")))
    pd.DataFrame({"row": keys[late], "label": y[late]}).to_csv("by_row.csv", index=False)
    assert run(["monitor", model, "new.csv", "--labels", "by_key.csv", "--key", "id", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["labels"] == 150
    assert first["measured"].keys() == first["expected"].keys()
    assert run(["monitor", model, "new.csv", "--labels", "by_row.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_labels_in_the_table_itself_are_not_used(model, new):
    rows, y = new
    assert run(["monitor", model, "new.csv", "--quiet", "--batch", "b"]) == 0
    found = summary()
    rows.assign(y=y).to_csv("new.csv", index=False)
    assert run(["monitor", model, "new.csv", "--quiet", "--batch", "b"]) == 0
    assert summary() == found


def test_labels_that_arrived_after_the_date_are_not_used(model, new):
    """Whatever they are: only the answers up to the date count, by key and by row."""
    rows, y = new
    arrived = np.where(np.arange(300) < 100, "2024-03-31", "2024-04-01")
    keys = row_keys(pd.read_csv("new.csv"))
    found = []
    for later in ("bad", "good"):
        label = np.where(arrived == "2024-03-31", y, later)
        pd.DataFrame({"id": rows["id"], "label": label, "time": arrived}).to_csv("by_key.csv", index=False)
        log = pd.DataFrame(
            {"row": keys, "label": label, "action": "answer", "time": [f"{day}T12:00:00" for day in arrived]}
        )
        # Later lines about rows whose answer had arrived: another answer, and an answer taken back.
        changed = log.iloc[:60].assign(label=later, time="2024-04-02T12:00:00")
        changed.loc[:29, "action"] = "undo"
        pd.concat([log, changed]).to_csv("by_row.csv", index=False)
        for options in (["--labels", "by_key.csv", "--key", "id"], ["--labels", "by_row.csv"]):
            assert run(["monitor", model, "new.csv", *options, "--as-of", "2024-03-31", "--quiet"]) == 0
            found.append(summary())
    assert found[0]["labels"] == 100
    assert all(one == found[0] for one in found)


def test_an_answer_sheet_does_not_say_what_was_known_at_a_date(model, new, capsys):
    """No label of a sheet can be placed in time: the figures would silently be about none."""
    _, y = new
    pd.DataFrame({"row": row_keys(pd.read_csv("new.csv")), "label": y, "time": "2024-01-01"}).to_csv("ask.csv")
    with_date = ["monitor", model, "new.csv", "--labels", "ask.csv", "--as-of", "2024-03-31"]
    assert run(with_date) == 1
    error = " ".join(capsys.readouterr().err.split())
    assert "ask.csv is an answer sheet, which does not say when each row was labeled" in error
    assert "Leave out --as-of" in error
    assert not Path("monitor.html").exists()
    assert run(with_date[:-2]) == 0
    assert summary()["labels"] == len(y)


def test_contradicting_labels_count_as_not_arrived(model, new, capsys):
    rows, y = new
    twice = pd.DataFrame({"id": [*rows["id"], 1000], "label": [*y, "good" if y[0] == "bad" else "bad"]})
    twice.to_csv("late.csv", index=False)
    assert run(["monitor", model, "new.csv", "--labels", "late.csv", "--key", "id"]) == 0
    assert summary()["labels"] == 299
    assert "1 key(s) have contradicting labels" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--key", "id"], "give them with --labels"),
        (["--as-of", "2024-01-01"], "give them with --labels"),
        (["--labels", "late.csv", "--key", "city"], "more than once"),
        (["--labels", "late.csv", "--key", "number"], "there is no column 'number'"),
        (["--labels", "late.csv", "--key", "id", "--as-of", "soon"], "'soon' is not a date"),
        (["--labels", "late.csv", "--key", "id", "--as-of", "2024-01-01"], "there is no column 'time'"),
        (["--time", "whem"], "did you mean 'when'?"),
        (["--cost-miss", "3"], "go together"),
        (["--out", "new.csv"], "is a file: name a folder"),
    ],
)
def test_wrong_use(model, new, options, message, capsys):
    rows, y = new
    pd.DataFrame({"id": rows["id"], "city": rows["city"], "label": y}).to_csv("late.csv", index=False)
    assert run(["monitor", model, "new.csv", *options]) == 2
    assert message in capsys.readouterr().err
    assert not Path("monitor.html").exists()


def test_a_table_without_rows_is_an_error(model, capsys):
    Path("empty.csv").write_text("age,amount,city\n")
    assert run(["monitor", model, "empty.csv"]) == 1
    assert "has no rows" in capsys.readouterr().err
