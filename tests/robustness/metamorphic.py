"""A seeded runner of metamorphic cases: changes of the data that must not change what a model says.

A case draws an estimator, its parameters, a table (with gaps, ties, copies of rows) and one relation that its
documentation promises. A difference of the decision function is a finding.

    python tests/robustness/metamorphic.py [--cases 20000] [--first 0] [--only RankBoostClassifier]
"""

import argparse
import pickle
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

import fewlabel

STUMPS = ("PNUAUCBoostClassifier", "RankBoostClassifier", "PNUAdaBoostClassifier", "PUAdaBoostClassifier")
TREES = ("TreeAUCBoostClassifier", "TreePUBoostClassifier")
LINEAR = ("LinearAUCClassifier", "LeastSquaresAUCClassifier", "LinearPUClassifier")
ESTIMATORS = (*STUMPS, *TREES, *LINEAR)
POSITIVES_ONLY = ("PUAdaBoostClassifier", "TreePUBoostClassifier", "LinearPUClassifier")


def parameters(name, rng):
    """Random parameters of an estimator."""
    pick = lambda *values: values[int(rng.integers(len(values)))]  # noqa: E731
    drawn = {"random_state": int(rng.integers(100))}
    if name in STUMPS:
        drawn |= {"n_estimators": pick(3, 10, 25), "max_bins": pick(16, 255), "learning_rate": pick(0.1, 0.5, 1.0)}
    if name in ("PNUAUCBoostClassifier", "RankBoostClassifier") and rng.random() < 0.3:
        drawn |= {"early_stopping": True, "n_iter_no_change": 3}
    if name in TREES:
        drawn |= {"n_estimators": pick(3, 10), "max_depth": pick(1, 3)}
    if name in POSITIVES_ONLY:
        drawn |= {"prior": pick(0.2, 0.4), "threshold": pick("prior", "zero")}
    if name == "LinearAUCClassifier":
        drawn |= {"alpha": pick(1e-2, 1.0), "loss": pick("hinge", "squared_hinge"), "tol": 1e-8, "max_iter": 2000}
    if name == "LeastSquaresAUCClassifier":
        drawn |= {"risk": pick("pn", "samult", "pnu"), "alpha": pick(1e-2, 1.0)}
    if name == "LinearPUClassifier":
        drawn |= {"risk": "upu", "loss": pick("logistic", "squared"), "alpha": pick(1e-2, 1.0), "tol": 1e-10}
        drawn |= {"max_iter": 3000}
    return drawn


def data(name, rng):
    """A table with ties and, for boosters, gaps; and labels of which most are hidden."""
    n, d = int(rng.choice([40, 90])), int(rng.choice([2, 5]))
    X = rng.normal(size=(n, d))
    X[:, 0] = np.round(X[:, 0])
    X[-3:] = X[:3]  # copies
    true = (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
    if name not in LINEAR and rng.random() < 0.5:
        X[rng.random(X.shape) < 0.1] = np.nan
    y = np.where(rng.random(n) < 0.5, true, -1)
    y[:8] = [0, 1] * 4
    return X, np.where(y == 1, 1, -1) if name in POSITIVES_ONLY else y


def scores(model, X, y, new, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(model).fit_ranking(X, y, **options)
    return fitted.decision_function(new), fitted.predict_proba(new)


def permuted_rows(model, X, y, rng):
    order = rng.permutation(len(y))
    return scores(model, X[order], y[order], X)


def threads(model, X, y, rng):
    return scores(model.set_params(n_jobs=2), X, y, X)


def row_by_row(model, X, y, rng):
    fitted = clone(model).fit_ranking(X, y)
    rows = [X[i : i + 1] for i in range(len(X))]
    parts = [(fitted.decision_function(row), fitted.predict_proba(row)) for row in rows]
    return tuple(np.concatenate(part) for part in zip(*parts))


def round_trip(model, X, y, rng):
    fitted = pickle.loads(pickle.dumps(clone(model).fit_ranking(X, y)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.skops")
        fewlabel.save(fitted, path)
        fitted = fewlabel.load(path)
    return fitted.decision_function(X), fitted.predict_proba(X)


def zero_weights(model, X, y, rng):
    extra = rng.normal(size=(5, X.shape[1]))
    labels = rng.choice(np.unique(y), 5)
    weight = np.r_[np.ones(len(y)), np.zeros(5)]
    return scores(model, np.vstack([X, extra]), np.r_[y, labels], X, sample_weight=weight)


def scaled_weights(model, X, y, rng):
    return scores(model, X, y, X, sample_weight=np.full(len(y), float(rng.choice([2.0**-10, 2.0**10]))))


def repeated_rows(model, X, y, rng):
    times = rng.integers(1, 4, len(y))
    weighted = scores(model, X, y, X, sample_weight=times.astype(float))
    repeated = scores(model, np.repeat(X, times, axis=0), np.repeat(y, times), X)
    return tuple(a - b for a, b in zip(weighted, repeated))


def increasing(model, X, y, rng):
    fitted = X[y >= 0]  # a cut is mid-way between values of the fit: other rows may be on either side of it
    found = zip(scores(model, X**3, y, fitted**3), scores(model, X, y, fitted))
    return tuple(a - b for a, b in found)


def as_sparse(model, X, y, rng):
    return scores(model, sparse.csr_array(X), y, sparse.csr_array(X))


def more_unlabeled(model, X, y, rng):
    extra = rng.normal(size=(9, X.shape[1]))
    return scores(model, np.vstack([extra, X]), np.r_[np.full(9, -1), y], X)


def swapped_labels(model, X, y, rng):
    other, _ = scores(model, X, np.where(y >= 0, 1 - y, -1), X)
    mine, _ = scores(model, X, y, X)
    centered = [s - s.mean() for s in (mine, -other)]
    return (centered[0] - centered[1],)


# Relations, and the estimators that promise them.
RELATIONS = {
    permuted_rows: ESTIMATORS,
    threads: (*STUMPS, *TREES, "LinearAUCClassifier"),
    row_by_row: ESTIMATORS,
    round_trip: ESTIMATORS,
    zero_weights: ESTIMATORS,
    scaled_weights: (*STUMPS, *LINEAR),
    repeated_rows: ("LinearAUCClassifier", "LinearPUClassifier", "LeastSquaresAUCClassifier"),
    increasing: (*STUMPS, *TREES),
    as_sparse: LINEAR,
    more_unlabeled: ("RankBoostClassifier", "LinearAUCClassifier"),
    swapped_labels: ("LinearAUCClassifier",),
}
_DIFFERENCES = (increasing, repeated_rows, swapped_labels)


def run_case(seed, only=None):
    """What is wrong with a case, or None."""
    rng = np.random.default_rng(seed)
    names = [only] if only else ESTIMATORS
    name = names[int(rng.integers(len(names)))]
    promised = [relation for relation, of in RELATIONS.items() if name in of]
    relation = promised[int(rng.integers(len(promised)))]
    drawn = parameters(name, rng)
    if drawn.get("early_stopping") is True and relation in (increasing, zero_weights, repeated_rows):
        del drawn["early_stopping"]
    if relation in (as_sparse, repeated_rows) and name == "LeastSquaresAUCClassifier":
        drawn["risk"] = "pn"  # the others leave out pairs of a row with itself, but not with its copies
    model = getattr(fewlabel, name)()
    model.set_params(**{key: value for key, value in drawn.items() if key in model.get_params()})
    X, y = data(name, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = relation(clone(model), X, y, rng)
            expected = [np.zeros_like(part) for part in found] if relation in _DIFFERENCES else scores(model, X, y, X)
        except Exception as error:
            return f"{seed} {relation.__name__} {model!r}: {type(error).__name__}: {error}"
    for got, wanted in zip(found, expected):
        scale = max(1.0, np.abs(scores(model, X, y, X)[0]).max()) if relation in _DIFFERENCES else 1.0
        if not np.allclose(got, wanted, rtol=1e-4, atol=2e-4 * scale):
            worst = float(np.abs(np.asarray(got) - wanted).max())
            return f"{seed} {relation.__name__} {model!r}: differs by {worst:.3g}"
    return None


def main():
    parser = argparse.ArgumentParser(description="Run metamorphic cases.")
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", choices=ESTIMATORS)
    options = parser.parse_args()
    start, n_findings = time.monotonic(), 0
    for seed in range(options.first, options.first + options.cases):
        finding = run_case(seed, options.only)
        if finding:
            n_findings += 1
            print(finding, flush=True)
    print(f"{options.cases} cases, {n_findings} findings, {time.monotonic() - start:.0f} s")
    sys.exit(bool(n_findings))


if __name__ == "__main__":
    main()
