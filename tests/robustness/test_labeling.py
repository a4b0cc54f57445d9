import os

import pytest

labeling = pytest.importorskip("robustness.labeling", reason="no resource limits on this system", exc_type=ImportError)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_no_acknowledged_answer_is_lost():
    assert list(labeling.findings(12)) == []
