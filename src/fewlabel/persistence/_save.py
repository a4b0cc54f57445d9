"""Writing and reading model files."""

import hashlib
import hmac
import io
import json
import os
import warnings
import zipfile
from collections.abc import Sequence
from typing import Any

from fewlabel.exceptions import UntrustedFileError
from fewlabel.file_sets import restore_set
from fewlabel.files import atomic_write
from fewlabel.persistence._schema import inspect
from fewlabel.persistence._skops import skops_io
from fewlabel.persistence.forests import with_frozen_forests

_VERSIONS_ENTRY = "fewlabel.json"
_SIGNED = b"fewlabel HMAC-SHA256"
_SHORTEST_KEY = 16


def save(model: Any, path: str | os.PathLike, *, key: bytes | None = None) -> None:
    """Write a model to a file, completely or not at all.

    The file holds data only: :func:`load` runs no code from it. Pipelines of scikit-learn and fewlabel estimators
    are saved the same way. Forests and boosters among the members of an `AutoClassifier` are stored as
    :class:`FrozenTrees` or :class:`FrozenSymmetricTrees`, with the same scores; decision trees and histogram boosting
    in `estimators_` of other models as :class:`FrozenClassifier`, with the same predictions. The model in memory is
    not changed.

    Parameters
    ----------
    model : estimator
        An estimator of fewlabel, or of scikit-learn (a pipeline, a search, ...).
    path : str or path-like
        Where to write; by convention the name ends in ``.skops``. An existing file is replaced, and is left as it was
        if writing fails.
    key : bytes, default=None
        Secret of at least 16 bytes, such as ``secrets.token_bytes(32)``. The file is signed with it (HMAC-SHA256):
        ``load(path, key=key)`` then accepts only files that someone with the key has written.

    Warns
    -----
    UserWarning
        If the model holds types that :func:`load` accepts only if they are named in `trusted`.

    See Also
    --------
    load : Read the file.

    Examples
    --------
    >>> import os, tempfile, fewlabel
    >>> from sklearn.linear_model import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.skops")
    ...     fewlabel.save(model, path)
    ...     again = fewlabel.load(path)
    >>> again.predict([[0.5], [2.5]])
    array([0, 1])
    """
    from sklearn.base import BaseEstimator

    _check_key(key)
    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save expects an estimator, got {type(model).__name__}: pass the fitted model itself")
    content = _compact(skops_io().dumps(with_frozen_forests(model)))
    unknown = inspect(content).unknown
    if unknown:
        warnings.warn(
            f"the model holds {_listed(unknown)}, which fewlabel.load will refuse unless it is called with "
            f"trusted={unknown!r}",
            UserWarning,
            stacklevel=2,
        )
    with atomic_write(path) as file:
        file.write(content if key is None else content + _signature(content, key))


def load(path: str | os.PathLike, *, trusted: Sequence = (), key: bytes | None = None) -> Any:
    """Read a model that :func:`save` wrote, without running code from the file.

    The estimators of fewlabel and the types that skops knows to be safe are accepted, by their exact names.
    Everything else is refused before any object is created.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str, default=()
        Full names of further types to accept. Name types only if you trust the author of the file.
    key : bytes, default=None
        The secret with which the file was signed. A file without a signature, or with that of another key, is refused
        before anything in it is read. Without `key`, a signature is ignored.

    Returns
    -------
    estimator
        The model, as it was saved.

    Raises
    ------
    UntrustedFileError
        If the file is not a model file, is damaged, holds types that are not known to be safe, or is not signed with
        `key`.
    FileNotFoundError
        If there is no such file.

    Warns
    -----
    UserWarning
        If a newer fewlabel or another version of scikit-learn wrote the file. scikit-learn's own estimators also warn
        with ``InconsistentVersionWarning``.

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
    from sklearn.base import BaseEstimator

    if isinstance(trusted, (str, bytes)):
        raise TypeError(f"trusted is a list of type names, got one text: write trusted=[{trusted!r}]")
    _check_key(key)
    content = _read(path)
    content = _without_signature(content) if key is None else _verified(content, key, path)
    try:
        found = inspect(content, trusted)
        versions = _read_versions(content)
    except Exception as error:
        raise UntrustedFileError(_damaged(path, error)) from error
    if found.unknown:
        raise UntrustedFileError(
            f"{path} holds types that are not known to be safe: {_listed(found.unknown)}. If you trust the author of "
            f"the file, pass their names: fewlabel.load(path, trusted=[...]); otherwise do not open it"
        )
    _warn_of_versions(path, versions)
    try:
        model = skops_io().loads(content, trusted=sorted(found.accepted | set(trusted)))
    except Exception as error:
        raise UntrustedFileError(_damaged(path, error)) from error
    if not isinstance(model, BaseEstimator):
        raise UntrustedFileError(
            f"{path} holds a {type(model).__name__}, not a model: expected a file of fewlabel.save"
        )
    return model


def _read(path):
    if os.path.isdir(path):
        raise UntrustedFileError(f"{path} is a folder, not a model file")
    restore_set(os.path.dirname(os.path.realpath(path)))
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
    end = len(content) - hashlib.sha256().digest_size - len(_SIGNED)
    return content[:end] if end >= 0 and content.startswith(_SIGNED, end) else content


def _verified(content, key, path):
    signed = _without_signature(content)
    if len(signed) == len(content):
        raise UntrustedFileError(f"{path} is not signed: expected a file of fewlabel.save(model, path, key=...)")
    if not hmac.compare_digest(content[len(signed) :], _signature(signed, key)):
        raise UntrustedFileError(
            f"{path} is signed with another key, or was changed after it was signed: do not use it"
        )
    return signed


def _compact(content):
    """The archive of skops without the spaces in its schema, and with the versions that wrote it."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            member = old.read(name)
            if name == "schema.json":
                member = json.dumps(json.loads(member), separators=(",", ":")).encode()
            new.writestr(name, member)
        new.writestr(_VERSIONS_ENTRY, json.dumps(_versions()))
    return buffer.getvalue()


def _versions():
    import sklearn

    import fewlabel

    return {"fewlabel": fewlabel.__version__, "scikit-learn": sklearn.__version__}


def _read_versions(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if _VERSIONS_ENTRY not in archive.namelist():
            return {}  # written by skops itself
        found = json.loads(archive.read(_VERSIONS_ENTRY))
    return {name: str(found[name])[:40] for name in _versions() if name in found}


def _warn_of_versions(path, found):
    here = _versions()
    theirs, ours = found.get("fewlabel"), here["fewlabel"]
    differing = []
    if theirs is not None and _minor(theirs) > _minor(ours):
        differing.append(f"fewlabel {theirs} (here: {ours})")
    theirs, ours = found.get("scikit-learn"), here["scikit-learn"]
    if theirs is not None and _minor(theirs) != _minor(ours):
        differing.append(f"scikit-learn {theirs} (here: {ours})")
    if differing:
        warnings.warn(
            f"{path} was written with {' and '.join(differing)}: predictions may differ or fail. "
            "Install those versions, or fit the model again",
            UserWarning,
            stacklevel=3,
        )


def _minor(version):
    parts = version.split(".")[:2]
    return tuple(int(part) if part.isdigit() else -1 for part in parts)


def _listed(names):
    shown = ", ".join(repr(name[:120]) for name in names[:8])
    return shown + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _damaged(path, error):
    reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return (
        f"{path} cannot be read as a model: it was not written by fewlabel.save, is damaged, or needs other versions "
        f"({reason})"
    )
