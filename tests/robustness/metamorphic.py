"""Metamorphic cases: changes of the data that must not change what a model says.

A case draws an estimator, its parameters, a table and one relation that the documentation of the estimator promises.
Two outputs that differ are a finding; so is an exception.

    python tests/robustness metamorphic [--cases 20000] [--first 0] [--only RankBoostClassifier]
"""

import pickle
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import fewlabel
from robustness.models import SLOW, TABLES, draw_data, draw_model, names, takes_weights

STUMPS = ("PNUAUCBoostClassifier", "RankBoostClassifier", "PNUAdaBoostClassifier", "PUAdaBoostClassifier")
TREES = ("TreeAUCBoostClassifier", "TreePUBoostClassifier")


def fit(model, X, y, **options):
    """A fitted copy; rankers mostly without the out-of-fold calibration, which takes two thirds of the time."""
    quick = hasattr(model, "fit_ranking") and (model.random_state or 0) % 5
    return getattr(clone(model), "fit_ranking" if quick else "fit")(X, y, **options)


def say(fitted, X):
    """What a model says about rows."""
    methods = [name for name in ("decision_function", "predict_proba") if hasattr(fitted, name)]
    return [np.asarray(getattr(fitted, name)(X), dtype=float) for name in methods or ["transform"]]


def take(X, rows):
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def stack(*tables):
    if isinstance(tables[0], pd.DataFrame):
        return pd.concat(tables, ignore_index=True)
    return np.vstack(tables)


# Relations: each gives what two models say, which should be the same. ------------------------------------------


def permuted_rows(model, X, y, rng):
    order = rng.permutation(len(y))
    return say(fit(model, take(X, order), y[order]), X), say(fit(model, X, y), X)


def permuted_columns(model, X, y, rng):
    """A table finds its columns by their names, in any order; other models are fitted to them in another order."""
    order = rng.permutation(X.shape[1])
    if isinstance(X, pd.DataFrame):
        fitted = fit(model, X, y)
        return say(fitted, X.iloc[:, order]), say(fitted, X)
    return say(fit(model, X[:, order], y), X[:, order]), say(fit(model, X, y), X)


def threads(model, X, y, rng):
    return say(fit(clone(model).set_params(n_jobs=2), X, y), X), say(fit(model, X, y), X)


def row_by_row(model, X, y, rng):
    fitted = fit(model, X, y)
    parts = [say(fitted, take(X, slice(i, i + 1))) for i in range(len(y))]
    return [np.concatenate(part) for part in zip(*parts)], say(fitted, X)


def round_trip(model, X, y, rng):
    fitted = fit(model, X, y)
    again = pickle.loads(pickle.dumps(fitted))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        fewlabel.save(again, path)
        return say(fewlabel.load(path), X), say(fitted, X)


def second_fit(model, X, y, rng):
    """A fit after another, on other rows, leaves nothing of it."""
    fitted = clone(model).fit(X, y)
    other = clone(model).fit(take(X, slice(None, None, -1)), y[::-1])
    return say(other.fit(X, y), X), say(fitted, X)


def names_of_classes(model, X, y, rng):
    """Other names of the classes in the same order."""
    names = np.array(["a", "y", "z", None], dtype=object)  # "not y" is before "y"
    return say(fit(model, X, names[y]), X), say(fit(model, X, y), X)


def layouts(model, X, y, rng):
    """Columns side by side in memory, a view of a larger array, or a table of numbers."""
    kind = rng.integers(3)
    if kind == 0:
        other = np.asfortranarray(X)
    elif kind == 1:
        other = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    else:
        other = pd.DataFrame(X).add_prefix("c")
    return say(fit(model, other, y), other), say(fit(model, X, y), X)


def as_sparse(model, X, y, rng):
    X = np.where(np.abs(np.nan_to_num(X)) < 0.5, 0.0, np.nan_to_num(X))
    rows = sparse.csr_array(X)
    return say(fit(model, rows, y), rows), say(fit(model, X, y), X)


def zero_weights(model, X, y, rng):
    extra = take(X, rng.integers(len(y), size=5))
    if not isinstance(X, pd.DataFrame):
        extra = extra + rng.normal(size=extra.shape)
    weight = rng.permutation(np.r_[rng.integers(1, 4, len(y) - 5), np.ones(5)])
    more = fit(model, stack(X, extra), np.r_[y, rng.choice(y, 5)], sample_weight=np.r_[weight, np.zeros(5)])
    return say(more, X), say(fit(model, X, y, sample_weight=weight), X)


def scaled_weights(model, X, y, rng):
    weight = rng.integers(1, 4, len(y)).astype(float)
    scaled = fit(model, X, y, sample_weight=weight * rng.choice([2.0**-10, 0.1, 2.0**10]))
    return say(scaled, X), say(fit(model, X, y, sample_weight=weight), X)


def unit_weights(model, X, y, rng):
    return say(fit(model, X, y, sample_weight=np.ones(len(y))), X), say(fit(model, X, y), X)


def repeated_rows(model, X, y, rng):
    times = rng.integers(1, 4, len(y))
    repeated = fit(model, take(X, np.repeat(np.arange(len(y)), times)), np.repeat(y, times))
    return say(repeated, X), say(fit(model, X, y, sample_weight=times.astype(float)), X)


def increasing(model, X, y, rng):
    known = X[y >= 0]  # a cut is mid-way between values of the fit: other rows may be on either side of it
    return say(fit(model, X**3, y), known**3)[:1], say(fit(model, X, y), known)[:1]


def other_units(model, X, y, rng):
    """Other units of the columns; powers of two, so that nothing is rounded."""
    scale = 2.0 ** rng.integers(-3, 4, X.shape[1])
    return say(fit(model, X * scale, y), X * scale), say(fit(model, X, y), X)


def more_unlabeled(model, X, y, rng):
    extra = rng.normal(size=(9, X.shape[1]))
    return say(fit(model, stack(extra, X), np.r_[np.full(9, -1), y]), X), say(fit(model, X, y), X)


def swapped_labels(model, X, y, rng):
    """Two classes with each other's name: the scores change their sign, up to the threshold."""
    mine, other = say(fit(model, X, y), X)[0], say(fit(model, X, np.where(y >= 0, 1 - y, -1)), X)[0]
    return [other.mean() - other], [mine - mine.mean()]


# What is promised, by whom. -------------------------------------------------------------------------------------

GRAPHS = ("PathNeighborsClassifier", "LabelSpreadingClassifier")
LINEAR = ("LinearAUCClassifier", "LeastSquaresAUCClassifier", "LinearPUClassifier")


def _draws_rows(has):
    return has.get("basis") == "nystroem"


# Relations that only some models promise.
PROMISED_BY = {
    as_sparse: lambda name, has: get_tags(getattr(fewlabel, name)(**has)).input_tags.sparse,
    threads: lambda name, has: "n_jobs" in has,
    permuted_columns: lambda name, has: name in (*GRAPHS, *TABLES) or (name in LINEAR and not _draws_rows(has)),
    layouts: lambda name, has: name not in TABLES,
    names_of_classes: lambda name, has: name != "TableEncoder",
    increasing: lambda name, has: name in (*STUMPS, *TREES) and has.get("early_stopping") is not True,
    other_units: lambda name, has: name in GRAPHS and has["scale"] is not False,
    more_unlabeled: lambda name, has: name in ("RankBoostClassifier", "LinearAUCClassifier"),
    swapped_labels: lambda name, has: name == "LinearAUCClassifier",
}
# What does not hold, for which parameters; the docstrings (of the class or its `fit`) say so in these words.
ALWAYS = "True"
EXCEPTIONS = {
    permuted_rows: (
        r"order of the\s+rows",
        {
            "AutoClassifier": ALWAYS,
            "LinearAUCClassifierCV": ALWAYS,
            "MultiviewKernelClassifier": ALWAYS,
            "BalancedMultiviewClassifier": ALWAYS,
            "QuasiBaggingClassifier": ALWAYS,
            "CrossTrainingClassifier": ALWAYS,
            "CoTrainingClassifier": ALWAYS,
            "TriTrainingClassifier": ALWAYS,
            "VariableClusterer": ALWAYS,
            "AssembleClassifier": "resample",
            "ReliefFSelector": "max_samples is not None",
            "SubsetReliefSelector": "max_samples is not None",
            "LeastSquaresAUCClassifier": "basis != 'linear'",
        },
    ),
    repeated_rows: (
        "repeated row",
        {
            "AutoClassifier": ALWAYS,
            "LinearAUCClassifierCV": ALWAYS,
            "MultiviewKernelClassifier": ALWAYS,
            "BalancedMultiviewClassifier": ALWAYS,
            "AssembleClassifier": ALWAYS,
            "SemiSupervisedAdaBoostClassifier": ALWAYS,
            "NeuralPUClassifier": ALWAYS,
            "PNUAUCBoostClassifier": "early_stopping",
            "RankBoostClassifier": "early_stopping",
            "PNUAdaBoostClassifier": "early_stopping",
            "TreeAUCBoostClassifier": "split_noise > 0",
            "TreePUBoostClassifier": "split_noise > 0",
            "LeastSquaresAUCClassifier": "basis != 'linear' or risk == 'pnu'",
        },
    ),
    as_sparse: (
        "sparse rows",
        {
            "CrossTrainingClassifier": ALWAYS,
            "CoTrainingClassifier": ALWAYS,
            "TriTrainingClassifier": ALWAYS,
            "PathNeighborsClassifier": "scale",
            "LabelSpreadingClassifier": "scale",
        },
    ),
    scaled_weights: (
        r"scale of\s+the\s+weights",
        {"TreeAUCBoostClassifier": "l2_regularization > 0", "TreePUBoostClassifier": "l2_regularization > 0"},
    ),
}
RELATIONS = (
    permuted_rows,
    permuted_columns,
    threads,
    row_by_row,
    round_trip,
    second_fit,
    names_of_classes,
    layouts,
    as_sparse,
    zero_weights,
    scaled_weights,
    unit_weights,
    repeated_rows,
    increasing,
    other_units,
    more_unlabeled,
    swapped_labels,
)
_ON_WEIGHTS = (zero_weights, scaled_weights, unit_weights, repeated_rows)


def promised(relation, model):
    """Whether the documentation of the model promises the relation."""
    name, has = type(model).__name__, model.get_params(deep=False)
    if relation in _ON_WEIGHTS and not takes_weights(model):
        return False
    if relation in PROMISED_BY and not PROMISED_BY[relation](name, has):
        return False
    excepted = EXCEPTIONS[relation][1].get(name) if relation in EXCEPTIONS else None
    return excepted is None or not eval(excepted, dict(has))


def run_case(seed, only=None, relations=RELATIONS):
    """What is wrong with a case, or None."""
    rng = np.random.default_rng(seed)
    known = names()
    cost = np.array([0.2 if name in SLOW else 1.0 for name in known])
    name = only or str(rng.choice(known, p=cost / cost.sum()))
    model = draw_model(name, rng)
    X, y = draw_data(model, rng)
    possible = [relation for relation in relations if promised(relation, model)]
    relation = possible[int(rng.integers(len(possible)))]
    told = f"{seed} {relation.__name__} {' '.join(repr(model).split())} on {X.shape[0]} x {X.shape[1]}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found, expected = relation(model, X, y, rng)
        except Exception as error:
            return f"{told}: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
    for got, wanted in zip(found, expected):
        scale = np.nanmax(np.abs(wanted), initial=1.0)
        if got.shape != wanted.shape or not np.allclose(got, wanted, rtol=1e-4, atol=2e-4 * scale, equal_nan=True):
            worst = float(np.abs(got - wanted).max()) if got.shape == wanted.shape else np.nan
            return f"{told}: differs by {worst:.3g}"
    return None


def findings(n_cases, first=0, only=None):
    """What is wrong, case by case."""
    for seed in range(first, first + n_cases):
        finding = run_case(seed, only)
        if finding:
            yield finding
