"""A fitted model and its table as a plain dict that JSON can hold: everything a report says."""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from fewlabel.auto import AutoClassifier, learning_curve
from fewlabel.inspection import scorecard
from fewlabel.metrics import auc_confidence_interval
from fewlabel.report import advice, curves
from fewlabel.tables import TableClassifier
from fewlabel.text import short

CONFIDENCE = 0.95
_PACKAGES = ("fewlabel", "scikit-learn", "numpy", "pandas", "numba", "skrub")
_GAIN = 0.01
_MOST_CLASSES = 6
_SCORE_NAMES = {"roc_auc": "AUC", "average_precision": "average precision"}


def summarize(
    model: TableClassifier,
    X: pd.DataFrame,
    y: pd.Series,
    *,
    title: str,
    command: str,
    seed: int = 0,
    notes: list[str] | None = None,
    model_file: str | None = None,
    source: str | None = None,
    test: tuple[pd.DataFrame, pd.Series] | None = None,
) -> dict[str, Any]:
    """Everything a report says, as a plain dict.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these rows, with an AutoClassifier in it.
    X : DataFrame
        The rows.
    y : Series
        Their labels, mostly missing.
    title, command : str
        What the table is called, and the command that makes the same report again.
    seed : int, default=0
        Of the bands and of the rows that are drawn for pictures.
    notes : list of str, default=None
        Remarks on the table, besides those of :func:`notes_of`.
    model_file : str, default=None
        Where the model was saved.
    source : str, default=None
        Where the table is from.
    test : (DataFrame, Series), default=None
        Rows that nothing was fitted to, with their labels, for a last check.

    Returns
    -------
    dict
        Made of dicts, lists, texts, finite numbers, booleans and None only.
    """
    auto = model.estimator_
    features, codes = model.transform(X), _codes(model, y)
    data = _describe(model, X, y, codes, source)
    probability = auto.predict_proba(features)
    return {
        "title": title,
        "command": command,
        "seed": seed,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}},
        "task": auto.task_,
        "score_name": _score_name(auto),
        "data": data,
        "notes": [*(notes or []), *notes_of(model)],
        "leaderboard": _leaderboard(auto),
        "ensemble": [
            {"method": m, "weight": w} for m, w in sorted(auto.ensemble_weights_.items(), key=lambda p: -p[1])
        ],
        "verdict": _verdict(auto, data),
        **_curves_of(model, codes, seed),
        "learning_curve": _learning_curve(auto, features, codes, data, seed),
        "scores": _histograms(model, codes, probability),
        **_explained(model, X, features, seed),
        "next_rows": _next_rows(model, X, features, codes, seed),
        "test": _tested(model, test),
        "model_file": model_file,
    }


def metrics(summary: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a summary, without what only pictures need."""
    left_out = ("roc", "precision_recall", "scores", "shape_functions", "scorecard", "next_rows")
    return {name: value for name, value in summary.items() if name not in left_out}


def notes_of(model: TableClassifier) -> list[str]:
    """Remarks on the columns: which are left out, and which know too much."""
    notes = []
    for reason in dict.fromkeys(model.dropped_.values()):
        names = [short(name) for name, why in model.dropped_.items() if why == reason]
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        notes.append(f"left out ({reason}): {', '.join(names[:5])}{more}")
    for name in model.leaks_[:5]:
        notes.append(
            f"the column {short(name)!r} alone separates the labels: if it is not known before the label is, fit "
            "again without it (--drop)"
        )
    return notes


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


def _score_name(auto: AutoClassifier) -> str:
    return "AUC" if auto.prior_ is not None else _SCORE_NAMES.get(str(auto.scoring), "score")


def _codes(model: TableClassifier, y: pd.Series) -> np.ndarray:
    return TableClassifier(positive=model.positive)._read_labels(y)


def _describe(model: TableClassifier, X: pd.DataFrame, y: pd.Series, codes: np.ndarray, source: str | None) -> dict:
    names = [str(c) for c in model.classes_]
    counts = {name: int((codes == k).sum()) for k, name in enumerate(names)}
    gaps = X[list(model.columns_)].isna().mean().sort_values(ascending=False)
    kinds = pd.Series(model.columns_).value_counts()
    return {
        "source": source,
        "target": model.target_,
        "classes": names,
        "positive": names[-1],
        "rows": len(X),
        "labeled": int((codes >= 0).sum()),
        "labeled_by_class": {name: count for name, count in counts.items() if count},
        "unlabeled": int((codes < 0).sum()),
        "columns": len(model.columns_),
        "columns_by_kind": {str(kind): int(n) for kind, n in kinds.items()},
        "dropped": {str(name): why for name, why in model.dropped_.items()},
        "leaks": list(model.leaks_),
        "gap_share": float(X[list(model.columns_)].isna().to_numpy().mean()),
        "gaps": [{"column": str(name), "share": float(g)} for name, g in gaps[:8].items() if g > 0],
        "columns_with_gaps": int((gaps > 0).sum()),
        "prior": model.estimator_.prior_,
    }


def _leaderboard(auto: AutoClassifier) -> list[dict[str, Any]]:
    rows = auto.leaderboard_.to_dict("records")
    plain = {"uses_unlabeled": bool, "method": str, "family": str}
    return [{str(k): plain.get(str(k), float)(v) for k, v in row.items()} for row in rows]


def _verdict(auto: AutoClassifier, data: dict[str, Any]) -> dict[str, Any]:
    """Whether the unlabeled rows help, in one sentence with its evidence."""
    n, effect = data["unlabeled"], auto.unlabeled_effect_
    if auto.prior_ is not None:
        text = (
            f"Only {data['positive']} is labeled, so every method here needs the {n} unlabeled rows; about "
            f"{auto.prior_:.0%} of them are estimated to be {data['positive']}."
        )
        return {"kind": "none", "answer": "They are all there is to compare with.", "text": text}
    if effect is None:
        text = "Every method here learns from the labeled rows alone."
        return {"kind": "none", "answer": "Not asked." if n else "There are none.", "text": text}
    if effect.low <= 0 <= effect.high:
        kind, answer, says = "none", "No measurable difference.", "make no measurable difference"
    elif effect.difference > 0:
        kind, answer, says = "helped", "Yes.", "help"
    else:
        kind, answer, says = "hurt", "No, they do harm.", "do harm"
    name, board = _score_name(auto), auto.leaderboard_.set_index("method")["score"]
    text = (
        f"On this table the {n} unlabeled rows {says}: out of fold, the best method that uses them ({effect.method}) "
        f"has {name} {board[effect.method]:.3f}, the best without them ({effect.supervised}) "
        f"{board[effect.supervised]:.3f}; difference {signed(effect.difference)}, 95% interval {signed(effect.low)} to "
        f"{signed(effect.high)}."
    )
    return {"kind": kind, "answer": answer, "text": text, **effect._asdict()}


def _curves_of(model: TableClassifier, codes: np.ndarray, seed: int) -> dict[str, Any]:
    """ROC, precision-recall and calibration of the cross-fitted out-of-fold scores."""
    auto = model.estimator_
    y, decision = codes[auto.labeled_rows_], np.asarray(auto.out_of_fold_)
    if decision.ndim == 1:
        positive = y == 1
        slope, intercept = auto.calibration_
        probability = 1 / (1 + np.exp(-(slope * decision + intercept)))
        name = {"name": str(model.classes_[1])}
        return {
            "roc": [{**name, **curves.roc(positive, decision, auto.prior_, seed)}],
            "precision_recall": [{**name, **curves.precision_recall(positive, decision, auto.prior_, seed)}],
            # Which unlabeled rows are positive is not known: there is nothing to compare probabilities with.
            "calibration": curves.calibration(positive, probability) if auto.prior_ is None else [],
        }
    largest = np.argsort(-np.bincount(y), kind="stable")[:_MOST_CLASSES]
    likeliest = decision.argmax(axis=1)
    return {
        "roc": [{"name": str(model.classes_[k]), **curves.roc(y == k, decision[:, k], None, seed)} for k in largest],
        "precision_recall": [
            {"name": str(model.classes_[k]), **curves.precision_recall(y == k, decision[:, k], None, seed)}
            for k in largest
        ],
        "calibration": curves.calibration(likeliest == y, decision.max(axis=1)),
    }


def _learning_curve(
    auto: AutoClassifier, features: np.ndarray, codes: np.ndarray, data: dict[str, Any], seed: int
) -> dict[str, Any]:
    curve = learning_curve(auto, features, codes, seed=seed)
    n = data["labeled"]
    more = curve.needed(_GAIN, n)
    ahead: list[int] = []
    if curve.slope > 0:
        furthest = min(n + more, 8 * n) if more is not None else 4 * n
        ahead = sorted({int(v) for v in np.geomspace(n, max(furthest, n + 1), 12)})
    name = _score_name(auto)
    if curve.error <= _GAIN:
        text = f"By this curve the {name} is within {_GAIN} of 1 already: more labels can hardly add to it."
    elif more is None:
        text = "More labels did not raise the score here in a way that could be carried forward."
    else:
        text = f"By this curve about {_rough(more)} more labels are needed for {signed(_GAIN, 2)} {name}."
    return {
        "labels": curve.labels,
        "scores": [float(np.clip(s, 0, 1)) for s in curve.scores],
        "low": curve.low,
        "high": curve.high,
        "ahead_labels": ahead,
        "ahead_scores": [float(1 - curve.error * (v / n) ** -curve.slope) for v in ahead],
        "more_labels": more,
        "gain": _GAIN,
        "score_name": name,
        "text": text,
    }


def _rough(number: int) -> str:
    """A number with two digits that count: it comes from a rough curve."""
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"


def _histograms(model: TableClassifier, codes: np.ndarray, probability: np.ndarray) -> list[dict[str, Any]]:
    """Probabilities of labeled rows, out of fold, by class, and of unlabeled rows."""
    auto = model.estimator_
    y, decision = codes[auto.labeled_rows_], np.asarray(auto.out_of_fold_)
    groups = []
    if decision.ndim == 1:
        slope, intercept = auto.calibration_
        held_out = 1 / (1 + np.exp(-(slope * decision + intercept)))
        for k in (1, 0) if auto.prior_ is None else (1,):
            groups.append((f"labeled {model.classes_[k]}", held_out[y == k]))
        hidden = probability[codes < 0, 1]
    else:
        groups.append(("labeled, probability of the likeliest class", decision.max(axis=1)))
        hidden = probability[codes < 0].max(axis=1)
    if len(hidden):
        groups.append(("unlabeled", hidden))
    return [{"name": name, "rows": len(values), "shares": curves.histogram(values)} for name, values in groups]


def _explained(model: TableClassifier, X: pd.DataFrame, features: np.ndarray, seed: int) -> dict[str, Any]:
    """Shape functions and a scorecard if one additive member is all there is, permutation importance otherwise."""
    auto = model.estimator_
    empty: dict[str, Any] = {"shape_functions": [], "scorecard": None, "importances": []}
    names = list(auto.members_)
    booster = auto.members_[names[0]].model if len(names) == 1 else None
    if booster is None or not hasattr(booster, "shape_functions_") or not len(booster.shape_functions_):
        return {**empty, "explained": None, "importances": advice.importances(model, features, seed)}
    table = pd.DataFrame(features, columns=model.features_)
    return {
        **empty,
        "explained": names[0],
        "shape_functions": _shapes(booster, table),
        "scorecard": _card(booster, table),
    }


def _shapes(booster: Any, table: pd.DataFrame, most: int = 6) -> list[dict[str, Any]]:
    importances = np.asarray(booster.feature_importances_)
    functions = sorted(booster.shape_functions_, key=lambda f: (-importances[f.column], f.column))
    shares = [0.02, *(k / 10 for k in range(1, 10)), 0.98]
    return [
        {
            "name": str(table.columns[f.column]),
            "importance": float(importances[f.column]),
            "quantiles": [float(q) for q in table.iloc[:, f.column].quantile(shares).dropna()],
            "edges": [float(e) for e in f.edges if np.isfinite(e)],
            "values": [float(v) for v in f.values[: int(np.isfinite(f.edges).sum()) + 1]],
            # Where no training value was missing, what a missing one would add was not learned.
            "missing": float(f.missing) if table.iloc[:, f.column].isna().any() else None,
        }
        for f in functions[:most]
    ]


def _card(booster: Any, table: pd.DataFrame, most: int = 4) -> dict[str, Any]:
    points, base = 20, 600
    card = scorecard(booster, points=points, base=base)
    # The booster knows its columns by number: x3 is the fourth.
    names = {f"x{k}": str(name) for k, name in enumerate(table.columns)}
    blocks: dict[str, list[dict[str, Any]]] = {}
    for row in card.iloc[1:].itertuples(index=False):
        name = names.get(str(row.column), str(row.column))
        blocks.setdefault(name, []).append({"interval": str(row.interval), "points": float(row.points)})
    gaps = {str(name) for name, has_gaps in table.isna().any().items() if has_gaps}
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


def _next_rows(model: TableClassifier, X: pd.DataFrame, features: np.ndarray, codes: np.ndarray, seed: int) -> list:
    """Unlabeled rows worth labeling next, with a few of their values to know them by."""
    found = advice.next_rows(model, features, codes, seed)
    shown = list(X.columns[:4])
    for row in found:
        values = X.iloc[row["row"]]
        row["values"] = [{"column": str(name), "value": short(_plain(values[name]), 24)} for name in shown]
        row["row"] += 1  # people count from one
    return found


def _plain(value: Any) -> str:
    if value is None or (np.isscalar(value) and pd.isna(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def _tested(model: TableClassifier, test: tuple[pd.DataFrame, pd.Series] | None) -> dict[str, Any] | None:
    if test is None:
        return None
    X, y = test
    truth = (y.astype(str) == str(model.classes_[1])).astype(int).to_numpy()
    found = auc_confidence_interval(truth, model.decision_function(X), confidence=CONFIDENCE)
    accuracy = float(np.mean(model.predict(X).astype(str) == y.astype(str).to_numpy()))
    return {"rows": len(X), "auc": found.auc, "low": found.low, "high": found.high, "accuracy": accuracy}
