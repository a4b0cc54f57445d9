"""nnPU with a network; skipped without PyTorch, but for what must work without it."""

import importlib.util
import sys

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score

import fewlabel
from fewlabel import NeuralPUClassifier, make_pu
from fewlabel.neural import _batches

pytestmark = pytest.mark.filterwarnings("ignore::fewlabel.exceptions.PriorWarning")
needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed: pip install 'fewlabel[torch]'"
)


@pytest.fixture(scope="module")
def data():
    return make_pu(
        500,
        n_features=5,
        prior=0.4,
        labeled=80,
        separation=3.0,
        return_true=True,
        random_state=np.random.RandomState(0),
    )


def test_without_torch_the_error_names_the_extra(monkeypatch, data):
    monkeypatch.setitem(sys.modules, "torch", None)
    X, y, _ = data
    with pytest.raises(ImportError, match=r"pip install 'fewlabel\[torch\]'.*LinearPUClassifier"):
        NeuralPUClassifier(prior=0.3).fit(X, y)
    assert "NeuralPUClassifier" in dict(fewlabel.all_estimators())


@needs_torch
@pytest.mark.parametrize("loss", ["sigmoid", "logistic", "squared"])
@pytest.mark.parametrize("risk", ["upu", "nnpu"])
def test_ranks(risk, loss, data):
    X, y, true = data
    model = NeuralPUClassifier(risk, loss=loss, prior=0.29, max_iter=60, batch_size=100, random_state=0).fit(X, y)
    assert roc_auc_score(true, model.decision_function(X)) > 0.85
    assert len(model.loss_curve_) == model.n_iter_ == 60


@pytest.mark.parametrize(("n_p", "n_u", "size"), [(3, 500, 50), (80, 420, 100), (10, 3, 4), (1, 1, 1)])
def test_every_batch_holds_positives_and_unlabeled_rows(n_p, n_u, size):
    positive = np.arange(n_p + n_u) < n_p
    found = _batches(positive, size, np.random.default_rng(0))
    assert all(positive[batch].any() and not positive[batch].all() for batch in found)
    np.testing.assert_array_equal(np.unique(np.concatenate(found)), np.arange(n_p + n_u))


@needs_torch
def test_with_batch_normalization_the_paper_s_deep_network_learns(data):
    """One batch of all rows: the folded layers give what the last pass saw, and the risk falls."""
    X, y, true = data
    form = {"hidden_layer_sizes": (30,) * 4, "batch_norm": True, "batch_size": len(y), "prior": 0.29, "random_state": 0}
    model = NeuralPUClassifier("upu", max_iter=60, learning_rate=0.01, alpha=0.0, **form).fit(X, y)
    assert roc_auc_score(true, model.decision_function(X)) > 0.85
    last = model.decision_function(X) - model.offset_
    risk = 0.29 * expit(-last[y == 1]).mean() + expit(last[y == -1]).mean() - 0.29 * expit(last[y == 1]).mean()
    assert risk <= model.loss_curve_[-1] + 1e-3
    assert risk < 0.5 * model.loss_curve_[0]


@needs_torch
def test_reproducible_with_a_seed_and_leaves_the_global_one_alone(data):
    import torch

    X, y, _ = data
    torch.manual_seed(0)
    before = torch.rand(1).item()
    torch.manual_seed(0)
    models = [NeuralPUClassifier(prior=0.3, max_iter=5, random_state=4).fit(X, y) for _ in range(2)]
    assert torch.rand(1).item() == before
    np.testing.assert_array_equal(models[0].decision_function(X), models[1].decision_function(X))


@needs_torch
def test_no_hidden_layer_descends_the_linear_risk():
    """Full batch, no hidden layer, no decay: the curve is the risk, and its first value that of the first weights."""
    from fewlabel.linear._pu import LinearPURisk

    X, y = make_pu(200, n_features=3, n_informative=3, labeled=40, random_state=np.random.RandomState(0))
    model = NeuralPUClassifier(
        "upu",
        loss="logistic",
        prior=0.3,
        hidden_layer_sizes=(),
        alpha=0.0,
        batch_size=10_000,
        max_iter=400,
        learning_rate=0.05,
        random_state=0,
    ).fit(X, y)
    risk = LinearPURisk(X, y == 1, np.ones(len(X)), 0.3, "logistic", model.shift_, model.scale_)
    parameters = np.append(model.coefs_[0][:, 0], model.intercepts_[0])
    values, gradients = risk(parameters)
    assert values.sum() == pytest.approx(model.loss_curve_[-1], abs=0.01)
    np.testing.assert_allclose(sum(gradients), 0, atol=0.05)


@needs_torch
def test_nnpu_keeps_a_network_from_learning_by_heart():
    X, y, _ = make_pu(300, n_features=20, prior=0.4, labeled=40, separation=1.5, return_true=True, random_state=1)
    shared = dict(
        loss="sigmoid", prior=0.3, alpha=0.0, batch_size=400, max_iter=400, learning_rate=0.01, random_state=0
    )
    upu, nnpu = (NeuralPUClassifier(risk, **shared).fit(X, y) for risk in ("upu", "nnpu"))

    def negatives(model):
        loss = 1 / (1 + np.exp(-(model.decision_function(X) - model.offset_)))  # of the label -1
        return loss[y == -1].mean() - 0.3 * loss[y == 1].mean()

    assert negatives(upu) < -0.02
    assert negatives(nnpu) > negatives(upu)


@needs_torch
def test_a_saved_model_predicts_alike(tmp_path, data):
    X, y, _ = data
    model = NeuralPUClassifier(prior=0.3, max_iter=3, random_state=0).fit(X, y)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(fewlabel.load(tmp_path / "model.fewlabel").predict_proba(X), model.predict_proba(X))


def test_bad_parameters_are_named(data):
    X, y, _ = data
    with pytest.raises(ValueError, match="reverse_step"):
        NeuralPUClassifier(reverse_step=2).fit(X, y)
