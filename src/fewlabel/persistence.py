"""Models in files: written whole or not at all, and read without running code from the file."""

import io
import json
import os
import warnings
import zipfile

from fewlabel.exceptions import UntrustedFileError
from fewlabel.files import atomic_write

# Types outside fewlabel and beyond what skops trusts by itself. Each is plain Python or a NumPy type: no state that a
# file could give it makes it run code or read memory out of bounds. scikit-learn's trees, k-d trees and SciPy's sparse
# matrices are left out on purpose: compiled code follows the indices they hold without checking them.
_HARMLESS_TYPES = (
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.metrics._ranking.roc_auc_score",
    "sklearn.metrics._scorer._PassthroughScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.model_selection._split.StratifiedKFold",
)
_OUR_PARTS = (
    "fewlabel.auto._fitted.FittedMember",
    "fewlabel.auto._fitted.Reference",
    "fewlabel.auto._trees.TreeTable",  # which checks its indices itself
    "fewlabel.auto._features.ComponentsView",
    "fewlabel.auto._features.ScaledView",
    "fewlabel.auto._features.SpectralView",
    "fewlabel.model_selection.LabeledStratifiedKFold",
)
# What skrub's TableVectorizer is made of: settings and plain arrays again. The functions among them only ask for the
# type of a column.
_TABLE_PARTS = (
    "skrub._apply_to_each_col.ApplyToEachCol",
    "skrub._check_input.CheckInputDataFrame",
    "skrub._clean_categories.CleanCategories",
    "skrub._clean_null_strings.CleanNullStrings",
    "skrub._dataframe._common.is_any_date",
    "skrub._dataframe._common.is_categorical",
    "skrub._dataframe._common.is_numeric",
    "skrub._datetime_encoder.DatetimeEncoder",
    "skrub._drop_uninformative.DropUninformative",
    "skrub._duration_to_float.DurationToFloat",
    "skrub._string_encoder.StringEncoder",
    "skrub._table_vectorizer.PassThrough",
    "skrub._table_vectorizer.ShortReprDict",
    "skrub._table_vectorizer.TableVectorizer",
    "skrub._table_vectorizer._created_by_predicate",
    "skrub._to_datetime.ToDatetime",
    "skrub._to_float.ToFloat",
    "skrub._to_str.ToStr",
    "skrub.selectors._base.All",
    "skrub.selectors._base.And",
    "skrub.selectors._base.Cols",
    "skrub.selectors._base.Filter",
    "skrub.selectors._base.Sub",
    "skrub.selectors._selectors._cardinality_below",
)
_VERSIONS_ENTRY = "fewlabel.json"


def save(model, path):
    """Write a model to a file, whole or not at all.

    The file holds data only: :func:`load` runs no code from it. Pipelines of scikit-learn and fewlabel estimators
    are saved the same way.

    Parameters
    ----------
    model : estimator
        An estimator of fewlabel, or of scikit-learn (a pipeline, a search, ...).
    path : str or path-like
        Where to write; by convention the name ends in ``.skops``. A file of that name is replaced, and is left as
        it was if anything goes wrong.

    Warns
    -----
    UserWarning
        If the model holds types that :func:`load` will not accept without being told to.

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
    import skops.io
    from sklearn.base import BaseEstimator

    if not isinstance(model, BaseEstimator):
        raise TypeError(f"save expects an estimator, got {type(model).__name__}: pass the fitted model itself")
    content = skops.io.dumps(model)
    unknown = [t for t in skops.io.get_untrusted_types(data=content) if t not in _trusted_types()]
    if unknown:
        warnings.warn(
            f"the model holds {_listed(unknown)}, which fewlabel.load will refuse unless it is called with "
            f"trusted={unknown!r}",
            UserWarning,
            stacklevel=2,
        )
    with atomic_write(path) as file:
        file.write(_with_versions(content))


def load(path, *, trusted=()):
    """Read a model that :func:`save` wrote, without running code from the file.

    The estimators of fewlabel and the types that skops knows to be safe are accepted, by their exact names.
    Everything else is refused before anything is built.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : sequence of str, default=()
        Full names of further types to accept. Only name types of a file whose maker you trust.

    Returns
    -------
    estimator
        The model, as it was saved.

    Raises
    ------
    UntrustedFileError
        If the file is not a model file, is damaged, or holds types that are not known to be safe.
    FileNotFoundError
        If there is no such file.

    Warns
    -----
    UserWarning
        If a newer fewlabel, or another scikit-learn, wrote the file. scikit-learn's own estimators warn with
        ``InconsistentVersionWarning`` besides.

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
    import skops.io
    from sklearn.base import BaseEstimator

    if isinstance(trusted, (str, bytes)):
        raise TypeError(f"trusted is a list of type names, got one text: write trusted=[{trusted!r}]")
    content = _read(path)
    accepted = [*_trusted_types(), *trusted]
    try:
        unknown = [t for t in skops.io.get_untrusted_types(data=content) if t not in accepted]
        versions = _read_versions(content)
    except Exception as error:
        raise UntrustedFileError(_damaged(path, error)) from error
    if unknown:
        raise UntrustedFileError(
            f"{path} holds types that are not known to be safe: {_listed(unknown)}. If you trust whoever made the "
            f"file, pass their names: fewlabel.load(path, trusted=[...]); otherwise do not open it"
        )
    _warn_of_versions(path, versions)
    try:
        model = skops.io.loads(content, trusted=accepted)
    except Exception as error:
        raise UntrustedFileError(_damaged(path, error)) from error
    if not isinstance(model, BaseEstimator):
        raise UntrustedFileError(
            f"{path} holds a {type(model).__name__}, not a model: expected a file of fewlabel.save"
        )
    return model


def _trusted_types():
    import fewlabel

    ours = [f"{cls.__module__}.{cls.__name__}" for _, cls in fewlabel.all_estimators()]
    return [*ours, *_OUR_PARTS, *_TABLE_PARTS, *_HARMLESS_TYPES]


def _read(path):
    if os.path.isdir(path):
        raise UntrustedFileError(f"{path} is a folder, not a model file")
    with open(path, "rb") as file:
        content = file.read()
    if not content:
        raise UntrustedFileError(f"{path} is empty: it is not a model file, or was not written to its end")
    return content


def _with_versions(content):
    """The archive with one more entry, which says what wrote it; skops ignores entries it does not know."""
    buffer = io.BytesIO(content)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr(_VERSIONS_ENTRY, json.dumps(_versions()))
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
