"""Measure methods on a table and put what was found into a plain dict that JSON can hold."""

import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fewlabel import labels
from fewlabel.inspection import scorecard
from fewlabel.metrics import AUCInterval, auc_confidence_interval, paired_auc_test

CONFIDENCE = 0.95
_PACKAGES = ("fewlabel", "scikit-learn", "numpy", "pandas", "numba")


class Table(NamedTuple):
    """Rows to learn from, their labels mostly empty, and rows to test on, whose labels are all known."""

    name: str
    source: str
    X_train: pd.DataFrame
    y_train: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series

    def training_rows(self, unlabelled: bool) -> tuple[pd.DataFrame, pd.Series]:
        """The training rows: all of them, or the labelled ones only."""
        if unlabelled:
            return self.X_train, self.y_train
        labelled = labels.read(self.y_train).codes >= 0
        return self.X_train[labelled], self.y_train[labelled]


class Method(NamedTuple):
    """An estimator to compare, and whether it is given the unlabelled rows."""

    name: str
    estimator: Any
    uses_unlabelled: bool

    @property
    def learns_from(self) -> str:
        return "labelled + unlabelled rows" if self.uses_unlabelled else "labelled rows only"

    @property
    def library(self) -> str:
        name = type(self.estimator).__module__.partition(".")[0]
        return "scikit-learn" if name == "sklearn" else name


class Measured(NamedTuple):
    """A fitted method and how it did on the test rows."""

    method: Method
    model: Any
    score: np.ndarray
    auc: AUCInterval
    balanced_accuracy: float
    fit_seconds: float


def measure(
    table: Table, methods: Sequence[Method], on_done: Callable[[Measured], None] | None = None
) -> list[Measured]:
    """Fit each method on the training rows and measure it on the test rows.

    Parameters
    ----------
    table : Table
        The data.
    methods : sequence of Method
        What to compare. The estimators themselves are left unfitted.
    on_done : callable, default=None
        Called with each result as soon as it is there.

    Returns
    -------
    list of Measured
        In the order of `methods`.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from fewlabel.report import Method, measure
    >>> from fewlabel.report.demo import breast_cancer
    >>> found = measure(breast_cancer(), [Method("guess", DummyClassifier(), uses_unlabelled=False)])
    >>> found[0].auc.auc
    0.5
    """
    found = []
    for method in methods:
        found.append(_measure_one(table, method))
        if on_done is not None:
            on_done(found[-1])
    return found


def _measure_one(table: Table, method: Method) -> Measured:
    from sklearn.base import clone
    from sklearn.metrics import balanced_accuracy_score
    from threadpoolctl import threadpool_limits

    X, y = table.training_rows(method.uses_unlabelled)
    model = clone(method.estimator)
    with threadpool_limits(1):  # on a small table threads mostly wait for each other, and on a busy machine for seconds
        _warm_up(method.estimator, X, y)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
    score = _score(model, table.X_test)
    return Measured(
        method,
        model,
        score,
        auc_confidence_interval(table.y_test, score, confidence=CONFIDENCE),
        float(balanced_accuracy_score(table.y_test, model.predict(table.X_test))),
        seconds,
    )


def _warm_up(estimator: Any, X: pd.DataFrame, y: pd.Series) -> None:
    """Fit a small copy first: compiling, importing and starting threads are not what the reported seconds mean."""
    from sklearn.base import clone

    small = clone(estimator)
    for name in ("n_estimators", "max_iter"):
        if name in small.get_params(deep=False):
            small.set_params(**{name: 2})
    small.fit(X, y)


def _score(model: Any, X: pd.DataFrame) -> np.ndarray:
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    return np.asarray(model.predict_proba(X)[:, 1], dtype=float)


def summarize(
    table: Table,
    found: Sequence[Measured],
    *,
    pair: tuple[str, str],
    seed: int,
    command: str,
    model_file: str | None = None,
) -> dict[str, Any]:
    """Everything a report says, as a plain dict.

    Parameters
    ----------
    table : Table
        The data.
    found : sequence of Measured
        The results of :func:`measure`.
    pair : (str, str)
        Names of the same method with and without the unlabelled rows: their difference is what these rows are worth.
        The first is also the model whose shape functions are shown.
    seed : int
        The seed that was used.
    command : str
        The command that makes the same report again.
    model_file : str, default=None
        Where the first model of `pair` was saved.

    Returns
    -------
    dict
        Made of dicts, lists, texts, finite numbers, booleans and None only.
    """
    by_name = {m.method.name: m for m in found}
    with_rows, without_rows = by_name[pair[0]], by_name[pair[1]]
    data = _describe(table)
    return {
        "title": table.name,
        "command": command,
        "seed": seed,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "data": data,
        "leaderboard": _leaderboard(found),
        "verdict": _verdict(table, with_rows, without_rows, data),
        "roc": [_roc(table, m) for m in found],
        "explained": with_rows.method.name,
        "shape_functions": _shapes(with_rows.model, table),
        "scorecard": _card(with_rows.model, table),
        "model_file": model_file,
    }


def _describe(table: Table) -> dict[str, Any]:
    read = labels.read(table.y_train)
    names = [str(c) for c in read.classes]
    counts = {name: int((read.codes == k).sum()) for k, name in enumerate(names)}
    return {
        "source": table.source,
        "target": str(table.y_train.name),
        "positive": names[-1],
        "columns": table.X_train.shape[1],
        "train_rows": len(table.X_train),
        "labelled": sum(counts.values()),
        "labelled_by_class": counts,
        "unlabelled": int((read.codes < 0).sum()),
        "test_rows": len(table.X_test),
        "test_by_class": {name: int((table.y_test.astype(str) == name).sum()) for name in names},
    }


def _leaderboard(found: Sequence[Measured]) -> list[dict[str, Any]]:
    rows = [
        {
            "method": m.method.name,
            "library": m.method.library,
            "learns_from": m.method.learns_from,
            "uses_unlabelled": m.method.uses_unlabelled,
            "auc": m.auc.auc,
            "auc_low": m.auc.low,
            "auc_high": m.auc.high,
            "balanced_accuracy": m.balanced_accuracy,
            "fit_seconds": m.fit_seconds,
        }
        for m in found
    ]
    return sorted(rows, key=lambda row: -row["auc"])  # type: ignore[operator]


def _verdict(table: Table, with_rows: Measured, without: Measured, data: dict[str, Any]) -> dict[str, Any]:
    """Whether the unlabelled rows helped, judged by a paired test on the test rows."""
    test = paired_auc_test(table.y_test, with_rows.score, without.score, confidence=CONFIDENCE)
    if test.pvalue >= 1 - CONFIDENCE:
        kind, answer, says = "none", "No measurable difference.", "made no measurable difference"
    elif test.difference > 0:
        kind, answer, says = "helped", "Yes.", "helped"
    else:
        kind, answer, says = "hurt", "No, they did harm.", "did harm"
    text = (
        f"In this run the {data['unlabelled']} unlabelled rows {says}: {with_rows.method.name} ranks the "
        f"{data['test_rows']} test rows with AUC {test.auc_a:.3f}, and {test.auc_b:.3f} without them "
        f"({without.method.name}); difference {signed(test.difference)}, 95% interval {signed(test.low)} to "
        f"{signed(test.high)}, p = {test.pvalue:.2g} "
        "(DeLong's paired test)."
    )
    return {
        "kind": kind,
        "answer": answer,
        "text": text,
        "with": with_rows.method.name,
        "without": without.method.name,
        "difference": test.difference,
        "low": test.low,
        "high": test.high,
        "pvalue": test.pvalue,
    }


def signed(number: float, digits: int = 3) -> str:
    """A number with its sign, a true minus, and no sign on zero.

    Examples
    --------
    >>> from fewlabel.report.summarize import signed
    >>> signed(0.0123), signed(-0.5), signed(-0.0001)
    ('+0.012', '−0.500', '0.000')
    """
    text = f"{number:+.{digits}f}"
    if float(text) == 0:
        return text[1:]
    return text.replace("-", "\N{MINUS SIGN}")


def _roc(table: Table, measured: Measured) -> dict[str, Any]:
    from sklearn.metrics import roc_curve

    positive = measured.model.classes_[1]
    false_positive, true_positive, _ = roc_curve(table.y_test, measured.score, pos_label=positive)
    return {
        "method": measured.method.name,
        "uses_unlabelled": measured.method.uses_unlabelled,
        "false_positive_rate": [round(float(v), 6) for v in false_positive],
        "true_positive_rate": [round(float(v), 6) for v in true_positive],
    }


def _shapes(model: Any, table: Table, most: int = 6) -> list[dict[str, Any]]:
    importances = np.asarray(model.feature_importances_)
    functions = sorted(model.shape_functions_, key=lambda f: (-importances[f.column], f.column))
    shares = [0.02, *(k / 10 for k in range(1, 10)), 0.98]
    return [
        {
            "name": str(f.name),
            "importance": float(importances[f.column]),
            "quantiles": [float(q) for q in table.X_train.iloc[:, f.column].quantile(shares).dropna()],
            "edges": [float(e) for e in f.edges if np.isfinite(e)],
            "values": [float(v) for v in f.values[: int(np.isfinite(f.edges).sum()) + 1]],
            # Where no training value was missing, what a missing one would add was not learnt.
            "missing": float(f.missing) if table.X_train.iloc[:, f.column].isna().any() else None,
        }
        for f in functions[:most]
    ]


def _card(model: Any, table: Table, most: int = 4) -> dict[str, Any]:
    points, base = 20, 600
    card = scorecard(model, points=points, base=base)
    blocks: dict[str, list[dict[str, Any]]] = {}
    for row in card.iloc[1:].itertuples(index=False):
        blocks.setdefault(str(row.column), []).append({"interval": str(row.interval), "points": float(row.points)})
    gaps = {str(name) for name, has_gaps in table.X_train.isna().any().items() if has_gaps}
    columns = [
        {"name": name, "rows": [row for row in rows if row["interval"] != "missing" or name in gaps]}
        for name, rows in list(blocks.items())[:most]
    ]
    return {
        "points": points,
        "base": base,
        "start": float(card["points"].iloc[0]),
        "columns": columns,
        "columns_left_out": max(len(blocks) - most, 0),
    }
