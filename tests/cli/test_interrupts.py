"""Signals end a command in the same way as Ctrl-C, whatever the command is doing."""

import os
import signal
import subprocess
import sys

import pytest

from processes import untraced

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no SIGHUP on this system")

SIGNALS = [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", None)]

PROGRAM = """
import contextlib, signal, sys, time
from fewlabel.cli import main
from fewlabel.cli.terminal import progress
from fewlabel.files import atomic_write

# Whatever runs the tests may ignore signals, as nohup does.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

@main.app.command()
def hang():
    with atomic_write("result.csv") as file:
        file.write(b"half")
        print("writing", flush=True)
        time.sleep(100)

@main.app.command()
def lose(number: int):
    with atomic_write("result.csv") as file, progress(quiet=True) as report:
        file.write(b"half")
        report(1, 3, "first")
        with contextlib.suppress(KeyboardInterrupt):  # as in a callback of the garbage collector
            signal.raise_signal(number)
        print("lost", flush=True)
        report(2, 3, "second")
        print("went on", flush=True)

main.main()
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_signals_leave_no_temporary_file(number, tmp_path):
    command = [sys.executable, "-c", PROGRAM, "hang"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, env=untraced()) as process:
        assert process.stdout.readline() == b"writing\n"
        assert len(os.listdir(tmp_path)) == 1
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_that_python_dropped_ends_the_command_at_the_next_step(number, tmp_path):
    command = [sys.executable, "-c", PROGRAM, "lose", str(int(number))]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=untraced())
    assert (ended.returncode, ended.stdout) == (128 + number, "lost\n"), ended.stderr
    assert ended.stderr == "fewlabel: interrupted; no file is half-written\n"
    assert os.listdir(tmp_path) == []


def test_signals_that_the_caller_ignores_stay_ignored(tmp_path):
    ignored = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    command = [sys.executable, "-c", ignored + PROGRAM, "lose", str(int(signal.SIGTERM))]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=untraced())
    assert (ended.returncode, ended.stdout) == (0, "lost\nwent on\n"), ended.stderr
    assert os.listdir(tmp_path) == ["result.csv"]
