"""Rounds of an unfinished fit in a file, so that a fit can go on where it stopped."""

import hashlib
import io
import json
import zipfile
from pathlib import Path

import numpy as np

from fewlabel.boosting.loop import STUMP
from fewlabel.files import atomic_write

_FREE = ("n_estimators", "n_jobs", "verbose", "warm_start", "random_state")  # may differ when a fit goes on


class Checkpoint:
    """Stumps and losses of a fit, written every so many rounds, whole or not at all.

    Parameters
    ----------
    path : str or path-like
        Read if it is there. A plain NumPy archive.
    every : int
        Rounds between two writes.
    model : estimator
        Being fitted.
    binning, group_sizes
        Tell the rows from others.
    """

    def __init__(self, path, every, model, binning, group_sizes):
        self._path, self._every = Path(path), every
        parameters = {name: value for name, value in model.get_params().items() if name not in _FREE}
        told = json.dumps(
            [type(model).__name__, parameters, model.classes_.tolist(), group_sizes.tolist()], default=str
        )
        self._rows = hashlib.sha256(told.encode() + binning.cuts.tobytes()).hexdigest()

    def start(self, stumps, losses, seed):
        """Stumps, losses and seed to go on from: those of the file if there is one, else the given ones."""
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
            raise ValueError(f"{self._path} is no checkpoint, or a damaged one: delete it, or name another") from error
        if str(rows) != self._rows:
            raise ValueError(
                f"{self._path} is the checkpoint of a fit with other rows or parameters: delete it, or name another"
            )
        return stumps, losses, int(seed)

    def add(self, stump, loss, seed):
        """Take note of a round."""
        self._stumps.append(stump)
        self._losses.append(loss)
        if len(self._stumps) % self._every == 0:
            content = io.BytesIO()
            stumps = np.array(self._stumps, dtype=STUMP)
            np.savez(content, rows=self._rows, stumps=stumps, losses=np.array(self._losses), seed=seed)
            with atomic_write(self._path) as file:
                file.write(content.getvalue())

    def remove(self):
        """The fit is done."""
        self._path.unlink(missing_ok=True)
