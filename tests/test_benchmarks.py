"""The benchmark scripts: what they write, and how two runs are compared."""

import json
import sys
from pathlib import Path

import pytest

from benchmarks.speed import big_table, compare, run


def run_of(date="2026-01-01", **figures):
    form = {"fewlabel": "0.2.0", "machine": "2 cores", "load": 1.0}
    return {"date": date, **form, "figures": {name.replace("_", " / "): value for name, value in figures.items()}}


def test_compare_shows_ratios_and_fails_on_regressions(tmp_path, capsys):
    history = tmp_path / "history.jsonl"
    runs = [
        run_of(fit_XGBoost=0.2, score_XGBoost=1.0, gone_X=1.0),
        run_of("2026-02-01", fit_XGBoost=0.3, score_XGBoost=0.8),
    ]
    history.write_text("".join(json.dumps(run) + "\n" for run in runs))
    assert compare.main(["-2", "-1", "--history", str(history)]) == 1
    header, first, second = capsys.readouterr().out.splitlines()
    assert "2026-01-01 and 2026-02-01" in header
    assert first.split() == ["fit", "/", "XGBoost", "0.2", "0.3", "1.50", "slower"]
    assert second.split() == ["score", "/", "XGBoost", "1", "0.8", "0.80", "faster"]
    assert compare.main(["0", "1", "--history", str(history), "--tolerance", "0.6"]) == 0
    assert "slower" not in capsys.readouterr().out
    one = tmp_path / "run.json"
    one.write_text(json.dumps(runs[0]))
    assert compare.main([str(one), "0", "--history", str(history)]) == 0
    with pytest.raises(SystemExit, match=r"7 is neither a file nor a position in .*, which has 2 runs"):
        compare.main(["7", "0", "--history", str(history)])


def test_results_are_written_between_the_marks(tmp_path):
    page = tmp_path / "RESULTS.md"
    page.write_text("# Title\n\n<!-- run.py: begin -->old<!-- run.py: end -->\n\nThe rest.\n")
    for value in (0.5, 0.25):
        run.write_results(tmp_path, run_of(fit_XGBoost=value, start=3.0))
    text = page.read_text()
    assert text.startswith("# Title\n")
    assert text.endswith("The rest.\n")
    assert "| fit / XGBoost | 0.25 |" in text
    assert "0.5" not in text
    assert "old" not in text
    assert (tmp_path / "speed.png").read_bytes().startswith(b"\x89PNG")


def test_ratios_are_ours_over_the_peers():
    assert run.ratios("fit", {"ours": 2.0, "A": 4.0, "B": 1.0}, "ours") == {"fit / A": 0.5, "fit / B": 2.0}
    calls = []
    sides = {name: lambda name=name: calls.append(name) for name in ("ours", "A")}
    assert set(run.in_turns(sides, 2)) == {"ours", "A"}
    assert calls == ["ours", "A"] * 3  # the first turn is a warm-up


def test_the_large_table_is_the_same_every_time():
    rows = big_table.make_rows(2000, 3, 50)
    assert rows.equals(big_table.make_rows(2000, 3, 50))
    assert rows.num_columns == 21
    labels = rows["y"].to_pandas()
    assert labels.notna().sum() == 50
    assert set(labels.dropna()) == {"bad", "good"}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are counted by /proc")
def test_usage_counts_processes_that_a_thread_has_started():
    """As Dask starts its workers."""
    child = "import time; held = bytearray(200 << 20); time.sleep(2)"
    code = (
        "import subprocess, sys, threading\n"
        f"start = threading.Thread(target=subprocess.run, args=([sys.executable, '-c', {child!r}],))\n"
        "start.start(); start.join()"
    )
    found = big_table.Usage([sys.executable, "-c", code])
    assert "one of 2 processes" in str(found)
    assert max(found._peaks.values()) > 0.19
