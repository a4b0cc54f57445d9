"""On a terminal: a bar with the time left, a narrow window, and Ctrl-C."""

import os
import re
import select
import signal
import struct
import sys
import time

import numpy as np
import pandas as pd
import pytest

from fewlabel.cli.fit import FILES
from processes import untraced

pty = pytest.importorskip("pty", reason="pseudo-terminals are a matter of Unix")
fcntl = pytest.importorskip("fcntl")
termios = pytest.importorskip("termios")


@pytest.fixture(autouse=True)
def _table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    table = pd.DataFrame(rng.normal(size=(80, 3)) + y[:, None], columns=["first", "second", "third"])
    table["outcome"] = pd.Series(y, dtype="Int64").mask(rng.random(80) < 0.5)
    table.to_csv("rows.csv", index=False)


def on_a_terminal(arguments, columns=80, interrupt_at=None):
    """Run the command line on a pseudo-terminal; its exit code and what it showed.

    Interrupted, as by Ctrl-C, once it has shown `interrupt_at`.
    """
    process, terminal = pty.fork()
    if process == 0:  # the child; the terminal is its standard input, output and error
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # whatever runs the tests may ignore it
        environment = {**untraced(), "TERM": "xterm", "COLUMNS": str(columns), "OMP_NUM_THREADS": "1"}
        os.execve(sys.executable, [sys.executable, "-m", "fewlabel", *arguments], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    shown, deadline = b"", time.monotonic() + 300
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # the other end was closed
            break
        if not piece:
            break
        shown += piece
        if interrupt_at and interrupt_at.encode() in shown:
            os.write(terminal, b"\x03")  # the terminal makes a signal of it
            interrupt_at = None
    else:
        os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode()


def plain(text):
    """What stays on the screen, without colors and cursor movements."""
    return re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text)


def test_a_bar_with_the_time_left_then_the_results():
    code, shown = on_a_terminal(["fit", "rows.csv", "--target", "outcome", "--method", "small"], columns=100)
    assert code == 0, shown
    assert "\x1b[" in shown
    assert re.search(r"\d+/6", plain(shown))  # steps done
    assert re.search(r"-:--:--|\d:\d\d:\d\d", plain(shown))  # time left
    assert "logistic regression" in plain(shown)
    results = plain(shown).partition("learns from")[2]
    assert results.index("AutoClassifier") < results.index("logistic regression")  # the model first, then its parts
    assert re.search(r"Report: +report.html", results)
    assert sorted(os.listdir()) == sorted([*FILES, "rows.csv"])


def test_a_narrow_window():
    code, shown = on_a_terminal(["methods"], columns=40)
    assert code == 0, shown
    assert max(len(line) for line in plain(shown).splitlines()) <= 40


def test_ctrl_c_leaves_no_file():
    arguments = ["fit", "rows.csv", "--target", "outcome", "--out", "made"]
    code, shown = on_a_terminal(
        arguments, interrupt_at="features of all rows"
    )  # the first step is done, the methods run
    assert code == 130, shown
    assert "interrupted; no file is half-written" in plain(shown)
    assert "Traceback" not in shown
    assert os.listdir() == ["rows.csv"]
