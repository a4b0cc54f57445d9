import os
import signal
from pathlib import Path

import pytest

from fewlabel.file_sets import atomic_set

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
kills = pytest.importorskip("robustness.kills", reason="Dask is not installed") if hasattr(os, "fork") else None


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_killed_process_leaves_whole_files_and_finished_work():
    assert list(kills.findings(6)) == []


class HalfWritten(kills.FewFiles if kills else object):
    """Three files, one after the other."""

    def do(self, k):
        for name in "abc":
            Path("model", name).write_text(str(k))
            kills.time.sleep(0.01)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_planted_fault_is_found(monkeypatch):
    monkeypatch.setitem(kills.JOBS, "planted", HalfWritten)
    assert any("newer than others" in finding for finding in kills.findings(8, only="planted"))


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

    os.replace, os.fsync, os.unlink, os.chmod = map(counted, (os.replace, os.fsync, os.unlink, os.chmod))
    with atomic_set("a", "b", "c") as drafts:
        for draft in drafts:
            draft.write_text("new")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("old", ["", "a", "abc"])
def test_killed_at_every_step_of_replacing_a_set(old, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcomes = []
    for step in range(1, 40):
        for path in Path().iterdir():
            path.unlink()
        for name in old:
            Path(name).write_text("old")
        child = os.fork()
        if not child:
            replace_set(step)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        found = {path.name: path.read_text() for path in Path().iterdir() if len(path.name) == 1}
        outcomes.append(found)
        assert set(found.values()) <= {"old", "new"}
        assert found.get("a") != "new" or found == dict.fromkeys("abc", "new"), f"step {step}"
        if status == 0:
            break
    assert outcomes[0] == dict.fromkeys(old, "old")
    assert outcomes[-1] == dict.fromkeys("abc", "new")
    assert 3 < step < 39
