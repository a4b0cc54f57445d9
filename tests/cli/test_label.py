"""``fewlabel label``: what it is given, and what it refuses; the page itself is tested in tests/label_app."""

import os
import webbrowser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pandas as pd
import pytest

from fewlabel.active.answers import read_answers
from fewlabel.cli.main import run
from fewlabel.label_app import LabelServer
from label_app.tasks import make_task


@pytest.fixture(autouse=True)
def _table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    task = make_task(40, columns="ab")
    task.table.assign(y=["good", "bad", "bad", "good"] * 3 + [""] * 28).to_csv("rows.csv", index=False)
    task.table.to_csv("bare.csv", index=False)


def serve(monkeypatch, act):
    """Instead of waiting for requests, do something with the server, and then press Ctrl+C."""

    def serve(server):
        act(server)
        raise KeyboardInterrupt

    monkeypatch.setattr(LabelServer, "serve", serve)


def test_answers_and_what_to_do_with_them(monkeypatch, capsys):
    tasks = []

    def act(server):
        tasks.append(server.loop.task)
        row = server.loop.next("a")["row"]
        server.loop.answer("a", row["key"], "good", how=row["how"], probability=row["probability"])

    serve(monkeypatch, act)
    assert run(["label", "rows.csv", "--target", "y", "--class", "fraud", "--positive", "bad", "--no-browser"]) == 0
    said = capsys.readouterr()
    assert said.out.startswith("http://127.0.0.1:")
    assert "1 rows answered or skipped, in labels.csv" in said.err
    assert "next: fewlabel fit rows.csv --target y --positive bad --labels labels.csv" in said.err
    assert tasks[0].classes == ["bad", "good", "fraud"]
    assert tasks[0].codes.tolist() == [1, 0, 0, 1] * 3 + [-1] * 28
    assert len(read_answers("labels.csv")) == 1


def test_positives_only_get_a_name_for_the_others(monkeypatch):
    names = []
    serve(monkeypatch, lambda server: names.extend(server.loop.task.classes))
    with open("bare.csv") as file:
        lines = file.read().splitlines()
    rows = [f"{line},{'fraud' if k < 5 else ''}" for k, line in enumerate(lines[1:])]
    with open("pu.csv", "w") as file:
        file.write("\n".join([lines[0] + ",y", *rows]))
    assert run(["label", "pu.csv", "--target", "y", "--no-browser", "--quiet"]) == 0
    assert names == ["fraud", "not fraud"]


def test_negatives_that_are_unknown_keep_their_name(monkeypatch):
    table = pd.read_csv("rows.csv")
    table["y"] = table["y"].fillna("good")
    table.to_csv("flags.csv", index=False)
    tasks = []
    serve(monkeypatch, lambda server: tasks.append(server.loop.task))
    command = ["label", "flags.csv", "--target", "y", "--negatives-unknown", "--no-browser"]
    assert run(command) == 0
    assert tasks[0].classes == ["bad", "good"]
    assert (tasks[0].codes < 0).sum() == 34
    pd.DataFrame({"row": tasks[0].keys[-2:], "label": ["good", "bad"]}).to_csv("answers.csv", index=False)
    assert run([*command, "--labels", "answers.csv"]) == 0
    assert tasks[1].codes[-2:].tolist() == [1, 0]
    assert (tasks[1].codes < 0).sum() == 32


def test_the_token_is_not_among_the_arguments_of_the_browser(monkeypatch, tmp_path):
    opened = []

    def open_browser(address):
        content = Path(unquote(urlsplit(address).path)).read_text()
        opened.append((address, content))

    def act(server):
        [(address, content)] = opened
        assert server.token not in address
        assert server.url in content
        [file] = tmp_path.glob("*.html")
        assert os.name == "nt" or file.stat().st_mode & 0o077 == 0

    monkeypatch.setattr(webbrowser, "open", open_browser)
    serve(monkeypatch, act)
    assert run(["label", "rows.csv", "--target", "y", "--quiet"]) == 0
    assert list(tmp_path.glob("*.html")) == []


def test_a_labeler_and_a_rubric(monkeypatch, tmp_path):
    tasks = []

    def act(server):
        tasks.append(server.loop.task)
        row = server.loop.next("a")["row"]
        server.loop.answer("a", row["key"], "good")

    serve(monkeypatch, act)
    Path("rubric.txt").write_text("\N{BYTE ORDER MARK}Bad if in doubt.\n", encoding="utf-8")
    options = ["--as", "Ann", "--rubric", "rubric.txt", "--no-browser", "--quiet"]
    assert run(["label", "rows.csv", "--target", "y", *options]) == 0
    assert tasks[0].rubric == "Bad if in doubt."
    assert pd.read_csv("labels.csv")["labeler"].tolist() == ["Ann"]
    assert not Path("labels.recovery.csv").exists()


def test_what_happened_to_the_file_is_said_once(monkeypatch, capsys):
    def act(server):
        row = server.loop.next("a")["row"]
        server.loop.answer("a", row["key"], "good")
        Path("labels.csv").unlink()
        Path("labels.csv").mkdir()

    serve(monkeypatch, act)
    command = ["label", "rows.csv", "--target", "y", "--no-browser", "--quiet"]
    assert run(command) == 0
    assert "are kept in labels.recovery.csv" in capsys.readouterr().err
    Path("labels.csv").rmdir()
    serve(monkeypatch, lambda server: None)
    assert run(command[:-1]) == 0
    assert capsys.readouterr().err.count("restored from labels.recovery.csv") == 1
    assert len(read_answers("labels.csv")) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["bare.csv"],
            "no row is labeled yet: name at least two possible answers, for instance --class yes --class no",
        ),
        (["rows.csv", "--class", " x"], "' x' is not a name on one line"),
        (["rows.csv", "--out", "rows.csv"], "rows.csv is read by this command"),
        (["rows.csv", "--as", "ann\n"], "is not a name on one line"),
        (["rows.csv", "--out", "labels.txt"], "answers are appended to a .csv file of their own"),
    ],
)
def test_wrong_use(arguments, message, capsys):
    assert run(["label", *arguments, "--target", "y", "--no-browser"]) == 2
    assert message in capsys.readouterr().err
