"""A seeded fuzzer of model files: damaged and forged ones must not crash, hang or exhaust memory, nor change a model.

A case takes a model file and changes it. Damage hits bytes of the file. Forgery knows the format: values of the
document by their types, arrays of another type or shape, numbers at the limits of an index, swapped and missing
members, and hashes that fit afterwards. Allowed outcomes: `UntrustedFileError`, or a model. A forged model is another
one, and may fail to predict with any Python exception; one from a damaged file, or from a forged file whose hashes or
signature do not fit, has to be the same as before. Cases run in a child process with limits; a case that ends it is a
finding.

    python tests/robustness files [--cases 20000] [--first 0] [--only trees]
"""

import copy
import os
import signal
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

import fewlabel
from fewlabel.exceptions import UntrustedFileError
from fewlabel.neighbors import RowSearch
from fewlabel.parts import KINDS, FittedModel, trees
from parts import examples
from persistence.forge import put_together, take_apart

SECONDS_PER_CASE = 5
BYTES_PER_CASE = 2**30
KEY = b"the key of all the fuzzed files"
NUMBERS = (0, -1, 1, 2, 3, 64, 2**31 - 1, -(2**31), 2**63 - 1, 10**30, 0.5, -0.5, 1e308, "nan", "inf", True, None)
TYPES = ("bool", "int8", "int32", "int64", "uint64", "float32", "float64")


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, np.where(rng.random(60) < 0.6, (X[:, 0] + X[:, 1] > 0).astype(int), -1)


def write_models(folder, only=None):
    """Signed files of models that together have parts of every kind, and of estimators that compiled code works for."""
    X, y = table()
    estimators = {
        "auto": fewlabel.AutoClassifier(["extra trees", "RBF-SVM", "path neighbors"], n_repeats=1, random_state=0),
        "boosted stumps": fewlabel.PNUAUCBoostClassifier(5, random_state=0),
        "boosted trees": fewlabel.TreeAUCBoostClassifier(3, random_state=0),
        "stream": fewlabel.LinearAUCClassifier(solver="oam-seq", random_state=0),
        "voting trees": fewlabel.AssembleClassifier(n_estimators=2, random_state=0),
        "walks": fewlabel.PathNeighborsClassifier(),
    }
    models = examples.models()
    for name in estimators if only is None else [only]:
        if name in estimators:
            fit = estimators[name].fit
            models[name] = fit(X, y)
    for name in models if only is None else [only]:
        fewlabel.save(models[name], folder / f"{name}.fewlabel", key=KEY)


def predictions(model):
    rows = examples.rows_of(model) if isinstance(model, FittedModel) and model.n_features_in_ != 4 else table()[0]
    if hasattr(model, "_stream"):
        model.partial_fit(*table())
    return [model.predict(rows), model.predict_proba(rows)]


# Changes -----------------------------------------------------------------------------------------------------


def damage(content, rng):
    content = bytearray(content)
    kind = rng.integers(4)
    at = int(rng.integers(len(content)))
    if kind == 0:
        for place in rng.integers(len(content), size=int(rng.integers(1, 6))):
            content[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del content[at:]
    elif kind == 2:
        del content[at : at + int(rng.integers(1, 200))]
    else:
        content[at:at] = rng.bytes(int(rng.integers(1, 200)))
    return bytes(content)


def places(value):
    """Every (container, key) of a document."""
    for key, held in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(held, (dict, list)):
            yield from places(held)


def forge_document(document, arrays, rng):
    """Change a value of the model, by its type."""
    found = list(places(document["model"]))
    holder, key = found[int(rng.integers(len(found)))]
    value = holder[key]
    if rng.random() < 0.15:
        other, other_key = found[int(rng.integers(len(found)))]
        holder[key] = copy.deepcopy(other[other_key])
    elif isinstance(value, str) and value.startswith("arrays/"):
        holder[key] = pick(rng, [*arrays, "arrays/9999.npy"])
    elif key == "kind":
        holder[key] = pick(rng, [*KINDS, "estimator"])
    elif isinstance(value, (int, float)) or value is None:
        holder[key] = pick(rng, NUMBERS)
    elif isinstance(value, list) and value:
        at = int(rng.integers(len(value)))
        value[at : at + 1] = [value[at]] * pick(rng, [0, 2, 3, 1000])
    elif isinstance(value, dict) and value:
        del value[pick(rng, list(value))]
    else:
        holder[key] = pick(rng, ["", "x", [], {}, 0, "__class__"])


def pick(rng, values):
    return values[int(rng.integers(len(values)))]


def forge_array(document, arrays, rng):
    """Change an array: its type, its shape, or numbers in it."""
    name = pick(rng, list(arrays))
    array = arrays[name]
    kind = rng.integers(6)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == 0:
            array = array.astype(pick(rng, TYPES))
        elif kind == 1:
            array = array.reshape(-1)[: int(rng.integers(array.size + 1))]
        elif kind == 2:
            array = np.resize(array, [int(n) for n in rng.integers(0, 5, size=int(rng.integers(1, 4)))])
        elif kind == 3 and array.ndim:
            array = array[: int(rng.integers(len(array) + 1))] if rng.random() < 0.5 else np.concatenate([array, array])
        else:
            array = with_limits(array, arrays, rng)
    arrays[name] = np.ascontiguousarray(array)


def with_limits(array, arrays, rng):
    """Numbers at the limits of their type, or of an index into one of the arrays."""
    array = array.copy()
    flat = array.reshape(-1)
    if not flat.size:
        return array
    chosen = rng.integers(len(flat), size=int(rng.integers(1, 4)))
    if array.dtype.kind == "f":
        flat[chosen] = pick(rng, [np.nan, np.inf, -np.inf, 1e300, -1e-300, 0.0, float(flat.max())])
    elif array.dtype.kind == "b":
        flat[chosen] = ~flat[chosen]
    else:
        limits = np.iinfo(array.dtype)
        length = pick(rng, [n for one in arrays.values() for n in one.shape] or [1])
        value = pick(rng, [-1, -2, length - 1, length, length + 1, limits.min, limits.max, int(flat.max()) + 1])
        flat[chosen] = np.clip(value, limits.min, limits.max)
    return array


def forge_members(document, arrays, rng):
    """Swap, remove or add members."""
    names = list(arrays)
    kind = rng.integers(3)
    if kind == 0:
        one = pick(rng, names)
        other = pick(rng, names)
        arrays[one], arrays[other] = arrays[other], arrays[one]
    elif kind == 1:
        del arrays[pick(rng, names)]
    else:
        arrays["arrays/8888.npy"] = arrays[pick(rng, names)]


def change(content, rng):
    """A changed file, and whether it must be refused unless it predicts the same."""
    kind = rng.random()
    if kind < 0.25:
        return damage(content, rng), True
    document, arrays = take_apart(content)
    for _ in range(int(rng.integers(1, 4))):
        if arrays:
            forge = pick(rng, [forge_document] * 5 + [forge_array] * 8 + [forge_members])
            forge(document, arrays, rng)
    forged = put_together(document, arrays)
    if kind < 0.3:  # with the hash of the document as it was
        return forged[:-64] + content[-116:-52], True
    return forged, False


# Cases -------------------------------------------------------------------------------------------------------


class _TooSlow(BaseException):
    pass


def _too_slow(*_):
    raise _TooSlow


def run_case(seed, originals, path):
    """What is wrong with the outcome of a case, or None."""
    rng = np.random.default_rng(seed)
    name = sorted(originals)[seed % len(originals)]
    content, expected = originals[name]
    changed, damaged = change(content, rng)
    if changed == content:
        return None
    path.write_bytes(changed)
    trees._uses_kernels = lambda X: seed % 3 > 0  # compiled code would not say that an index is wrong
    signed = seed % 10 == 0
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CASE)
    try:
        model = fewlabel.load(path, **({"key": KEY} if signed else {}))
        if signed:
            return f"{seed} {name}: a changed file was accepted with its signature"
        found = predictions(model)
    except UntrustedFileError as error:
        return f"{seed} {name}: out of memory" if "MemoryError" in str(error) else None
    except MemoryError:
        return f"{seed} {name}: out of memory"
    except _TooSlow:
        return f"{seed} {name}: more than {SECONDS_PER_CASE} s"
    except Exception:
        return f"{seed} {name}: a damaged file was loaded, and failed" if damaged else None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    same = all(np.array_equal(a, b) for a, b in zip(found, expected))
    return f"{seed} {name}: a damaged file was loaded, with other predictions" if damaged and not same else None


def run_cases(folder, first, last):
    """Run cases in this process, and print each before it starts and what is wrong with it."""
    import resource

    warnings.simplefilter("ignore")
    folder = Path(folder)
    originals = {}
    for path in folder.glob("*.fewlabel"):
        for uses_kernels in (True, False):  # which also compiles what is needed
            trees._uses_kernels = lambda X, answer=uses_kernels: answer
            originals[path.stem] = path.read_bytes(), predictions(fewlabel.load(path, key=KEY))
    everyone_is_as_near = RowSearch(np.zeros((9, 4)), "euclidean", "brute", 2)
    everyone_is_as_near.query(np.zeros((2, 4)))  # compiles the search that decides ties
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES_PER_CASE,) * 2)
    signal.signal(signal.SIGALRM, _too_slow)
    for seed in range(first, last):
        print(seed, flush=True)
        with np.errstate(all="ignore"):
            finding = run_case(seed, originals, folder / "changed")
        if finding:
            print(f"finding: {finding}", flush=True)


def findings(n_cases, first=0, only=None, patience=7200):
    """Findings of `n_cases` cases; a child process that dies or hangs is replaced by another."""
    last = first + n_cases
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        write_models(Path(folder), only)
        while first < last:
            command = [sys.executable, str(Path(__file__).parent), "files", "--child", folder]
            command += ["--first", str(first), "--cases", str(last - first)]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=patience, env=environment)
                code, shown = done.returncode, done.stdout
            except subprocess.TimeoutExpired as error:
                code, shown = "hang", (error.stdout or b"").decode()
            yield from (line.removeprefix("finding: ") for line in shown.splitlines() if line.startswith("finding: "))
            if code == 0:
                return
            started = [int(line) for line in shown.splitlines() if line.isdigit()]
            if not started:
                raise RuntimeError(f"the child process did not start: {done.stderr[-2000:]}")
            yield f"{started[-1]}: the process ended with {code}"
            first = started[-1] + 1
