"""The tools around the speed figures; the figures themselves are no tests."""

import importlib.util
import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


def load(name):
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_of(date, **figures):
    return {"date": date, "machine": "m", "load": 1.0, "fewlabel": "0", "figures": figures}


def test_compare_names_what_grew(tmp_path, capsys):
    compare, history = load("compare"), tmp_path / "history.jsonl"
    runs = [run_of("2024-01-01", **{"a / b": 0.2, "c / d": 1.0}), run_of("2024-02-01", **{"a / b": 0.3, "c / d": 0.5})]
    history.write_text("".join(json.dumps(run) + "\n" for run in runs))
    assert compare.main(["0", "-1", "--history", str(history)]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-2:] for line in lines[1:]] == [["1.50", "slower"], ["0.50", "faster"]]
    assert compare.main(["0", "-1", "--history", str(history), "--tolerance", "2"]) == 0
    (tmp_path / "old.json").write_text(json.dumps(runs[1]))
    assert compare.main([str(tmp_path / "old.json"), "1", "--history", str(history)]) == 0
    with pytest.raises(SystemExit, match="which has 2 runs"):
        compare.main(["0", "5", "--history", str(history)])


def test_results_replace_those_of_the_last_run(tmp_path):
    bench = load("bench")
    (tmp_path / "RESULTS.md").write_text((FOLDER / "RESULTS.md").read_text())
    bench.write_results(tmp_path, run_of("2024-01-01", **{"a / b": 0.25}))
    bench.write_results(tmp_path, run_of("2024-02-01", **{"a / b": 0.5, "c, CPU s": 3.0}))
    page = (tmp_path / "RESULTS.md").read_text()
    assert "| a / b | 0.5 |" in page
    assert "2024-01-01" not in page
    assert "## Boosters: speed" in page
    assert (tmp_path / "speed.png").stat().st_size > 1000
