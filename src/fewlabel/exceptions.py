"""The few errors and warnings that users may want to catch."""


class LabelError(ValueError):
    """`y` cannot be read as labels; the message says how to mend it."""


class UntrustedFileError(ValueError):
    """A model file is not one of ours, is damaged, or holds types that are not known to be safe."""


class PriorWarning(UserWarning):
    """The class prior is doubtful: methods disagree on it, or the data cannot support it."""


class TableError(ValueError):
    """A table cannot be read, or lacks columns that a model needs; the message says what to do."""


class DatasetError(LookupError):
    """A dataset is unknown or not to be had; the message says how to get it."""


class DatasetWarning(UserWarning):
    """A copy of a dataset differs from the one that the published results come from."""
