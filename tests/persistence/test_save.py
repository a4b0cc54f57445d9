"""Model files: exact round trips, whole or nothing, and reading changes nothing."""

import io
import os
import stat
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import fewlabel
from fewlabel import load, save
from fewlabel.exceptions import UntrustedFileError
from fewlabel.parts import KINDS, FittedModel, Opaque, Part, Sigmoids
from fewlabel.parts.part import field_types
from parts.examples import models, rows_of, table
from persistence.forge import put_together, take_apart

X = table()


@pytest.fixture
def model_file(tmp_path):
    path = tmp_path / "model.fewlabel"
    save(models()["trees"], path)
    return path


def kinds_in(part):
    yield part.kind
    for name in field_types(type(part)):
        value = getattr(part, name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Part):
                yield from kinds_in(one)


def test_the_examples_have_parts_of_every_kind():
    assert {kind for model in models().values() for kind in kinds_in(model)} == set(KINDS)


@pytest.mark.parametrize("kind", models())
def test_models_predict_the_same_bits(kind, tmp_path):
    model = models()[kind]
    rows = rows_of(model)
    save(model, tmp_path / "model.fewlabel")
    again = load(tmp_path / "model.fewlabel")
    assert type(again) is FittedModel
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again.predict(rows).tolist() == model.predict(rows).tolist()
    assert again.about == model.about
    assert again.names == model.names


def test_equal_models_are_equal_files(model_file, tmp_path):
    other = tmp_path / "other.fewlabel"
    save(models()["trees"], other)
    assert other.read_bytes() == model_file.read_bytes()


def test_equal_arrays_of_parts_are_written_once(tmp_path):
    save(models()["sum"], tmp_path / "model.fewlabel")
    _, arrays = take_apart((tmp_path / "model.fewlabel").read_bytes())
    contents = [(array.dtype.str, array.shape, array.tobytes()) for array in arrays.values()]
    assert len(set(contents)) == len(contents)


def test_reading_writes_nothing_and_works_in_a_folder_that_cannot_be_written(model_file):
    (model_file.parent / ".fewlabel-set.json").write_text(
        '[[".fewlabel-0000000000000000.tmp","model.fewlabel","x",true]]'
    )
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in model_file.parent.iterdir()}
    model_file.parent.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        load(model_file)
        after = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in model_file.parent.iterdir()}
    finally:
        model_file.parent.chmod(stat.S_IRWXU)
    assert after == before


def test_a_failed_save_leaves_the_old_file(model_file):
    before = model_file.read_bytes()
    svm = SVC(kernel="sigmoid").fit(np.nan_to_num(X), X[:, 0] > 0)
    link = Sigmoids(np.zeros(1), np.ones(1), np.zeros(1))
    model = FittedModel(Opaque(svm, 3, 1), link, models()["trees"].classes, 1)
    with pytest.raises(TypeError, match="SVC, which has no formula"):
        save(model, model_file)
    assert model_file.read_bytes() == before
    assert os.listdir(model_file.parent) == [model_file.name]


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(LogisticRegression()),
        GridSearchCV(fewlabel.PNUAUCBoostClassifier(), {"n_estimators": [1, 2]}),
        fewlabel.TriTrainingClassifier(LogisticRegression()),
        type("PNUAUCBoostClassifier", (fewlabel.PNUAUCBoostClassifier,), {})(),
        3,
        {"a": 1},
    ],
    ids=str,
)
def test_what_cannot_be_saved_says_what_to_use(model, tmp_path):
    with pytest.raises(TypeError, match=r"skops\.io\.dump or joblib\.dump"):
        save(model, tmp_path / "model.fewlabel")
    assert not list(tmp_path.iterdir())


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "model.fewlabel"
    with pytest.raises(FileNotFoundError):
        load(path)
    with pytest.raises(UntrustedFileError, match="folder"):
        load(tmp_path)
    for content, message in ((b"", "empty"), (b"no model", "cannot be read"), (b"\x80\x04K\x01.", "cannot be read")):
        path.write_bytes(content)
        with pytest.raises(UntrustedFileError, match=message):
            load(path)


def test_files_of_other_versions_say_so(model_file):
    document, arrays = take_apart(model_file.read_bytes())
    model_file.write_bytes(put_together(document, arrays, version=2))
    with pytest.raises(UntrustedFileError, match="version 2"):
        load(model_file)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("schema.json", "{}")
    model_file.write_bytes(buffer.getvalue())
    with pytest.raises(UntrustedFileError, match=r"0\.1.*fit the model again"):
        load(model_file)
