import pytest

from fewlabel.cli.main import FAILED, WRONG_USE, run

ARGUMENTS = ["bench", "few-labels", "--experiments", "All methods", "--datasets", "wdbc,sick", "--repeats", "1"]
ARGUMENTS += ["--methods", "extra trees,logistic regression"]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.delenv("FEWLABEL_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_list_names_suites_and_datasets(capsys):
    assert run(["bench", "--list"]) == 0
    out = capsys.readouterr().out
    assert "few-labels" in out
    assert "surgical-deepnet" in out


def test_a_run_is_written_and_can_be_continued_and_added_to_stored_results(capsys, tmp_path):
    assert run(ARGUMENTS) == 0
    captured = capsys.readouterr()
    assert "left out: dataset sick" in captured.err
    assert "extra trees" in captured.out
    cells = sorted((tmp_path / "bench" / "few-labels" / "cells").iterdir())
    assert len(cells) == 6
    assert "Left out: dataset sick" in (tmp_path / "bench" / "few-labels" / "index.md").read_text()
    assert run(ARGUMENTS) == WRONG_USE
    assert "--resume" in capsys.readouterr().err
    before = {path: path.stat().st_mtime_ns for path in cells}
    assert run([*ARGUMENTS, "--resume"]) == 0
    assert {path: path.stat().st_mtime_ns for path in cells} == before
    assert run(["bench", "few-labels", "--pages-only", "--out", "two/few-labels", "--add", "bench/few-labels"]) == 0
    first, second = ((tmp_path / name / "few-labels" / "index.md").read_text() for name in ("bench", "two"))
    assert second.splitlines() == [line for line in first.splitlines() if "Left out" not in line]
    capsys.readouterr()
    assert run([*ARGUMENTS, "--out", "two/few-labels"]) == WRONG_USE  # results without cells are not overwritten
    assert "already holds results" in capsys.readouterr().err
    assert run(["bench", "--pages-only", "--out", "two"]) == 0
    assert "few-labels/index" in (tmp_path / "two" / "index.md").read_text()
    assert (tmp_path / "two" / "coverage.md").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["bench"], WRONG_USE, "name a suite"),
        (["bench", "nothing"], WRONG_USE, "name a suite"),
        (["bench", "few-labels", "--datasets", "wdbx"], WRONG_USE, "no dataset of this suite"),
        (["bench", "few-labels", "--methods", "nnPU, linear"], WRONG_USE, "no method of this suite"),
        (["bench", "few-labels", "--datasets", "sick"], FAILED, "nothing to run"),
    ],
)
def test_wrong_use_is_one_clear_line(arguments, code, told, capsys):
    assert run(arguments) == code
    assert told in capsys.readouterr().err
