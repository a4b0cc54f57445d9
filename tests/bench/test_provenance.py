"""Where stored results come from."""

import ast
import subprocess

import pandas as pd
import pytest

from benchmarks.harness import SUITES, get_suite, provenance


@pytest.fixture
def sources(monkeypatch):
    """Modules of a made-up repository: `one` imports `two`, which imports `three`; `other` imports nothing."""
    texts = {
        "benchmarks.one": "from benchmarks.two import f\n",
        "benchmarks.two": '"""Text."""\nimport benchmarks.three\n\ndef f(x=1):\n    return x\n',
        "benchmarks.three": "LIMIT = 3\n",
        "benchmarks.other": "x = 1\n",
    }
    monkeypatch.setattr(provenance, "_parse", lambda name: ast.parse(texts[name]))
    monkeypatch.setattr(provenance, "_module_of", lambda package, name: package)
    provenance.code_hash.cache_clear()
    yield texts
    provenance.code_hash.cache_clear()


@pytest.mark.parametrize(
    ("module", "old", "new", "same"),
    [
        ("benchmarks.two", "Text.", "Other text.", True),
        ("benchmarks.two", "\n\ndef", "\n\n\n# why\ndef", True),
        ("benchmarks.two", "x=1", "x=2", False),  # a default
        ("benchmarks.three", "3", "4", False),  # two imports away
        ("benchmarks.other", "1", "2", True),
    ],
)
def test_the_hash_changes_with_the_code_that_is_used(sources, module, old, new, same):
    before = provenance.code_hash("benchmarks.one")
    sources[module] = sources[module].replace(old, new)
    provenance.code_hash.cache_clear()
    assert (provenance.code_hash("benchmarks.one") == before) == same


def test_a_suite_depends_on_its_estimators_and_not_on_others():
    modules = provenance._closure("benchmarks.papers.ssmab.experiment")
    assert {"fewlabel.boosting._multiclass", "fewlabel.base", "benchmarks.papers.weka"} <= modules
    assert not {name for name in modules if name.startswith(("fewlabel.multiview", "fewlabel.cli"))}


def commits_outside_history(root, cited):
    """Which commits, given by the first digits of their hash, are not among those that the last commit builds on."""
    command = ["git", "-C", str(root), "rev-list", "HEAD"]
    history = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return {commit for commit in cited if not any(full.startswith(commit) for full in history)}


def test_a_made_up_commit_and_one_of_another_branch_are_noticed(tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=A", "-c", "user.email=a@b.c"]
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    git("init", "--quiet", "--initial-branch", "main")
    git("commit", "--quiet", "--allow-empty", "--message", "first")
    first = git("rev-parse", "--short=7", "HEAD")
    git("commit", "--quiet", "--allow-empty", "--message", "second")
    second = git("rev-parse", "--short=7", "HEAD")
    git("reset", "--quiet", "--hard", first)
    # The second is still in the repository, but a clone would not have it.
    assert git("cat-file", "-t", second) == "commit"
    assert commits_outside_history(tmp_path, {first, second, "0badbad"}) == {second, "0badbad"}


@pytest.mark.parametrize("name", SUITES)
def test_every_cited_commit_is_in_the_history(name, pytestconfig):
    command = ["git", "-C", str(pytestconfig.rootpath), "rev-parse", "--is-shallow-repository"]
    shallow = subprocess.run(command, capture_output=True, text=True)
    if shallow.stdout.strip() != "false":
        pytest.skip("no checkout with its whole history")
    cited = set(pd.read_parquet(get_suite(name).stored)["commit"].dropna()) - {""}
    assert not commits_outside_history(pytestconfig.rootpath, cited)


@pytest.mark.parametrize("name", SUITES)
def test_every_cell_names_its_commit(name):
    stored = pd.read_parquet(get_suite(name).stored)
    assert (stored["commit"].fillna("") != "").all()
