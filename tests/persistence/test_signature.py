"""Signed model files: only those with the key can write one that is accepted."""

import pytest

from fewlabel import LinearAUCClassifier, load, save
from fewlabel.exceptions import UntrustedFileError

KEY = b"0123456789abcdef"


@pytest.fixture
def signed(tmp_path):
    path = tmp_path / "model.fewlabel"
    model = LinearAUCClassifier().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    save(model, path, key=KEY)
    return path


def test_a_signed_file_is_read_with_its_key_and_without(signed):
    for options in ({"key": KEY}, {"key": bytearray(KEY)}, {}):
        assert load(signed, **options).predict([[0.5], [2.5]]).tolist() == [0, 1]


def test_another_key_no_signature_and_changed_bytes_are_refused(signed):
    with pytest.raises(UntrustedFileError, match="another key"):
        load(signed, key=b"another key of the right length")
    content = signed.read_bytes()
    for at in range(0, len(content), len(content) // 40):
        signed.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(UntrustedFileError, match=r"another key|not signed"):
            load(signed, key=KEY)
    signed.write_bytes(content[:-1])
    with pytest.raises(UntrustedFileError, match="not signed"):
        load(signed, key=KEY)
    save(load_written(content, signed), signed)
    with pytest.raises(UntrustedFileError, match="not signed"):
        load(signed, key=KEY)


def load_written(content, path):
    path.write_bytes(content)
    return load(path)


def test_a_changed_signed_file_is_not_parsed(signed, monkeypatch):
    signed.write_bytes(b"x" + signed.read_bytes()[1:])
    monkeypatch.setattr("fewlabel.persistence._save.unpack", None)
    with pytest.raises(UntrustedFileError, match="another key"):
        load(signed, key=KEY)


@pytest.mark.parametrize(("key", "error"), [("a secret that is text", TypeError), (b"short", ValueError)])
def test_keys_that_do_not_serve(key, error, signed):
    with pytest.raises(error, match="token_bytes"):
        load(signed, key=key)
    with pytest.raises(error, match="token_bytes"):
        save(LinearAUCClassifier(), signed, key=key)
