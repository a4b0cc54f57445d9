import re

import numpy as np
import pytest

import fewlabel
from robustness import metamorphic


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_what_must_not_change_a_model(first):
    findings = list(metamorphic.findings(20, first))
    assert not findings, "\n".join(findings)


@pytest.mark.parametrize("name", metamorphic.names())
def test_each_estimator_has_cases(name):
    assert metamorphic.run_case(0, name) is None


def test_exceptions_are_documented():
    for phrase, names in metamorphic.EXCEPTIONS.values():
        for name in names:
            cls = getattr(fewlabel, name)
            assert re.search(phrase, f"{cls.__doc__} {cls.fit.__doc__}"), f"{name}: {phrase}"


def test_a_planted_difference_is_found():
    def moved(draw, rng):
        expected = draw.said
        return [
            part + np.eye(*part.shape if part.ndim == 2 else (1, len(part))).reshape(part.shape) for part in expected
        ], expected

    assert "moved" in metamorphic.run_case(0, relations=(moved,))
