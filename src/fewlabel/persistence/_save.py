"""Writing and reading model files."""

import hmac
import os
from typing import Any

import numpy as np

import fewlabel
from fewlabel.exceptions import UntrustedFileError
from fewlabel.parts import FittedModel
from fewlabel.persistence.archive import Arrays, pack, unpack
from fewlabel.persistence.records import read_part, write_part

_SIGNED = b"fewlabel HMAC-SHA256"
_SIGNATURE_BYTES = len(_SIGNED) + 32
_SHORTEST_KEY = 16


def save(model: Any, path: str | os.PathLike, *, key: bytes | None = None) -> None:
    """Write a model to a file, completely or not at all.

    The file holds numbers, texts and arrays: :func:`load` runs no code from it. A fitted `AutoClassifier` or
    `TableClassifier` is written as its formulas, see :class:`fewlabel.parts.FittedModel`, every other estimator of
    fewlabel as its parameters and what it has learned. Trees, linear models and boosters of other libraries that an
    estimator of fewlabel has fitted are written as formulas, too.

    Parameters
    ----------
    model : estimator or FittedModel
        A model of fewlabel. Pipelines, searches and other estimators are for ``skops.io`` or ``joblib``.
    path : str or path-like
        Where to write; by convention the name ends in ``.fewlabel``. An existing file is replaced, and is left as it
        was if writing fails.
    key : bytes, default=None
        Secret of at least 16 bytes, such as ``secrets.token_bytes(32)``. The file is signed with it (HMAC-SHA256):
        ``load(path, key=key)`` then accepts only files that someone with the key has written.

    Raises
    ------
    TypeError
        If the model is not one of fewlabel, or holds something that has no formula.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import os, tempfile, fewlabel
    >>> model = fewlabel.LinearAUCClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.fewlabel")
    ...     fewlabel.save(model, path)
    ...     again = fewlabel.load(path)
    >>> again.predict([[0.5], [2.5]])
    array([0, 1])
    """
    from fewlabel.files import atomic_write

    _check_key(key)
    content = _pack(model)
    with atomic_write(path) as file:
        file.write(content if key is None else content + _signature(content, key))


def _pack(model):
    arrays = Arrays()
    part = getattr(model, "model_", model)
    if isinstance(part, FittedModel):
        written = write_part(part.without_times(), arrays)
    else:
        from fewlabel.persistence.estimators import write_estimator

        written = write_estimator(model, arrays)
    versions = {"fewlabel": fewlabel.__version__, "numpy": np.__version__}
    return pack({"written_by": versions, "model": written}, arrays)


def load(path: str | os.PathLike, *, key: bytes | None = None) -> Any:
    """Read a model that :func:`save` wrote, without running code from the file.

    Every name, type, shape and index in the file is checked before it is used, and nothing is written.

    Parameters
    ----------
    path : str or path-like
        The file.
    key : bytes, default=None
        The secret with which the file was signed. A file without a signature, or with that of another key, is refused
        before anything in it is read. Without `key`, a signature is ignored.

    Returns
    -------
    FittedModel or estimator
        Of an `AutoClassifier` or a `TableClassifier` the :class:`fewlabel.parts.FittedModel`, which predicts the same
        and needs neither scikit-learn nor pandas; any other estimator as it was saved.

    Raises
    ------
    UntrustedFileError
        If the file is not a model file, is damaged, or is not signed with `key`.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import fewlabel
    >>> fewlabel.load("model.txt")
    Traceback (most recent call last):
    FileNotFoundError: ...
    """
    _check_key(key)
    content = _read(path)
    content = _without_signature(content) if key is None else _verified(content, key, path)
    try:
        document, arrays = unpack(content)
        return _model(document["model"], arrays)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise UntrustedFileError(
            f"{path} cannot be read as a model ({reason}): expected a file of fewlabel.save, as it was written"
        ) from error


def _model(written, arrays):
    if "estimator" in written:
        from fewlabel.persistence.estimators import read_estimator

        return read_estimator(written, arrays)
    model = read_part(written, arrays)
    if not isinstance(model, FittedModel):
        raise ValueError(f"a part of kind {model.kind!r} is no model")
    return model


def _read(path):
    if os.path.isdir(path):
        raise UntrustedFileError(f"{path} is a folder, not a model file")
    with open(path, "rb") as file:
        content = file.read()
    if not content:
        raise UntrustedFileError(f"{path} is empty: it is not a model file, or writing it was interrupted")
    return content


def _check_key(key):
    if key is None:
        return
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(f"key is a {type(key).__name__}: pass bytes, such as secrets.token_bytes(32)")
    if len(key) < _SHORTEST_KEY:
        raise ValueError(f"key has {len(key)} bytes: pass at least {_SHORTEST_KEY}, such as secrets.token_bytes(32)")


def _signature(content, key):
    """What follows the archive in a signed file."""
    return _SIGNED + hmac.digest(key, content, "sha256")


def _without_signature(content):
    end = max(len(content) - _SIGNATURE_BYTES, 0)
    return content[:end] if content.startswith(_SIGNED, end) else content


def _verified(content, key, path):
    signed = _without_signature(content)
    if len(signed) == len(content):
        raise UntrustedFileError(f"{path} is not signed: expected a file of fewlabel.save(model, path, key=...)")
    if not hmac.compare_digest(content[len(signed) :], _signature(signed, key)):
        raise UntrustedFileError(
            f"{path} is signed with another key, or was changed after it was signed: do not use it"
        )
    return signed
