"""Answers of the labeling page, under what happens to files, disks and processes, in random order.

Every answer that the server acknowledged has to be found afterwards: in the log, or in the recovery file beside it, and
in the log again once a server has been started.
"""

import http.client
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from fewlabel.active.answers import COLUMNS, read_answers

ROUNDS_OF_A_GAME = 25  # in one folder
N_ROWS = 200
HEADER = ",".join(COLUMNS).encode()
PARENT = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from label_app.tasks import make_task
from fewlabel.label_app import AnswerStore, LabelingLoop, LabelServer
import sklearn.linear_model, sklearn.tree

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:  # a process per line, without importing everything again
    if os.fork() == 0:
        try:
            loop = LabelingLoop(make_task(int(sys.argv[2]), columns="ab"), AnswerStore(Path(line.strip())))
            server = LabelServer(loop, token="t")
            print(os.getpid(), server.port, flush=True)
            server.serve()
        finally:
            print("0 0", flush=True)
            os._exit(1)
"""


class Servers:
    """Starts servers quickly."""

    def __enter__(self):
        command = [sys.executable, "-c", PARENT, str(Path(__file__).parents[1]), str(N_ROWS)]
        self._parent = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *error):
        self._parent.stdin.close()
        self._parent.wait(20)
        self._parent.stdout.close()

    def start(self, path):
        """The id and the port of a new process."""
        self._parent.stdin.write(f"{path}\n")
        self._parent.stdin.flush()
        return map(int, self._parent.stdout.readline().split())


class Game:
    """One folder, two tabs, and what they know of their answers."""

    def __init__(self, servers, folder, seed):
        self.rng = random.Random(seed)
        self.path = Path(folder, "labels.csv")
        self.recovery = Path(folder, "labels.recovery.csv")
        self.acknowledged = {}  # label of each row, None after an undo
        self.unsure = {}  # answers whose response got lost or was a refusal: they are given again
        self.undone = set()
        self.copies = [b""]  # earlier contents of the log
        self.foreign = None  # what somebody else has put in its place
        self._servers = servers
        self._lock = threading.Lock()
        self._start()

    def _start(self):
        if self.foreign is not None:
            assert self.path.read_bytes() == self.foreign, "a file of somebody else was written to"
            self.path.unlink()
            self.foreign = None
        self.pid, self.port = self._servers.start(self.path)
        assert self.pid, "the server did not start"
        self._check_log()

    def post(self, path, wait=True, **given):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request("POST", f"/t/api/{path}", json.dumps(given), {"Content-Type": "application/json"})
        if not wait:
            return connection, None
        response = connection.getresponse()
        found = json.loads(response.read())
        connection.close()
        return response.status, found

    def answer(self, tab, wait=True):
        """Answer the row of a tab; first those again whose fate is unknown, as the page does."""
        with self._lock:
            again = [row for row, given in self.unsure.items() if given["tab"] == tab]
        if again:
            given = self.unsure[again[0]]
        else:
            row = self.post("next", tab=tab)[1]["row"]
            label = self.rng.choice(["yes", "no"])
            given = {
                "tab": tab,
                "key": row["key"],
                "label": label,
                "how": row["how"],
                "note": "x" * self.rng.randrange(60),
            }
        self.unsure[given["key"]] = given
        status, _ = self.post("answer", wait, **given)
        if not wait:
            return status
        assert status in (200, 507), status
        if status == 200:
            with self._lock:
                del self.unsure[given["key"]]
                self.acknowledged[given["key"]] = given["label"]
        return None

    def undo(self):
        if self.unsure:
            return
        status, found = self.post("undo", tab="one")
        if status == 200:
            self.acknowledged[found["row"]["key"]] = None
            self.undone.add(found["row"]["key"])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        time.sleep(0.02)
        self.check_files()
        self._start()

    def kill_amid_an_answer(self):
        connection = self.answer("one", wait=False)
        time.sleep(self.rng.random() * 0.01)
        os.kill(self.pid, signal.SIGKILL)
        time.sleep(0.02)
        connection.close()
        self.check_files()
        self._start()

    def end(self):
        """Delete the log and kill the process, before anything could notice."""
        self.delete()
        self.kill()

    def delete(self):
        if self.foreign is None:
            self.path.unlink(missing_ok=True)

    def replace(self):
        """Save an older copy, as editors do: in place, or by renaming."""
        if self.foreign is not None:
            return
        content = self.rng.choice(self.copies)
        kind = self.rng.randrange(5)
        if kind == 0:
            content = content.replace(b"\n", b"\r\n")
        elif kind == 1:
            content = content.rstrip(b"\n")
        elif kind == 2:
            content = content[: self.rng.randrange(len(content) + 1)]
        elif kind == 3:
            content = b"name,age\nann,31"
        if content and not content.startswith(HEADER):
            self.foreign = content
        if self.rng.random() < 0.5:
            self.path.write_bytes(content)
        else:
            draft = self.path.with_name("draft")
            draft.write_bytes(content)
            draft.replace(self.path)

    def fill_disk(self):
        """Let files grow by a few bytes only, for a moment."""
        size = max(path.stat().st_size if path.exists() else 0 for path in (self.path, self.recovery))
        limits = resource.prlimit(self.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (size + self.rng.randrange(200), limits[1]))
        for _ in range(3):
            self.answer("two")
        if self.rng.random() < 0.3:
            self.kill()
        else:
            resource.prlimit(self.pid, resource.RLIMIT_FSIZE, limits)

    def both_tabs(self):
        def work(tab):
            for _ in range(3):
                self.answer(tab)

        threads = [threading.Thread(target=work, args=(tab,)) for tab in ("one", "two")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def play_round(self):
        events = (
            self.kill,
            self.kill_amid_an_answer,
            self.end,
            self.delete,
            self.replace,
            self.replace,
            self.fill_disk,
            self.both_tabs,
            self.undo,
        )
        for event in self.rng.sample(events, 2):
            event()
        self.answer(self.rng.choice(["one", "two"]))
        self.check_files()
        if self.path.exists() and self.foreign is None:
            self.copies.append(self.path.read_bytes())

    def check_files(self):
        """Every acknowledged answer is in the log or in the recovery file."""
        lines = []
        for path in (self.path, self.recovery):
            if path.exists():
                lines += path.read_text(errors="replace").splitlines()
        found = {tuple(line.split(",")[:2]) for line in lines}
        lost = [row for row, label in self.acknowledged.items() if label and (row, label) not in found]
        assert not lost, f"{len(lost)} acknowledged answers are in no file, such as {lost[0]}"

    def _check_log(self):
        """After a start, the log says what was acknowledged, and nothing else."""
        answers = read_answers(self.path) if self.path.read_bytes().count(b"\n") > 1 else {"row": [], "label": []}
        said = dict(zip(answers["row"], answers["label"]))
        lines = self.path.read_text("utf-8-sig").splitlines()[1:]
        twice = {row for row, n in Counter(line.split(",")[0] for line in lines).items() if n > 1} - self.undone
        assert not twice, f"answers that were stored twice: {twice}"
        for row in self.acknowledged.keys() | said.keys():
            possible = [self.acknowledged.get(row)]
            if row in self.unsure:
                possible.append(self.unsure[row]["label"])
            assert said.get(row) in possible, f"row {row} has the label {said.get(row)}, expected {possible}"


def findings(n_rounds, first=0, only=None):
    """Play rounds; yields what went wrong, with the number of the game."""
    with Servers() as servers:
        for game in range(first, first + -(-n_rounds // ROUNDS_OF_A_GAME)):
            with tempfile.TemporaryDirectory() as folder:
                played = Game(servers, folder, game)
                try:
                    for k in range(min(ROUNDS_OF_A_GAME, n_rounds - (game - first) * ROUNDS_OF_A_GAME)):
                        try:
                            played.play_round()
                        except (AssertionError, OSError, http.client.HTTPException) as error:
                            yield f"game {game}, round {k}: {error}"
                            break
                finally:
                    if played.pid:
                        os.kill(played.pid, signal.SIGKILL)
