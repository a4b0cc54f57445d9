"""Models saved in one environment and read in another: the lowest versions that are allowed, and the newest.

    python tests/persistence/exchange.py save FOLDER     in one environment
    python tests/persistence/exchange.py check FOLDER    in the other

`save` writes models, rows, and what the models predict for them; `check` compares with what they predict there.
"""

import argparse
import sys
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

import fewlabel
from fewlabel.auto import weights
from fewlabel.auto.members import available

sys.path.append(str(Path(__file__).parents[1]))
from golden import models as golden

TOLERANCE = 1e-12
OUTPUTS = ("predict_proba", "decision_function", "transform")


def every_member(rows, labels, task):
    """A model with every member that suits a task and is installed."""
    names = [member.name for member in available(task) if member.package not in ("tabicl", "tabpfn")]
    with patch.object(weights, "choose", lambda rows, ranks, *_: np.full(len(ranks), 1 / len(ranks))):
        return fewlabel.AutoClassifier(names, n_repeats=1, random_state=0).fit(rows, labels)


def models():
    """Names, fitted models and rows."""
    X, _, few = golden.numbers()
    yield "binary", every_member(X, few, "binary"), X
    positives = np.where(few == 1, 1, -1)
    yield "positives", every_member(X, positives, "positive-unlabeled"), X
    Y, _, several = golden.numbers(n_classes=3)
    yield "classes", every_member(Y, several, "multiclass"), Y
    table, target = golden.columns()
    inner = fewlabel.AutoClassifier("small", random_state=0)
    yield "table", fewlabel.TableClassifier(inner, random_state=0).fit(table, target), table
    for name, kind in fewlabel.all_estimators():
        if name in ("AutoClassifier", "TableClassifier", "TableEncoder", "NeuralPUClassifier"):
            continue
        rows, _, labels = golden.numbers(n_classes=3 if name in golden.MANY_CLASSES else 2)
        if name in golden.POSITIVES_ONLY:
            labels = np.where(labels == 1, 1, -1)
        given = golden.ARGUMENTS.get(name, {})  # estimators of other libraries cannot be written, their defaults can
        arguments = {key: value for key, value in given.items() if key not in ("estimator", "teacher")}
        if "random_state" in kind().get_params():
            arguments["random_state"] = 0
        yield name, kind(**arguments).fit(rows, labels), rows


def outputs(model, rows):
    found = {name: getattr(model, name)(rows) for name in OUTPUTS if hasattr(model, name)}
    return {name: np.asarray(values, dtype=np.float64) for name, values in found.items()}


def save(folder):
    folder.mkdir(exist_ok=True)
    for name, model, rows in models():
        fewlabel.save(model, folder / f"{name}.fewlabel")
        pd.DataFrame(rows).rename(columns=str).to_parquet(folder / f"{name}.parquet")
        np.savez(folder / f"{name}.npz", **outputs(model, rows))
        print("saved", name, flush=True)


def distance(found, expected):
    """The largest difference, relative to numbers above 1."""
    difference = np.where(found == expected, 0.0, np.abs(found - expected))
    return float((difference / np.maximum(np.abs(expected), 1.0)).max(initial=0.0))


def check(folder):
    """The number of models that predict something else here."""
    n_different = 0
    paths = sorted(folder.glob("*.fewlabel"))
    for path in paths:
        rows = pd.read_parquet(path.with_suffix(".parquet"))
        if not any(pd.api.types.is_string_dtype(rows[name]) for name in rows):
            rows = rows.to_numpy()
        found = outputs(fewlabel.load(path), rows)
        with np.load(path.with_suffix(".npz")) as expected:
            assert set(found) == set(expected), path.stem
            far = [distance(found[name], expected[name]) for name in found]
        worst = max(far, default=0.0)
        n_different += not worst <= TOLERANCE
        print(f"{path.stem:40} {worst:.1e}", "" if worst <= TOLERANCE else "differs", flush=True)
    print(f"{len(paths)} models, {n_different} differ by more than {TOLERANCE}")
    return n_different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("save", "check"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.what == "save":
        save(options.folder)
    else:
        sys.exit(check(options.folder) > 0)


if __name__ == "__main__":
    main()
