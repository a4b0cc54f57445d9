"""Writes that fail at any step, and processes that are killed: the old file stays, or the new one is whole."""

import errno
import io
import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest

import fewlabel
from benchmarks.harness.cells import write_cell
from fewlabel import file_sets, files
from fewlabel.cli.paths import new_set, write_json
from fewlabel.cli.results import result_writer

MODEL = fewlabel.LinearAUCClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


def save_model(folder):
    fewlabel.save(MODEL, folder / "model.fewlabel")


def write_fit(folder):
    with new_set(folder, "model.fewlabel", "metrics.json") as (model, metrics):
        fewlabel.save(MODEL, model)
        write_json({"score": 1.0}, metrics)


def write_predictions(folder):
    with result_writer(folder / "scores.csv") as (render, write):
        for _ in range(3):
            write(render(pa.table({"score": np.arange(1000.0)})))


def write_bench_cell(folder):
    write_cell(folder / "cell.json", {"score": 0.5})


JOBS = (save_model, write_fit, write_predictions, write_bench_cell)


class Faults:
    """Makes one step of writing fail: opening, writing, flushing to the disk or renaming a file."""

    def __init__(self, monkeypatch, step, error):
        self.step, self.error, self.done = step, error, 0
        for name in ("replace", "fsync"):
            monkeypatch.setattr(os, name, self.counted(getattr(os, name)))
        for module in (files, file_sets):
            monkeypatch.setattr(module, "open", self.open, raising=False)

    def counted(self, function):
        def call(*args, **kwargs):
            self.done += 1
            if self.done == self.step:
                raise self.error
            return function(*args, **kwargs)

        return call

    def open(self, *args, **kwargs):
        file = self.counted(open)(*args, **kwargs)
        if isinstance(file, io.BufferedWriter):
            raw = file.detach()
            file = _Writer(raw, self)
        return file


class _Writer(io.BufferedWriter):
    def __init__(self, raw, faults):
        super().__init__(raw)
        self._checked = faults.counted(super().write)

    def write(self, content):
        return self._checked(content)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.__name__)
def test_a_write_that_fails_at_any_step_leaves_the_old_files(job, code, tmp_path):
    job(tmp_path)
    for path in tmp_path.iterdir():
        path.write_bytes(b"old " + path.name.encode())
    old = contents(tmp_path)
    for step in range(1, 100):
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch, step, OSError(code, os.strerror(code)))
            try:
                job(tmp_path)
            except OSError as error:
                assert error.errno == code  # noqa: PT017
                left = contents(tmp_path)
                if job is write_fit and left != old:  # files are replaced one after the other, the model last
                    assert left.pop("model.fewlabel") == old["model.fewlabel"], f"step {step}"
                    assert list(left) == ["metrics.json"]
                    (tmp_path / "metrics.json").write_bytes(old["metrics.json"])
                else:
                    assert left == old, f"step {step}"
                continue
        assert contents(tmp_path).keys() == old.keys()
        if faults.done < step:  # every step has failed once
            break
        for name, content in old.items():  # the failed step was that of flushing a folder, which not all systems can
            (tmp_path / name).write_bytes(content)
    assert 4 < step < 99


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_a_killed_process_leaves_a_whole_file(tmp_path):
    code = """if True:
        import itertools, json
        from fewlabel.files import atomic_write
        for number in itertools.count():
            with atomic_write("result.json") as file:
                file.write(json.dumps([number] * 50_000).encode())
            print(number, flush=True)
    """
    rng = random.Random(0)
    with subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.2 * rng.random())
        process.kill()
    written = json.loads((tmp_path / "result.json").read_text())
    assert len(written) == 50_000
    assert len(set(written)) == 1
