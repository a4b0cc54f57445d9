"""Packages that others import and that no command uses: they are half of the time in which a command starts."""

import importlib.machinery
import importlib.util
import sys
from importlib.abc import MetaPathFinder
from typing import Any

# Optional for those that import them: Numba, skrub, and scikit-learn when skops asks for a list of its estimators.
_REFUSED = ("coverage", "polars", "pytest")
# skrub's reports and datasets. They are there, and imported when somebody uses them.
_LATER = ("matplotlib.pyplot", "requests")


def spare_imports() -> None:
    """Import less from now on. This is for a process that runs one command: in any other it would hide packages."""
    sys.meta_path.insert(0, _Sparing())


class _Sparing(MetaPathFinder):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name in _REFUSED:
            raise ModuleNotFoundError(f"{name} is not needed by a command", name=name)
        found = importlib.machinery.PathFinder.find_spec(name, path) if name in _LATER else None
        if found is not None and found.loader is not None:
            found.loader = importlib.util.LazyLoader(found.loader)
        return found
