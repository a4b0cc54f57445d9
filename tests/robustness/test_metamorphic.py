import numpy as np
import pytest

from robustness import metamorphic


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_what_must_not_change_a_model(first):
    findings = [found for seed in range(first, first + 50) if (found := metamorphic.run_case(seed))]
    assert not findings, "\n".join(findings)


def test_a_planted_difference_is_found(monkeypatch):
    def moved(model, X, y, rng):
        decision, probability = metamorphic.scores(model, X, y, X)
        return decision + np.eye(1, len(decision))[0], probability

    monkeypatch.setattr(metamorphic, "RELATIONS", {moved: metamorphic.ESTIMATORS})
    assert "moved" in metamorphic.run_case(0)
