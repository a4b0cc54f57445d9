"""Checks of a model file before anything in it is built.

A skops file is a zip archive: `schema.json` describes the objects as a tree of nodes, and arrays are members of their
own. Each node names a type and the loader that builds it. skops trusts types by their names, whichever loader a file
chooses. Here every node is visited once, and has to be a known pair of loader and type. What the tree refers to has to
be there once and completely, so that the work of loading is bounded by the size of the file.
"""

import io
import json
import zipfile
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from fewlabel.persistence._trusted import CONTAINERS, FUNCTIONS, KEY_TYPES, LOSSES, SCALARS, is_object, is_ufunc

_PROTOCOL = 2  # the loaders of older protocols check less
_MOST_VALUES = 10_000_000
_MARKS = {"__class__", "__loader__", "__id__"}  # of a node, as skops reads it
_NOT_COMPARED = {"__id__", "file"}  # parts that skops makes while it writes have other numbers each time
_MOST_LEVELS = 300  # of schema.json; a fitted table of a pipeline in a search has 90
_PAIRS = {
    **CONTAINERS,
    "FunctionNode": FUNCTIONS,
    "LossNode": LOSSES,
    "NdArrayNode": {"numpy.ndarray", *SCALARS},
    "TypeNode": KEY_TYPES,
}


class Found(NamedTuple):
    """Names of the types in a file.

    Attributes
    ----------
    accepted : set of str
        Types that are known to be safe with their loaders, or that the caller trusts.
    unknown : list of str
        All others.
    """

    accepted: set
    unknown: list


def inspect(content, trusted=()):
    """Visit every node of a model file.

    Parameters
    ----------
    content : bytes
        The file.
    trusted : sequence of str, default=()
        Further names of types that are accepted, with any loader.

    Returns
    -------
    Found

    Raises
    ------
    ValueError
        If the file does not have the form of one that :func:`fewlabel.save` writes.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = _members(archive, len(content))
        schema = json.loads(archive.read("schema.json"))
        if type(schema) is not dict or type(schema.get("protocol")) is not int or schema["protocol"] != _PROTOCOL:
            raise ValueError(f"the protocol of the file is not {_PROTOCOL}")
        walk = _Walk(archive, members, set(trusted))
        walk.visit(schema)
        return Found(walk.accepted, sorted(walk.unknown))


def _members(archive, size):
    """Sizes of the members by name. They are stored as they are: together no larger than the file."""
    members = {info.filename: info.file_size for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("two members of the archive have the same name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()) or sum(members.values()) > size:
        raise ValueError("the members of the archive are compressed, or overlap")
    return members


class _Walk:
    def __init__(self, archive, members, trusted):
        self.archive, self.members, self.trusted = archive, members, trusted
        self.accepted: set[str] = set()
        self.unknown: set[str] = set()
        self.n_values = 0
        self.digest_by_id: dict[int, bytes] = {}
        self.id_by_member: dict[str, Any] = {}

    def visit(self, value, level=0):
        """Check a value of the schema and what it holds; return a digest of both, or a plain value itself."""
        if type(value) not in (dict, list):
            return value
        self.n_values += 1
        if level > _MOST_LEVELS or self.n_values > _MOST_VALUES:
            raise ValueError("its objects are nested too deeply, or are too many")
        if type(value) is list:
            parts = [self.visit(part, level + 1) for part in value]
        else:
            parts = [(key, self.visit(part, level + 1)) for key, part in value.items() if key not in _NOT_COMPARED]
        digest = blake2b(repr(parts).encode(), digest_size=16).digest()
        if type(value) is dict and not value.keys().isdisjoint(_MARKS):
            self.check(value, digest)
        return digest

    def check(self, node, digest):
        module, name, loader = (node.get(key) for key in ("__module__", "__class__", "__loader__"))
        if not all(type(text) is str for text in (module, name, loader)):
            raise ValueError("a node has no type or no loader")
        number = node.get("__id__")
        if number is not None:
            self.check_identity(number, digest)
        if loader == "NdArrayNode" and node.get("type") == "numpy":
            self.check_array(node)
        if loader == "DictNode":
            _check_keys(node)
        self.judge(f"{module}.{name}", loader)

    def check_identity(self, number, digest):
        """A shared object is written in full wherever it occurs, so that short references cannot multiply the work."""
        if type(number) is not int:
            raise ValueError("the number of an object is not an integer")
        if self.digest_by_id.setdefault(number, digest) != digest:
            raise ValueError("two different objects have the same number")

    def check_array(self, node):
        """The member is the array of one object, and has the size that its header says."""
        member = node.get("file")
        if type(member) is not str or member not in self.members:
            raise ValueError("an array has no member in the archive")
        if self.id_by_member.setdefault(member, node.get("__id__")) != node.get("__id__"):
            raise ValueError("several objects name the same array")
        with self.archive.open(member) as file:
            version = np.lib.format.read_magic(file)
            if version not in ((1, 0), (2, 0)):
                raise ValueError(f"version {version} of an array is not known")
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
            n_bytes = dtype.itemsize
            for length in shape:
                n_bytes *= length
            if dtype.hasobject or min(shape, default=0) < 0 or n_bytes != self.members[member] - file.tell():
                raise ValueError("an array is not as long as its header says")

    def judge(self, name, loader):
        if name in self.trusted or _is_known(name, loader):
            self.accepted.add(name)
        elif any(_is_known(name, other) for other in (*_PAIRS, "ObjectNode")):
            raise ValueError(f"{name} is not built by {loader}")
        else:
            self.unknown.add(name)


def _is_known(name, loader):
    if loader == "ObjectNode":
        return is_object(name)
    return name in _PAIRS.get(loader, ()) or (loader == "FunctionNode" and is_ufunc(name))


def _check_keys(node):
    """Keys are made by calling a type with a text: only types of plain values may be called."""
    types = node.get("key_types")
    content = types.get("content") if type(types) is dict else None
    if type(content) is not list or types.get("__loader__") != "ListNode":
        raise ValueError("the keys of a dict have no types")
    if any(type(one) is not dict or one.get("__loader__") != "TypeNode" for one in content):
        raise ValueError("the keys of a dict are not plain values")
