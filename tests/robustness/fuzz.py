"""A seeded fuzzer: every estimator and public function on tables and labels as bad as they come.

Allowed outcomes of a case: a correct result (right shape, no NaN, classes that were given), or a ValueError or
TypeError with a text that says something. Anything else is a finding.

    python tests/robustness fuzz [--cases 20000] [--first 0] [--only PNUAUCBoostClassifier]
"""

import importlib.util
import pickle
import signal
import tempfile
import traceback
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

import fewlabel

SECONDS_A_CASE = 60
_LEAST_TEXT = 15  # characters of an error that says something


def shapes(rng):
    rows = int(rng.choice([0, 1, 2, 3, 5, 20, 60], p=[0.03, 0.05, 0.05, 0.07, 0.15, 0.4, 0.25]))
    return rows, int(rng.choice([0, 1, 2, 5, 30], p=[0.03, 0.17, 0.3, 0.4, 0.1]))


def plain(rng, n, d):
    return rng.normal(size=(n, d))


def with_gaps(rng, n, d):
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < rng.choice([0.1, 0.9])] = np.nan
    return X


def infinite(rng, n, d):
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.1] = rng.choice([np.inf, -np.inf])
    return X


def huge(rng, n, d):
    return rng.normal(size=(n, d)) * rng.choice([1e30, 1e150, 1e300])


def denormal(rng, n, d):
    return rng.normal(size=(n, d)) * 5e-324


def constant(rng, n, d):
    return np.full((n, d), rng.choice([0.0, 1.0, -3.5]))


def repeated(rng, n, d):
    return (
        np.repeat(rng.normal(size=(1, d)), n, axis=0)
        if rng.random() < 0.5
        else np.repeat(rng.normal(size=(n, 1)), d, 1)
    )


def few_values(rng, n, d):
    return rng.integers(0, 3, size=(n, d)).astype(float)


def other_type(rng, n, d):
    values = rng.integers(0, 2, size=(n, d))
    return values.astype(
        rng.choice(["float16", "float32", "int8", "uint64", "bool", "object", "longdouble", "complex"])
    )


def strided(rng, n, d):
    return (
        rng.normal(size=(2 * n, 2 * d))[::2, ::2] if rng.random() < 0.5 else np.asfortranarray(rng.normal(size=(n, d)))
    )


def read_only(rng, n, d):
    X = rng.normal(size=(n, d))
    X.flags.writeable = False
    return X


def memory_mapped(rng, n, d):
    if not n * d:
        return rng.normal(size=(n, d))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the map keeps it
    X = np.memmap(file, dtype=np.float64, mode="w+", shape=(n, d))
    X[:] = rng.normal(size=(n, d))
    return X


def sparse_rows(rng, n, d):
    X = sparse.random(
        n, d, density=0.3, random_state=int(rng.integers(2**31)), format=str(rng.choice(["csr", "csc", "coo"]))
    )
    if rng.random() < 0.5 and X.format == "csr":
        X.data[::2] = 0.0  # explicit zeros
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def frame(rng, n, d):
    X = pd.DataFrame(rng.normal(size=(n, d)), columns=[f"c{k}" for k in range(d)])
    if d and rng.random() < 0.5:
        X["c0"] = pd.Categorical(rng.choice(["a", "b", "<script>"], size=n))
    return X


def wrong_shape(rng, n, d):
    return rng.normal(size=n) if rng.random() < 0.5 else rng.normal(size=(n, d, 2))


def text(rng, n, d):
    return rng.choice(["a", "b", "3"], size=(n, d))


TABLES = [plain, plain, plain, with_gaps, infinite, huge, denormal, constant, repeated, few_values, other_type, strided]
TABLES += [read_only, memory_mapped, sparse_rows, frame, wrong_shape, text]


def labels(rng, n):
    kind = rng.integers(12)
    classes = rng.integers(0, 3 if kind == 1 else 2, size=n)
    hidden = rng.random(n) < rng.choice([0.0, 0.5, 0.9])
    y = np.where(hidden, -1, classes)
    if kind == 2:
        return np.where(hidden, None, np.array(["no", "yes"], dtype=object)[classes % 2])
    if kind == 3:
        return np.where(hidden, np.nan, classes.astype(float))
    if kind == 4:
        return pd.Series(pd.array(np.where(hidden, pd.NA, classes), dtype="Int64"))
    if kind == 5:
        return np.where(hidden | (classes == 0), -1, 1)  # positives only
    if kind == 6:
        return rng.normal(size=n)
    if kind == 7:
        return np.full(n, -1)
    if kind == 8:
        return np.ones(n, dtype=int)
    if kind == 9:
        return y[: max(n - 1, 0)]
    if kind == 10:
        return classes.astype(bool)
    return y


def make(name, rng):
    """An estimator, cheap enough to be fitted thousands of times."""
    cls = dict(fewlabel.all_estimators())[name]
    seed = {"random_state": int(rng.integers(100))} if "random_state" in cls().get_params() else {}
    quick = {
        "n_estimators": int(rng.choice([1, 5])),
        "prior": float(rng.choice([0.1, 0.5, 0.9])),
        "portfolio": "small",
        "max_tries": 20,
    }
    model = cls(**seed)
    wanted = {k: v for k, v in quick.items() if k in model.get_params(deep=False)}
    if name == "LeastSquaresAUCClassifier":
        wanted.pop("prior")
    return model.set_params(**wanted)


@contextmanager
def limit(seconds):
    """A case that takes too long is a finding."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_):
        raise RuntimeError(f"hangs: longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def numbers(X):
    """A column to take for scores; whatever it is if `X` has none."""
    X = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return X[:, 0] if X.ndim == 2 and X.shape[1] else X


def interval(X, y, rng):
    pairs, prior = str(rng.choice(["pn", "pu", "un", "auto"])), rng.choice([None, 0.0, 0.3, 1.0, np.nan])
    method = str(rng.choice(["score", "newcombe", "logit-delong", "wald-delong"]))
    return fewlabel.auc_confidence_interval(y, numbers(X), pairs=pairs, prior=prior, method=method)[:3]


def pnu_auc(X, y, rng):
    return fewlabel.pnu_auc_score(y, numbers(X), prior=rng.choice([None, 0.3]), gamma=rng.choice([None, 0.5, 2.0]))


def hidden(X, y, rng):
    left = fewlabel.hide_labels(y, labeled=rng.choice([0.0, 0.1, 1.0, 2.0]), random_state=0)
    assert len(left) == len(y), "one label a row"
    return 0.0


def folds(X, y, rng):
    splits = list(fewlabel.LabeledStratifiedKFold(int(rng.choice([1, 2, 5]))).split(X, y))
    assert all(len(np.intersect1d(train, test)) == 0 for train, test in splits), "folds that overlap"
    return [len(test) for _, test in splits]


def class_prior(X, y, rng):
    method = str(rng.choice(["auto", "auto", "nonsense"]))
    return fewlabel.estimate_class_prior(X, y, method, random_state=0).prior


def card(X, y, rng):
    model = fewlabel.PNUAUCBoostClassifier(5, random_state=0).fit(X, y)
    fewlabel.plot_shape_functions(model)
    return fewlabel.scorecard(model)["points"]


def pu_table(X, y, rng):
    size, share = int(rng.choice([0, 1, 10, 100])), rng.choice([0.0, 0.3, 1.0, np.nan])
    return fewlabel.make_pu(size, n_features=int(rng.choice([0, 2, 10])), prior=share, random_state=0)[0]


def saved(X, y, rng):
    model = fewlabel.PNUAUCBoostClassifier(5, random_state=0).fit(X, y)
    with tempfile.TemporaryDirectory() as folder:
        fewlabel.save(model, Path(folder) / "model.fewlabel")
        again = fewlabel.load(Path(folder) / "model.fewlabel")
    assert (again.predict(X) == model.predict(X)).all(), "another prediction after saving"
    return again.decision_function(X)


def any_table(X, y, rng):
    rows = X
    if not isinstance(X, pd.DataFrame) and rng.random() < 0.5:
        rows = pd.DataFrame(X.toarray() if sparse.issparse(X) else X)
    model = fewlabel.TableClassifier(fewlabel.PNUAUCBoostClassifier(5, random_state=0), random_state=0).fit(rows, y)
    return model.predict_proba(rows)


FUNCTIONS = {
    "hide_labels": hidden,
    "estimate_class_prior": class_prior,
    "linear_auc_path": lambda X, y, rng: fewlabel.linear_auc_path(X, y, alphas=(1.0, 0.01))[1],
    "auc_confidence_interval": interval,
    "paired_auc_test": lambda X, y, rng: fewlabel.paired_auc_test(y, numbers(X), numbers(X) ** 2)[:2],
    "pnu_auc_score": pnu_auc,
    "pu_auc_score": lambda X, y, rng: fewlabel.pu_auc_score(y, numbers(X), rng.choice([0.0, 0.3, 1.0])),
    "compare_methods": lambda X, y, rng: fewlabel.compare_methods(X).ranks,
    "LabeledStratifiedKFold": folds,
    "scorecard": card,
    "make_pu": pu_table,
    "save and load": saved,
    "TableClassifier": any_table,
}


def names():
    """Estimators and functions to draw from."""
    found = [name for name, _ in fewlabel.all_estimators()]
    if importlib.util.find_spec("torch") is None:
        found.remove("NeuralPUClassifier")
    found.remove("AutoClassifier")  # its members are fuzzed one by one
    found.remove("TableClassifier")  # it is among the functions, with a quick estimator
    return [*found, *FUNCTIONS]


def check_function(name, X, y, rng):
    """Call a function; what it gives must be numbers."""
    values = np.asarray(FUNCTIONS[name](X, y, rng), dtype=float)
    assert not np.isnan(values).any(), f"NaN from {name}"


def check(model, X, y):
    """Fit, and look at what comes out; a wrong result is an AssertionError."""
    model.fit(X, y)
    n = X.shape[0]
    if hasattr(model, "predict"):
        predicted = model.predict(X)
        assert len(predicted) == n, "one prediction a row"
        assert set(np.unique(predicted).tolist()) <= set(model.classes_.tolist()), "a class that nobody gave"
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            values = np.asarray(getattr(model, method)(X), dtype=float)
            assert not np.isnan(values).any(), f"NaN in {method}"
            if method == "predict_proba":
                np.testing.assert_allclose(values.sum(axis=1), 1.0, err_msg="probabilities do not sum to 1")
    if hasattr(model, "get_support"):
        assert model.transform(X).shape == (n, model.get_support().sum()), "the columns that were kept"
    again = pickle.loads(pickle.dumps(model))
    if hasattr(model, "predict"):
        assert (again.predict(X) == predicted).all(), "another prediction after pickling"


def run_case(seed, only=None, build=make):
    """One case; None if its outcome is allowed, else what was found."""
    rng = np.random.default_rng(seed)
    name = only or str(rng.choice(names()))
    table = TABLES[rng.integers(len(TABLES))]
    n, d = shapes(rng)
    X, y = table(rng, n, d), labels(rng, n)
    told = f"case {seed}: {name}, {table.__name__} {n} x {d}, y of {type(y).__name__}"
    try:
        with limit(SECONDS_A_CASE), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if name in FUNCTIONS:
                check_function(name, X, y, rng)
            else:
                check(build(name, rng), X, y)
    except (ValueError, TypeError) as error:
        if len(str(error)) < _LEAST_TEXT:
            return f"{told}: an error that says too little: {error!r}"
        return None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{told}: {type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})"
    return None


def findings(n_cases, first=0, only=None):
    """What is wrong, case by case."""
    for seed in range(first, first + n_cases):
        told = run_case(seed, only)
        if told:
            yield told
