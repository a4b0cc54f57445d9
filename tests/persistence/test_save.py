"""Model files: exact round trips, whole or nothing, and nothing from a file is run."""

import functools
import importlib
import io
import json
import os
import stat
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import fewlabel
from fewlabel import (
    LabeledStratifiedKFold,
    PNUAUCBoostClassifier,
    hide_labels,
    load,
    save,
)
from fewlabel.exceptions import UntrustedFileError
from fewlabel.files import atomic_write
from fewlabel.persistence._trusted import FUNCTIONS, LOSSES, OURS, SCIKIT_LEARN


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.02)
    return X, hide_labels(y, 0.3, random_state=0)


@pytest.fixture
def model_file(tmp_path, data):
    path = tmp_path / "model.skops"
    save(PNUAUCBoostClassifier(n_estimators=5, random_state=0).fit(*data), path)
    return path


def _reloaded(model, folder):
    path = folder / "model.skops"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save(model, path)
        return load(path)


def _rewritten(path, edit):
    """The same archive with its schema changed by `edit`."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    edit(entries)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def _file_of(tree, path):
    """A model file that holds a hand-made tree of nodes."""
    tree = {**tree, "protocol": 2, "_skops_version": skops.__version__}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(tree))
    return path


def _json_node(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
    }


def _tuple_node(*nodes):
    return {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": list(nodes)}


# Round trips ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, _ in fewlabel.all_estimators()])
def test_every_estimator_comes_back_bit_for_bit(name, data, tmp_path):
    if name == "NeuralPUClassifier":
        pytest.importorskip("torch", reason="NeuralPUClassifier needs torch")
    X, y = data
    X = X.fillna(X.median())
    if "PU" in name and "PNU" not in name:
        y = y.where(y == 1, -1)
    model = getattr(fewlabel, name)()
    # No prior is estimated, and every member of the portfolio is saved in tests/auto.
    wanted = {"n_estimators": 5, "random_state": 0, "prior": 0.4, "portfolio": ["naive Bayes", "path neighbors"]}
    model.set_params(**{k: v for k, v in wanted.items() if k in model.get_params(deep=False)}).fit(X, y)
    again = _reloaded(model, tmp_path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.feature_names_in_, X.columns)
    for method in ("decision_function", "predict_proba", "predict", "transform"):
        if hasattr(model, method):
            np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [2.0, 3.0]])
def test_classes_of_every_kind_come_back(classes, data, tmp_path):
    X, y = data
    labels = pd.Series(np.array(classes, dtype=object)[y.clip(lower=0)], dtype=object).mask((y == -1).to_numpy(), None)
    model = PNUAUCBoostClassifier(n_estimators=5, random_state=0).fit(X, labels)
    again = _reloaded(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_model_without_column_names_and_with_a_generator_comes_back(data, tmp_path):
    X, y = data
    model = PNUAUCBoostClassifier(n_estimators=5, random_state=np.random.RandomState(0)).fit(X.to_numpy(np.float32), y)
    again = _reloaded(model, tmp_path)
    assert not hasattr(again, "feature_names_in_")
    np.testing.assert_array_equal(again.decision_function(X.to_numpy()), model.decision_function(X.to_numpy()))


def test_an_unfitted_model_comes_back(tmp_path):
    assert _reloaded(PNUAUCBoostClassifier(gamma=0.5), tmp_path).gamma == 0.5


def test_a_pipeline_comes_back_bit_for_bit(data, tmp_path):
    X, y = data
    X = X.assign(size=pd.cut(X["mean radius"].fillna(10), 3, labels=["s", "m", "l"]).astype(object))
    columns = make_column_transformer(
        (
            make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()),
            make_column_selector(dtype_include="number"),
        ),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["size"]),
    )
    model = make_pipeline(columns, PNUAUCBoostClassifier(n_estimators=10, random_state=0)).fit(X, y)
    again = _reloaded(model, tmp_path)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_search_and_a_calibrated_model_come_back(data, tmp_path):
    X, y = data
    search = GridSearchCV(
        PNUAUCBoostClassifier(random_state=0),
        {"n_estimators": [3, 6]},
        cv=LabeledStratifiedKFold(3, shuffle=True, random_state=0),
        scoring="roc_auc",
    ).fit(X, y)
    again = _reloaded(search, tmp_path)
    assert again.best_params_ == search.best_params_
    np.testing.assert_array_equal(again.decision_function(X), search.decision_function(X))
    X, y = X.fillna(0)[y != -1], y[y != -1]
    calibrated = CalibratedClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=3).fit(X, y)
    np.testing.assert_array_equal(_reloaded(calibrated, tmp_path).predict_proba(X), calibrated.predict_proba(X))


def test_only_estimators_are_saved(tmp_path):
    with pytest.raises(TypeError, match="expects an estimator, got list"):
        save([1, 2], tmp_path / "model.skops")
    assert os.listdir(tmp_path) == []


# Whole or not at all ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(error, step, tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise error

    if step != "write":
        monkeypatch.setattr(os, step, fail)

    def write():
        with atomic_write(path) as file:
            file.write(b"half")
            if step == "write":
                fail()

    with pytest.raises(type(error)):
        write()
    assert os.listdir(tmp_path) == ["file"]
    assert path.read_bytes() == b"old"


def test_a_failed_save_leaves_the_old_model(model_file, monkeypatch):
    before = model_file.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        save(LogisticRegression(), model_file)
    assert model_file.read_bytes() == before
    assert os.listdir(model_file.parent) == [model_file.name]


@pytest.mark.skipif(os.name != "posix", reason="permission bits, links and devices are POSIX")
def test_permissions_links_and_devices(tmp_path):
    umask = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "new") as file:
            file.write(b"1")
    finally:
        os.umask(umask)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o600)
    (tmp_path / "link").symlink_to("new")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"2")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "new").read_bytes() == b"2"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    with atomic_write(os.devnull) as file:
        file.write(b"3")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_writing_to_a_folder_or_into_none_is_an_error(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "model.skops"):
        with pytest.raises(OSError, match=r"irectory|ermission"):
            save(LogisticRegression(), path)
    assert os.listdir(tmp_path) == []


# Files that are not ours ------------------------------------------------------------------------------------


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"model\.skops"):
        load(tmp_path / "model.skops")


@pytest.mark.parametrize("content", [b"", b"age,income\n1,2\n", b"PK\x03\x04", b"\x80\x04K\x01."])
def test_a_file_of_another_kind_is_refused(content, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(UntrustedFileError, match=r"model\.skops"):
        load(path)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(UntrustedFileError, match="is a folder"):
        load(tmp_path)


def test_an_archive_without_a_schema_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(UntrustedFileError, match="not written by"):
        load(tmp_path / "a.zip")


def test_truncated_and_damaged_files_are_refused_or_read_but_never_crash(model_file):
    whole = model_file.read_bytes()
    for kept in np.linspace(0, len(whole) - 1, 25).astype(int):
        model_file.write_bytes(whole[:kept])
        with pytest.raises(UntrustedFileError):
            load(model_file)
    rng = np.random.default_rng(0)
    refused = 0
    for position in rng.integers(0, len(whole), 60):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << int(rng.integers(8))
        model_file.write_bytes(damaged)
        try:
            load(model_file)
        except UntrustedFileError:
            refused += 1
    assert refused > 30


def test_a_deeply_nested_file_is_refused(tmp_path):
    path = tmp_path / "deep.skops"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "[" * 100_000 + "]" * 100_000)
    with pytest.raises(UntrustedFileError):
        load(path)


def test_a_file_of_plain_data_is_not_a_model(tmp_path):
    skops.io.dump({"a": [1, 2]}, tmp_path / "a.skops")
    with pytest.raises(UntrustedFileError, match="holds a dict, not a model"):
        load(tmp_path / "a.skops")


# Hostile files ----------------------------------------------------------------------------------------------


def test_a_call_hidden_in_a_model_is_refused_and_not_made(tmp_path):
    mark = tmp_path / "mark"
    model = LogisticRegression()
    model.C = functools.partial(os.system, f"touch {mark}")
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    with pytest.raises(UntrustedFileError, match=r"functools\.partial.*system"):
        load(path)
    assert not mark.exists()


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("fewlabel.persistence._save", "os"),
        ("fewlabel.files", "atomic_write"),
        ("fewlabel.boosting", "PNUAUCBoostClassifier.fit"),
        ("fewlabel.boosting.evil", "PNUAUCBoostClassifier"),
        ("fewlabel", "__version__"),
        ("builtins", "eval"),
        ("sklearn.utils._testing", "os"),
    ],
)
@pytest.mark.parametrize("loader", ["FunctionNode", "TypeNode", "ObjectNode", "ConstructorFromReduceNode", "ListNode"])
def test_naming_one_of_our_modules_earns_no_trust(module, name, loader, tmp_path):
    content = [] if loader == "ListNode" else _tuple_node()
    path = _file_of(
        {"__class__": name, "__module__": module, "__loader__": loader, "content": content},
        tmp_path / "m.skops",
    )
    with pytest.raises(UntrustedFileError, match="not known to be safe"):
        load(path)


def test_no_module_is_imported_before_the_types_are_checked(tmp_path, monkeypatch):
    (tmp_path / "evil_twin.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    tree = {
        "__class__": "Evil",
        "__module__": "evil_twin",
        "__loader__": "ConstructorFromReduceNode",
        "content": _tuple_node(_json_node("x")),
    }
    with pytest.raises(UntrustedFileError, match=r"evil_twin\.Evil"):
        load(_file_of(tree, tmp_path / "m.skops"))
    assert "evil_twin" not in sys.modules


def test_type_names_that_are_no_text_are_refused(tmp_path):
    tree = {"__class__": 1, "__module__": ["os"], "__loader__": "ObjectNode"}
    with pytest.raises(UntrustedFileError):
        load(_file_of(tree, tmp_path / "m.skops"))


def test_trees_need_the_users_word(data, tmp_path):
    X, y = data
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X[y != -1], y[y != -1])
    path = tmp_path / "forest.skops"
    with pytest.warns(UserWarning, match=r"trusted=\['sklearn.tree._tree.Tree'\]"):
        save(forest, path)
    with pytest.raises(UntrustedFileError, match=r"sklearn\.tree\._tree\.Tree.*trusted=\["):
        load(path)
    again = load(path, trusted=["sklearn.tree._tree.Tree"])
    np.testing.assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    with pytest.raises(TypeError, match="list of type names"):
        load(path, trusted="sklearn.tree._tree.Tree")


@pytest.mark.parametrize("name", sorted(OURS | SCIKIT_LEARN | FUNCTIONS | LOSSES))
def test_every_trusted_name_exists(name):
    module, _, attribute = name.rpartition(".")
    assert hasattr(importlib.import_module(module), attribute)


# Versions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("versions", "message"),
    [
        ({"fewlabel": "99.0.0", "scikit-learn": None}, r"fewlabel 99\.0\.0 \(here: "),
        ({"fewlabel": "0.0.1", "scikit-learn": "1.0.2"}, r"scikit-learn 1\.0\.2 \(here: "),
    ],
)
def test_other_versions_are_named(versions, message, model_file):
    def edit(entries):
        entries["fewlabel.json"] = json.dumps({k: v for k, v in versions.items() if v is not None})

    _rewritten(model_file, edit)
    with pytest.warns(UserWarning, match=message):
        load(model_file)


def test_an_older_fewlabel_and_a_plain_skops_file_are_read_in_silence(model_file):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(_rewritten(model_file, lambda e: e.update({"fewlabel.json": '{"fewlabel": "0.0.1"}'})))
        load(_rewritten(model_file, lambda e: e.pop("fewlabel.json")))


def test_scikit_learns_own_estimators_warn_of_another_version(data, tmp_path):
    path = tmp_path / "pipeline.skops"
    save(make_pipeline(StandardScaler(), PNUAUCBoostClassifier(n_estimators=2)).fit(*data), path)
    import sklearn

    def edit(entries):
        entries["schema.json"] = entries["schema.json"].replace(sklearn.__version__.encode(), b"1.0.2")

    with pytest.warns(InconsistentVersionWarning, match="StandardScaler"):
        load(_rewritten(path, edit))


def test_the_file_is_an_ordinary_skops_file(model_file):
    trusted = skops.io.get_untrusted_types(data=model_file.read_bytes())
    assert all(name.startswith("fewlabel.") or name in SCIKIT_LEARN for name in trusted)
    skops.io.load(io.BytesIO(model_file.read_bytes()), trusted=trusted)
