"""Processes that tests start and interrupt."""

import os


def untraced():
    """The environment without what lets coverage measure a process.

    An interrupt within coverage's own code is dropped, or leaves its lock locked, and the process waits for it forever.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
