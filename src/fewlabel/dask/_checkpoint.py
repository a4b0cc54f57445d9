"""Rounds of an unfinished fit in a file, so that the fit can be continued."""

import hashlib
import io
import json
import zipfile
from numbers import Integral
from pathlib import Path

import numpy as np
import pandas as pd

from fewlabel.boosting.loop import STUMP
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
    """Stumps and losses of a fit, written to a file every few rounds; a write is atomic.

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
        self._path, self._every, self._most = Path(path), every, model.n_estimators
        self._seeded = isinstance(model.random_state, Integral)
        parameters = {name: value for name, value in model.get_params().items() if name not in _FREE}
        fit = json.dumps([type(model).__name__, parameters, model.classes_.tolist(), int(rows)], default=str)
        self._fit = hashlib.sha256(fit.encode()).hexdigest()

    def start(self, stumps, losses, seed):
        """Stumps, losses and seed to continue from: those of the file if it exists, else the given ones.

        If the file has more rounds than the model is to have, the first ones are those of the model.
        """
        if self._path.exists():
            stumps, losses, saved_seed = self._read()
            if self._seeded and saved_seed != seed:
                raise ValueError(
                    f"{self._path} is the checkpoint of a fit with another random_state: delete it or give another, or "
                    "set random_state=None to continue with its seed"
                )
            seed = saved_seed
            stumps, losses = stumps[: self._most], losses[: self._most]
        self._stumps, self._losses = stumps.tolist(), losses.tolist()
        return stumps, losses, seed

    def _read(self):
        try:
            with np.load(self._path, allow_pickle=False) as file:
                fit, stumps, losses, seed = (file[name] for name in ("fit", "stumps", "losses", "seed"))
            stumps = stumps.astype(STUMP)
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{self._path} is not a checkpoint, or is damaged: delete it or give another") from error
        if str(fit) != self._fit:
            raise ValueError(
                f"{self._path} is the checkpoint of a fit with other rows, labels or parameters: delete it or give "
                "another"
            )
        return stumps, losses, int(seed)

    def add(self, stump, loss, seed):
        """Add a round, and write the file if it is time."""
        self._stumps.append(stump)
        self._losses.append(loss)
        if len(self._stumps) % self._every == 0:
            content = io.BytesIO()
            stumps = np.array(self._stumps, dtype=STUMP)
            np.savez(content, fit=self._fit, stumps=stumps, losses=np.array(self._losses), seed=seed)
            with atomic_write(self._path) as file:
                file.write(content.getvalue())

    def remove(self):
        """Delete the file: the fit is done."""
        self._path.unlink(missing_ok=True)
