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
    # One delayed object for all parts: the encoder is sent to a worker once.
    encoding = delayed(_Encoding(encoder, target, known, weights, decimal), traverse=False, pure=False)
    blocks = dask.persist(*[delayed(_encode)(part, encoding) for part in parts])
    name = method
    if name == "auto":
        name = "pnu-aucboost" if counts[0] else "ada-pu"
    booster = METHODS[name](random_state=random_state)
    prior = None
    if name == "ada-pu":
        signs = np.where(sample.codes == 1, 1, -1)
        estimate = estimate_class_prior(encoded, signs, sample_weight=sample.weight, random_state=random_state)
        prior = estimate.prior
        booster.set_params(prior=prior)

    n_features = len(encoder.features_)
    is_weighted = weights is not None
    fitted = _fit(booster, blocks, n_features, checkpoint, callback, name, weighted=is_weighted)
    model = TableClassifier(clone(fitted), positive=labels.classes.tolist()[1], random_state=random_state)
    leaks = suspected_leaks(encoded, sample.codes, encoder.sources_)
    model.set_parts(encoder, labels, leaks=leaks, estimator=fitted, target=target)

    training = [delayed(_without_held_out)(block, random_state) for block in blocks]
    trial_checkpoint = None if checkpoint is None else f"{checkpoint}.trial"
    trial_name = f"{name}, a fifth held out"
    trial = _fit(booster, training, n_features, trial_checkpoint, callback, trial_name, weighted=is_weighted)
    scored = dask.compute(*[delayed(_score_held_out)(block, trial, random_state) for block in blocks])
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
        "held_out": _auc(Rows.concatenate(scored), prior),
        "importances": _importances(fitted, encoder),
        "seconds": time.perf_counter() - start,
    }
    return model, metrics


def read_codes(labels, known):
    """Class of each row as a number, -1 if unlabeled."""
    codes = labels.astype(object).map(known)
    return codes.fillna(-1).to_numpy(dtype=np.int64)


class _Encoding(NamedTuple):
    """How to read and encode a part of a table."""

    encoder: TableEncoder
    target: str
    known: dict
    weights: Any
    decimal: str


def _encode(source, encoding):
    """The rows of a part, encoded; those of weight 0 are left out."""
    encoder = encoding.encoder
    weights = encoding.weights
    texts = {*encoder.columns_, encoding.target} - encoder.part_.plain_numbers()
    numbers = {*encoder.columns_} - texts
    if weights is not None and weights.column not in texts:
        numbers.add(weights.column)
    memo = {}  # shared by the frames, as texts repeat
    # A part without rows has the same columns.
    nothing = np.zeros(0)
    no_rows = np.zeros((0, len(encoder.features_)))
    batches = [Rows(no_rows, nothing.astype(int), CLASSES, weight=None if weights is None else nothing)]
    for frame in source.frames(numbers, texts, encoding.decimal):
        X = encoder.part_.encode(encoder.part_.read(frame), memo)
        codes = read_codes(frame[encoding.target], encoding.known)
        weight = None
        if weights is not None:
            column = pa.Table.from_pandas(frame[[weights.column]])
            weight = weights.read(column, source.path)
        batches.append(Rows(X, codes, CLASSES, weight=weight))
    rows = Rows.concatenate(batches)
    return rows if rows.weight is None else rows.take(rows.weight > 0)


def _fit(booster, blocks, n_features, checkpoint, callback, name, *, weighted):
    """In-memory model of a booster that is fitted on delayed blocks of encoded rows."""

    def joined(field, shape, dtype):
        chunks = [da.from_delayed(getattr(block, field), shape, dtype) for block in blocks]
        return da.concatenate(chunks, allow_unknown_chunksizes=True)

    # Dask does not know the number of rows of a block before it is made.
    X = joined("X", (np.nan, n_features), np.float64)
    y = joined("codes", (np.nan,), np.int64)
    sample_weight = joined("weight", (np.nan,), np.float64) if weighted else None
    progress = None if callback is None else lambda done, total, _: callback(done, total, name)
    fitted = clone(booster).fit(X, y, sample_weight, checkpoint=checkpoint, callback=progress)
    return fitted.model_


def _held_out(block, seed):
    """Whether each row is held out for the score: a fifth of the labeled rows, by a hash of their features."""
    labeled = np.flatnonzero(block.codes >= 0)
    # The seed is a further column, so that another one holds out other rows; copies of a row stay together.
    seeds = np.full(len(labeled), seed)
    hashes = hash_rows(np.column_stack([block.X[labeled], seeds]))
    held_out = np.zeros(len(block.codes), dtype=bool)
    held_out[labeled] = hashes < _HELD_OUT * 2.0**64
    return held_out


def _without_held_out(block, seed):
    return block.take(~_held_out(block, seed))


def _score_held_out(block, trial, seed):
    """Scores, as features, of the held-out rows, and of some unlabeled rows, in case there are no labeled negatives."""
    chosen = _held_out(block, seed)
    unlabeled = np.flatnonzero(block.codes < 0)
    chosen[unlabeled[: chosen.sum() + 100]] = True
    rows = block.take(chosen)
    scores = np.zeros(0)
    if chosen.any():  # a model refuses a table without rows
        scores = trial.decision_function(rows.X)
    return replace(rows, X=scores)


def _auc(scored, prior):
    """AUC on the held-out rows and its interval; with a prior, that of positives against unlabeled rows, corrected."""
    if prior is None:
        rows = scored.take(scored.codes >= 0)
        pairs = {}
    else:
        rows = scored.take(scored.codes != 0)
        pairs = {"pairs": "pu", "prior": prior}
    if len(np.unique(rows.codes)) < 2:
        return None
    interval = auc_confidence_interval(rows.codes, rows.X, sample_weight=rows.weight, **pairs)
    return {"rows": len(rows.labeled), "auc": interval.auc, "low": interval.low, "high": interval.high}


def _importances(booster, encoder, most=20):
    """The columns of the table with the largest share in the decrease of the objective."""
    importances = pd.Series(booster.feature_importances_)
    shares = importances.groupby(encoder.sources_).sum()
    largest = shares[shares > 0].nlargest(most)
    return [{"column": str(name), "share": float(share)} for name, share in largest.items()]
