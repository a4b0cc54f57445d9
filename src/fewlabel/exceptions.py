"""Errors and warnings that users may want to catch."""


class LabelError(ValueError):
    """`y` cannot be read as labels; the message says how to fix it."""


class UntrustedFileError(ValueError):
    """A model file was not written by this library, is damaged, or holds types that are not known to be safe."""


class PriorWarning(UserWarning):
    """The class prior is unreliable: methods disagree on it, or it contradicts the data."""


class TableError(ValueError):
    """A table cannot be read, or lacks columns that a model needs; the message says what to do."""


class ExportError(ValueError):
    """A model cannot be written in a format, or would give other scores there; the message says what to do."""


class DatasetError(LookupError):
    """A dataset is unknown or not available; the message says how to get it."""


class DatasetWarning(UserWarning):
    """A copy of a dataset differs from the one behind the published results."""
