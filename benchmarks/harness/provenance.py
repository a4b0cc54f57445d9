"""What a cell was computed with: the code of its suite, the file of its data, the commit and the versions of packages.

The hash of the code covers a suite's module and every module of this repository that it imports, directly or not, so
also the defaults of the estimators. Comments, docstrings and the layout of the lines do not count.
"""

import ast
import contextlib
import hashlib
import platform
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib import import_module, metadata, util
from pathlib import Path

import fewlabel
from fewlabel.datasets import registry

ROOT = Path(__file__).parents[2]
RERUN = Path(__file__).with_name("rerun.csv")  # stored cells that were drawn and run again, with both numbers
RERUN_OF_EACH = Path(__file__).with_name("rerun_of_each.csv")  # the same, some of each method and commit
_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pandas", "xgboost", "xgboost-cpu", "lightgbm", "torch")
_OURS = ("fewlabel", "benchmarks")
_NO_NUMBERS = ("fewlabel", "benchmarks.harness.experiment")  # they compute nothing, and would name everything


@cache
def code_hash(module: str) -> str:
    """Hash of the code of a module and of what it imports."""
    digest = hashlib.sha256()
    for name in sorted(_closure(module)):
        digest.update(ast.dump(_without_docstrings(_parse(name))).encode())
    return digest.hexdigest()[:12]


def _closure(module: str) -> set[str]:
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and name not in _NO_NUMBERS:
            found.add(name)
            waiting += _imported(_parse(name))
    return found


@cache
def _parse(module: str) -> ast.Module:
    spec = util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    return ast.parse(Path(spec.origin).read_text("utf-8"))


def _imported(tree: ast.Module) -> Iterator[str]:
    """Modules of this repository that a module imports or reaches as ``fewlabel.NAME``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in _OURS:
            for alias in node.names:
                yield _module_of(node.module, alias.name)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] in _OURS)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "fewlabel":
            yield _module_of("fewlabel", node.attr)


def _module_of(package: str, name: str) -> str:
    """Module that a name of a package is, or is defined in."""
    full = f"{package}.{name}"
    with contextlib.suppress(ModuleNotFoundError):
        if util.find_spec(full) is not None:
            return full
    return getattr(getattr(import_module(package), name), "__module__", package) if package == "fewlabel" else package


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            del node.body[0]
    return tree


def data_hash(dataset: str) -> str:
    """Hash of the file of a dataset; empty if the experiment makes its rows."""
    return registry().get(dataset, {}).get("sha256", "")[:12]


@cache
def versions() -> dict[str, str]:
    """Versions of what the numbers depend on."""
    found = {"fewlabel": fewlabel.__version__, "python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[package] = metadata.version(package)
    return found


@cache
def commit() -> str:
    """The last commit of the main branch that a checkout contains; empty elsewhere.

    Commits of other branches may be rewritten before they are merged; the hash of the code says what was run.
    """
    for command in (["merge-base", "HEAD", "main"], ["rev-parse", "HEAD"]):
        done = subprocess.run(["git", "-C", str(ROOT), *command], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()[:7]
    return ""
