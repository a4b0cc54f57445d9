import time

import numpy as np
import pytest

from robustness import fuzz_files

pytest.importorskip("resource", reason="memory is limited on Unix")
pytestmark = pytest.mark.skipif(not fuzz_files.Path("/proc/self/statm").exists(), reason="memory is measured on Linux")


def test_damaged_and_forged_files_do_no_harm():
    assert list(fuzz_files.findings(60, patience=600)) == []


def outcome(monkeypatch, tmp_path, load, damaged=True, expected=0):
    monkeypatch.setattr(fuzz_files, "change", lambda content, rng: (b"changed", damaged))
    monkeypatch.setattr(fuzz_files.fewlabel, "load", load)
    monkeypatch.setattr(fuzz_files, "predictions", lambda model: [np.array([model])])
    fuzz_files.signal.signal(fuzz_files.signal.SIGALRM, fuzz_files._too_slow)
    return fuzz_files.run_case(1, {"model": (b"", [np.array([expected])])}, tmp_path / "m")


def fails(error):
    def load(path):
        raise error

    return load


def test_what_is_a_finding(monkeypatch, tmp_path):
    refused = fuzz_files.UntrustedFileError
    assert outcome(monkeypatch, tmp_path, fails(refused("damaged"))) is None
    assert "memory" in outcome(monkeypatch, tmp_path, fails(refused("damaged (MemoryError: )")))
    assert "memory" in outcome(monkeypatch, tmp_path, fails(MemoryError()))
    assert "failed" in outcome(monkeypatch, tmp_path, fails(IndexError()))
    assert outcome(monkeypatch, tmp_path, fails(IndexError()), damaged=False) is None
    assert "other predictions" in outcome(monkeypatch, tmp_path, lambda path: 1)
    assert outcome(monkeypatch, tmp_path, lambda path: 1, damaged=False) is None
    assert outcome(monkeypatch, tmp_path, lambda path: 0) is None
    monkeypatch.setattr(fuzz_files, "SECONDS_PER_CASE", 0.05)
    assert "more than" in outcome(monkeypatch, tmp_path, lambda path: time.sleep(5))
