"""Rounds of an unfinished fit in a file, so that the fit can be continued."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np

from fewlabel.boosting.loop import STUMP
from fewlabel.files import atomic_write

_FREE = ("n_estimators", "n_jobs", "verbose", "warm_start", "random_state")  # may differ when a fit is continued


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
    binning : Binning
    group_sizes : ndarray of shape (3,)
        These two identify the rows.
    """

    def __init__(self, path, every, model, binning, group_sizes):
        self._path, self._every = Path(path), every
        parameters = {name: value for name, value in model.get_params().items() if name not in _FREE}
        fit = json.dumps([type(model).__name__, parameters, model.classes_.tolist(), group_sizes.tolist()], default=str)
        self._rows = hashlib.sha256(fit.encode() + binning.cuts.tobytes()).hexdigest()

    def start(self, stumps, losses, seed):
        """Stumps, losses and seed to continue from: those of the file if it exists, else the given ones."""
        if self._path.exists():
            stumps, losses, seed = self._read()
        self._stumps, self._losses = stumps.tolist(), losses.tolist()
        return stumps, losses, seed

    def _read(self):
        try:
            with np.load(self._path, allow_pickle=False) as file:
                rows, stumps, losses, seed = (file[name] for name in ("rows", "stumps", "losses", "seed"))
            stumps = stumps.astype(STUMP)
        except (OSError, ValueError, KeyError, EOFError, TypeError, zipfile.BadZipFile) as error:
            raise ValueError(f"{self._path} is not a checkpoint, or is damaged: delete it or give another") from error
        if str(rows) != self._rows:
            raise ValueError(
                f"{self._path} is the checkpoint of a fit with other rows or parameters: delete it or give another"
            )
        return stumps, losses, int(seed)

    def add(self, stump, loss, seed):
        """Add a round, and write the file if it is time."""
        self._stumps.append(stump)
        self._losses.append(loss)
        if len(self._stumps) % self._every == 0:
            content = io.BytesIO()
            stumps = np.array(self._stumps, dtype=STUMP)
            np.savez(content, rows=self._rows, stumps=stumps, losses=np.array(self._losses), seed=seed)
            with atomic_write(self._path) as file:
                file.write(content.getvalue())

    def remove(self):
        """Delete the file: the fit is done."""
        self._path.unlink(missing_ok=True)
