"""Keep the warning filters of the process when several threads run scikit-learn.

Before Python 3.14 the filters belong to the process. scikit-learn replaces them for a moment in every check of an array
and for every tree of a forest. If two threads do so at the same time, the one that finishes last restores what the
other had put there. Here the filters are saved when the first block begins and restored when the last one ends.
"""

import contextlib
import sys
import threading
import warnings

_lock = threading.Lock()
_blocks = 0
_saved: warnings.catch_warnings | None = None


@contextlib.contextmanager
def keep_filters():
    """Leave the warning filters as they were at the end of a ``with`` block; blocks of several threads may overlap.

    Examples
    --------
    >>> import warnings
    >>> from fewlabel.warning_filters import keep_filters
    >>> before = list(warnings.filters)
    >>> with keep_filters():
    ...     warnings.simplefilter("error")
    >>> warnings.filters == before
    True
    """
    global _blocks, _saved
    with _lock:
        if _blocks == 0:
            # Entered by hand: the block that ends last restores, not the one that began first.
            _saved = warnings.catch_warnings()
            _saved.__enter__()
        _blocks += 1
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if _blocks == 0:
                _saved.__exit__(None, None, None)


def caller_level():
    """Level of the first line outside fewlabel, as `stacklevel` of ``warnings.warn``: the line that the user wrote."""
    frame = sys._getframe(1)
    level = 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "fewlabel":
        frame = frame.f_back
        level += 1
    return level
