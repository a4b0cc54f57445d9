"""Every estimator is saved, loaded, and predicts the same."""

import warnings

import numpy as np
import pytest

import fewlabel
from golden import models

TABLES = ("AutoClassifier", "TableClassifier", "TableEncoder")
# These have fitted estimators of other libraries, whose exponentials may differ in the last bit.
ROUNDED = ("QuasiBaggingClassifier",)


def fitted(name):
    kind = getattr(fewlabel, name)
    arguments = {**models.ARGUMENTS.get(name, {})}
    if "random_state" in kind().get_params():
        arguments["random_state"] = 0
    X, _, few = models.numbers(n_classes=3 if name in models.MANY_CLASSES else 2)
    if name in models.POSITIVES_ONLY:
        few = np.where(few == 1, 1, -1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return kind(**arguments).fit(X, few), X


@pytest.mark.parametrize("name", [name for name, _ in fewlabel.all_estimators() if name not in TABLES])
def test_every_estimator_loads_and_predicts_the_same(name, tmp_path):
    if name == "NeuralPUClassifier":
        pytest.importorskip("torch", reason="PyTorch is not installed")
    model, X = fitted(name)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    assert type(again) is type(model)
    assert str(again.get_params()) == str(model.get_params())
    compared = 0
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if not hasattr(model, method):
            continue
        compared += 1
        rtol = 1e-13 if name in ROUNDED else 0
        found = getattr(again, method)(X)
        expected = getattr(model, method)(X)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)
    assert compared
    unfitted = type(model)(**model.get_params(deep=False))
    fewlabel.save(unfitted, tmp_path / "model.fewlabel")
    assert vars(fewlabel.load(tmp_path / "model.fewlabel")) == vars(unfitted)
