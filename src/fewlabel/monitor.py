r"""After deployment: what to expect of a model on new rows, and what it did once their labels arrive.

The labels of new rows come late, or never. Until then the labeled rows of the fit tell: their out-of-fold scores give
the probability of a positive at every score, and each new row counts as a positive by its probability. Where new rows
differ from the labeled ones by more than chance, labeled rows that resemble them count more, by the ratio of the
densities. All of this assumes that rows with the same columns have the same chance of being positive as at fit. Only
labels can show that they do not: compare what was expected with what is measured.
"""

import json
import os
import warnings
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from fewlabel import labels
from fewlabel.auto.intervals import DEVIATIONS, angle_variance
from fewlabel.decisions import Costs, Estimate, Evidence
from fewlabel.exceptions import LabelError
from fewlabel.metrics import auc_confidence_interval
from fewlabel.metrics.angles import from_angle, to_angle
from fewlabel.metrics.shares import share_estimate
from fewlabel.parts import Baseline, FittedModel
from fewlabel.parts.cells import NUMBER, Cells
from fewlabel.population import Selection, describe_selection, flatten_weights
from fewlabel.tables.kinds import as_moments
from fewlabel.tables.profile import Drift, Finding, months_of, profile_cells
from fewlabel.tables.scoring import score_features
from fewlabel.text import short
from fewlabel.types import PlainDict

__all__ = ["Monitor", "Monitoring", "append_history", "monitor_rows", "read_history"]

_LEAST_EFFECTIVE = 0.6  # effective number of labels, as a share of all: weights are flattened until it is reached
_CHANGE = 1.5  # the interval reaches by this much of the change itself further to either side
_LEAST_OF_A_CLASS = 5  # late labels of each class that measure something
_MOST_KEPT = 20_000  # rows whose columns are kept, to compare them with those of the fit
_SHOWN = ("share", "precision", "recall", "lift", "cost")
SCORE = "score"
_BELOW = "the {0}, {1.value:.3f}, is below the interval at fit, {2.low:.3f} to {2.high:.3f}"
_NO_SHARE = (
    "labels were drawn class by class, so precision, recall and cost depend on the share of positives: fit again with "
    "--prior (prior=)"
)
_MANY = "with more than two classes only labels of the new rows tell how good the model is on them"


@dataclass(frozen=True)
class Monitoring:
    """What is known about new rows: expected and measured figures, and how their columns differ.

    Attributes
    ----------
    n_rows : int
    n_flagged : int or None
        Rows above the model's threshold; None with more than two classes.
    at_fit : Estimate or None
        The AUC that the fit expected; None if it had no estimate.
    expected : dict of str to Estimate
        With two classes `auc`, and `share`, `precision`, `recall`, `lift` and `cost` at the threshold of the model,
        without labels of these rows. Empty if they cannot be estimated.
    reason : str or None
        Why not.
    missing : str or None
        Why only the AUC is expected, if so.
    shift : Selection or None
        How these rows differ from the labeled rows of the fit.
    n_labels : int
        Rows whose label has arrived.
    measured : dict of str to Estimate
        The same figures by these labels; `share`, `recall` and `lift` if all of them are positive, `accuracy` with more
        than two classes. Empty if they are too few.
    drift : Drift
        The columns of these rows beside those of the fit.
    score_drift : Drift or None
        The same for the score.
    """

    n_rows: int
    n_labels: int
    drift: Drift
    measured: dict[str, Estimate]
    n_flagged: int | None = None
    reason: str | None = None
    missing: str | None = None
    at_fit: Estimate | None = None
    expected: dict[str, Estimate] = field(default_factory=dict)
    shift: Selection | None = None
    score_drift: Drift | None = None

    @property
    def differences(self) -> list[str]:
        """The columns in which new rows differ most from labeled rows of the fit, in words."""
        if self.shift is None:
            return []
        # A selection tells of labeled rows beside others; here the new rows are the others.
        return [replace(one, share=1 - one.share).text for one in self.shift.differences]

    def findings(self) -> list[Finding]:
        """Where columns, and the score, do not fit those of the fit."""
        of_score = [] if self.score_drift is None else self.score_drift.findings()
        return [*of_score, *self.drift.findings()]

    def alarms(self) -> list[str]:
        """Reasons to look closer, one sentence each; none if all is as at fit.

        Returns
        -------
        list of str
        """
        found = []
        if self.reason is not None and self.shift is not None:
            found.append(f"no estimate: {self.reason}")
        at_fit = self.at_fit
        if at_fit is not None:
            now = self.expected.get("auc")
            if now is not None and now.value < at_fit.low:
                found.append(_BELOW.format("AUC to expect", now, at_fit))
            seen = self.measured.get("auc")
            if seen is not None and seen.value < at_fit.low and seen.high < at_fit.value:
                found.append(_BELOW.format("measured AUC", seen, at_fit))
        return found + [f"{finding.column}: {finding.text}" for finding in self.findings()]

    def to_dict(self) -> PlainDict:
        """All of it as plain values, for JSON and the page."""
        score = None if self.score_drift is None else self.score_drift.summary()["columns"][SCORE]
        return {
            "rows": self.n_rows,
            "flagged": self.n_flagged,
            "labels": self.n_labels,
            "at_fit": None if self.at_fit is None else self.at_fit._asdict(),
            "expected": {name: estimate._asdict() for name, estimate in self.expected.items()},
            "reason": self.reason,
            "missing": self.missing,
            "measured": {name: estimate._asdict() for name, estimate in self.measured.items()},
            "differences": self.differences,
            "effective_labels": None if self.shift is None else self.shift.effective_labels,
            "score_stability": score and score["stability"],
            "score": score,
            "drift": self.drift.summary(),
            "alarms": self.alarms(),
        }


def monitor_rows(
    model: Any, X: Any, y: ArrayLike | None = None, *, costs: Costs | None = None, time: ArrayLike | None = None
) -> Monitoring:
    r"""Compare new rows with those of the fit, and estimate how good the model is on them.

    With :math:`a = 2 \arcsin \sqrt{AUC}`, the AUC to expect is
    :math:`a_{\text{new}} = a_{\text{fit}} + (\hat a_{\text{new}} - \hat a_{\text{old}})`: that of the fit, moved by the
    difference between two estimates with probabilities in place of labels, of these rows and of the rows that the fit
    was for. The errors that both estimates have in common cancel.

    Parameters
    ----------
    model : TableClassifier or FittedModel
        With an AutoClassifier as its estimator.
    X : DataFrame
        New rows.
    y : array-like of shape (n_rows,), default=None
        Late labels; missing (``None``, NaN, or -1 beside numbers) where none has arrived.
    costs : Costs, default=None
        What wrong decisions cost.
    time : array-like of shape (n_rows,), default=None
        When each row was recorded: the stability of the columns is then also by month.

    Returns
    -------
    Monitoring

    See Also
    --------
    fewlabel.tables.compare : The columns alone.

    Notes
    -----
    The 95% interval of the AUC adds, on the same scale, the variance of the fit's own interval, that of an AUC measured
    on so many rows, and 1.5 times the change, as the change is known less well than its start.

    References
    ----------
    .. [1] J. Bialek, J. Kivimaki, W. Kuberski, N. Perrakis. Estimating model performance under covariate shift without
       labels. arXiv:2401.08348, 2024. Probabilities in place of labels, weighted by the ratio of densities.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import AutoClassifier, TableClassifier, hide_labels
    >>> from fewlabel.monitor import monitor_rows
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> few = hide_labels(y[:400], labeled=100, random_state=0)
    >>> model = TableClassifier(AutoClassifier(["logistic regression"], random_state=0)).fit(X[:400], few)
    >>> found = monitor_rows(model, X[400:])
    >>> found.n_rows, bool(0.95 < found.expected["auc"].value < 1)
    (169, True)
    """
    watch = Monitor(model, costs=costs)
    encoder: Any = watch.model.encoder
    cells = encoder.read(X)
    drift = Drift(encoder.profile)
    drift.add(cells, None if time is None else _months(time))
    watch.add(np.asarray(encoder.encode(cells)), y)
    return watch.result(drift)


def _months(time: ArrayLike) -> np.ndarray:
    """The month of each row as a text such as 2024-03; rows without a time are together."""
    moments = as_moments(time)
    if moments.dtype.kind != "M":
        raise ValueError("time holds numbers: months need dates")
    return months_of(moments)


class _Kept:
    """At most `_MOST_KEPT` of all rows that are added, each with the same chance; arrays of equal length per row."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(0)
        self._parts: list[tuple[np.ndarray, ...]] = []

    def add(self, *columns: np.ndarray) -> None:
        keys = self._rng.random(len(columns[0]))
        self._parts.append((keys, *columns))
        if sum(len(part[0]) for part in self._parts) > 2 * _MOST_KEPT:
            self._parts = [self._drawn()]

    def columns(self) -> tuple[np.ndarray, ...]:
        return self._drawn()[1:]

    def _drawn(self) -> tuple[np.ndarray, ...]:
        joined = [np.concatenate(arrays) for arrays in zip(*self._parts)]
        kept = np.sort(np.argsort(joined[0])[:_MOST_KEPT])
        return tuple(array[kept] for array in joined)


class Monitor:
    """What :func:`monitor_rows` does, of rows that come in pieces: memory grows by 8 bytes per row, for the scores.

    Parameters
    ----------
    model : TableClassifier or FittedModel
    costs : Costs, default=None

    Attributes
    ----------
    model : FittedModel
    """

    def __init__(self, model: Any, *, costs: Costs | None = None) -> None:
        fitted = getattr(model, "model_", model)
        if not isinstance(fitted, FittedModel) or fitted.encoder is None:
            raise TypeError(
                f"model is a {type(model).__name__}: expected a TableClassifier around an AutoClassifier, or what "
                "fewlabel.load read of one"
            )
        self.model = fitted
        self.costs = costs
        self._scores: list[np.ndarray] = []
        # Columns, score and class of rows; of all of them, and of those whose label has arrived.
        self._rows = _Kept()
        self._labeled = _Kept()
        self._n_labels = 0

    def add(self, features: np.ndarray, y: ArrayLike | None = None) -> None:
        """Add rows.

        Parameters
        ----------
        features : ndarray of shape (n_rows, n_features)
            What the encoder of the model returned.
        y : array-like of shape (n_rows,), default=None
            Late labels, as in :func:`monitor_rows`.
        """
        found = score_features(self.model, features)
        # With more than two classes, what is predicted takes the place of the score.
        scores = found.codes.astype(float) if found.score is None else found.score
        late = np.full(len(features), -1) if y is None else _read_late(self.model, y, len(features))
        arrived = late >= 0
        self._scores.append(scores)
        # With the 32 bits of the rows of the fit: equal values must be equal.
        columns = features.astype(np.float32)
        self._rows.add(columns, late)
        self._labeled.add(columns[arrived], scores[arrived], late[arrived])
        self._n_labels += int(arrived.sum())

    def result(self, drift: Drift) -> Monitoring:
        """What is known of the rows so far.

        Parameters
        ----------
        drift : Drift
            Of the same rows.

        Returns
        -------
        Monitoring
        """
        scores = np.concatenate(self._scores)
        if self.model.positive is None:
            return Monitoring(len(scores), self._n_labels, drift, self._right(), reason=_MANY)
        threshold = self.model.threshold or 0.0
        measured = self._measured(scores, threshold)
        n_flagged = int(np.count_nonzero(scores > threshold))
        found = Monitoring(len(scores), self._n_labels, drift, measured, n_flagged)
        baseline = self.model.evidence.baseline
        if baseline is None:
            return replace(found, reason="it is estimated for models by an AutoClassifier")
        score_drift = Drift({SCORE: profile_cells(Cells(NUMBER, baseline.population))})
        score_drift.add({SCORE: Cells(NUMBER, scores)})
        at_fit = _at_fit(self.model)
        shift, reason = _shift(self.model, baseline, self._rows.columns()[0])
        expected: dict[str, Estimate] = {}
        if reason is None:
            expected = _expected(self.model, baseline, scores, shift, at_fit, threshold, self.costs)
        missing = None
        # At the threshold, figures are those of the share of positives among the labels, which new rows do not have.
        if expected and self.model.about["selection"]["asks_share"]:
            expected = {"auc": expected["auc"]}
            missing = _NO_SHARE
        found = replace(found, reason=reason, missing=missing, at_fit=at_fit, expected=expected)
        return replace(found, shift=shift, score_drift=score_drift)

    def _right(self) -> dict[str, Estimate]:
        """The share of right classes by the labels that have arrived."""
        _, predicted, late = self._labeled.columns()
        if len(late) < _LEAST_OF_A_CLASS:
            return {}
        return {"accuracy": share_estimate(np.count_nonzero(predicted == late), len(late))}

    def _measured(self, scores: np.ndarray, threshold: float) -> dict[str, Estimate]:
        """The figures by the labels that have arrived, which may be of some kinds of rows only."""
        features, seen, late = self._labeled.columns()
        positive = late == self.model.positive
        n_positive = int(positive.sum())
        if n_positive < _LEAST_OF_A_CLASS:
            return {}
        if n_positive == len(late):
            return _found_positives(seen > threshold, float(np.mean(scores > threshold)))
        if len(late) - n_positive < _LEAST_OF_A_CLASS:
            return {}
        others, codes = self._rows.columns()
        together = np.vstack([features, others[codes < 0]]).astype(np.float64)
        arrived = np.arange(len(together)) < len(features)
        chosen = describe_selection(together, arrived, [f"x{k}" for k in range(together.shape[1])])
        weight = chosen.weight if chosen.can_tell else None
        interval = auc_confidence_interval(positive.astype(int), seen, sample_weight=weight)
        evidence = Evidence(positive, seen, scores, sample_weight=weight)
        auc = Estimate(interval.auc, interval.low, interval.high)
        return {"auc": auc, **_shown(evidence.at(threshold, self.costs))}


def _found_positives(flagged: np.ndarray, share: float) -> dict[str, Estimate]:
    """What positives alone tell: how many of them are flagged, beside how many of all rows are."""
    recall = share_estimate(np.count_nonzero(flagged), len(flagged))
    figures = {"share": Estimate(share, share, share), "recall": recall}
    if share > 0:
        figures["lift"] = Estimate(*(value / share for value in recall))
    return figures


def _at_fit(model: FittedModel) -> Estimate | None:
    headline = model.about["headline"]
    if model.about["scoring"] != "roc_auc" or headline["score"] is None:
        return None
    return Estimate(headline["score"], headline["low"], headline["high"])


def _shift(model: FittedModel, baseline: Baseline, features: np.ndarray) -> tuple[Selection | None, str | None]:
    """How new rows differ from the labeled ones, and why nothing can be expected of them, if so."""
    if model.prior is not None:
        reason = "the model was fitted to positives only, which do not tell how many of the new rows are positive"
        return None, reason
    together = np.vstack([baseline.features, features]).astype(np.float64)
    is_old = np.arange(len(together)) < len(baseline.scores)
    encoder: Any = model.encoder
    shift = describe_selection(together, is_old, encoder.features)
    if shift.can_tell:
        return shift, None
    return shift, f"{shift.uncovered:.0%} of the new rows resemble no labeled row of the fit: label some of them"


def _expected(
    model: FittedModel,
    baseline: Baseline,
    scores: np.ndarray,
    shift: Selection | None,
    at_fit: Estimate | None,
    threshold: float,
    costs: Costs | None,
) -> dict[str, Estimate]:
    """The AUC, and what the model's threshold yields, with probabilities in place of labels."""
    weight = None if shift is None or shift.weight is None else flatten_weights(shift.weight, _LEAST_EFFECTIVE)

    def evidence(population: np.ndarray, sample_weight: np.ndarray | None) -> Evidence:
        return Evidence(
            baseline.positive,
            baseline.scores,
            population,
            prior=model.about.get("stated_prior"),
            sample_weight=sample_weight,
            training_share=model.about["training_share"],
            ranked_among=baseline.population,
        )

    now = evidence(scores, weight)
    auc = now.auc()
    if at_fit is not None:
        before = evidence(baseline.population, baseline.weight).auc().value
        n_positive = now.prior.value * len(scores)
        auc = _moved(at_fit, to_angle(auc.value) - to_angle(before), n_positive, len(scores) - n_positive)
    return {"auc": auc, **_shown(now.at(threshold, costs))}


def _moved(at_fit: Estimate, change: float, n_positive: float, n_negative: float) -> Estimate:
    """The AUC at fit after a change of its angle, with an interval for what these rows will show."""
    middle = to_angle(at_fit.value) + change
    more = DEVIATIONS**2 * angle_variance(n_positive, n_negative) + (_CHANGE * change) ** 2
    below = np.sqrt((to_angle(at_fit.value) - to_angle(at_fit.low)) ** 2 + more)
    above = np.sqrt((to_angle(at_fit.high) - to_angle(at_fit.value)) ** 2 + more)
    ends = from_angle(np.array([middle, middle - below, middle + above]))
    return Estimate(*ends.tolist())


def _shown(estimates: dict[str, Estimate]) -> dict[str, Estimate]:
    return {name: estimates[name] for name in _SHOWN if name in estimates}


def _read_late(model: FittedModel, y: Any, n_rows: int) -> np.ndarray:
    """Position of each label in the classes of the model, -1 where none has arrived."""
    given = np.asarray(y, dtype=object)
    if len(given) != n_rows:
        raise ValueError(f"y has {len(given)} labels and X {n_rows} rows: give one per row, None where it is late")
    # A piece may have no label at all.
    if pd.isna(given).all():
        return np.full(n_rows, -1)
    read = labels.read(y)
    names = [str(name) for name in model.classes_]
    codes = []
    for name in map(str, read.classes):
        if name in names:
            codes.append(names.index(name))
        elif model.positive is not None and names[1 - model.positive] == labels.name_rest(names[model.positive]):
            # A model of one class against all others has no names for these.
            codes.append(1 - model.positive)
        else:
            expected = " nor ".join(repr(short(one)) for one in names[:6])
            raise LabelError(f"label {short(name)!r} is neither {expected}")
    return np.append(codes, -1)[read.codes]


def append_history(path: str | os.PathLike[str], batch: str, summary: PlainDict, **more: Any) -> PlainDict:
    """Add a line to a history, which is never rewritten.

    Parameters
    ----------
    path : str or path-like
        A file of JSON lines.
    batch : str
        Name of the new rows. A batch that is monitored again, with more labels, gets another line.
    summary : dict
        :meth:`Monitoring.to_dict`.
    **more
        Further plain values to keep, such as the digest of the model.

    Returns
    -------
    dict
        The line.
    """
    kept = ("rows", "flagged", "labels", "at_fit", "expected", "reason", "measured", "score_stability", "alarms")
    line = {"batch": batch, "time": datetime.now(UTC).isoformat(timespec="seconds"), **more}
    line |= {name: summary[name] for name in kept}
    line["stability"] = {name: column["stability"] for name, column in summary["drift"]["columns"].items()}
    text = json.dumps(line, allow_nan=False) + "\n"
    # One write at the end of the file: lines of two commands at the same time do not mix.
    with open(path, "ab+") as file:
        n_bytes = file.tell()
        file.seek(max(n_bytes - 1, 0))
        # A line that was cut short, by a full disk, must not swallow this one.
        begun = file.read() not in (b"", b"\n")
        file.write(("\n" if begun else "").encode() + text.encode())
    return line


def read_history(path: str | os.PathLike[str]) -> list[PlainDict]:
    """The last line of each batch, in the order in which batches came first.

    Parameters
    ----------
    path : str or path-like
        What :func:`append_history` wrote; it may not exist yet.

    Returns
    -------
    list of dict

    Warns
    -----
    UserWarning
        If lines cannot be read, such as one that was cut short; they are left out.
    """
    batches: dict[str, PlainDict] = {}
    n_damaged = 0
    text = Path(path).read_text("utf-8", errors="replace") if Path(path).exists() else ""
    for line in text.splitlines():
        try:
            record = json.loads(line)
            batches[record["batch"]] = record
        except (ValueError, TypeError, KeyError):
            n_damaged += 1
    if n_damaged:
        warnings.warn(f"{path}: {n_damaged} line(s) cannot be read and are left out", stacklevel=2)
    return list(batches.values())
