"""Boosters on a Dask DataFrame with columns of any kind: encoded by what a sample of the rows shows."""

import time

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask import delayed
from sklearn.base import clone

from fewlabel.dask._estimators import PNUAUCBoostClassifier, PUAdaBoostClassifier, RankBoostClassifier
from fewlabel.exceptions import TableError
from fewlabel.labels import read_column, read_positive
from fewlabel.metrics import auc_confidence_interval
from fewlabel.prior import estimate_class_prior
from fewlabel.tables import TableClassifier, TableEncoder, suspected_leaks

METHODS = {
    "pnu-aucboost": PNUAUCBoostClassifier,
    "rankboost": RankBoostClassifier,
    "ada-pu": PUAdaBoostClassifier,
}
_SAMPLE = 20_000  # labeled rows, and as many unlabeled ones, that the encoder is fitted on
_HELD_OUT = 0.2  # fraction of the labeled rows that is held out for the score


def fit_table(
    table,
    target,
    *,
    method="auto",
    read_labels=read_column,
    dayfirst=None,
    random_state=0,
    checkpoint=None,
    callback=None,
):
    """Fit a booster on a Dask DataFrame with text, dates, categories and missing values.

    The encoder is fitted on a sample of the rows. Then blocks are read and encoded one by one; Dask keeps the encoded
    blocks, on disk if they do not fit into memory. The returned model is fitted on all labeled rows. The metrics are
    those of a second model, which is fitted without a fifth of the labeled rows and scored on these.

    Parameters
    ----------
    table : dask DataFrame
    target : str
        Name of the label column.
    method : {"auto", "pnu-aucboost", "rankboost", "ada-pu"}, default="auto"
        "auto" is PNU-AUCBoost, or Ada-PU if only one class is labeled.
    read_labels : callable, default=fewlabel.labels.read_column
        Reads the distinct values of the label column, and ``repeats``, the number of rows of each.
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
    parts = table.to_delayed()
    labels, known = _read_labels(table[target], read_labels)
    sample = pd.concat(dask.compute(*[delayed(_sample)(p, target, known, len(parts), k) for k, p in enumerate(parts)]))
    codes = _codes(sample, target, known)
    encoder = TableEncoder(dayfirst=dayfirst, random_state=random_state)
    encoded = np.asarray(encoder.fit_transform(sample.drop(columns=target)))
    blocks = dask.persist(*[delayed(_encode)(part, encoder, target, known) for part in parts])
    counts = np.sum(dask.compute(*[delayed(_count)(block) for block in blocks]), axis=0)
    name = method if method != "auto" else "pnu-aucboost" if counts[0] else "ada-pu"
    booster = METHODS[name](random_state=random_state)
    prior = None
    if name == "ada-pu":
        prior = estimate_class_prior(encoded, np.where(codes == 1, 1, -1), random_state=random_state).prior
        booster.set_params(prior=prior)

    fitted = _fit(booster, blocks, len(encoder.features_), checkpoint, callback, name)
    model = TableClassifier(clone(fitted), positive=labels.classes.tolist()[1], random_state=random_state)
    leaks = suspected_leaks(encoded, codes, encoder.sources_)
    model.set_parts(encoder, labels, leaks=leaks, estimator=fitted, target=target)

    training = [delayed(_without_held_out, nout=2)(block, random_state, k) for k, block in enumerate(blocks)]
    second = None if checkpoint is None else f"{checkpoint}.trial"
    trial = _fit(booster, training, len(encoder.features_), second, callback, f"{name}, a fifth held out")
    held_out = _auc(*_held_out_scores(blocks, trial, random_state), prior)
    metrics = {
        "method": name,
        "target": target,
        "classes": [str(c) for c in labels.classes],
        "rows": int(counts.sum()),
        "labeled_by_class": {str(c): int(n) for c, n in zip(labels.classes, counts)},
        "unlabeled": int(counts[2]),
        "partitions": len(parts),
        "columns": len(encoder.columns_),
        "dropped": encoder.dropped_,
        "leaks": list(model.leaks_),
        "prior": prior,
        "rounds": len(fitted.stumps_),
        "held_out": held_out,
        "importances": _importances(fitted, encoder),
        "seconds": time.perf_counter() - start,
    }
    return model, metrics


def _read_labels(column, read_labels):
    """Classes of the label column, and the code of each of its labels."""
    counts = column.value_counts(dropna=False).compute()
    distinct = counts.index.to_series(name=column.name)
    found = read_labels(distinct, repeats=counts)
    labels = read_positive(found.labels, found.positive)
    if len(labels.classes) > 2:
        raise TableError(
            f"the label column has {len(labels.classes)} classes, and the boosters on Dask are binary: name the class "
            "to find with --positive"
        )
    return labels, {value: code for value, code in zip(distinct.tolist(), labels.codes.tolist()) if code >= 0}


def _fit(booster, blocks, n_features, checkpoint, callback, name):
    """In-memory model of a booster that is fitted on delayed pairs of encoded rows and codes."""
    shapes, kinds = ((np.nan, n_features), (np.nan,)), (np.float64, np.int64)
    X, y = (
        da.concatenate(
            [da.from_delayed(block[k], shapes[k], kinds[k]) for block in blocks], allow_unknown_chunksizes=True
        )
        for k in range(2)
    )
    progress = None if callback is None else lambda done, total, _: callback(done, total, name)
    return clone(booster).fit(X, y, checkpoint=checkpoint, callback=progress).model_


def _codes(part, target, known):
    """Class of each row as a number, -1 if unlabeled."""
    return part[target].astype(object).map(known).fillna(-1).to_numpy(dtype=np.int64)


def _sample(part, target, known, n_parts, seed):
    """Labeled and unlabeled rows of a partition, at most its share of the sample of each."""
    rng = np.random.default_rng(seed)
    labeled = _codes(part, target, known) >= 0
    most = -(-_SAMPLE // n_parts)
    chosen = [rng.permutation(np.flatnonzero(which))[:most] for which in (labeled, ~labeled)]
    return part.iloc[np.sort(np.concatenate(chosen))]


def _encode(part, encoder, target, known):
    return np.asarray(encoder.transform(part)), _codes(part, target, known)


def _count(block):
    """Number of rows of each class, and of unlabeled rows."""
    return np.bincount(block[1] % 3, minlength=3)  # -1 % 3 is 2


def _held_out(codes, seed, k):
    """Whether each row is held out for the score: a fifth of the labeled rows, the same in every pass."""
    return (np.random.default_rng([seed, k]).random(len(codes)) < _HELD_OUT) & (codes >= 0)


def _without_held_out(block, seed, k):
    X, codes = block
    kept = ~_held_out(codes, seed, k)
    return X[kept], codes[kept]


def _held_out_scores(blocks, model, seed):
    """Scores and codes of the rows that were held out, of all blocks."""
    scored = dask.compute(*[delayed(_score_held_out)(block, model, seed, k) for k, block in enumerate(blocks)])
    return (np.concatenate(both) for both in zip(*scored))


def _score_held_out(block, trial, seed, k):
    """Scores and codes of the held-out rows, and of some unlabeled rows, in case there are no labeled negatives."""
    X, codes = block
    rows = _held_out(codes, seed, k)
    rows[np.flatnonzero(codes < 0)[: rows.sum() + 100]] = True
    return trial.decision_function(X[rows]) if rows.any() else np.zeros(0), codes[rows]


def _auc(scores, truth, prior):
    """AUC on the held-out rows and its interval; with a prior, that of positives against unlabeled rows, corrected."""
    kept = truth >= 0 if prior is None else truth != 0
    scores, truth = scores[kept], truth[kept]
    if len(np.unique(truth)) < 2:
        return None
    pairs = {} if prior is None else {"pairs": "pu", "prior": prior}
    found = auc_confidence_interval(truth, scores, **pairs)
    return {"rows": int((truth >= 0).sum()), "auc": found.auc, "low": found.low, "high": found.high}


def _importances(booster, encoder, most=20):
    """The columns of the table with the largest share in the decrease of the objective."""
    shares = pd.Series(booster.feature_importances_).groupby(encoder.sources_).sum().sort_values(ascending=False)
    return [{"column": str(name), "share": float(share)} for name, share in shares[:most].items() if share > 0]
