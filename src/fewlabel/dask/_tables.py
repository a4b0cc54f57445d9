"""A table in many files: its columns learned on a sample, its rows turned into numbers block by block."""

import time

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask import delayed
from sklearn.base import clone

from fewlabel.dask import _models
from fewlabel.exceptions import TableError
from fewlabel.files import whole_numbers
from fewlabel.labels import read_positive
from fewlabel.metrics import auc_confidence_interval
from fewlabel.prior import estimate_class_prior
from fewlabel.tables import TableClassifier, TableEncoder, suspected_leaks

METHODS = {
    "pnu-aucboost": _models.PNUAUCBoostClassifier,
    "rankboost": _models.RankBoostClassifier,
    "ada-pu": _models.PUAdaBoostClassifier,
}
_SAMPLE = 20_000  # labeled rows, and unlabeled ones, that the columns are learned on
_HELD_OUT = 0.2  # of the labeled rows, for the score


def fit_table(table, target, *, method="auto", positive=None, random_state=0, checkpoint=None, callback=None):
    """Fit a booster on a Dask DataFrame with text, dates, categories and gaps.

    The kinds of the columns and the encoding of text are learned on a sample; then blocks are read and turned into
    numbers one by one, which Dask keeps, on disk where they do not fit into memory. The model of all labeled rows is
    the result; another, fitted without a fifth of them, is judged by these.

    Parameters
    ----------
    table : dask DataFrame
    target : str
        The label column.
    method : {"auto", "pnu-aucboost", "rankboost", "ada-pu"}, default="auto"
        By default PNU-AUCBoost, or Ada-PU if one class only is labeled.
    positive : str, default=None
        As in `TableClassifier`.
    random_state : int, default=0
    checkpoint : path-like, default=None
        As in the boosters' `fit`.
    callback : callable, default=None
        ``callback(done, total, name)``.

    Returns
    -------
    model : TableClassifier
        The ordinary one: nothing of Dask is in it.
    metrics : dict
    """
    start = time.perf_counter()
    parts = table.to_delayed()
    distinct = pd.Series(table[target].unique().compute(), name=target)
    labels = read_positive(whole_numbers(distinct), positive)
    known = {value: code for value, code in zip(distinct.tolist(), labels.codes.tolist()) if code >= 0}
    if len(labels.classes) > 2:
        raise TableError(
            f"the label column has {len(labels.classes)} classes, and the boosters on Dask are binary: name the class "
            "to find with --positive"
        )
    sample = pd.concat(dask.compute(*[delayed(_sample)(p, target, known, len(parts), k) for k, p in enumerate(parts)]))
    few = _codes(sample, target, known)
    encoder = TableEncoder(random_state=random_state)
    encoded = np.asarray(encoder.fit_transform(sample.drop(columns=target)))
    rows = dask.persist(*[delayed(_numbers)(part, encoder, target, known) for part in parts])
    counts = np.sum(dask.compute(*[delayed(_count)(block) for block in rows]), axis=0)
    name = method if method != "auto" else "pnu-aucboost" if counts[0] else "ada-pu"
    options = {"random_state": random_state}
    if name == "ada-pu":
        options["prior"] = estimate_class_prior(encoded, np.where(few == 1, 1, -1), random_state=random_state).prior

    def fit(held_out, saved, told):
        kept = [delayed(_kept, nout=2)(block, held_out, random_state, k) for k, block in enumerate(rows)]
        shapes = (np.nan, len(encoder.features_)), (np.nan,)
        X, y = (
            da.concatenate([da.from_delayed(pair[k], shapes[k], kind) for pair in kept], allow_unknown_chunksizes=True)
            for k, kind in enumerate((np.float64, np.int64))
        )
        tell = None if callback is None else lambda done, total, _: callback(done, total, told)
        return METHODS[name](**options).fit(X, y, checkpoint=saved, callback=tell).model_

    fitted = fit(False, checkpoint, name)
    model = TableClassifier(clone(fitted), positive=positive, random_state=random_state)
    leaks = suspected_leaks(encoded, few, encoder.sources_)
    model.set_parts(encoder, labels, leaks=leaks, estimator=fitted, target=target)
    trial = fit(True, None if checkpoint is None else f"{checkpoint}.trial", f"{name}, a fifth held out")
    judged = dask.compute(*[delayed(_judge)(block, trial, random_state, k) for k, block in enumerate(rows)])
    scores, truth = (np.concatenate(both) for both in zip(*judged))
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
        "leaks": model.leaks_,
        "prior": options.get("prior"),
        "rounds": len(model.estimator_.stumps_),
        "held_out": _score(scores, truth, options.get("prior")),
        "importances": _importances(model),
        "seconds": time.perf_counter() - start,
    }
    return model, metrics


def _codes(part, target, known):
    """Code of each row: its class, or -1."""
    return part[target].astype(object).map(known).fillna(-1).to_numpy(dtype=np.int64)


def _sample(part, target, known, n_parts, seed):
    rng = np.random.default_rng(seed)
    labeled = _codes(part, target, known) >= 0
    most = -(-_SAMPLE // n_parts)
    chosen = [rng.permutation(np.flatnonzero(which))[:most] for which in (labeled, ~labeled)]
    return part.iloc[np.sort(np.concatenate(chosen))]


def _numbers(part, encoder, target, known):
    return np.asarray(encoder.transform(part)), _codes(part, target, known)


def _count(block):
    """Rows of the two classes, and unlabeled ones."""
    return np.bincount(block[1] % 3, minlength=3)  # -1 is the last of three


def _held_out(codes, seed, k):
    """Whether a row is held out for the score: a fifth of the labeled rows, the same in every pass."""
    return (np.random.default_rng([seed, k]).random(len(codes)) < _HELD_OUT) & (codes >= 0)


def _kept(block, held_out, seed, k):
    X, codes = block
    if not held_out:
        return block
    kept = ~_held_out(codes, seed, k)
    return X[kept], codes[kept]


def _judge(block, trial, seed, k):
    """Scores and codes of the held-out rows, and of as many unlabeled ones for the case that they are all there is."""
    X, codes = block
    rows = _held_out(codes, seed, k)
    rows[np.flatnonzero(codes < 0)[: rows.sum() + 100]] = True
    return trial.decision_function(X[rows]) if rows.any() else np.zeros(0), codes[rows]


def _score(scores, truth, prior):
    """AUC of the held-out rows and its interval; against unlabeled rows, by the prior, if one class is labeled."""
    kept = truth >= 0 if prior is None else truth != 0
    scores, truth = scores[kept], truth[kept]
    if len(np.unique(truth)) < 2:
        return None
    pairs = {} if prior is None else {"pairs": "pu", "prior": prior}
    found = auc_confidence_interval(truth, scores, **pairs)
    return {"rows": int((truth >= 0).sum()), "auc": found.auc, "low": found.low, "high": found.high}


def _importances(model, most=20):
    shares = (
        pd.Series(model.estimator_.feature_importances_)
        .groupby(model.encoder_.sources_)
        .sum()
        .sort_values(ascending=False)
    )
    return [{"column": str(name), "share": float(share)} for name, share in shares[:most].items() if share > 0]
