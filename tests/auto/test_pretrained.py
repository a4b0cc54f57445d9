"""TabICL and TabPFN: members if their weights are on the machine, a note otherwise."""

import pickle
import sys
import types
import warnings

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression

from fewlabel import AutoClassifier
from fewlabel.auto import members

QUICK = dict(n_repeats=1, random_state=0)
SOME = ["logistic regression", "TabICL", "TabPFN"]


class Pretrained(LogisticRegression):
    """Stands for the classes of both packages."""

    weights = True

    def __init__(self, n_estimators=1, allow_auto_download=True, model_path="auto", device="auto", random_state=None):
        super().__init__(random_state=random_state)
        self.n_estimators, self.allow_auto_download = n_estimators, allow_auto_download
        self.model_path, self.device = model_path, device

    def fit(self, X, y):
        assert not self.allow_auto_download or self.model_path != "auto", "this would download the weights"
        if not self.weights:
            raise ValueError("Checkpoint 'x' not cached and automatic download is disabled.")
        return super().fit(np.nan_to_num(X), y)


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Both packages as modules; TabPFN looks for its weights in `tmp_path`."""
    for package, name in (("tabicl", "TabICLClassifier"), ("tabpfn", "TabPFNClassifier")):
        module = types.ModuleType(package)
        setattr(module, name, Pretrained)
        monkeypatch.setitem(sys.modules, package, module)
    find = members.importlib.util.find_spec
    monkeypatch.setattr(members.importlib.util, "find_spec", lambda name: name in sys.modules or find(name))
    monkeypatch.setenv("TABPFN_MODEL_CACHE_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    y[40:] = -1
    return X, y


def test_they_join_with_their_weights_and_are_pickled_without(installed, table):
    (installed / "tabpfn-v2-classifier.ckpt").touch()
    model = AutoClassifier(SOME[1:], **QUICK).fit(*table)
    assert (model.leaderboard_["status"] == "ok").all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(table[0]), model.decision_function(table[0]))


def test_missing_weights_are_a_note_not_a_warning(installed, table, monkeypatch):
    monkeypatch.setattr(Pretrained, "weights", False)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FitFailedWarning)
        model = AutoClassifier(SOME, **QUICK).fit(*table)
    status = model.leaderboard_.set_index("method")["status"]
    remedy = "skipped: the weights are not on this machine; {}().fit(X, y) downloads them"
    assert status["TabICL"] == remedy.format("tabicl.TabICLClassifier")
    assert status["TabPFN"] == remedy.format("tabpfn.TabPFNClassifier")
    assert list(model.ensemble_weights_) == ["logistic regression"]
    without = AutoClassifier(SOME[:1], **QUICK).fit(*table)
    np.testing.assert_array_equal(model.decision_function(table[0]), without.decision_function(table[0]))


def test_other_errors_are_failures(installed, table, monkeypatch):
    def fail(self, X, y):
        raise ValueError("too many columns")

    monkeypatch.setattr(Pretrained, "fit", fail)
    with pytest.warns(FitFailedWarning, match="too many columns"):
        AutoClassifier(SOME[:2], **QUICK).fit(*table)


@pytest.mark.parametrize(("platform", "end"), [("linux", ".cache/tabpfn"), ("darwin", "Library/Caches/tabpfn")])
def test_where_tabpfn_keeps_its_weights(platform, end, monkeypatch, tmp_path):
    from fewlabel.auto import pretrained

    for name in ("TABPFN_MODEL_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(pretrained.sys, "platform", platform)
    assert pretrained._tabpfn_cache() == tmp_path / end
