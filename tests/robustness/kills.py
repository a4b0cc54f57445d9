"""Processes that are killed at random moments: no file is half of one and half of another, no finished work is lost.

    python tests/robustness kills [--cases 200] [--first 0] [--only fit]

A case forks a process that does one job again and again, says after each time that it is done, and is killed with
SIGKILL at a random moment. Then the files must be those of a job that was done, and not of an earlier one than the
last that said so.
"""

import contextlib
import hashlib
import json
import os
import random
import signal
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import fewlabel
from benchmarks.harness.cells import write_cell
from fewlabel.cli.main import run
from fewlabel.cli.paths import warn_of_another_set
from fewlabel.file_sets import atomic_set
from fewlabel.label_app.store import AnswerStore

ROWS = 120


class Command:
    """A job by the command line, in a folder with a table."""

    longest = 1.5  # seconds until it is killed, more or less what the command takes

    def prepare(self):
        rng = np.random.default_rng(0)
        table = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=["a", "b", "c"])
        known = rng.random(ROWS) < 0.5
        table["y"] = np.where(known, np.where(table.a + table.b > 0, "bad", "good"), None)
        table.to_csv("rows.csv", index=False)
        self.do(0)


class Fit(Command):
    def do(self, k):
        command = ["fit", "rows.csv", "--target", "y", "--method", "naive-bayes", "--seed", str(k), "--quiet"]
        assert run([*command, "--out", "model"]) == 0

    def state(self):
        fewlabel.load("model/model.fewlabel")
        metrics = Path("model/metrics.json").read_text()
        named = json.loads(metrics)["model_sha256"]
        assert Path("model/report.html").read_text("utf-8").strip().endswith("</html>"), "a report that was cut off"
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            warn_of_another_set(Path("model/model.fewlabel"))
        digest = hashlib.sha256(Path("model/model.fewlabel").read_bytes()).hexdigest()
        assert (digest == named) == (not said), "nobody says that the metrics are of another model"
        return hashlib.sha256(metrics.encode()).hexdigest()


class Predict(Command):
    longest = 0.4

    def do(self, k):
        if k == 0:
            Fit().do(0)
        count = 10 + k % 50
        pd.read_csv("rows.csv").head(count).to_csv("new.csv", index=False)
        assert run(["predict", "model/model.fewlabel", "new.csv", "--out", "scores.csv", "--quiet"]) == 0

    def state(self):
        content = Path("scores.csv").read_bytes()
        assert content.endswith(b"\n"), "a table that was cut off"
        assert pd.read_csv("scores.csv").notna().all(axis=None), "a row that was cut off"
        return hashlib.sha256(content).hexdigest()


class FewFiles:
    """What `fit` writes, as fast as can be: most of the time goes into replacing the files."""

    longest = 0.05

    def prepare(self):
        Path("model").mkdir()
        self.do(0)

    def do(self, k):
        with atomic_set(*(Path("model", name) for name in "abc")) as drafts:
            for draft in drafts:
                draft.write_text(str(k))

    def state(self):
        first, *others = (int(Path("model", name).read_text()) for name in "abc")
        assert first <= min(others), f"the first file, {first}, is newer than others: {others}"
        return str(first)


class Bench:
    """Cells of a benchmark: each that was finished is there."""

    longest = 0.05

    def prepare(self):
        self.do(0)

    def do(self, k):
        write_cell(Path(f"{k:06}.json"), {"cell": k, "score": [0.5] * 500})

    def state(self):
        cells = [json.loads(path.read_text()) for path in sorted(Path().glob("*.json"))]
        assert [cell["cell"] for cell in cells] == list(range(len(cells))), "a cell is missing"
        return str(len(cells) - 1)


class Label:
    """Answers of the labeling page: each that was acknowledged is there, once."""

    longest = 0.05

    def prepare(self):
        self.do(0)

    def do(self, k):
        store = AnswerStore(Path("answers.csv"))
        store.append(str(k), "bad", note="x" * 200)
        store.close()

    def state(self):
        store = AnswerStore(Path("answers.csv"))
        store.close()
        rows = [entry.row for entry in store.entries]
        assert rows == [str(k) for k in range(len(rows))], "an answer is missing or there twice"
        return rows[-1]


JOBS = {"fit": Fit, "predict": Predict, "set": FewFiles, "bench": Bench, "label": Label}


def killed(job, seconds):
    """States that the job said it had reached, in a process that was killed after so many seconds."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        os.close(told)
        with contextlib.suppress(BaseException):
            for k in range(1, 10**6):
                job.do(k)
                os.write(tell, (job.state() + "\n").encode())
        os._exit(1)  # a job failed
    os.close(tell)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with os.fdopen(told) as file:
        return file.read().split(), os.WIFSIGNALED(status)


def run_case(seed, only=None):
    """What is wrong with a case, or None."""
    rng = random.Random(seed)
    name = only or list(JOBS)[seed % len(JOBS)]
    job = JOBS[name]()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        job.prepare()
        states = [job.state()]
        reached, was_killed = killed(job, rng.uniform(0, job.longest))
        states += reached
        try:
            if not was_killed:
                return f"{seed} {name}: the job failed by itself"
            if job.state() in states[:-1] and job.state() != states[-1]:
                return f"{seed} {name}: finished work is lost"
        except Exception as error:
            return f"{seed} {name}: {type(error).__name__}: {error}"
    return None


def findings(n_cases, first=0, only=None):
    """What is wrong, case by case."""
    for seed in range(first, first + n_cases):
        finding = run_case(seed, only)
        if finding:
            yield finding
