"""``fewlabel label``: what it is given, and what it refuses; the page itself is tested in tests/label_app."""

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
    assert "next: fewlabel fit rows.csv --target y --labels labels.csv" in said.err
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["bare.csv"],
            "no row is labeled yet: name at least two possible answers, for instance --class yes --class no",
        ),
        (["rows.csv", "--class", " x"], "' x' is not a name on one line"),
        (["rows.csv", "--out", "rows.csv"], "answers are appended to a .csv file of their own"),
        (["rows.csv", "--out", "labels.txt"], "answers are appended to a .csv file of their own"),
    ],
)
def test_wrong_use(arguments, message, capsys):
    assert run(["label", *arguments, "--target", "y", "--no-browser"]) == 2
    assert message in capsys.readouterr().err
