"""The methods of PNU-AUCBoost's Table 2, and the tables that are kept for it."""

import numpy as np
import pytest

from benchmarks.harness import SUITES, get_suite
from benchmarks.papers.pnu_auc import methods as methods_of
from benchmarks.quality import cells
from fewlabel import hide_labels


def test_the_gammas_of_pnuauc_reach_from_negatives_over_labeled_rows_only_to_positives():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.normal(size=(120, 3)) + y[:, None]
    few = hide_labels(y, labeled=0.3, random_state=0)
    found, labeled_only = (dict(methods_of.all_scores(m, X, few, X[:20], 0.5, 0)) for m in ("PNUAUC", "LSAUC"))
    for alpha in (0.001, 0.1):
        of_gamma = {g: found[f"gamma {g}, alpha {alpha:g}"] for g in (-1, -0.5, 0, 0.5, 1)}
        np.testing.assert_allclose(of_gamma[0], labeled_only[f"alpha {alpha:g}"], rtol=1e-6, atol=1e-9)
        for gamma in (-1, -0.5, 0.5, 1):  # the sign picks PU or NU
            assert not np.allclose(of_gamma[gamma], of_gamma[0])
        assert not np.allclose(of_gamma[-1], of_gamma[1])


@pytest.mark.parametrize("name", sorted(set(SUITES) - {"pnu-auc"}))
def test_tables_of_keel_are_used_for_this_paper_only(name):
    kept = {"phoneme", "vehicle2"}
    assert kept <= set(cells.LEFT_OUT)
    assert not kept & {dataset for experiment in get_suite(name).experiments for dataset in experiment.datasets}
