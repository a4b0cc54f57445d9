import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from bench.toy import CHANGED, CURVES, SLOW, TOY
from benchmarks.harness import Cell, get_suite, plan, read_run, run_cells, to_run
from benchmarks.harness.cells import file_name


def cells_of(suite, methods, repeats=1):
    return plan(suite, methods=methods, repeats=repeats)[0]


def records(folder):
    return {path.name: json.loads(path.read_text()) for path in (folder / "cells").glob("*.json")}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run of two methods, one of which fails, and the steps that it reported."""
    folder, steps = tmp_path_factory.mktemp("run"), []
    run_cells(TOY, cells_of(TOY, ["mean", "broken"], 3), folder, progress=lambda *step: steps.append(step))
    return folder, steps


@pytest.fixture
def folder(run, tmp_path):
    """A copy of that folder."""
    return shutil.copytree(run[0], tmp_path / "copy")


def test_a_failing_cell_is_recorded_and_the_run_continues(run):
    folder, steps = run
    assert [step[:2] for step in steps] == [(k, 6) for k in range(1, 7)]
    assert steps[0][2] == "made mean 0"
    frame, _ = read_run(TOY, folder)
    assert frame.loc[frame.method == "broken", "error"].str.contains("no such luck").all()
    assert frame.loc[frame.method == "mean", "score"].tolist() == pytest.approx([0.5, 0.6, 0.7])


def test_what_is_there_is_not_run_again_unless_it_failed(run):
    cells = cells_of(TOY, ["mean", "broken"])
    assert to_run(TOY, cells, run[0]) == ([], {})
    todo, refused = to_run(TOY, cells, run[0], retry_failed=True)
    assert [cell.method for cell in todo] == ["broken"]
    assert refused == {"failed before": 1}


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda record: {}, "without a result"),
        (lambda record: {**record, "score": None}, "without a result"),
        (lambda record: {**record, "code": "0123456789ab"}, "of other code"),
        (lambda record: {**record, "data": "0123456789ab"}, "of other data"),
        (lambda record: {**record, "parameters": {"rounds": 1}}, "with other settings"),
        (lambda record: {**record, "dataset": "other"}, "with other settings"),
    ],
)
def test_a_foreign_cell_is_not_counted(change, why, folder):
    cells = cells_of(TOY, ["mean"], 2)
    path = folder / "cells" / file_name(cells[0])
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    frame, refused = read_run(TOY, folder)
    assert frame.loc[frame.method == "mean", "repeat"].tolist() == [1, 2]
    assert sum(refused.values()) == 1
    assert to_run(TOY, cells, folder) == ([cells[0]], {why: 1})


def test_foreign_and_damaged_cells_are_run_again(folder):
    cells = cells_of(TOY, ["mean"], 3)
    before = records(folder)
    old, damaged = (folder / "cells" / file_name(cell) for cell in cells[:2])
    old.write_text(json.dumps({**before[old.name], "code": "0123456789ab", "score": 0.1}))
    damaged.write_text("{")
    with pytest.raises(ValueError, match=r"json is damaged"):
        read_run(TOY, folder)
    assert run_cells(TOY, cells, folder) == {"of other code": 1, "damaged": 1}
    after = records(folder)
    assert after.keys() == before.keys()
    for name, record in before.items():
        for key in ("score", "parameters", "code", "dataset"):
            assert after[name].get(key) == record.get(key)


def test_cells_of_other_parameters_are_not_this_experiments(run):
    cells = cells_of(TOY, ["mean"], 2)
    assert to_run(CHANGED, cells, run[0]) == (cells, {"with other settings": 2})
    with pytest.raises(ValueError, match="no finished cell"):
        read_run(CHANGED, run[0])


def test_a_cell_has_a_time_limit_and_may_end_its_process(tmp_path):
    run_cells(TOY, cells_of(TOY, ["slow", "crash", "mean"]), tmp_path, time_limit=5)
    errors = read_run(TOY, tmp_path)[0].set_index("method")["error"]
    assert errors["slow"] == "longer than 5 s"
    assert errors["crash"] == "its process ended with code 3"
    assert errors.isna()["mean"]


def test_the_callers_process_is_left_as_it_is(tmp_path):
    before = [pool["num_threads"] for pool in threadpool_info()], os.environ.copy(), list(warnings.filters)
    seen = []

    def progress(*step):
        seen.append(
            ([p["num_threads"] for p in threadpool_info()], os.environ.copy(), list(warnings.filters)) == before
        )

    run_cells(TOY, cells_of(TOY, ["noisy"], 2), tmp_path, data_home=str(tmp_path), progress=progress)
    assert seen == [True, True]


def test_wrong_names_and_missing_things(monkeypatch):
    monkeypatch.delenv("FEWLABEL_DATA", raising=False)
    monkeypatch.setattr("fewlabel.datasets._registry.util.find_spec", lambda name: None)
    suite = get_suite("few-labels")
    with pytest.raises(ValueError, match="no dataset of this suite is named 'pimo'"):
        plan(suite, datasets=["pimo"])
    with pytest.raises(ValueError, match="no experiment of this suite is named 'Table 9'"):
        plan(suite, experiments=["Table 9"])
    with pytest.raises(ValueError, match="no suite is named"):
        get_suite("nothing")
    cells, left_out = plan(suite, datasets=["sick", "wdbc"], repeats=1)
    assert {c.dataset for c in cells} == {"wdbc"}
    assert "OpenML" in left_out["dataset sick"]


def test_a_missing_package_is_a_reason(monkeypatch):
    monkeypatch.setattr("benchmarks.harness.experiment.util.find_spec", lambda name: None)
    cells, left_out = plan(get_suite("few-labels"), datasets=["wdbc"], repeats=1)
    assert left_out["method XGBoost"] == "xgboost is not installed"
    assert "XGBoost" not in {c.method for c in cells}


def test_names_of_files_are_safe():
    assert file_name(Cell("Table 2", "a/b", "", 'x "y", z', 3)) == "Table-2__a-b__all__x-y-z__3.json"


def test_whole_repeats_come_first():
    repeats = [cell.repeat for cell in plan(CURVES, repeats=2)[0]]
    assert repeats == sorted(repeats)


ROOT = Path(__file__).parents[2]
WITHOUT = """
import sys
sys.modules["resource"] = None
import signal
for name in ("SIGALRM", "setitimer", "ITIMER_REAL"):
    if hasattr(signal, name):
        delattr(signal, name)
from benchmarks.harness import SUITES, get_suite
print(len([get_suite(name) for name in SUITES]))
"""


def test_import_needs_no_module_or_signal_that_windows_lacks():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 10


KILLED = """
import sys
from pathlib import Path
sys.path[:0] = [{tests!r}, {root!r}]
from bench.toy import SLOW
from benchmarks.harness import plan, run_cells
run_cells(SLOW, plan(SLOW)[0], Path({folder!r}), progress=lambda done, total, name: print(done, flush=True))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9 here")
def test_kill_9_loses_no_finished_cell(tmp_path):
    code = KILLED.format(tests=str(ROOT / "tests"), root=str(ROOT), folder=str(tmp_path))
    rng = np.random.default_rng(0)
    seen = {}
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        process.stdout.readline()  # the first cell of this round is done
        time.sleep(rng.uniform(0, 0.3))
        os.kill(process.pid, signal.SIGKILL)  # its worker is not killed: it ends by itself, after its cell
        process.wait()
        time.sleep(0.5)
        assert all(record["score"] >= 0.5 for record in records(tmp_path).values())  # whole
        times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*.json")}
        assert all(times[name] == when for name, when in seen.items())  # none lost, none run twice
        seen = times
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    times = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "cells").glob("*.json")}
    assert len(times) == len(plan(SLOW)[0]) == 60
    assert all(times[name] == when for name, when in seen.items())
