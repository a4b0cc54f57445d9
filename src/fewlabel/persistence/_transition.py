"""Both formats, until `AutoClassifier` and `TableClassifier` hold a FittedModel."""

from fewlabel.exceptions import UntrustedFileError
from fewlabel.persistence import _save
from fewlabel.persistence._old import load_old, save_old
from fewlabel.persistence.archive import OldFormatError

_OLD = ("AutoClassifier", "TableClassifier", "TableEncoder")


def save(model, path, *, key=None, set_id=None):
    ours = type(model).__module__.startswith("fewlabel.")
    if ours and (hasattr(model, "model_") or type(model).__name__ not in _OLD):
        return _save.save(model, path, key=key, set_id=set_id)
    return save_old(model, path, key=key)


def load(path, *, trusted=(), key=None):
    try:
        return _save.load(path, key=key)
    except UntrustedFileError as error:
        if isinstance(error.__cause__, OldFormatError):
            return load_old(path, trusted=trusted, key=key)
        raise


save.__doc__, load.__doc__ = _save.save.__doc__, _save.load.__doc__
