"""What positive-unlabeled classifiers share."""

import numpy as np
import pytest

import fewlabel
from fewlabel import LinearPUClassifier, PUAdaBoostClassifier
from fewlabel.exceptions import LabelError

ESTIMATORS = [PUAdaBoostClassifier, LinearPUClassifier]


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_weights_equal_repetition_with_a_given_prior(Estimator):
    X, y = fewlabel.make_pu(80, n_features=3, n_informative=2, prior=0.4, labeled=15, random_state=0)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    model = Estimator(prior=0.3, random_state=0).fit(X, y, weight)
    repeated = Estimator(prior=0.3, random_state=0).fit(
        np.repeat(X, weight.astype(int), 0), np.repeat(y, weight.astype(int))
    )
    np.testing.assert_allclose(model.predict_proba(X), repeated.predict_proba(X), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_a_group_without_weight_is_an_error(Estimator):
    X, y = np.arange(6.0)[:, None], np.array([1, 1, -1, -1, -1, -1])
    with pytest.raises(LabelError, match="every unlabeled row has sample_weight 0"):
        Estimator(prior=0.5).fit(X, y, (y == 1) * 1.0)


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_probabilities_rise_with_the_score_and_part_at_one_half(Estimator):
    X, y, true = fewlabel.make_pu(600, prior=0.3, labeled=60, return_true=True, random_state=1)
    model = Estimator(prior=0.25, random_state=0).fit(X, y)
    p, score = model.predict_proba(X)[:, 1], model.decision_function(X)
    order = np.argsort(score)
    assert (np.diff(p[order]) >= 0).all()
    np.testing.assert_array_equal(p > 0.5, score > 0)
    assert p[true == 1].mean() > p[true == 0].mean() + 0.2
