"""Summary of a fitted model and its table: everything a report shows, as a plain dict that JSON can hold."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import fewlabel
from fewlabel.active import Query
from fewlabel.auto import ENSEMBLE, EXPERIENCE, AutoClassifier, additive_member, labels_within
from fewlabel.metrics import auc_confidence_interval
from fewlabel.reporting import advice, curves, decisions, sentences
from fewlabel.reporting.additive import described_booster
from fewlabel.reporting.figures import plain
from fewlabel.reporting.groups import describe_groups
from fewlabel.rows import Rows
from fewlabel.tables import Decision, TableClassifier, choose_threshold, enough_for_leaks, score_table
from fewlabel.types import PlainDict

CONFIDENCE = 0.95
_PACKAGES = ("scikit-learn", "numpy", "pandas", "numba", "skrub")
_MOST_CLASSES = 6
_MOST_GAPS = 8
_MOST_COLUMNS = 4  # beside a row to label
_SCORE_NAMES = {"roc_auc": "AUC", "average_precision": "average precision"}
_OF_FIGURES = ("roc", "precision_recall", "scores", "shape_functions", "decision_curve")


def summarize(
    model: TableClassifier,
    X: pd.DataFrame,
    encoded: Rows,
    *,
    title: str,
    command: str,
    seed: int = 0,
    notes: list[str] | None = None,
    cautions: list[str] | None = None,
    decision: Decision | None = None,
    model_file: str | None = None,
    source: str | None = None,
    test: tuple[pd.DataFrame, pd.Series] | None = None,
    query: Query | None = None,
    report_by: Mapping[str, Any] | None = None,
    labelers: PlainDict | None = None,
) -> PlainDict:
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
        On how the table was read, in addition to those of :func:`fewlabel.reporting.table_notes`.
    cautions : list of str, default=None
        What matters before the model is relied on, beside the number of labels, how they arose, leaks and groups.
    decision : Decision, default=None
        The threshold, by default the one that the model has. Not with more than two classes.
    model_file : str, default=None
        Where the model was saved.
    source : str, default=None
        Where the table comes from.
    test : (DataFrame, Series), default=None
        Held-out rows and their labels, to test the model on.
    query : Query, default=None
        The rows to label next, by default those of :func:`fewlabel.reporting.rows_to_label`.
    report_by : dict of str to array-like of shape (n_rows,), default=None
        Columns whose groups have figures of their own. Not with more than two classes.
    labelers : dict, default=None
        What :func:`fewlabel.reporting.describe_labelers` returned, if several people answered the same rows.

    Returns
    -------
    dict
        Of dicts, lists, texts, finite numbers, booleans and None only.
    """
    auto = model.estimator_
    probability = auto.predict_proba(encoded.X)
    held_out = _HeldOut(model, encoded.codes)
    score_name = _score_name(auto)
    board = auto.leaderboard_
    summary: PlainDict = {"title": title, "command": command, "seed": seed, "versions": _versions()}
    summary["task"] = auto.task_
    summary["score_name"] = score_name
    summary["data"] = _describe(model, X, encoded.codes, source)
    summary["notes"] = [*(notes or []), *sentences.reading_notes(model), *sentences.left_out_notes(auto)]
    summary["labelers"] = labelers
    tried = board.query("status == 'ok'")
    tried = tried.drop(columns=["prior", "posterior", "status"])
    left_out = board.query("status != 'ok'")
    summary["leaderboard"] = tried.to_dict("records")
    summary["left_out"] = left_out[["method", "status"]].to_dict("records")
    summary["selection"] = model.selection_.to_dict()
    summary["headline"] = _headline(model)
    summary["certainty"] = _certainty(summary)
    summary["choice"] = _choice(auto, score_name)
    of_model = sentences.cautions(model, summary["data"], summary["selection"])
    summary["cautions"] = [*of_model, *(cautions or [])]
    unlabeled_text = sentences.unlabeled_text(auto, summary["data"])
    summary["unlabeled"] = {"text": unlabeled_text, "audited_share": sentences.share_of_audit(auto)}
    if model.positive_ is None:
        summary |= {"decisions": None, "decision_curve": [], "groups": []}
        summary |= _curves_by_class(held_out)
    else:
        if decision is None:
            # Here for reports outside `fewlabel fit`, which has chosen one by its options.
            decision = choose_threshold(model, encoded)
        summary |= _decided(model, encoded, decision, summary, report_by or {})
        summary |= _curves(held_out, auto, summary)
    for figures in (summary["decisions"], summary["confusion"]):
        if figures is not None and summary["headline"]["with_leaks"]:
            figures["text"] += sentences.WITH_SUSPECTED
    n_labeled = summary["data"]["labeled"]
    summary["learning_curve"] = curves.learning(auto, encoded, n_labeled, score_name, seed)
    summary["scores"] = _histograms(held_out, auto, probability[encoded.codes < 0])
    summary |= _explained(model, encoded.X, seed)
    summary["test"] = None if test is None else _tested(model, *test)
    summary["model_file"] = model_file
    # A sentence on what is above, so it comes last.
    summary["good_for"] = sentences.good_for(summary)
    if query is None:
        query = advice.rows_to_label(model, encoded, probability, seed=seed)
    shown = _important(model, summary)
    summary["next_rows"] = advice.described(model, X, query, probability, shown)
    return plain(summary)


def metrics(summary: PlainDict) -> PlainDict:
    """Return the numbers of a summary, without the data of the figures."""
    numbers = {name: value for name, value in summary.items() if name not in _OF_FIGURES}
    numbers["shape_importances"] = {shape["name"]: shape["importance"] for shape in summary["shape_functions"]}
    return numbers


class _HeldOut:
    """Labeled rows with what models say that were not fitted to them.

    Attributes
    ----------
    names : list of str
        Classes in the order of the estimator: of two, the positive one is the last.
    y : ndarray of int
    weight : ndarray of float or None
        How much each row counts for the rows that the headline is about; None if all count the same.
    decision : ndarray of shape (n_tested,) or (n_tested, n_classes)
        With more than two classes, probabilities.
    probability : ndarray of the same shape
    """

    def __init__(self, model: TableClassifier, codes: np.ndarray) -> None:
        auto = model.estimator_
        self.names = _class_names(model)
        self.y = codes[auto.labeled_rows_]
        self.weight = auto.model_.evidence.weight
        self.decision = np.asarray(auto.out_of_fold_)
        if self.weight is not None:
            # After an audit, rows that somebody chose say nothing about the others: they have no weight.
            counted = self.weight > 0
            self.y = self.y[counted]
            self.weight = self.weight[counted]
            self.decision = self.decision[counted]
        self.training_share = auto.training_share_
        # With more than two classes, scores are probabilities.
        self.probability = self.decision
        if self.is_binary:
            slope, intercept = auto.calibration_
            self.probability = expit(slope * self.decision + intercept)

    @property
    def is_binary(self) -> bool:
        return self.decision.ndim == 1


def _versions() -> dict[str, str]:
    own = {"python": platform.python_version(), "fewlabel": fewlabel.__version__}
    return own | {name: version(name) for name in _PACKAGES}


def _score_name(auto: AutoClassifier) -> str:
    # Positives only: the AUC can be estimated without negatives, other scores cannot.
    if auto.prior_ is not None:
        return "AUC"
    return _SCORE_NAMES.get(str(auto.scoring), "score")


def _class_names(model: TableClassifier) -> list[str]:
    return [str(name) for name in model.names_of(range(len(model.classes_)))]


def _describe(model: TableClassifier, X: pd.DataFrame, codes: np.ndarray, source: str | None) -> PlainDict:
    """The table: rows, labels, columns and gaps."""
    names = _class_names(model)
    columns = model.encoder_.columns_
    table = X.set_axis(X.columns.map(str), axis=1)
    missing = table[list(columns)].isna()
    gaps = missing.mean().sort_values(ascending=False, kind="stable")
    gaps = gaps[gaps > 0]
    counts = np.bincount(codes[codes >= 0], minlength=len(names))
    n_labeled = counts.sum()
    data: PlainDict = {"source": source, "target": model.target_, "classes": names, "positive": names[-1]}
    data["rows"] = len(X)
    data["labeled"] = n_labeled
    data["labeled_by_class"] = {name: count for name, count in zip(names, counts) if count}
    data["unlabeled"] = len(X) - n_labeled
    data["columns"] = len(columns)
    data["columns_by_kind"] = pd.Series(columns).value_counts().to_dict()
    data["dropped"] = model.encoder_.dropped_
    data["leaks"] = list(model.leaks_)
    data["enough_for_leaks"] = enough_for_leaks(codes)
    data["gap_share"] = missing.to_numpy().mean()
    data["gaps"] = [{"column": name, "share": share} for name, share in gaps[:_MOST_GAPS].items()]
    data["columns_with_gaps"] = len(gaps)
    data["prior"] = model.estimator_.prior_
    return plain(data)


def _headline(model: TableClassifier) -> PlainDict:
    """What to expect: the estimate without suspected leaks, if there are any, and the one with them."""
    name = _score_name(model.estimator_)
    positives_only = model.estimator_.prior_ is not None
    positive = _class_names(model)[-1]
    condition = f", {sentences.if_typical(sentences.class_name(positive))}" if positives_only else ""
    whole = {**plain(model.estimator_.headline_), "positives_only": positives_only}
    leaks = list(model.leaks_)
    if not leaks:
        return {**whole, "with_leaks": None, "text": sentences.headline_text(name, whole, condition)}
    without = None
    if model.without_leaks_ is not None:
        without = {**plain(model.without_leaks_), "positives_only": positives_only}
    text = sentences.leaks_text(name, leaks, whole, without, condition)
    # Without other columns there is no estimate.
    unknown = dict.fromkeys(("score", "low", "high"))
    shown = without or {**whole, **unknown}
    return {**shown, "with_leaks": whole, "text": text}


def _certainty(summary: PlainDict) -> PlainDict:
    """How many labels more would make the interval of the headline short enough, if it is not."""
    headline = summary["headline"]
    nothing = {"text": "", "within": sentences.WITHIN, "more_labels": 0}
    # More positives alone do not tell how many of the unlabeled rows are positive.
    if headline["score"] is None or summary["task"] == "positive-unlabeled":
        return nothing
    n_labels = summary["data"]["labeled"]
    is_auc = summary["task"] == "binary" and summary["score_name"] == "AUC"
    shrunken = is_auc and headline["interval"] == EXPERIENCE
    needed = labels_within(headline, n_labels, sentences.WITHIN, shrunken=shrunken)
    more = needed - n_labels
    if more == 0:
        return nothing
    return {**nothing, "text": sentences.certainty_text(summary, more), "more_labels": more}


def _choice(auto: AutoClassifier, score_name: str) -> PlainDict:
    """The methods that were tried and chosen, with the best one if it has no weight, and the plain one beside it."""
    board = auto.leaderboard_.query("status == 'ok'")
    methods: list[Any] = board[board["family"] != ENSEMBLE].to_dict("records")
    methods.sort(key=lambda row: -row["weight"])
    best = max(methods, key=lambda row: row["score"])
    unchosen = None
    if best["weight"] == 0 and not auto.interpretable:
        heaviest = methods[0]
        names = ("method", "score", "posterior")
        unchosen = {"best": {name: best[name] for name in names}}
        unchosen["weight"] = {name: heaviest[name] for name in names}
        unchosen["difference"] = abs(heaviest["posterior"] - best["posterior"])
    additive = None
    choice = auto.additive_choice_
    if choice is not None:
        additive = {**choice._asdict(), "cost": choice.cost}
    return {
        "text": sentences.choice_text(auto, methods, unchosen, score_name),
        "additive": additive,
        "tried": len(methods),
        "chosen": sum(row["weight"] > 0 for row in methods),
        "unchosen": unchosen,
        "baseline": auto.baseline_,
    }


def _decided(
    model: TableClassifier, encoded: Rows, decision: Decision, summary: PlainDict, report_by: Mapping[str, Any]
) -> PlainDict:
    """The threshold, what it yields, also by group, and what others would."""
    positive = summary["data"]["positive"]
    reason = summary["headline"]["reason"]
    asks_share = summary["selection"]["asks_share"]
    tells_odds = model.selection_.audit_lacks is None
    described = decisions.describe(decision, positive, reason, asks_share=asks_share, tells_odds=tells_odds)
    found: PlainDict = {"decisions": described}
    found["decision_curve"] = decisions.curve(decision)
    found["groups"] = describe_groups(model, encoded, decision.threshold, report_by)
    return plain(found)


def _curves(held_out: "_HeldOut", auto: AutoClassifier, summary: PlainDict) -> PlainDict:
    """ROC and precision-recall curve of the rows to decide on, and calibration by the labels that count for them."""
    found = summary["decisions"]
    # Probabilities for a given prior cannot be compared with the shares among the labeled rows.
    bins = []
    if auto.prior_ is None and auto.prior is None:
        bins = curves.calibration(held_out.y == 1, held_out.probability, held_out.weight)
    nothing = {"roc": [], "precision_recall": [], "calibration": bins, "confusion": None}
    # Without a value of the precision at any threshold, there is no curve.
    if found["unknown"] is not None or found["estimates"]["precision"]["value"] is None:
        return nothing
    roc, precision_recall = curves.of_decisions(summary["decision_curve"], found["prior"]["value"])
    named = {"name": held_out.names[1]}
    return {**nothing, "roc": [named | roc], "precision_recall": [named | precision_recall]}


def _curves_by_class(held_out: "_HeldOut") -> PlainDict:
    """The curves of the largest classes, each against all others."""
    roc = []
    precision_recall = []
    sizes = np.bincount(held_out.y)
    # A class with one label is not tested, and has no curve.
    tested = np.flatnonzero(sizes)
    by_size = tested[np.argsort(-sizes[tested], kind="stable")]
    for k in by_size[:_MOST_CLASSES]:
        of_roc, of_precision = curves.of_class(held_out.y == k, held_out.probability[:, k])
        name = {"name": held_out.names[k]}
        roc.append(name | of_roc)
        precision_recall.append(name | of_precision)
    predicted = held_out.probability.argmax(axis=1)
    certainty = held_out.probability.max(axis=1)
    return {
        "roc": roc,
        "precision_recall": precision_recall,
        "calibration": curves.calibration(predicted == held_out.y, certainty),
        "confusion": curves.confusion(held_out.y, predicted, held_out.names, held_out.training_share),
    }


def _histograms(held_out: _HeldOut, auto: AutoClassifier, unlabeled: np.ndarray) -> list[PlainDict]:
    """Histograms of the probabilities of labeled rows (out of fold, by class) and of unlabeled rows."""
    groups = {}
    if held_out.is_binary:
        groups[f"labeled {held_out.names[1]}"] = held_out.probability[held_out.y == 1]
        # With positives only, no row is labeled negative.
        if auto.prior_ is None:
            groups[f"labeled {held_out.names[0]}"] = held_out.probability[held_out.y == 0]
        groups["unlabeled"] = unlabeled[:, 1]
    else:
        groups["labeled, probability of the most likely class"] = held_out.probability.max(axis=1)
        groups["unlabeled"] = unlabeled.max(axis=1, initial=0.0)
    histograms = []
    for name, values in groups.items():
        if len(values):
            histograms.append({"name": name, "rows": len(values), "shares": curves.histogram(values)})
    return histograms


def _explained(model: TableClassifier, features: np.ndarray, seed: int) -> PlainDict:
    """Shape functions and a scorecard if the only member is additive, permutation importance otherwise."""
    booster = additive_member(model.model_)
    if booster is None:
        importances = advice.importances(model, features, seed)
        return {"explained": None, "importances": importances, "shape_functions": [], "scorecard": None}
    table = pd.DataFrame(features, columns=model.encoder_.features_)
    (name,) = model.estimator_.ensemble_weights_
    return {"explained": name, "importances": [], **described_booster(booster, table)}


def _important(model: TableClassifier, summary: PlainDict) -> list[str]:
    """The columns that matter most for the ranking."""
    if summary["importances"]:
        return [row["column"] for row in summary["importances"][:_MOST_COLUMNS]]
    source = dict(zip(model.encoder_.features_, model.encoder_.sources_))
    columns = [source[function["name"]] for function in summary["shape_functions"]]
    # Several features may come from one column.
    distinct = list(dict.fromkeys(columns))
    return distinct[:_MOST_COLUMNS]


def _tested(model: TableClassifier, X: pd.DataFrame, y: pd.Series) -> PlainDict:
    """How the model does on held-out rows."""
    result = score_table(model, X)
    truth = y.astype(str).to_numpy()
    is_positive = (truth == _class_names(model)[-1]).astype(int)
    interval = auc_confidence_interval(is_positive, result["score"], confidence=CONFIDENCE)
    is_right = result["label"].astype(str) == truth
    return {"rows": len(X), **interval._asdict(), "accuracy": np.mean(is_right)}
