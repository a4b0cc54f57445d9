"""Processes that run one task at a time.

A worker is a new process, so what it sets for itself (threads, warnings) does not touch the caller's. It ends when its
caller does, even if that was killed: the pipe between them closes. A task that takes too long is ended with its
process, which works on every system and inside compiled code.
"""

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

_SPAWN = multiprocessing.get_context("spawn")


class TaskError(Exception):
    """A task that did not end: it took too long, or its process died."""


def run_tasks(
    work: Callable[..., Any], tasks: Sequence[tuple], *, jobs: int = 1, time_limit: float | None = None
) -> Iterator[tuple[int, Any]]:
    """Call `work` with each task, in `jobs` processes.

    Parameters
    ----------
    work : callable
        A function of a module; it and the tasks are pickled.
    tasks : sequence of tuple
        Arguments of each call.
    jobs : int, default=1
        Processes. With 1 there is still a process of its own.
    time_limit : float, default=None
        Seconds for a task.

    Yields
    ------
    (int, object)
        Number of the task and its result, as they finish. The result is a `TaskError` if the task did not end. An
        exception of `work` is raised here.
    """
    waiting = list(enumerate(tasks))[::-1]
    idle = [_Worker(work) for _ in range(min(jobs, len(tasks)))]
    busy: list[_Worker] = []
    try:
        while waiting or busy:
            while waiting and idle:
                busy.append(idle.pop())
                busy[-1].give(*waiting.pop(), time_limit)
            for worker in _first_to_end(busy):
                busy.remove(worker)
                result = worker.result(time_limit)
                idle.append(_Worker(work) if isinstance(result, TaskError) else worker)
                if isinstance(result, Exception) and not isinstance(result, TaskError):
                    raise result
                yield worker.number, result
    finally:
        for worker in (*idle, *busy):
            worker.stop()


class _Worker:
    """A process, and the number of its task."""

    def __init__(self, work: Callable[..., Any]):
        self.connection, other = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=_serve, args=(work, other))
        self.process.start()
        other.close()
        self.started = False
        self.number = -1  # no task yet
        self.deadline = float("inf")

    def give(self, number: int, task: tuple, time_limit: float | None) -> None:
        with contextlib.suppress(EOFError, OSError):  # a dead process is noticed when its result is asked for
            if not self.started:
                self.started = self.connection.recv()  # the start of the process does not count
            self.connection.send(task)
        self.number, self.deadline = number, time.monotonic() + (time_limit or float("inf"))

    def result(self, time_limit: float | None) -> Any:
        """Result of the task; the process is ended if there is none."""
        try:
            if self.connection.poll():
                return self.connection.recv()
            failure = f"longer than {time_limit:g} s"
        except (EOFError, OSError):
            self.process.join()
            failure = f"its process ended with code {self.process.exitcode}"
        self.stop()
        return TaskError(failure)

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


def _first_to_end(busy: list[_Worker]) -> list[_Worker]:
    """Workers that have a result, are dead, or are late."""
    seconds = min(worker.deadline for worker in busy) - time.monotonic()
    ready = wait([worker.connection for worker in busy], None if seconds == float("inf") else max(seconds, 0))
    now = time.monotonic()
    return [worker for worker in busy if worker.connection in ready or worker.deadline <= now]


def _serve(work: Callable[..., Any], connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the caller, which ends this process
    with contextlib.suppress(EOFError, OSError):  # the caller is gone
        connection.send(True)
        while True:
            task = connection.recv()
            try:
                result = work(*task)
            except Exception as error:
                result = error
            connection.send(result)
