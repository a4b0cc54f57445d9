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
from fewlabel.files import atomic_write
from fewlabel.persistence._schema import inspect
from fewlabel.persistence._skops import skops_io
from fewlabel.persistence.forests import with_frozen_forests

_VERSIONS_ENTRY = "fewlabel.json"
_SIGNED = b"fewlabel HMAC-SHA256"
_SHORTEST_KEY = 16


def save_old(model: Any, path: str | os.PathLike, *, key: bytes | None = None) -> None:
    """Write with skops."""
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


def load_old(path: str | os.PathLike, *, trusted: Sequence = (), key: bytes | None = None) -> Any:
    """Read with skops."""
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
