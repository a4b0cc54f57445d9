"""The container of a model file: one JSON document and named arrays in a zip archive, checked before they are used.

Members are stored as they are, so that what is read is never larger than the file. See docs/model-file.md.
"""

import hashlib
import io
import json
import math
import re
import zipfile
from typing import Any

import numpy as np

DOCUMENT = "model.json"
FORMAT = "fewlabel"
VERSION = 1
# The document of a file of fewlabel 0.1.
_OLD_DOCUMENT = "schema.json"
_TYPES = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f4", "<f8"}
# Magic, version 1.0, length of what follows, and a dict with three keys that is padded with spaces.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00..\{'descr': '([|<][a-z]\d)', 'fortran_order': False, "
    rb"'shape': \(((?:\d{1,18}, ?)*(?:\d{1,18})?)\), \} *\n",
    re.DOTALL,
)
_MOST_DIMENSIONS = 4


class Arrays:
    """Arrays to write."""

    def __init__(self):
        # What is known of each, and its bytes.
        self.members = {}
        self._shared = {}

    def add(self, array: np.ndarray, *, shared: bool = True) -> str:
        """Add an array; return the name of its member. Shared arrays that are equal are one member."""
        little = array.dtype.newbyteorder("<")
        plain = np.ascontiguousarray(array, dtype=little).reshape(array.shape)
        if plain.dtype.str not in _TYPES:
            raise TypeError(f"an array of type {array.dtype} cannot be written")
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, plain, version=(1, 0), allow_pickle=False)
        content = buffer.getvalue()
        digest = hashlib.sha256(content).hexdigest()
        name = f"arrays/{len(self.members):04d}.npy"
        if shared and self._shared.setdefault(digest, name) != name:
            return self._shared[digest]
        about = {"sha256": digest, "dtype": plain.dtype.str, "shape": list(plain.shape)}
        self.members[name] = about, content
        return name


def pack(document: dict[str, Any], arrays: Arrays) -> bytes:
    """The bytes of an archive.

    Parameters
    ----------
    document : dict
        JSON.
    arrays : Arrays
        Those that it refers to.

    Returns
    -------
    bytes
    """
    about = {name: about for name, (about, _) in arrays.members.items()}
    document = {"format": FORMAT, "version": VERSION, **document, "arrays": about}
    text = json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.comment = hashlib.sha256(text).hexdigest().encode()
        # A member without the time of writing: equal models are equal files.
        archive.writestr(zipfile.ZipInfo(DOCUMENT), text)
        for name, (_, content) in arrays.members.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read an archive in one pass.

    Parameters
    ----------
    content : bytes

    Returns
    -------
    document : dict
    arrays : dict of ndarray

    Raises
    ------
    ValueError
        If anything is not as `pack` writes it.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = _read_members(archive, len(content))
        digest = archive.comment
    text = members.pop(DOCUMENT)
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise ValueError(f"{DOCUMENT} does not match its hash")
    document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)
    version = document["version"]
    if document["format"] != FORMAT or type(version) is not int or version != VERSION:
        raise ValueError(f"the format has version {version!r}, and this fewlabel reads {VERSION}: upgrade fewlabel")
    about = document["arrays"]
    if about.keys() != members.keys():
        raise ValueError("the arrays of the archive are not those that the document names")
    return document, {name: _read_array(name, members[name], about[name]) for name in members}


def _read_members(archive, size):
    infos = archive.infolist()
    names = [info.filename for info in infos]
    if _OLD_DOCUMENT in names:
        raise ValueError("fewlabel 0.1 wrote it, whose files are not read any more: fit the model again and save it")
    if DOCUMENT not in names or len(set(names)) != len(names):
        raise ValueError(f"a member is there twice, or {DOCUMENT} is not there")
    # Stored members are together no larger than the file, unless they overlap.
    if any(info.compress_type != zipfile.ZIP_STORED for info in infos) or sum(info.file_size for info in infos) > size:
        raise ValueError("members are compressed, or overlap")
    return {name: archive.read(name) for name in names}


def _unique(pairs):
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name is there twice in one JSON object")
    return found


def _refuse(constant):
    raise ValueError(f"{constant} is not JSON")


def _read_array(name, content, about):
    """An array whose bytes, type and shape are those that the document states."""
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise ValueError(f"{name} does not match its hash")
    dtype = about["dtype"]
    shape = about["shape"]
    header = _HEADER.match(content)
    if header is None or dtype not in _TYPES:
        raise ValueError(f"{name} is not a plain array of NumPy")
    # Its own parser: NumPy's evaluates the header as Python, which a forged one can make arbitrarily deep.
    stated = [int(number) for number in header[2].replace(b",", b" ").split()]
    if header[1].decode() != dtype or stated != shape or len(shape) > _MOST_DIMENSIONS:
        raise ValueError(f"{name} does not have the type and shape that are stated")
    data = content[header.end() :]
    if math.prod(shape, start=np.dtype(dtype).itemsize) != len(data):
        raise ValueError(f"{name} is not as long as its header says")
    # Compiled code counts on it.
    if dtype == "|b1" and max(data, default=0) > 1:
        raise ValueError(f"{name} has a truth value that is neither 0 nor 1")
    return np.frombuffer(data, dtype=dtype).reshape(shape).astype(np.dtype(dtype).newbyteorder("="))
