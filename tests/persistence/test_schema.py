"""Hostile model files are refused before anything in them is built."""

import io
import json
import os
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import skops
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import fewlabel
from fewlabel import AutoClassifier, TableClassifier
from fewlabel.exceptions import UntrustedFileError
from fewlabel.persistence._schema import inspect
from fewlabel.persistence._trusted import FUNCTIONS, SKRUB


def node(loader, name, **parts):
    module, _, name = name.rpartition(".")
    return {"__class__": name, "__module__": module, "__loader__": loader, **parts}


def text(value):
    return node("JsonNode", "builtins.str", content=json.dumps(value))


def listed(*nodes, **parts):
    return node("ListNode", "builtins.list", content=list(nodes), **parts)


def keyed(content, types=None):
    types = listed(*(node("TypeNode", "builtins.str") for _ in content)) if types is None else types
    return node("DictNode", "builtins.dict", content=content, key_types=types)


def model(**attributes):
    return node("ObjectNode", "sklearn.linear_model._logistic.LogisticRegression", content=keyed(attributes))


def write(path, root, members=None, *, compression=zipfile.ZIP_STORED, **top):
    schema = {**root, "protocol": 2, "_skops_version": skops.__version__, **top}
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("schema.json", json.dumps(schema))
        for name, content in (members or {}).items():
            archive.writestr(name, content)
    return path


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def crafted_sparse():
    """A sparse matrix whose indices point far outside of its columns."""
    matrix = sp.csr_matrix(np.eye(4))
    matrix.indices[:] = 10**8
    buffer = io.BytesIO()
    sp.save_npz(buffer, matrix)
    return buffer.getvalue()


@pytest.fixture
def refused(tmp_path):
    """Check that a file is refused, by a message, and that skops is never asked to build it."""

    def check(root, members=None, match="cannot be read as a model", **options):
        path = write(tmp_path / "m.skops", root, members, **options)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(skops.io, "loads", lambda *_, **__: pytest.fail("the file was built"))
            with pytest.raises(UntrustedFileError, match=match):
                fewlabel.load(path)

    return check


def test_hand_made_files_of_the_right_form_are_read(tmp_path):
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="1.npy", __id__=7)
    root = model(C=text(0.5), coef_=array, again=array, pair=listed(array, text([1, 2])))
    again = fewlabel.load(write(tmp_path / "m.skops", root, {"1.npy": npy(np.arange(3.0))}))
    assert again.C == 0.5
    assert again.coef_ is again.again
    np.testing.assert_array_equal(again.coef_, [0, 1, 2])


@pytest.mark.parametrize(
    "name", ["numpy.ndarray", "builtins.list", "sklearn.linear_model._logistic.LogisticRegression"]
)
def test_a_sparse_matrix_under_another_name(name, refused):
    matrix = node("SparseMatrixNode", name, type="scipy", file="1.npz")
    refused(model(coef_=matrix), {"1.npz": crafted_sparse()}, match="is not built by SparseMatrixNode")


def test_a_sparse_matrix_under_its_own_name(refused):
    matrix = node("SparseMatrixNode", "scipy.sparse._csr.csr_matrix", type="scipy", file="1.npz")
    refused(model(coef_=matrix), {"1.npz": crafted_sparse()}, match="not known to be safe: 'scipy.sparse._csr.csr_m")


@pytest.mark.parametrize("function", sorted(FUNCTIONS))
def test_a_known_function_is_not_called(function, refused):
    matrix = node("SparseMatrixNode", "builtins.tuple", type="scipy", file="1.npz")
    call = node("ConstructorFromReduceNode", function, content=node("TupleNode", "builtins.tuple", content=[text(1)]))
    refused(model(coef_=call), match="is not built by ConstructorFromReduceNode")
    call["content"]["content"] = [matrix]
    refused(model(coef_=call), {"1.npz": crafted_sparse()}, match="is not built by")


def test_keys_of_a_dict_are_not_made_by_functions(refused):
    for one in (node("FunctionNode", sorted(FUNCTIONS)[0]), text("a"), model(), keyed({})):
        refused(model(a=keyed({"b": text(1)}, listed(one))), match="keys of a dict are not plain values")
    refused(model(a=keyed({"b": text(1)}, node("TupleNode", "builtins.tuple", content=[]))), match="have no types")


def test_types_that_allocate_or_run_code_are_no_key_types(refused):
    for name in ("numpy.void", "builtins.bytearray", "builtins.map"):
        refused(model(a=keyed({"b": text(1)}, listed(node("TypeNode", name)))), match="not known to be safe")


def test_nested_shared_references(refused):
    """Each level holds the level below twice: the second time by its number alone."""
    nested = text(1)
    for level in range(1, 21):
        nested = listed(nested, {"__id__": level}, __id__=level + 1)
    refused(model(C=nested), match="has no type or no loader")
    nested = listed(text(1), __id__=1)
    for level in range(1, 21):
        nested = listed(nested, listed(__id__=level), __id__=level + 1)
    refused(model(C=nested), match="two different objects have the same number")
    nested = listed(text(1), __id__=1)
    for level in range(1, 21):
        nested = listed(nested, node("CachedNode", "builtins.list", __id__=level), __id__=level + 1)
    refused(model(C=nested), match="CachedNode|same number")


def test_one_member_that_many_objects_name(refused):
    arrays = [node("NdArrayNode", "numpy.ndarray", type="numpy", file="1.npy", __id__=i) for i in range(300)]
    refused(model(C=listed(*arrays)), {"1.npy": npy(np.zeros(10))}, match="several objects name the same array")


def test_compressed_and_overlapping_members(refused, tmp_path):
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="1.npy")
    members = {"1.npy": npy(np.zeros(10**6))}
    refused(model(C=array), members, match="compressed", compression=zipfile.ZIP_DEFLATED)
    path = write(tmp_path / "m.skops", model(C=array), members)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("1.npy", members["1.npy"])
    with pytest.raises(UntrustedFileError, match="same name"):
        fewlabel.load(path)


def test_arrays_that_are_not_what_they_say(refused):
    array = node("NdArrayNode", "numpy.ndarray", type="numpy", file="1.npy")
    whole = npy(np.zeros(4))
    refused(model(C=array), {"1.npy": whole.replace(b"(4,)", b"(9,)")}, match="as long as its header says")
    refused(model(C=array), {"1.npy": whole[:-1]}, match="as long as its header says")
    refused(model(C=array), {"1.npy": b"no array"})
    refused(model(C=array), {}, match="no member")
    refused(model(C=array), {"1.npy": whole.replace(b"<f8", b"|O8")}, match="as long as its header says|object")


@pytest.mark.parametrize("protocol", [0, 1, 3, True, "2", None])
def test_other_protocols(protocol, refused):
    refused(model(C=text(1)), protocol=protocol, match="protocol")


def test_deep_nesting(refused):
    nested = text(1)
    for _ in range(200):
        nested = listed(nested)
    refused(model(C=nested), match="nested too deeply")


def test_ids_that_are_no_numbers(refused):
    refused(model(C=node("JsonNode", "builtins.str", content="1", __id__="a")), match="not an integer")


def test_a_name_the_user_trusts_is_accepted(tmp_path):
    matrix = sp.csr_matrix(np.eye(3))
    estimator = LogisticRegression(C=matrix)
    with pytest.warns(UserWarning, match="csr_matrix"):
        fewlabel.save(estimator, tmp_path / "m.skops")
    again = fewlabel.load(tmp_path / "m.skops", trusted=["scipy.sparse._csr.csr_matrix"])
    np.testing.assert_array_equal(again.C.toarray(), np.eye(3))


def test_elementwise_functions_are_accepted(tmp_path):
    from scipy.special import expit

    X, y = load_breast_cancer(return_X_y=True)
    for function in (np.log1p, expit):
        estimator = make_pipeline(FunctionTransformer(function), LogisticRegression(max_iter=5000)).fit(X / 1000, y)
        fewlabel.save(estimator, tmp_path / "m.skops")
        np.testing.assert_array_equal(fewlabel.load(tmp_path / "m.skops").predict(X), estimator.predict(X))


@pytest.mark.parametrize("loss", ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron"])
def test_linear_models_of_scikit_learn_are_accepted(loss, tmp_path):
    X, y = load_breast_cancer(return_X_y=True)
    estimator = SGDClassifier(loss=loss, random_state=0).fit(X, y)
    fewlabel.save(estimator, tmp_path / "m.skops")
    np.testing.assert_array_equal(fewlabel.load(tmp_path / "m.skops").predict(X), estimator.predict(X))


def test_every_name_of_skrub_is_needed(tmp_path):
    """The list is what a table with all kinds of columns needs, and no longer."""
    rng, n = np.random.default_rng(0), 60
    table = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "gaps": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "city": rng.choice(list("abc"), n),
            "words": [f"some text {i} {i % 7}" for i in range(n)],
            "flag": rng.random(n) < 0.5,
            "kind": pd.Categorical(rng.choice(list("xyz"), n)),
            "day": pd.date_range("2020", periods=n, freq="17h"),
        }
    )
    y = pd.Series(rng.choice(["no", "yes"], n)).where(rng.random(n) < 0.7)
    fitted = TableClassifier(AutoClassifier(["logistic regression"], random_state=0), random_state=0).fit(table, y)
    fewlabel.save(fitted, tmp_path / "m.skops")
    found = inspect((tmp_path / "m.skops").read_bytes())
    assert found.unknown == []
    assert {name for name in SKRUB | FUNCTIONS if name.startswith("skrub.")} - found.accepted == set()
    assert os.path.getsize(tmp_path / "m.skops") < 1_000_000, "what describes the fit of the columns is not needed"
