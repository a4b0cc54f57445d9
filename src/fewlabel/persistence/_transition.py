"""Both formats, until `AutoClassifier` and `TableClassifier` hold a FittedModel."""

import os
from typing import Any

from fewlabel.exceptions import UntrustedFileError
from fewlabel.persistence import _save
from fewlabel.persistence._old import load_old, save_old
from fewlabel.persistence.archive import OldFormatError

_OLD = ("AutoClassifier", "TableClassifier", "TableEncoder")


def save(model: Any, path: str | os.PathLike, *, key: bytes | None = None) -> None:
    if type(model).__name__ in _OLD and not hasattr(model, "model_"):
        save_old(model, path, key=key)
    else:
        _save.save(model, path, key=key)


def load(path: str | os.PathLike, *, key: bytes | None = None) -> Any:
    try:
        return _save.load(path, key=key)
    except UntrustedFileError as error:
        if isinstance(error.__cause__, OldFormatError):
            return load_old(path, key=key)
        raise


save.__doc__, load.__doc__ = _save.save.__doc__, _save.load.__doc__
