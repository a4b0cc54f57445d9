"""The structure of the source tree: who may import what, how dense the code is, and that the maps of it are right."""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import fewlabel

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "fewlabel"
MODULES = sorted(SOURCE.rglob("*.py"))
PARTS = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
PARTS -= {"__init__", "__main__"}
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]


def part_of(module):
    """The package or top-level module that a dotted name belongs to, "" for fewlabel itself."""
    return (module.split(".") + [""])[1]


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def private_imports(source, own_part):
    """Dotted private names of other parts that a module imports, or reaches through a module it imports."""
    tree, found, modules = ast.parse(source), [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            names = {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names = {alias.asname or alias.name.split(".")[0]: alias.name for alias in node.names}
        else:
            continue
        ours = {bound: name for bound, name in names.items() if name.split(".")[0] == "fewlabel"}
        found += ours.values()
        modules |= {bound: bound if bound == "fewlabel" else name for bound, name in ours.items()}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            base = modules[node.value.id]
            if base.split(".")[-1].islower():  # a module or a package, not a class
                found.append(f"{base}.{node.attr}")
    return [name for name in found if part_of(name) != own_part and any(map(is_private, name.split(".")))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from fewlabel.graph._neighbors import Search", ["fewlabel.graph._neighbors.Search"]),
        ("def f():\n    from fewlabel.graph import _neighbors", ["fewlabel.graph._neighbors"]),
        ("import fewlabel.labels as names\nnames._read()", ["fewlabel.labels._read"]),
        ("import fewlabel\nfewlabel._MODULES", ["fewlabel._MODULES"]),
        ("import fewlabel\nfewlabel.__version__", []),
        ("from fewlabel.boosting._loop import boost", []),
        ("from numpy import _core", []),
    ],
)
def test_private_imports_are_found(source, expected):
    assert private_imports(source, "boosting") == expected


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_no_module_imports_a_private_name_of_another_part(path):
    dotted = ".".join(["fewlabel", *path.relative_to(SOURCE).with_suffix("").parts])
    own_part = "" if path.parent == SOURCE and path.stem.startswith("__") else part_of(dotted)
    assert not private_imports(path.read_text("utf-8"), own_part)


FOREIGN = "foreign"  # the part that may use private names of other libraries
# Documented, whatever their underscore: those of named tuples, and two of the standard library.
DOCUMENTED = {"_asdict", "_replace", "_fields", "_make", "_getframe", "_exit"}


def foreign_private_names(source, own_names):
    """Private names of other libraries that a module imports, or attributes that no file of ours defines."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and not node.module.startswith("fewlabel"):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names if not alias.name.startswith("fewlabel")]
        elif isinstance(node, ast.Attribute) and is_private(node.attr):
            found += [node.attr] if node.attr not in own_names | DOCUMENTED else []
    # What is in numba.core is no part of Numba's interface, either.
    return [name for name in found if any(map(is_private, name.split("."))) or name.startswith("numba.core.")]


def defined_names(source):
    """Names of functions, attributes and variables that a module sets."""
    tree = ast.parse(source)
    names = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    return names | {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from sklearn.utils._mask import f", ["sklearn.utils._mask.f"]),
        ("from sklearn.utils.validation import _check", ["sklearn.utils.validation._check"]),
        ("from numba.core import caching", ["numba.core.caching"]),
        ("model._predictors", ["_predictors"]),
        ("row._replace(a=self._own)", []),
    ],
)
def test_foreign_private_names_are_found(source, expected):
    assert foreign_private_names(source, {"_own"}) == expected


def test_private_names_of_other_libraries_are_in_one_part():
    sources = {path: path.read_text("utf-8") for path in MODULES}
    own_names = set().union(*map(defined_names, sources.values()))
    found = {str(path): foreign_private_names(source, own_names) for path, source in sources.items()}
    assert not {path: names for path, names in found.items() if names and FOREIGN not in Path(path).parts}


OPERATORS = (ast.expr_context, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)
# Limits that the source keeps now; skglm has 6.8 nodes per statement, scikit-learn's histogram boosting 7.9, and both
# unpack a tuple in 5% of their assignments.
MOST_NODES_PER_STATEMENT = 7.05
MOST_TUPLES = 0.06


def density(sources):
    """Nodes per statement, without docstrings, and the share of assignments that unpack a tuple."""
    n_nodes = n_statements = n_assignments = n_tuples = 0
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            n_nodes += not isinstance(node, OPERATORS)
            n_statements += isinstance(node, ast.stmt)
            if isinstance(node, ast.Assign):
                n_assignments += 1
                n_tuples += isinstance(node.targets[0], ast.Tuple)
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
                n_nodes -= 2  # the statement of the docstring and its text
    return n_nodes / n_statements, n_tuples / max(n_assignments, 1)


def test_density_of_a_packed_line():
    plain = "a = f(x)\nb = g(y)\n"
    packed = "a, b = f(x), g(y)\n"
    assert density([plain]) == (5.5, 0)  # a module, and name, call, function and argument of each statement
    assert density([packed]) == (12, 1)
    assert density(['"""A docstring."""\n' + plain])[0] < density([plain])[0]


def test_the_source_stays_readable():
    nodes_per_statement, tuples = density([path.read_text("utf-8") for path in MODULES])
    assert nodes_per_statement <= MOST_NODES_PER_STATEMENT
    assert tuples <= MOST_TUPLES


def public_functions():
    """Public functions, and constructors and public methods of public classes, that are defined in fewlabel."""
    for name in set(fewlabel.__all__) - set(fewlabel._MODULES):
        value = getattr(fewlabel, name)
        if inspect.isfunction(value):
            yield name, value
        elif inspect.isclass(value):
            for base in value.__mro__:
                for method, function in vars(base).items() if base.__module__.startswith("fewlabel") else ():
                    if inspect.isfunction(function) and (not method.startswith("_") or method == "__init__"):
                        yield f"{base.__name__}.{method}", function


def test_the_public_api_has_types():
    missing = set()
    for name, function in public_functions():
        signature = inspect.signature(function)
        given = [p.annotation for p in signature.parameters.values() if p.name not in ("self", "cls")]
        if inspect.Signature.empty in (*given, signature.return_annotation):
            missing.add(name)
    assert not missing


def test_import_linter_names_every_part():
    [layers] = [c["layers"] for c in SETTINGS["importlinter"]["contracts"] if c["type"] == "layers"]
    named = [part_of(name.strip()) for layer in layers for name in layer.split("|")]
    assert sorted(named) == sorted(PARTS)


def test_every_kernel_file_is_kept_apart_from_the_others():
    [named] = [c["modules"] for c in SETTINGS["importlinter"]["contracts"] if c["type"] == "independence"]
    files = {f"fewlabel.kernels.{path.stem}" for path in (SOURCE / "kernels").glob("*.py")} - {
        "fewlabel.kernels.__init__"
    }
    assert set(named) == files


def test_the_tree_in_contributing_is_the_tree():
    block = re.search(
        r"^```\nsrc/fewlabel/\n(.*?)^\S", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    named = []
    for line in block[1].splitlines():
        entries, description = re.fullmatch(r"  (\S+(?: \S+)*)(?:  +(.*))?", line).groups()
        for entry in entries.split():
            assert (SOURCE / entry).exists(), f"CONTRIBUTING.md names {entry}, which is not in src/fewlabel"
            named.append(entry.rstrip("/").removesuffix(".py"))
        for file in re.findall(r"\w+\.py\b", description or ""):
            assert (SOURCE / entries / file).exists(), f"CONTRIBUTING.md names {file}, which is not in {entries}"
    assert sorted(named) == sorted(PARTS)
