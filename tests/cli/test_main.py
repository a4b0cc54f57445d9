"""The command line: quick to answer, one line when it fails, nothing half done."""

import io
import json
import os
import re
import subprocess
import sys
import warnings

import pytest

import fewlabel
from fewlabel import reporting
from fewlabel.auto import members
from fewlabel.cli import main
from fewlabel.cli.main import run
from fewlabel.reporting import demo as demo_job
from fewlabel.tables import TableClassifier

HEAVY = ("numba", "sklearn", "pandas", "numpy", "scipy", "matplotlib", "jinja2", "skrub", "pyarrow")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def quick(monkeypatch):
    """A portfolio of three quick methods."""
    names = ("logistic regression", "naive Bayes", "path neighbors")
    monkeypatch.setattr(members, "PORTFOLIO", tuple(m for m in members.PORTFOLIO if m.name in names))


def _one_line(text):
    assert text.startswith("fewlabel: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return text


# Help -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["--help"], ["-h"], ["demo", "--help"], ["fit", "-h"], ["predict", "--help"], ["--version"]]
)
def test_answers_that_need_no_work_import_nothing_heavy(arguments):
    code = (
        "import sys; from fewlabel.cli.main import run; code = run(sys.argv[1:]); "
        f"print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules], code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY [] 0"
    assert done.stderr == ""


def test_help_names_the_commands_and_their_options(capsys):
    assert run(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(command in out for command in ("demo", "fit", "predict", "prior", "select", "methods"))
    assert run(["demo", "--help"]) == 0
    out = capsys.readouterr().out
    for option in ("--out", "--model-out", "--labeled", "--seed", "--json", "--quiet", "--debug"):
        assert option in out


def test_version(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"fewlabel {fewlabel.__version__}\n"


def test_no_command_shows_the_help(capsys):
    assert run([]) == 2
    assert "Usage: fewlabel" in capsys.readouterr().out


def test_the_installed_command_gives_its_exit_code():
    done = subprocess.run([sys.executable, "-m", "fewlabel", "nothing"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "nothing" in _one_line(done.stderr)


# Wrong use --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "nothing"),
        (["--nothing"], "--nothing"),
        (["demo", "--nothing"], "--nothing"),
        (["demo", "extra"], "extra"),
        (["demo", "--out"], "--out"),
        (["demo", "--seed", "one"], "--seed"),
        (["demo", "--seed", "-1"], "--seed"),
        (["demo", "--labeled", "0"], "between 0 and 1"),
        (["demo", "--labeled", "1"], "between 0 and 1"),
        (["demo", "--labeled", "nan"], "between 0 and 1"),
        (["demo", "--out", "none/report.html"], "there is no folder none"),
        (["demo", "--model-out", "none/model.fewlabel"], "there is no folder none"),
        (["demo", "--out", "."], "is a folder"),
        (["demo", "--out", "a.html", "--model-out", "./a.html"], "same file"),
    ],
)
def test_wrong_use_is_one_line_before_any_work(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(demo_job, "breast_cancer", lambda *_: pytest.fail("work was begun"))
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert message in _one_line(captured.err)
    assert "--help" in captured.err
    assert captured.out == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_folder_that_cannot_be_written_is_wrong_use(tmp_path, capsys):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert run(["demo", "--out", str(folder / "report.html")]) == 2
    assert "cannot be written" in _one_line(capsys.readouterr().err)


# Failure ----------------------------------------------------------------------------------------------------


def _failing(error):
    def fail(*_, **__):
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RuntimeError("two\nlines"), "two lines"),
        (OSError(28, "No space left on device", "report.html"), "report.html: No space left on device"),
        (MemoryError(), "MemoryError"),
    ],
)
def test_failed_work_is_one_line_and_code_1(error, message, quick, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(reporting, "write", _failing(error))
    assert run(["demo", "--quiet"]) == 1
    captured = capsys.readouterr()
    assert message in _one_line(captured.err)
    assert captured.out == ""
    assert os.listdir(tmp_path) == []


def test_debug_shows_the_traceback(quick, monkeypatch):
    monkeypatch.setattr(reporting, "write", _failing(RuntimeError("here")))
    with pytest.raises(RuntimeError, match="here"):
        run(["demo", "--quiet", "--debug"])


def test_an_interrupt_is_one_line_and_leaves_no_file(quick, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(TableClassifier, "fit_encoded", _failing(KeyboardInterrupt()))
    assert run(["demo", "--model-out", "model.fewlabel"]) == 130
    assert "interrupted" in _one_line(capsys.readouterr().err)
    assert os.listdir(tmp_path) == []


def test_a_write_that_fails_half_way_leaves_the_old_report(quick, capsys, monkeypatch, tmp_path):
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr(os, "fsync", _failing(KeyboardInterrupt()))
    assert run(["demo", "--quiet"]) == 130
    assert os.listdir(tmp_path) == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "old"


# The demo ---------------------------------------------------------------------------------------------------


def test_the_whole_demo_in_a_pipe(tmp_path):
    """As a user runs it, in a process of its own whose output goes to a pipe."""
    command = [sys.executable, "-m", "fewlabel", "demo", "--model-out", "model.fewlabel"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    lines = done.stderr.splitlines()
    assert all(re.fullmatch(r"\d+/\d+ .+|writing the report", line) for line in lines)
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith("Labels look like a random sample")
    assert second.startswith("Breast cancer")
    rows = re.findall(r"(\d\.\d{3})   ?\d\.\d{3} to \d\.\d{3}", done.stdout)
    assert (
        len(rows) == len(lines) - 2
    )  # every member and the ensemble; not the first and the last steps, nor the report
    members = rows[1:]  # the ensemble comes first, whatever its rank
    assert members == sorted(members, reverse=True)
    assert "unlabeled rows" in done.stdout
    assert "Report: report.html" in done.stdout
    assert "Model:  model.fewlabel" in done.stdout
    assert sorted(os.listdir(tmp_path)) == ["model.fewlabel", "report.html"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "fewlabel.load(&#34;model.fewlabel&#34;)" in page
    assert "--labeled 0.1 --seed 0 --out report.html --model-out model.fewlabel" in page
    table = demo_job.breast_cancer(0.1, 0)
    model = fewlabel.load(tmp_path / "model.fewlabel")
    found = fewlabel.auc_confidence_interval(table.y_test, model.decision_function(table.X_test))
    assert f"AUC {found.auc:.3f} (95% interval {found.low:.3f} to {found.high:.3f})" in done.stdout
    assert found.auc > 0.95


def test_json_is_the_summary_and_nothing_else(quick, capsys, tmp_path):
    assert run(["demo", "--json", "--seed", "3", "--labeled", "0.2", "--out", "r.html"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["seed"] == 3
    assert summary["data"]["labeled"] == 80
    assert summary["command"] == "fewlabel demo --labeled 0.2 --seed 3 --out r.html"
    assert os.listdir(tmp_path) == ["r.html"]


def test_quiet_prints_nothing(quick, capsys, tmp_path):
    assert run(["demo", "-q"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    assert os.listdir(tmp_path) == ["report.html"]


def test_the_same_seed_gives_the_same_numbers(quick, capsys):
    found = []
    for _ in range(2):
        assert run(["demo", "--json", "--quiet"]) == 0
        summary = json.loads(capsys.readouterr().out)
        for row in summary["leaderboard"]:
            del row["fit_seconds"]
        found.append(summary)
    assert found[0] == found[1]


def test_an_old_terminal_can_print_everything(quick, monkeypatch):
    class Terminal(io.TextIOWrapper):
        def isatty(self):
            return True

    streams = [Terminal(io.BytesIO(), encoding="ascii", write_through=True) for _ in range(2)]
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    assert run(["demo"]) == 0
    out, err = (s.buffer.getvalue().decode() for s in streams)
    assert "logistic regression" in out
    sentences = ("interval", "AUC", "Threshold by")
    table = [line for line in out.splitlines() if " to " in line and not any(word in line for word in sentences)]
    assert all(len(re.sub(r"\x1b\[[\d;]*m", "", line)) <= 80 for line in table)
    assert "1/5" not in [line.split()[0] for line in err.splitlines() if line.split()]  # the bar instead of lines
    assert "\x1b" in err


def test_paths_with_brackets_are_printed_as_they_are(quick, capsys):
    assert run(["demo", "--out", "[bold]a b.html"]) == 0
    out = capsys.readouterr().out
    assert "Report: [bold]a b.html" in out
    assert os.path.exists("[bold]a b.html")


def test_exit_codes_are_those_promised():
    assert (main.DONE, main.FAILED, main.WRONG_USE) == (0, 1, 2)


def test_warnings_are_notes_and_failed_methods_are_named_once(capsys, monkeypatch):
    from sklearn.exceptions import FitFailedWarning

    from fewlabel.cli.main import _show_warnings_as_notes
    from fewlabel.exceptions import PriorWarning

    usual = []
    monkeypatch.setattr(warnings, "showwarning", lambda message, *_: usual.append(str(message)))
    _show_warnings_as_notes()
    for kind in (UserWarning, PriorWarning, UserWarning, FitFailedWarning, FutureWarning):
        warnings.showwarning(kind(kind.__name__), kind, "somewhere.py", 1)
    assert capsys.readouterr().err == "note: UserWarning\nnote: PriorWarning\n"
    assert usual == ["FutureWarning"]
