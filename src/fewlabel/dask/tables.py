"""Boosters on every row of files with columns of any kind: encoded by what a sample of the rows shows."""

import time
from dataclasses import replace
from typing import Any, NamedTuple

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pyarrow as pa
from dask import delayed
from sklearn.base import clone

from fewlabel.dask._estimators import PNUAUCBoostClassifier, PUAdaBoostClassifier
from fewlabel.dask._samples import hash_rows
from fewlabel.dask.sources import split_sources
from fewlabel.exceptions import TableError
from fewlabel.metrics import auc_confidence_interval
from fewlabel.prior import estimate_class_prior
from fewlabel.rows import Rows
from fewlabel.tables import TableClassifier, TableEncoder, suspected_leaks

METHODS = {
    "pnu-aucboost": PNUAUCBoostClassifier,
    "ada-pu": PUAdaBoostClassifier,
}
CLASSES = np.array([0, 1])  # codes of the negative and of the positive class
SAMPLE = 20_000  # labeled rows, and as many unlabeled ones, that the encoder is fitted on
_HELD_OUT = 0.2  # fraction of the labeled rows that is held out for the score


def fit_table(
    sources,
    sample,
    labels,
    known,
    counts,
    *,
    target,
    weights=None,
    decimal=".",
    method="auto",
    dayfirst=None,
    random_state=0,
    checkpoint=None,
    callback=None,
):
    """Fit a booster on every row of text or Parquet files with text, dates, categories and missing values.

    The encoder is fitted on a sample of the rows. Then parts are read and encoded one by one; Dask keeps the encoded
    blocks, on disk if they do not fit into memory. The returned model is fitted on all labeled rows. The metrics are
    those of a second model, which is fitted without a fifth of the labeled rows and scored on these.

    Parameters
    ----------
    sources : list of Source
        The parts of the table.
    sample : Rows
        Labeled and unlabeled rows.
    labels : Labels
        The classes, two of them.
    known : dict
        Code of each label, as it is in the files.
    counts : sequence of int
        Number of rows of each class, and of unlabeled rows.
    target : str
        Name of the label column.
    weights : Weights, default=None
        Weights of the rows.
    decimal : str, default="."
        Decimal separator of text files.
    method : {"auto", "pnu-aucboost", "ada-pu"}, default="auto"
        "auto" is PNU-AUCBoost, or Ada-PU if only one class is labeled.
    dayfirst : bool, default=None
        As in `TableEncoder`.
    random_state : int, default=0
    checkpoint : path-like, default=None
        As in `fewlabel.dask.PNUAUCBoostClassifier.fit`.
    callback : callable, default=None
        Progress: ``callback(done, total, name)`` is called after each round.

    Returns
    -------
    model : TableClassifier
        An in-memory model.
    metrics : dict
    """
    start = time.perf_counter()
    if len(labels.classes) > 2:
        raise TableError(
            f"the label column has {len(labels.classes)} classes, and the boosters on Dask are binary: name the class "
            "to find with --positive"
        )
    encoder = TableEncoder(dayfirst=dayfirst, random_state=random_state)
    encoded = np.asarray(encoder.fit_transform(sample.X))
    parts = split_sources(sources)
    how = delayed(_Encoding(encoder, target, known, weights, decimal), traverse=False, pure=False)
    blocks = dask.persist(*[delayed(_encode)(part, how) for part in parts])
    name = method if method != "auto" else "pnu-aucboost" if counts[0] else "ada-pu"
    booster = METHODS[name](random_state=random_state)
    prior = None
    if name == "ada-pu":
        is_positive = np.where(sample.codes == 1, 1, -1)
        found = estimate_class_prior(encoded, is_positive, sample_weight=sample.weight, random_state=random_state)
        prior = found.prior
        booster.set_params(prior=prior)

    n_features, weighted = len(encoder.features_), weights is not None
    fitted = _fit(booster, blocks, n_features, checkpoint, callback, name, weighted=weighted)
    model = TableClassifier(clone(fitted), positive=labels.classes.tolist()[1], random_state=random_state)
    leaks = suspected_leaks(encoded, sample.codes, encoder.sources_)
    model.set_parts(encoder, labels, leaks=leaks, estimator=fitted, target=target)

    training = [delayed(_without_held_out)(block, random_state) for block in blocks]
    second = None if checkpoint is None else f"{checkpoint}.trial"
    trial_name = f"{name}, a fifth held out"
    trial = _fit(booster, training, n_features, second, callback, trial_name, weighted=weighted)
    metrics = {
        "method": name,
        "target": target,
        "classes": [str(c) for c in labels.classes],
        "rows": int(sum(counts)),
        "labeled_by_class": {str(c): int(n) for c, n in zip(labels.classes, counts)},
        "unlabeled": int(counts[2]),
        "weights": None if weights is None else weights.column,
        "partitions": len(parts),
        "columns": len(encoder.columns_),
        "dropped": encoder.dropped_,
        "leaks": list(model.leaks_),
        "prior": prior,
        "rounds": fitted.n_iter_,
        "held_out": _auc(_held_out_scores(blocks, trial, random_state), prior),
        "importances": _importances(fitted, encoder),
        "seconds": time.perf_counter() - start,
    }
    return model, metrics


def read_codes(labels, known):
    """Class of each row as a number, -1 if unlabeled."""
    return labels.astype(object).map(known).fillna(-1).to_numpy(dtype=np.int64)


class _Encoding(NamedTuple):
    """How to read and encode a part of a table."""

    encoder: TableEncoder
    target: str
    known: dict
    weights: Any
    decimal: str


def _encode(source, how):
    """The rows of a part, encoded."""
    encoder = how.encoder
    texts = {*encoder.columns_, how.target} - encoder.part_.plain_numbers()
    numbers = {*encoder.columns_} - texts
    if how.weights is not None and how.weights.column not in texts:
        numbers.add(how.weights.column)
    memo = {}  # of all frames
    found = []
    for frame in source.frames(numbers, texts, how.decimal):
        X = encoder.part_.encode(encoder.part_.read(frame), memo)
        weights = None
        if how.weights is not None:
            weights = how.weights.read(pa.Table.from_pandas(frame[[how.weights.column]]), source.path)
        codes = read_codes(frame[how.target], how.known)
        found.append(Rows(X, codes, CLASSES, weight=weights))
    if not found:
        nothing = np.zeros(0)
        weights = None if how.weights is None else nothing
        return Rows(np.zeros((0, len(encoder.features_))), nothing.astype(int), CLASSES, weight=weights)
    rows = Rows.concatenate(found)
    return rows if rows.weight is None else rows.take(rows.weight > 0)


def _fit(booster, blocks, n_features, checkpoint, callback, name, *, weighted):
    """In-memory model of a booster that is fitted on delayed blocks of encoded rows."""

    def joined(name, shape, kind):
        chunks = [da.from_delayed(getattr(block, name), shape, kind) for block in blocks]
        return da.concatenate(chunks, allow_unknown_chunksizes=True)

    columns = [joined("X", (np.nan, n_features), np.float64), joined("codes", (np.nan,), np.int64)]
    if weighted:
        columns.append(joined("weight", (np.nan,), np.float64))
    progress = None if callback is None else lambda done, total, _: callback(done, total, name)
    return clone(booster).fit(*columns, checkpoint=checkpoint, callback=progress).model_


def _held_out(block, seed):
    """Whether each row is held out for the score: a fifth of the labeled rows, by a hash of their features."""
    chosen = block.codes >= 0
    hashes = hash_rows(np.column_stack([block.X[chosen], np.full(chosen.sum(), seed)]))
    chosen[chosen] = hashes < _HELD_OUT * 2.0**64
    return chosen


def _without_held_out(block, seed):
    return block.take(~_held_out(block, seed))


def _held_out_scores(blocks, model, seed):
    """Scores of the rows that were held out, of all blocks, as features; with their codes and weights."""
    scored = dask.compute(*[delayed(_score_held_out)(block, model, seed) for block in blocks])
    return Rows.concatenate(scored)


def _score_held_out(block, trial, seed):
    """Scores of the held-out rows, and of some unlabeled rows, in case there are no labeled negatives."""
    rows = _held_out(block, seed)
    rows[np.flatnonzero(block.codes < 0)[: rows.sum() + 100]] = True
    chosen = block.take(rows)
    return replace(chosen, X=trial.decision_function(chosen.X) if rows.any() else np.zeros(0))


def _auc(scored, prior):
    """AUC on the held-out rows and its interval; with a prior, that of positives against unlabeled rows, corrected."""
    counted = scored.take(scored.codes >= 0 if prior is None else scored.codes != 0)
    if len(np.unique(counted.codes)) < 2:
        return None
    pairs = {} if prior is None else {"pairs": "pu", "prior": prior}
    found = auc_confidence_interval(counted.codes, counted.X, sample_weight=counted.weight, **pairs)
    return {"rows": len(counted.labeled), "auc": found.auc, "low": found.low, "high": found.high}


def _importances(booster, encoder, most=20):
    """The columns of the table with the largest share in the decrease of the objective."""
    shares = pd.Series(booster.feature_importances_).groupby(encoder.sources_).sum().sort_values(ascending=False)
    return [{"column": str(name), "share": float(share)} for name, share in shares[:most].items() if share > 0]
