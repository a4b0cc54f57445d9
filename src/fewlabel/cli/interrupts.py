"""Ctrl-C, SIGTERM and SIGHUP end a command in the same way: no file is left half-written."""

import signal

# Signals that came, in order; not in an object, as signals belong to the whole process.
_came: list[int] = []


def raise_on_signals() -> None:
    """Let SIGINT, SIGTERM and SIGHUP raise KeyboardInterrupt; those that the caller ignores stay ignored, as by nohup.

    A second SIGTERM or SIGHUP ends the process at once.
    """
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Windows has no SIGHUP.
        if number is None:
            continue
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame) -> None:
    _came.append(number)
    # Ctrl-C can be pressed again; whoever sends another SIGTERM wants an end at once.
    if number != signal.SIGINT:
        signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt again if a signal came: Python drops one in a callback of the garbage collector."""
    if _came:
        raise KeyboardInterrupt


def signal_that_came() -> int:
    """The first signal that came; SIGINT if none came through `raise_on_signals`."""
    return _came[0] if _came else signal.SIGINT
