"""Rounds of an unfinished fit in a file, so that the fit can be continued."""

import hashlib
import io
import json
import zipfile
from numbers import Integral
from pathlib import Path

import numpy as np
import pandas as pd

from fewlabel.boosting.binning import SPLIT
from fewlabel.boosting.booster import Ensemble
from fewlabel.files import atomic_write

# These may differ when a fit is continued. An integer random_state is compared by the seed that it gives.
_FREE = ("n_estimators", "n_jobs", "verbose", "warm_start", "random_state")


def digest(X, signs):
    """A number that identifies rows and their labels, whatever their order; digests of blocks add up, modulo 2**64.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    signs : ndarray of shape (n_rows,)

    Returns
    -------
    numpy.uint64
    """
    rows = pd.DataFrame(X).assign(sign=signs)
    return pd.util.hash_pandas_object(rows, index=False).to_numpy().sum(dtype=np.uint64)


class Checkpoint:
    """The trees of a fit, written to a file every few rounds; a write is atomic.

    Parameters
    ----------
    path : str or path-like
        A NumPy archive; read if it exists.
    every : int
        Rounds between two writes.
    model : estimator
        The estimator that is being fitted.
    rows : int
        Digest of the rows and their labels, see `digest`.
    """

    def __init__(self, path, every, model, rows):
        self._path = Path(path)
        self._every = every
        self._most = None if model.n_estimators == "auto" else model.n_estimators
        self._seeded = isinstance(model.random_state, Integral)
        parameters = {name: value for name, value in model.get_params().items() if name not in _FREE}
        fit = json.dumps([type(model).__name__, parameters, model.classes_.tolist(), int(rows)], default=str)
        self._fit = hashlib.sha256(fit.encode()).hexdigest()

    def start(self, previous, seed):
        """Trees and seed to continue from: those of the file if it exists, else the given ones.

        If the file has more rounds than the model is to have, the first ones are those of the model.
        """
        if not self._path.exists():
            return previous, seed
        saved, saved_seed = self._read(previous)
        if self._seeded and saved_seed != seed:
            raise ValueError(
                f"{self._path} is the checkpoint of a fit with another random_state: delete it or give another, or "
                "set random_state=None to continue with its seed"
            )
        return saved.take(self._most), saved_seed

    def _read(self, previous):
        try:
            with np.load(self._path, allow_pickle=False) as file:
                fit = str(file["fit"])
                saved = Ensemble(file["splits"].astype(SPLIT), file["values"], file["losses"])
                seed = int(file["seed"])
            for read, own in zip(saved, previous):
                if read.shape != (len(saved.losses), *own.shape[1:]):
                    raise ValueError(f"an array of shape {read.shape}")
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{self._path} is not a checkpoint, or is damaged: delete it or give another") from error
        if fit != self._fit:
            raise ValueError(
                f"{self._path} is the checkpoint of a fit with other rows, labels or parameters: delete it or give "
                "another"
            )
        return saved, seed

    def add(self, n_rounds, so_far, seed):
        """Write the trees that ``so_far()`` gives, if it is time after so many rounds."""
        if n_rounds % self._every:
            return  # the trees are put together only when they are written
        ensemble = so_far()
        content = io.BytesIO()
        np.savez(
            content, fit=self._fit, splits=ensemble.splits, values=ensemble.values, losses=ensemble.losses, seed=seed
        )
        with atomic_write(self._path) as file:
            file.write(content.getvalue())

    def remove(self):
        """Delete the file: the fit is done."""
        self._path.unlink(missing_ok=True)
