"""Forged files, whose hashes fit: each index, type and shape is checked before anything is used."""

import copy
import hashlib
import io
import json
import zipfile

import numpy as np
import pytest

import fewlabel
from fewlabel.exceptions import UntrustedFileError
from fewlabel.parts import KINDS
from fewlabel.parts.part import field_types
from parts.examples import models, rows_of
from persistence.forge import npy, places, put_together, take_apart

HUGE = 2**31 - 1
# Arrays whose entries are positions in others.
INDICES = {
    "fill-and-scale": ["flagged"],
    "neighbors": ["codes"],
    "paths": ["codes", "sources", "source_codes"],
    "ranks": ["starts"],
    "select": ["columns"],
    "spreading": ["sources", "source_codes"],
    "steps": ["columns", "starts"],
    "symmetric-trees": ["columns"],
    "trees": ["roots", "feature", "children"],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Documents and arrays of the example models."""
    path = tmp_path_factory.mktemp("files") / "model.fewlabel"
    found = {}
    for name, model in models().items():
        fewlabel.save(model, path)
        found[name] = take_apart(path.read_bytes())
    return found


@pytest.fixture
def refused(tmp_path):
    def check(content, match="cannot be read as a model"):
        path = tmp_path / "forged.fewlabel"
        path.write_bytes(content)
        with pytest.raises(UntrustedFileError, match=match):
            fewlabel.load(path)

    return check


def array_fields(kind):
    for name, field in field_types(KINDS[kind]).items():
        if field.array is not None:
            yield name


def document_with(files, kind):
    """A model with a part of a kind: the document, its arrays, and the part."""
    document, arrays = files.get(kind, files["columns" if kind.endswith("-column") else "trees"])
    document = copy.deepcopy(document)
    *_, part = (part for part, _ in places(document["model"]) if part["kind"] == kind)  # the last one
    return document, dict(arrays), part


def with_array(files, kind, field, change):
    """A file in which one array of a part is another one."""
    document, arrays, part = document_with(files, kind)
    arrays["arrays/9999.npy"] = change(arrays[part[field]])
    part[field] = "arrays/9999.npy"
    return put_together(document, arrays)


def put(array, value, at=-1):
    array = array.copy()
    array.reshape(-1)[at] = value
    return array


@pytest.mark.parametrize("value", [-2, HUGE, -HUGE, 20])
@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind, found in INDICES.items() for field in found])
def test_an_index_at_its_limits(kind, field, value, files, refused):
    refused(with_array(files, kind, field, lambda array: put(array, value, at=0)))


def test_every_array_of_integers_is_known_to_hold_indices():
    for kind, part in KINDS.items():
        integers = [name for name in array_fields(kind) if field_types(part)[name].array.dtype.startswith("int")]
        assert set(integers) <= {*INDICES.get(kind, []), "labeled_rows"}, kind


ALL_ARRAYS = [(kind, field) for kind in sorted(KINDS) for field in array_fields(kind)]


@pytest.mark.parametrize(("kind", "field"), ALL_ARRAYS)
def test_another_type_or_shape(kind, field, files, refused):
    for change in (
        lambda array: array.astype(np.float32 if array.dtype != np.float32 else np.float64),
        lambda array: array.astype(np.int16),
        lambda array: array[None],
        lambda array: array.reshape(-1) if array.ndim > 1 else array[:, None],
    ):
        refused(with_array(files, kind, field, change))


@pytest.mark.parametrize(("kind", "field"), ALL_ARRAYS)
def test_another_length_is_refused_or_another_model(kind, field, files, tmp_path):
    path = tmp_path / "forged.fewlabel"
    for change in (
        lambda array: array[:0],
        lambda array: array[:-1],
        lambda array: np.concatenate([array, array]),
        lambda array: put(array, np.nan) if array.dtype.kind == "f" and array.size else array[:-1],
    ):
        path.write_bytes(with_array(files, kind, field, change))
        try:
            model = fewlabel.load(path)
        except UntrustedFileError:
            continue
        with np.errstate(all="ignore"):
            assert len(model.predict(rows_of(model))) > 0


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_other_values_of_plain_fields(kind, files, refused):
    numbers = (int, float)
    for name, field in field_types(KINDS[kind]).items():
        allowed = field.kinds
        if allowed[0] in (int, float, str, bool):
            wrong = [[], {}, "nan" if allowed[0] is int else None, 3 if allowed[0] is str else "x"]
            wrong += [-1, 2**70] if allowed[0] in numbers and name.startswith(("n_", "degree", "divisor")) else []
            for value in wrong:
                document, arrays, part = document_with(files, kind)
                if value is None and field.optional:
                    continue
                part[name] = value
                refused(put_together(document, arrays))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fields_that_are_missing_unknown_or_of_another_kind(kind, files, refused):
    for name in field_types(KINDS[kind]):
        document, arrays, part = document_with(files, kind)
        del part[name]
        refused(put_together(document, arrays))
    document, arrays, part = document_with(files, kind)
    part["further"] = 1
    refused(put_together(document, arrays))
    for other in ("numpy.ndarray", "os.system", "builtins.eval", "estimator", "", 3, None):
        document, arrays, part = document_with(files, kind)
        part["kind"] = other
        refused(put_together(document, arrays))


def test_swapped_cut_and_repeated_members(files, refused):
    document, arrays = files["trees"]
    content = put_together(document, arrays)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        comment = archive.comment
    names = list(arrays)

    def rewritten(members, *, comment=comment, compression=zipfile.ZIP_STORED):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", compression) as archive:
            archive.comment = comment
            for name, member in members:
                archive.writestr(name, member)
        return buffer.getvalue()

    swapped = {**members, names[0]: members[names[1]], names[1]: members[names[0]]}
    refused(rewritten(swapped.items()), "does not match its hash")
    cut = {**members, names[0]: members[names[0]][:-1]}
    refused(rewritten(cut.items()), "does not match its hash")
    changed = {**members, "model.json": members["model.json"].replace(b'"label"', b'"other"')}
    refused(rewritten(changed.items()))
    refused(rewritten(members.items(), comment=b""), "does not match its hash")
    refused(rewritten([*members.items()][1:]), "not there")
    refused(rewritten([*members.items()][:-1]), "not those that the document names")
    refused(rewritten([*members.items(), ("arrays/7777.npy", b"x")]), "not those that the document names")
    refused(rewritten([*members.items(), ("../evil.py", b"x")]), "not those that the document names")
    refused(rewritten(members.items(), compression=zipfile.ZIP_DEFLATED), "compressed")
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = rewritten([*members.items(), *members.items()])
    refused(twice, "twice")


@pytest.mark.parametrize(
    "member",
    [
        b"",
        b"\x93NUMPY",
        npy(np.zeros(3))[:-1],
        npy(np.zeros(3)) + b"x",
        npy(np.zeros(3)).replace(b"(3,)", b"(9,)"),
        npy(np.zeros(3)).replace(b"(3,)", b"-3, "),
        npy(np.zeros(3)).replace(b"'<f8'", b"'|O8'"),
        npy(np.zeros(3)).replace(b"'<f8'", b"'>f8'"),
        npy(np.zeros((3, 2), order="F")),
        npy(np.zeros(3)).replace(b"\x01\x00v", b"\x02\x00v"),
        npy(np.zeros(3)).replace(b"(3,), }", b"f(),), "),
        npy(np.zeros(2, dtype="M8[s]")),
        npy(np.zeros(2, dtype=[("a", "<f8")])),
        npy(np.array(["a"])),
        npy(np.zeros(2, dtype=complex)),
        b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535,
    ],
)
def test_members_that_are_no_plain_arrays(member, files, refused):
    document, arrays, part = document_with(files, "linear")
    arrays[part["intercept"]] = member
    refused(put_together(document, arrays))


def test_truth_values_are_0_or_1(files, refused):
    document, arrays, part = document_with(files, "symmetric-trees")
    member = npy(arrays[part["missing_up"]])
    document["arrays"][part["missing_up"]]["dtype"] = "|b1"
    arrays[part["missing_up"]] = member[:-1] + b"\x07"
    refused(put_together(document, arrays), "neither 0 nor 1")


def test_documents_that_are_no_json_of_ours(files, refused):
    document, arrays = files["trees"]
    deep = json.loads("[" * 900 + "]" * 900)
    for change in (
        {"format": "other"},
        {"version": True},
        {"version": "1"},
        {"model": []},
        {"model": None},
        {"model": deep},
        {"model": {"kind": "select", "columns": next(iter(arrays)), "n_inputs": 3}},
    ):
        refused(put_together(document, arrays, **change))
    about = copy.deepcopy(document)
    about["model"]["about"] = deep
    refused(put_together(about, arrays))
    for text in ("[" * 10**5, '{"a": 1, "a": 2}', '{"format": NaN}', "1" * 10**5, "\ufeff{}"):
        refused(with_document(put_together(document, arrays), text.encode()))


def with_document(content, text):
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(buffer, "w") as new:
        new.comment = hashlib.sha256(text).hexdigest().encode()
        for name in archive.namelist():
            new.writestr(name, text if name == "model.json" else archive.read(name))
    return buffer.getvalue()


def test_parts_nested_without_end_and_blocks_without_number(files, refused):
    document, arrays, part = document_with(files, "select")
    select = copy.deepcopy(part)
    nested = select
    for _ in range(100):
        nested = {"kind": "chain", "steps": [nested]}
    document["model"]["score"]["steps"][1] = nested
    refused(put_together(document, arrays), "nested")
    document["model"]["score"]["steps"][1] = {"kind": "beside", "blocks": [select] * 50_000}
    refused(put_together(document, arrays), "outputs")
