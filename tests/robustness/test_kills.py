import os
import signal
from pathlib import Path

import pytest

from fewlabel.file_sets import atomic_set, restore_set

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
kills = pytest.importorskip("robustness.kills", reason="Dask is not installed") if hasattr(os, "fork") else None


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_process_leaves_whole_files_and_finished_work():
    assert list(kills.findings(12)) == []


class HalfWritten(kills.FewFiles if kills else object):
    """Three files, one after the other."""

    def do(self, k):
        for name in "abc":
            Path("model", name).write_text(str(k))
            kills.time.sleep(0.01)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_planted_fault_is_found(monkeypatch):
    monkeypatch.setitem(kills.JOBS, "planted", HalfWritten)
    assert any("several sets" in finding for finding in kills.findings(8, only="planted"))


def replace_set(step):
    """Replace files of a set; killed at one of the steps on the disk."""
    done = 0

    def counted(function):
        def call(*args):
            nonlocal done
            done += 1
            if done == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args)

        return call

    os.replace, os.link, os.fsync, os.unlink = map(counted, (os.replace, os.link, os.fsync, os.unlink))
    with atomic_set("a", "b", "c") as drafts:
        for draft in drafts:
            draft.write_text("new")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("old", ["", "a", "abc"])
def test_killed_at_every_step_of_replacing_a_set(old, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcomes = []
    for step in range(1, 40):
        for name in "abc":
            Path(name).unlink(missing_ok=True)
        for name in old:
            Path(name).write_text("old")
        child = os.fork()
        if not child:
            replace_set(step)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        restore_set(".")
        assert not Path(".fewlabel-set.json").exists()
        found = {path.name: path.read_text() for path in Path().iterdir() if len(path.name) == 1}
        outcomes.append(found)
        assert found in (dict.fromkeys(old, "old"), dict.fromkeys("abc", "new")), f"step {step}"
        if status == 0:
            break
    assert outcomes[0] == dict.fromkeys(old, "old")
    assert outcomes[-1] == dict.fromkeys("abc", "new")
    assert 5 < step < 39


def test_a_journal_of_somebody_else_touches_no_other_file(tmp_path):
    (tmp_path / "kept").write_text("kept")
    folder = tmp_path / "models"
    folder.mkdir()
    hostile = '[["../kept", "x", "../kept", true], [".fewlabel-0123456789abcdef.tmp", "../kept", "y", true]]'
    for content in (hostile, "[]", "nonsense", "[[1]]", '{"a": 1}'):
        (folder / ".fewlabel-set.json").write_text(content)
        restore_set(folder)
        assert (tmp_path / "kept").read_text() == "kept"
