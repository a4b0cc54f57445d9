"""Summary of a fitted model and its table: everything a report shows, as a plain dict that JSON can hold."""

import platform
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

import fewlabel
from fewlabel.active import Query
from fewlabel.auto import AutoClassifier, additive_member
from fewlabel.inspection import scorecard
from fewlabel.metrics import auc_confidence_interval
from fewlabel.report import advice, curves, decisions
from fewlabel.report.answer import confusion, good_for
from fewlabel.report.forecast import forecast
from fewlabel.rows import Rows
from fewlabel.tables import Decision, TableClassifier, choose_cut, score_table
from fewlabel.text import short

CONFIDENCE = 0.95
_PACKAGES = ("scikit-learn", "numpy", "pandas", "numba", "skrub")
_MOST_CLASSES = 6
_SCORE_NAMES = {"roc_auc": "AUC", "average_precision": "average precision"}


def summarize(
    model: TableClassifier,
    X: pd.DataFrame,
    encoded: Rows,
    *,
    title: str,
    command: str,
    seed: int = 0,
    notes: list[str] | None = None,
    decision: Decision | None = None,
    model_file: str | None = None,
    source: str | None = None,
    test: tuple[pd.DataFrame, pd.Series] | None = None,
    query: Query | None = None,
) -> dict[str, Any]:
    """Summarize a fitted model and its table as a plain dict.

    Parameters
    ----------
    model : TableClassifier
        Fitted to these rows, with an AutoClassifier as its estimator.
    X : DataFrame
        The rows.
    encoded : Rows
        The rows as numbers and their labels, as `model.encode` returned them.
    title, command : str
        Name of the table, and the command that makes the same report again.
    seed : int, default=0
        Seed of the confidence bands, and of the sample of rows that the importances are computed on.
    notes : list of str, default=None
        Notes on the table, in addition to those of :func:`notes_of`.
    decision : Decision, default=None
        The cut, by default the one that the model has. Not with more than two classes.
    model_file : str, default=None
        Where the model was saved.
    source : str, default=None
        Where the table comes from.
    test : (DataFrame, Series), default=None
        Held-out rows and their labels, to test the model on.
    query : Query, default=None
        The rows to label next, by default those of :func:`fewlabel.report.rows_to_label`.

    Returns
    -------
    dict
        Of dicts, lists, texts, finite numbers, booleans and None only.
    """
    auto = model.estimator_
    features = encoded.X
    codes = encoded.codes
    data = _describe(model, X, codes, source)
    probability = auto.predict_proba(features)
    summary = {
        "title": title,
        "command": command,
        "seed": seed,
        "versions": {
            "python": platform.python_version(),
            "fewlabel": fewlabel.__version__,
            **{name: version(name) for name in _PACKAGES},
        },
        "task": auto.task_,
        "score_name": _score_name(auto),
        "data": data,
        "notes": [*(notes or []), *notes_of(model)],
        "leaderboard": _leaderboard(auto),
        "left_out": auto.leaderboard_.query("status != 'ok'")[["method", "status"]].to_dict("records"),
        "ensemble": [
            {"method": m, "weight": w} for m, w in sorted(auto.ensemble_weights_.items(), key=lambda p: -p[1])
        ],
        "headline": _headline(model),
        "verdict": _verdict(auto, data),
        **_decided(model, encoded, decision),
        **_curves_of(model, codes, seed),
        "learning_curve": forecast(auto, encoded, data["labeled"], _score_name(auto), seed),
        "scores": _histograms(model, codes, probability),
        **_explained(model, features, seed),
        "test": _tested(model, test),
        "model_file": model_file,
    }
    summary["good_for"] = good_for(summary)
    query = advice.rows_to_label(model, encoded, probability, seed=seed) if query is None else query
    summary["next_rows"] = advice.described(model, X, query, probability, _important(model, summary))
    return summary


def metrics(summary: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of a summary, without the data of the figures."""
    left_out = ("roc", "precision_recall", "scores", "shape_functions", "scorecard", "decision_curve")
    return {name: value for name, value in summary.items() if name not in left_out}


def notes_of(model: TableClassifier) -> list[str]:
    """What :func:`table_notes` and :func:`method_notes` say."""
    return [*table_notes(model), *method_notes(model)]


def table_notes(model: TableClassifier) -> list[str]:
    """Notes on dropped columns, notations of numbers and dates, and suspected leaks; known before the fit."""
    notes, dropped = [], model.encoder_.dropped_
    for reason in dict.fromkeys(dropped.values()):
        notes.append(f"dropped ({reason}): {_names_with(reason, dropped)}")
    notations = model.encoder_.notations_
    for notation in dict.fromkeys(notations.values()):
        notes.append(f"numbers or dates are read like {notation}: {_names_with(notation, notations)}")
    for name, reason in list(model.leaks_.items())[:5]:
        notes.append(
            f"column {short(name)!r} {reason}: if it is filled in after the label is known, fit again without it "
            "(--drop)"
        )
    return notes


def method_notes(model: TableClassifier) -> list[str]:
    """Notes on an additive choice, copies of rows and methods left out; none for a single method, fitted with Dask."""
    if not isinstance(model.estimator_, AutoClassifier):
        return []
    choice, copies = model.estimator_.additive_choice_, model.estimator_.n_copies_
    notes = [] if choice is None else [choice.text]
    if copies:
        notes.append(
            f"{copies} labeled rows are exact or near duplicates of others: they are on one side of every split"
        )
    for status, rows in model.estimator_.leaderboard_.query("status != 'ok'").groupby("status", sort=False):
        notes.append(f"left out ({status}): {', '.join(rows['method'])}")
    return notes


def _names_with(value: str, columns: dict[str, str]) -> str:
    """The first columns that have a value, as text."""
    names = [short(name) for name, other in columns.items() if other == value]
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def signed(number: float, digits: int = 3) -> str:
    """Format a number with its sign, a minus sign rather than a hyphen, and no sign on zero.

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


def _class_names(model: TableClassifier) -> list[str]:
    """Classes in the order of the estimator: of two, the positive one is the last."""
    return [str(name) for name in model.names_of(range(len(model.classes_)))]


def _describe(model: TableClassifier, X: pd.DataFrame, codes: np.ndarray, source: str | None) -> dict[str, Any]:
    names, encoder = _class_names(model), model.encoder_
    counts = {name: int((codes == k).sum()) for k, name in enumerate(names)}
    missing = X.set_axis(X.columns.map(str), axis=1)[list(encoder.columns_)].isna()
    gaps = missing.mean().sort_values(ascending=False, kind="stable")
    kinds = pd.Series(encoder.columns_).value_counts()
    return {
        "source": source,
        "target": model.target_,
        "classes": names,
        "positive": names[-1],
        "rows": len(X),
        "labeled": int((codes >= 0).sum()),
        "labeled_by_class": {name: count for name, count in counts.items() if count},
        "unlabeled": int((codes < 0).sum()),
        "columns": len(encoder.columns_),
        "columns_by_kind": {str(kind): int(n) for kind, n in kinds.items()},
        "dropped": dict(encoder.dropped_),
        "leaks": list(model.leaks_),
        "gap_share": float(missing.to_numpy().mean()),
        "gaps": [{"column": str(name), "share": float(g)} for name, g in gaps[:8].items() if g > 0],
        "columns_with_gaps": int((gaps > 0).sum()),
        "prior": model.estimator_.prior_,
    }


def _leaderboard(auto: AutoClassifier) -> list[dict[str, Any]]:
    shown = auto.leaderboard_.drop(columns=["prior", "posterior"])
    rows = shown.query("status == 'ok'").drop(columns="status").to_dict("records")
    plain = {"uses_unlabeled": bool, "method": str, "family": str}
    return [{str(k): plain.get(str(k), float)(v) for k, v in row.items()} for row in rows]


def _headline(model: TableClassifier) -> dict[str, Any]:
    """What to expect on new rows: the estimate without suspected leaks, if there are any, and the one with them."""
    auto, leaks = model.estimator_, list(model.leaks_)
    name, whole, without = _score_name(auto), auto.headline_, model.without_leaks_
    if not leaks:
        return {**whole, "with_leaks": None, "text": f"Expected on new rows: {_estimate(name, whole)}."}
    columns = ", ".join(repr(short(leak)) for leak in leaks[:3]) + (" and others" if len(leaks) > 3 else "")
    known = f"{'is' if len(leaks) == 1 else 'are'} suspected to be known only after the label"
    if without is None:
        text = f"No estimate: {columns} {known}, and there is no other column. With it: {_estimate(name, whole)}."
        return {"score": None, "low": None, "high": None, "with_leaks": whole, "text": text}
    text = (
        f"Expected on new rows: {_estimate(name, without)}, without {columns}, which {known}. With "
        f"{'it' if len(leaks) == 1 else 'them'}: {_estimate(name, whole)}."
    )
    return {**without, "with_leaks": whole, "text": text}


def _estimate(name: str, found: dict[str, float]) -> str:
    return f"{name} {found['score']:.3f} (95% interval {found['low']:.3f} to {found['high']:.3f})"


def _verdict(auto: AutoClassifier, data: dict[str, Any]) -> dict[str, Any]:
    """Whether the unlabeled rows help, and the evidence."""
    n, effect = data["unlabeled"], auto.unlabeled_effect_
    if auto.prior_ is not None:
        text = (
            f"Only {data['positive']} is labeled, so every method needs the {n} unlabeled rows. An estimated "
            f"{auto.prior_:.0%} of them are {data['positive']}."
        )
        return {"kind": "none", "answer": "They are required.", "text": text}
    if effect is None:
        users = auto.leaderboard_.query("uses_unlabeled and status == 'ok' and family != 'ensemble'")["method"]
        text = "Every method here learns from the labeled rows only."
        if len(users):
            text = f"{', '.join(users)} uses the {n} unlabeled rows, and was not fitted without them for comparison."
        return {"kind": "none", "answer": "Not measured." if n else "There are none.", "text": text}
    if effect.low <= 0 <= effect.high:
        kind, answer, says = "none", "No measurable difference.", "make no measurable difference"
    elif effect.difference > 0:
        kind, answer, says = "helped", "Yes.", "help"
    else:
        kind, answer, says = "hurt", "No, they hurt.", "hurt"
    text = (
        f"On this table the {n} unlabeled rows {says}. Out of fold, {effect.method} has {_score_name(auto)} "
        f"{effect.score:.3f} with them and {effect.without:.3f} without: difference {signed(effect.difference)}, 95% "
        f"interval {signed(effect.low)} to {signed(effect.high)}."
    )
    return {"kind": kind, "answer": answer, "text": text, **effect._asdict()}


def _decided(model: TableClassifier, encoded: Rows, decision: Decision | None) -> dict[str, Any]:
    """The cut, and the curve of all cuts; None and an empty list with more than two classes."""
    if model.positive_ is None:
        return {"decisions": None, "decision_curve": []}
    decision = decision or choose_cut(model, encoded)
    return {
        "decisions": decisions.describe(decision, _class_names(model)[-1]),
        "decision_curve": decisions.curve(decision),
    }


def _curves_of(model: TableClassifier, codes: np.ndarray, seed: int) -> dict[str, Any]:
    """ROC, precision-recall and calibration curves of the out-of-fold scores."""
    auto, names = model.estimator_, _class_names(model)
    y, decision = codes[auto.labeled_rows_], np.asarray(auto.out_of_fold_)
    if decision.ndim == 1:
        positive = y == 1
        slope, intercept = auto.calibration_
        probability = 1 / (1 + np.exp(-(slope * decision + intercept)))
        name = {"name": names[1]}
        return {
            "roc": [{**name, **curves.roc(positive, decision, auto.prior_, seed)}],
            "precision_recall": [{**name, **curves.precision_recall(positive, decision, auto.prior_, seed)}],
            # Probabilities for a given prior cannot be compared with the shares among the labeled rows.
            "calibration": curves.calibration(positive, probability) if auto.prior_ is auto.prior is None else [],
            "confusion": None,
        }
    largest = np.argsort(-np.bincount(y), kind="stable")[:_MOST_CLASSES]
    predicted = decision.argmax(axis=1)
    return {
        "roc": [{"name": names[k], **curves.roc(y == k, decision[:, k], None, seed)} for k in largest],
        "precision_recall": [
            {"name": names[k], **curves.precision_recall(y == k, decision[:, k], None, seed)} for k in largest
        ],
        "calibration": curves.calibration(predicted == y, decision.max(axis=1)),
        "confusion": confusion(y, predicted, names),
    }


def _histograms(model: TableClassifier, codes: np.ndarray, probability: np.ndarray) -> list[dict[str, Any]]:
    """Histograms of the probabilities of labeled rows (out of fold, by class) and of unlabeled rows."""
    auto, names = model.estimator_, _class_names(model)
    y, decision = codes[auto.labeled_rows_], np.asarray(auto.out_of_fold_)
    groups = []
    if decision.ndim == 1:
        slope, intercept = auto.calibration_
        held_out = 1 / (1 + np.exp(-(slope * decision + intercept)))
        for k in (1, 0) if auto.prior_ is None else (1,):
            groups.append((f"labeled {names[k]}", held_out[y == k]))
        hidden = probability[codes < 0, 1]
    else:
        groups.append(("labeled, probability of the most likely class", decision.max(axis=1)))
        hidden = probability[codes < 0].max(axis=1)
    if len(hidden):
        groups.append(("unlabeled", hidden))
    return [{"name": name, "rows": len(values), "shares": curves.histogram(values)} for name, values in groups]


def _explained(model: TableClassifier, features: np.ndarray, seed: int) -> dict[str, Any]:
    """Shape functions and a scorecard if the only member is additive, permutation importance otherwise."""
    auto = model.estimator_
    empty: dict[str, Any] = {"shape_functions": [], "scorecard": None, "importances": []}
    booster = additive_member(auto.model_)
    if booster is None:
        return {**empty, "explained": None, "importances": advice.importances(model, features, seed)}
    table = pd.DataFrame(features, columns=model.encoder_.features_)
    return {
        **empty,
        "explained": next(iter(auto.members_)),
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
            # Without missing values in training, the effect of one was not learned.
            "missing": float(f.missing) if table.iloc[:, f.column].isna().any() else None,
        }
        for f in functions[:most]
    ]


def _card(booster: Any, table: pd.DataFrame, most: int = 4) -> dict[str, Any]:
    points, base = 20, 600
    card = scorecard(booster, points=points, base=base)
    # The booster was fitted to an array: x3 is the fourth column.
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


def _important(model: TableClassifier, summary: dict[str, Any], most: int = 4) -> list[str]:
    """The columns that matter most for the ranking."""
    if summary["importances"]:
        return [row["column"] for row in summary["importances"][:most]]
    source = dict(zip(model.encoder_.features_, model.encoder_.sources_))
    return list(dict.fromkeys(source[function["name"]] for function in summary["shape_functions"]))[:most]


def _tested(model: TableClassifier, test: tuple[pd.DataFrame, pd.Series] | None) -> dict[str, Any] | None:
    if test is None:
        return None
    X, y = test
    result = score_table(model, X)
    truth = (y.astype(str) == _class_names(model)[-1]).astype(int).to_numpy()
    found = auc_confidence_interval(truth, result["score"], confidence=CONFIDENCE)
    accuracy = float(np.mean(result["label"].astype(str) == y.astype(str).to_numpy()))
    return {"rows": len(X), "auc": found.auc, "low": found.low, "high": found.high, "accuracy": accuracy}
