"""A seeded fuzzer of model files: damaged and forged ones must not crash, hang or exhaust memory, nor change a model.

A case takes one of a few model files and changes it: bytes of the file, values of its schema, the members of the
archive or the numbers in an array. Allowed outcomes: `UntrustedFileError`, or a model. A model may fail to predict with
any Python exception, as it may have been forged. If bytes of the file were damaged, a model that loads has to predict
the same as before. Cases run in a child process with limits; a case that ends it is a finding.

    python tests/robustness files [--cases 20000] [--first 0] [--only table]
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabel
from fewlabel.exceptions import UntrustedFileError

SECONDS_PER_CASE = 5
BYTES_PER_CASE = 2**30
NUMBERS = (0, -1, 1, 2**31 - 1, -(2**31), 2**63 - 1, 10**30, 0.5, float("nan"), 1e308)


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, np.where(rng.random(60) < 0.6, (X[:, 0] + X[:, 1] > 0).astype(int), -1)


def columns():
    """The same rows as a table of numbers, categories, booleans, dates and text."""
    X, _ = table()
    rng = np.random.default_rng(1)
    words = np.array(["late", "paid", "overdue", "new", "limit", "card", "abroad", "cash"])
    return pd.DataFrame(X, columns=["a", "b", "c", "d"]).assign(
        city=rng.choice(["Oslo", "Graz", "Lima"], len(X)),
        member=rng.random(len(X)) < 0.5,
        day=pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(400, size=len(X)), unit="D"),
        note=[" ".join(rng.choice(words, 6)) for _ in X],
    )


def write_models(folder, only=None):
    """Files of models whose arrays are followed by kernels of ours, and of others."""
    X, y = table()
    small = fewlabel.AutoClassifier(["logistic regression", "naive Bayes"], n_repeats=1, random_state=0)
    models = {
        "stumps": fewlabel.PNUAUCBoostClassifier(5, random_state=0),
        "trees": fewlabel.TreeAUCBoostClassifier(3, random_state=0),
        "ensemble": fewlabel.AssembleClassifier(n_estimators=2, random_state=0),
        "paths": fewlabel.PathNeighborsClassifier(),
        "linear": fewlabel.LinearAUCClassifier(random_state=0),
        "auto": fewlabel.AutoClassifier(["extra trees", "naive Bayes"], n_repeats=1, random_state=0),
    }
    models["pipeline"] = make_pipeline(StandardScaler(), LogisticRegression())
    models["table"] = fewlabel.TableClassifier(fewlabel.PNUAUCBoostClassifier(5, random_state=0), random_state=0)
    models["auto table"] = fewlabel.TableClassifier(small, random_state=0)
    for name in [only] if only else models:
        rows = y >= 0 if name == "pipeline" else slice(None)
        fitted = models[name].fit((columns() if "table" in name else X)[rows], y[rows])
        fewlabel.save(fitted, folder / f"{name}.skops")


def predictions(model):
    rows = columns() if hasattr(model, "encoder_") else table()[0]
    found = [model.predict(rows)]
    if hasattr(model, "predict_proba"):
        found.append(model.predict_proba(rows))
    return found


# Changes -----------------------------------------------------------------------------------------------------


def damage_bytes(content, rng):
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


def places(value, found):
    """Every (container, key) of a schema."""
    for key, part in value.items() if isinstance(value, dict) else enumerate(value):
        found.append((value, key))
        if isinstance(part, (dict, list)):
            places(part, found)
    return found


def forge_schema(members, rng):
    schema = json.loads(members["schema.json"])
    found = places(schema, [])
    for _ in range(int(rng.integers(1, 4))):
        holder, key = found[int(rng.integers(len(found)))]
        other_holder, other_key = found[int(rng.integers(len(found)))]
        if key not in holder if isinstance(holder, dict) else key >= len(holder):
            continue
        kind = rng.integers(5)
        if kind == 0:
            holder[key] = NUMBERS[int(rng.integers(len(NUMBERS)))]
        elif kind == 1 and isinstance(holder, dict):
            del holder[key]
        elif kind == 2 and isinstance(other_holder, dict) and other_key in other_holder:
            holder[key] = json.loads(json.dumps(other_holder[other_key]))
        elif kind == 3 and isinstance(holder[key], str):
            holder[key] = re.sub(r"\d+", lambda text: str(int(rng.integers(-5, 10**6))), holder[key])
        else:
            holder[key] = [] if rng.random() < 0.5 else "x"
    members["schema.json"] = json.dumps(schema).encode()


def forge_array(members, rng):
    names = [name for name in members if name.endswith(".npy")]
    if not names:
        return
    name = names[int(rng.integers(len(names)))]
    if rng.random() < 0.2:
        members[name] = damage_bytes(members[name], rng)
        return
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    if array.dtype.names:
        field = array.dtype.names[int(rng.integers(len(array.dtype.names)))]
        forge_values(array[field], rng)
    elif rng.random() < 0.3:
        array = array.reshape(-1)[: int(rng.integers(array.size + 1))]
    elif rng.random() < 0.3:
        array = np.resize(array, [int(n) for n in rng.integers(0, 5, size=int(rng.integers(1, 4)))])
    else:
        forge_values(array, rng)
    buffer = io.BytesIO()
    np.save(buffer, array)
    members[name] = buffer.getvalue()


def forge_values(array, rng):
    """Write extreme values of its type into some places of an array."""
    if array.dtype.kind not in "iufb" or not array.size:
        return
    flat = np.atleast_1d(array).reshape(-1) if array.flags.contiguous else array
    chosen = rng.integers(len(flat), size=int(rng.integers(1, 4)))
    if array.dtype.kind == "f":
        flat[chosen] = rng.choice([np.nan, np.inf, -1e300 if array.itemsize == 8 else -1e30, 0.0])
    elif array.dtype.kind == "b":
        flat[chosen] = ~flat[chosen]
    else:
        limits = np.iinfo(array.dtype)
        flat[chosen] = rng.choice([limits.min, limits.max, limits.max // 2, min(100, limits.max)])


def change(content, rng):
    """A changed file, and whether its bytes were damaged rather than forged."""
    if rng.random() < 0.3:
        return damage_bytes(content, rng), True
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    kind = rng.random()
    if kind < 0.45:
        forge_schema(members, rng)
    elif kind < 0.95:
        forge_array(members, rng)
    else:
        members.pop(list(members)[int(rng.integers(len(members)))])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return buffer.getvalue(), False


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
    path.write_bytes(changed)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CASE)
    try:
        model = fewlabel.load(path)
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
    for path in folder.glob("*.skops"):
        originals[path.stem] = path.read_bytes(), predictions(fewlabel.load(path))
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
