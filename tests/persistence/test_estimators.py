"""Every estimator is saved, loaded, and predicts the same; a forged one is refused before compiled code uses it."""

import copy
import warnings

import numpy as np
import pytest

import fewlabel
from fewlabel.exceptions import UntrustedFileError
from golden import models
from persistence.forge import put_together, take_apart

TABLES = ("AutoClassifier", "TableClassifier", "TableEncoder")
FAST = {
    "AssembleClassifier": dict(n_estimators=3),
    "BalancedMultiviewClassifier": dict(max_iter=2, n_components=20),
    "CoTrainingClassifier": dict(max_iter=1),
    "CrossTrainingClassifier": dict(max_iter=1),
    "LinearAUCClassifierCV": dict(cv=2),
    "MultiviewKernelClassifier": dict(n_components=20),
    "NeuralPUClassifier": dict(max_iter=2),
    "PUAdaBoostClassifier": dict(prior=0.4, n_estimators=20),
    "SemiSupervisedAdaBoostClassifier": dict(n_estimators=3),
    "TriTrainingClassifier": dict(max_iter=1),
    "TreeAUCBoostClassifier": dict(n_estimators=20),
    "TreePUBoostClassifier": dict(n_estimators=20),
}
# These have fitted estimators of other libraries, whose exponentials may differ in the last bit.
ROUNDED = ("QuasiBaggingClassifier",)


def fitted(name, **arguments):
    kind = getattr(fewlabel, name)
    arguments = {**models.ARGUMENTS.get(name, {}), **FAST.get(name, {}), **arguments}
    for key in ("estimator", "teacher"):  # those of other libraries cannot be written, the defaults can
        arguments.pop(key, None)
    if "random_state" in kind().get_params():
        arguments["random_state"] = 0
    X, _, few = models.numbers(n=120, n_classes=3 if name in models.MANY_CLASSES else 2)
    if name in models.POSITIVES_ONLY:
        few = np.where(few == 1, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**arguments).fit(X, few), X


@pytest.mark.parametrize("name", [name for name, _ in fewlabel.all_estimators() if name not in TABLES])
def test_every_estimator_loads_and_predicts_the_same(name, tmp_path):
    if name == "NeuralPUClassifier":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    model, X = fitted(name)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    assert type(again) is type(model)
    assert str(again.get_params()) == str(model.get_params())
    compared = 0
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if not hasattr(model, method):
            continue
        compared += 1
        rtol = 1e-13 if name in ROUNDED else 0
        found = getattr(again, method)(X)
        expected = getattr(model, method)(X)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    assert compared
    unfitted = type(model)(**model.get_params(deep=False))
    fewlabel.save(unfitted, tmp_path / "model.fewlabel")
    assert vars(fewlabel.load(tmp_path / "model.fewlabel")) == vars(unfitted)


def test_values_that_json_does_not_know(tmp_path):
    model, _ = fitted("LinearAUCClassifier")
    classes = np.array(["b", "a"], dtype=object)
    values = dict(
        nan_=float("nan"),
        low_=-np.inf,
        single_=np.float32(0.5),
        nested_=({"a": (1, None)}, [True, "x"], {2: "two"}),
        texts_=np.array(["a", "bcd"]),
        objects_=classes,
        scalar_=np.array(3.0),
        turned_=np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        empty_=np.empty((0, 2), dtype=np.uint8),
        big_=np.arange(3, dtype=">i4"),
    )
    vars(model).update(values)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = vars(fewlabel.load(tmp_path / "model.fewlabel"))
    for name, value in values.items():
        np.testing.assert_equal(again[name], value)
        if isinstance(value, np.ndarray):
            assert (again[name].dtype.kind, again[name].shape) == (value.dtype.kind, value.shape)
    assert again["turned_"].flags.f_contiguous
    for value in (object(), np.random.RandomState(0), lambda: None, {1, 2}, np.zeros(1, complex)):
        model.other_ = value
        with pytest.raises(TypeError):
            fewlabel.save(model, tmp_path / "model.fewlabel")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    rows, _, few = models.numbers(n=120)
    stream = fewlabel.LinearAUCClassifier(solver="oam-seq", random_state=0).partial_fit(rows, few, classes=[0, 1])
    sparse = fitted("PathNeighborsClassifier", metric="cosine")[0]
    found = {
        "stumps": fitted("PNUAUCBoostClassifier", n_estimators=5)[0],
        "trees": fitted("TreeAUCBoostClassifier", n_estimators=5)[0],
        "paths": fitted("PathNeighborsClassifier")[0],
        "cosine": sparse,
        "stream": stream,
    }
    contents = {}
    for name, model in found.items():
        fewlabel.save(model, folder / name)
        contents[name] = take_apart((folder / name).read_bytes())
    return contents


def changed(files, name, attribute, change):
    """A file in which an array of an estimator is another one; `attribute` can be a path of keys."""
    document, arrays = copy.deepcopy(files[name])
    value = document["model"]["fitted"]
    for key in attribute:
        value = dict(value["dict"])[key] if "dict" in value else value.get("record", value)[key]
    member = value if isinstance(value, str) else value["array"]
    arrays[member] = change(arrays[member])
    return put_together(document, arrays)


INDICES = [-1, 8, 2**62, "shorter", "flat"]
SHAPES = ["shorter", "flat", "float"]


@pytest.mark.parametrize(
    ("name", "attribute", "changes"),
    [
        ("stumps", ("splits_", "column"), INDICES),
        ("trees", ("splits_", "column"), [*INDICES, "float"]),
        ("trees", ("leaf_values_",), SHAPES),
        ("paths", ("_costs",), SHAPES),
        ("cosine", ("_costs",), SHAPES),
        ("stream", ("_stream", "n_buffered"), [*INDICES, "float"]),
        ("stream", ("_stream", "seen"), [-1, *SHAPES]),
        ("stream", ("_stream", "w"), SHAPES),
        ("stream", ("_stream", "buffered"), ["shorter", "flat"]),
    ],
)
def test_arrays_that_compiled_code_uses(name, attribute, changes, files, tmp_path):
    path = tmp_path / "forged.fewlabel"
    for change in changes:
        path.write_bytes(changed(files, name, attribute, lambda array, change=change: another(array, change)))
        with pytest.raises(UntrustedFileError):
            fewlabel.load(path)


def another(array, change):
    if change == "shorter":
        return array[:-1].copy()
    if change == "float":
        return array.astype(np.float32)
    if change == "flat":
        return array.reshape(-1)[: max(1, array.size // 2)].copy()
    array = array.copy()
    array.reshape(-1)[0] = change
    return array


def test_names_that_are_not_ours(files, tmp_path):
    path = tmp_path / "forged.fewlabel"

    def refused(change):
        document, arrays = copy.deepcopy(files["trees"])
        change(document["model"])
        path.write_bytes(put_together(document, arrays))
        with pytest.raises(UntrustedFileError):
            fewlabel.load(path)

    for name in ("LogisticRegression", "sklearn.svm.SVC", "load", "os", "__class__", 3, None, []):
        refused(lambda model, name=name: model.update(estimator=name))
    for name in ("__class__", "__dict__", "__reduce__", "fit", "predict", "_score", "get_params"):
        refused(lambda model, name=name: model["fitted"].update({name: 1}))
    for value in ({"call": "os.system"}, {"array": "x", "float": "nan"}, {"array": "arrays/9999.npy"}, {"part": {}}):
        refused(lambda model, value=value: model["fitted"].update(new_=value))
    refused(lambda model: model["parameters"].update(n_estimators=-5))
    refused(lambda model: model["parameters"].update(further=1))
    refused(lambda model: model["parameters"].pop("max_depth"))
    refused(lambda model: model["fitted"].update(n_features_in_=-1))
    refused(lambda model: model["fitted"].update(n_features_in_=2))
    refused(lambda model: model["fitted"].update(n_features_in_="8"))
    refused(lambda model: model["fitted"].update(again_=model["fitted"]["leaf_values_"]))  # an array is used once
    nested = {"tuple": []}
    for _ in range(100):
        nested = {"tuple": [nested]}
    refused(lambda model: model["fitted"].update(deep_=nested))


def table_models():
    X, _, few = models.numbers(n=120)
    yield fewlabel.AutoClassifier(["naive Bayes", "extra trees"], n_repeats=1, random_state=0), X, few
    table, target = models.columns(n=120)
    for estimator in (
        fewlabel.AutoClassifier(["naive Bayes"], n_repeats=1, random_state=0),
        fewlabel.PNUAUCBoostClassifier(5, random_state=0),
        fewlabel.LabelSpreadingClassifier(),  # on scaled columns it has no formula
    ):
        yield fewlabel.TableClassifier(estimator, random_state=0), table, target


@pytest.mark.parametrize(("model", "rows", "labels"), table_models(), ids=str)
def test_classifiers_of_tables_load_and_predict_the_same(model, rows, labels, tmp_path):
    model.fit(rows, labels)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    found = again.predict(rows)
    expected = model.predict(rows)
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


def test_an_encoder_loads_and_encodes_the_same(tmp_path):
    table, _ = models.columns(n=120)
    encoder = fewlabel.TableEncoder(random_state=0).fit(table)
    fewlabel.save(encoder, tmp_path / "encoder.fewlabel")
    again = fewlabel.load(tmp_path / "encoder.fewlabel")
    np.testing.assert_array_equal(again.transform(table), encoder.transform(table))
    assert again.columns_ == encoder.columns_
