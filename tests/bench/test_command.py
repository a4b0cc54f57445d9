import pytest

from benchmarks.__main__ import main
from benchmarks.harness import add_results, get_suite, read_stored

ARGUMENTS = ["run", "few-labels", "--experiments", "All methods", "--datasets", "wdbc", "sick", "--repeats", "1"]
ARGUMENTS += ["--methods", "extra trees", "logistic regression"]


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.delenv("FEWLABEL_DATA", raising=False)
    monkeypatch.chdir(tmp_path)


def test_the_list_names_suites_and_missing_datasets(capsys):
    assert main(["list"]) == 0
    out = capsys.readouterr().out
    assert "few-labels" in out
    assert "surgical-deepnet" in out


def test_a_run_is_written_continued_and_stored(capsys, tmp_path):
    assert main(ARGUMENTS) == 0
    captured = capsys.readouterr()
    assert "left out: dataset sick" in captured.err
    assert "| wdbc |" in captured.out
    folder = tmp_path / "build" / "runs" / "few-labels"
    cells = sorted((folder / "cells").iterdir())
    assert len(cells) == 6
    assert "Left out: dataset sick" in (folder / "index.md").read_text()
    before = {path: path.stat().st_mtime_ns for path in cells}
    assert main(ARGUMENTS) == 0
    assert {path: path.stat().st_mtime_ns for path in cells} == before
    suite = get_suite("few-labels")
    add_results(suite, folder, tmp_path / "results.parquet")
    assert len(read_stored(suite, tmp_path / "results.parquet")[0]) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["few-labels", "--datasets", "wdbx"], "no dataset of this suite"),
        (["few-labels", "--methods", "nnPU, linear"], "no method of this suite"),
        (["few-labels", "--datasets", "sick"], "nothing to run"),
    ],
)
def test_wrong_use_is_one_clear_line(arguments, message, capsys):
    assert main(["run", *arguments]) == 1
    assert message in capsys.readouterr().err
