"""Metamorphic cases: changes of the data that must not change what a model says.

A draw is an estimator with random parameters and a table. Its cases, five per draw, are relations that the
documentation of the estimator promises; they share the fit that others are compared with. Two outputs that differ are a
finding; so is an exception.

    python tests/robustness metamorphic [--cases 20000] [--first 0] [--only PNUAdaBoostClassifier]
"""

import pickle
import tempfile
import warnings
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import fewlabel
from robustness.models import SLOW, TABLES, draw_data, draw_model, names, takes_weights

STUMPS = ("PNUAUCBoostClassifier", "PNUAdaBoostClassifier", "PUAdaBoostClassifier")
TREES = ("TreeAUCBoostClassifier", "TreePUBoostClassifier")


CASES_PER_DRAW = 5


def fit_again(model, X, y, **options):
    """Fit; rankers mostly without the out-of-fold calibration, which takes two thirds of the time."""
    quick = hasattr(model, "fit_ranking") and (model.random_state or 0) % 5
    return getattr(model, "fit_ranking" if quick else "fit")(X, y, **options)


def fit(model, X, y, **options):
    """A fitted copy."""
    return fit_again(clone(model), X, y, **options)


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


class Draw:
    """A model with random parameters and a table, of an estimator that is drawn unless one is given."""

    def __init__(self, number, only=None):
        rng = np.random.default_rng(number)
        known = names()
        share = np.array([0.15 if name in SLOW else 1.0 for name in known])
        self.model = draw_model(only or str(rng.choice(known, p=share / share.sum())), rng)
        self.X, self.y = draw_data(self.model, rng)

    @cached_property
    def fitted(self):
        return fit(self.model, self.X, self.y)

    @cached_property
    def said(self):
        return say(self.fitted, self.X)


# Relations: each gives what two models say, which should be the same. ------------------------------------------


def permuted_rows(draw, rng):
    order = rng.permutation(len(draw.y))
    return say(fit(draw.model, take(draw.X, order), draw.y[order]), draw.X), draw.said


def permuted_columns(draw, rng):
    """A table finds its columns by their names, in any order; other models are fitted to them in another order."""
    order = rng.permutation(draw.X.shape[1])
    if isinstance(draw.X, pd.DataFrame):
        return say(draw.fitted, draw.X.iloc[:, order]), draw.said
    return say(fit(draw.model, draw.X[:, order], draw.y), draw.X[:, order]), draw.said


def threads(draw, rng):
    return say(fit(clone(draw.model).set_params(n_jobs=2), draw.X, draw.y), draw.X), draw.said


def row_by_row(draw, rng):
    n_rows = 25
    parts = [say(draw.fitted, take(draw.X, slice(i, i + 1))) for i in range(n_rows)]
    return [np.concatenate(part) for part in zip(*parts)], [part[:n_rows] for part in draw.said]


def round_trip(draw, rng):
    again = pickle.loads(pickle.dumps(draw.fitted))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.fewlabel")
        try:
            fewlabel.save(again, path)
        except TypeError:  # it holds an estimator of another library, and says so
            return say(again, draw.X), draw.said
        return say(fewlabel.load(path), draw.X), draw.said


def second_fit(draw, rng):
    """A fit after another, on other rows, leaves nothing of it."""
    other = fit(draw.model, take(draw.X, slice(None, None, -1)), draw.y[::-1])
    return say(fit_again(other, draw.X, draw.y), draw.X), draw.said


def names_of_classes(draw, rng):
    """Other names of the classes in the same order."""
    names = np.array(["a", "y", "z", None], dtype=object)  # "not y" is before "y"
    return say(fit(draw.model, draw.X, names[draw.y]), draw.X), draw.said


def layouts(draw, rng):
    """Columns side by side in memory, a view of a larger array, or a table of numbers."""
    kind = rng.integers(3)
    if kind == 0:
        other = np.asfortranarray(draw.X)
    elif kind == 1:
        other = np.repeat(np.repeat(draw.X, 2, axis=0), 2, axis=1)[::2, ::2]
    else:
        other = pd.DataFrame(draw.X).add_prefix("c")
    return say(fit(draw.model, other, draw.y), other), draw.said


def as_sparse(draw, rng):
    X = np.where(np.abs(np.nan_to_num(draw.X)) < 0.5, 0.0, np.nan_to_num(draw.X))
    rows = sparse.csr_array(X)
    return say(fit(draw.model, rows, draw.y), rows), say(fit(draw.model, X, draw.y), X)


def zero_weights(draw, rng):
    model, X, y = draw.model, draw.X, draw.y
    extra = take(X, rng.integers(len(y), size=5))
    if not isinstance(X, pd.DataFrame):
        extra = extra + rng.normal(size=extra.shape)
    weight = rng.permutation(np.r_[rng.integers(1, 4, len(y) - 5), np.ones(5)])
    more = fit(model, stack(X, extra), np.r_[y, rng.choice(y, 5)], sample_weight=np.r_[weight, np.zeros(5)])
    return say(more, X), say(fit(model, X, y, sample_weight=weight), X)


def scaled_weights(draw, rng):
    weight = rng.integers(1, 4, len(draw.y)).astype(float)
    scaled = fit(draw.model, draw.X, draw.y, sample_weight=weight * rng.choice([2.0**-10, 0.1, 2.0**10]))
    return say(scaled, draw.X), say(fit(draw.model, draw.X, draw.y, sample_weight=weight), draw.X)


def unit_weights(draw, rng):
    return say(fit(draw.model, draw.X, draw.y, sample_weight=np.ones(len(draw.y))), draw.X), draw.said


def repeated_rows(draw, rng):
    times = rng.integers(1, 4, len(draw.y))
    repeated = fit(draw.model, take(draw.X, np.repeat(np.arange(len(times)), times)), np.repeat(draw.y, times))
    weighted = fit(draw.model, draw.X, draw.y, sample_weight=times.astype(float))
    return say(repeated, draw.X), say(weighted, draw.X)


def increasing(draw, rng):
    known = draw.X[draw.y >= 0]  # a cut is mid-way between values of the fit: other rows may be on either side of it
    return say(fit(draw.model, draw.X**3, draw.y), known**3)[:1], say(draw.fitted, known)[:1]


def other_units(draw, rng):
    """Other units of the columns; powers of two, so that nothing is rounded."""
    X = draw.X * 2.0 ** rng.integers(-3, 4, draw.X.shape[1])
    return say(fit(draw.model, X, draw.y), X), draw.said


def more_unlabeled(draw, rng):
    extra = rng.normal(size=(9, draw.X.shape[1]))
    return say(fit(draw.model, stack(extra, draw.X), np.r_[np.full(9, -1), draw.y]), draw.X), draw.said


def swapped_labels(draw, rng):
    """Two classes with each other's name: the scores change their sign, up to the threshold."""
    other = say(fit(draw.model, draw.X, np.where(draw.y >= 0, 1 - draw.y, -1)), draw.X)[0]
    return [other.mean() - other], [draw.said[0] - draw.said[0].mean()]


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
    more_unlabeled: lambda name, has: (
        name == "LinearAUCClassifier" or (name == "PNUAUCBoostClassifier" and has["gamma"] == 1)
    ),
    swapped_labels: lambda name, has: name == "LinearAUCClassifier",
}
# What does not hold, for which parameters; the docstrings (of the class or its `fit`) say so in these words.
ALWAYS = "True"
EXCEPTIONS = {
    permuted_rows: (
        r"order of the\s+rows",
        {
            "LinearAUCClassifierCV": ALWAYS,
            "MultiviewKernelClassifier": ALWAYS,
            "BalancedMultiviewClassifier": ALWAYS,
            "QuasiBaggingClassifier": ALWAYS,
            "CrossTrainingClassifier": ALWAYS,
            "CoTrainingClassifier": ALWAYS,
            "TriTrainingClassifier": ALWAYS,
            "StabilitySelector": ALWAYS,
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
            "QuasiBaggingClassifier": ALWAYS,
            "AssembleClassifier": ALWAYS,
            "SemiSupervisedAdaBoostClassifier": ALWAYS,
            "NeuralPUClassifier": ALWAYS,
            "PNUAUCBoostClassifier": "early_stopping",
            "PNUAdaBoostClassifier": "early_stopping",
            "LeastSquaresAUCClassifier": "basis != 'linear' or risk == 'pnu'",
        },
    ),
    as_sparse: (
        "sparse rows",
        {
            "CrossTrainingClassifier": ALWAYS,
            "CoTrainingClassifier": ALWAYS,
            "TriTrainingClassifier": ALWAYS,
            "AssembleClassifier": ALWAYS,
            "SemiSupervisedAdaBoostClassifier": ALWAYS,
            "PathNeighborsClassifier": "scale",
            "LabelSpreadingClassifier": "scale",
        },
    ),
    permuted_columns: (
        "order of the columns",
        {"LabelSpreadingClassifier": "class_balance == 'auto' or n_neighbors == 'auto'"},
    ),
    increasing: ("its scale matters", {"PUAdaBoostClassifier": "splitter == 'random'"}),
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


@lru_cache(maxsize=1)
def _draw(number, only):
    return Draw(number, only)


def run_case(seed, only=None, relations=RELATIONS):
    """What is wrong with a case, or None."""
    draw = _draw(seed // CASES_PER_DRAW, only)
    possible = [relation for relation in relations if promised(relation, draw.model)]
    order = np.random.default_rng(seed // CASES_PER_DRAW).permutation(len(possible))
    relation = possible[order[seed % CASES_PER_DRAW % len(possible)]]
    rng = np.random.default_rng(seed)
    told = f"{seed} {relation.__name__} {' '.join(repr(draw.model).split())} on {' x '.join(map(str, draw.X.shape))}"
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found, expected = relation(draw, rng)
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
