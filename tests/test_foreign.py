"""Names that other libraries keep private: a test for each, so that one that moves is found by its name."""

import numba
import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from fewlabel.foreign import numba as numba_names
from fewlabel.foreign import scikit_learn as names


@pytest.fixture(scope="module")
def rows():
    return make_classification(n_samples=60, n_features=4, random_state=0)


@pytest.mark.parametrize(
    ("constraint", "allowed", "refused"),
    [
        (names.Interval(names.RealNotInt, 0, 1, closed="right"), 0.5, 1),
        (names.StrOptions({"a", "b"}), "a", "c"),
        (names.HasMethods(["fit"]), SVC(), 3),
    ],
)
def test_constraints(constraint, allowed, refused):
    assert constraint.is_satisfied_by(allowed)
    assert not constraint.is_satisfied_by(refused)


def test_validate_params():
    class Estimator(BaseEstimator):
        _parameter_constraints = {"k": [names.StrOptions({"a"})]}

        def __init__(self, k="a"):
            self.k = k

    names.validate_parameters(Estimator())
    with pytest.raises(ValueError, match="'k' parameter"):
        names.validate_parameters(Estimator("b"))


def test_attributes_that_are_set_outside_fit():
    scaler = StandardScaler().set_output(transform="pandas")
    assert [name for name in vars(scaler) if name.startswith("_")] == ["_sklearn_output_config"]
    assert "_sklearn_output_config".startswith(names.SET_OUTSIDE_FIT)


def test_rows_of_nearest_neighbors(rows):
    X, y = rows
    kept, codes = names.neighbor_rows(KNeighborsClassifier().fit(X, np.array(["a", "b"])[y]))
    np.testing.assert_array_equal(kept, X)
    np.testing.assert_array_equal(codes, y)


def test_width_of_a_kernel(rows):
    X, y = rows
    assert names.kernel_width(SVC(gamma="scale").fit(X, y)) == pytest.approx(1 / (X.shape[1] * X.var()))


def test_trees_of_histogram_boosting(rows):
    X, y = rows
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=2, min_samples_leaf=5).fit(X, y)
    start, stages = names.boosted_trees(model)
    scores = np.full(len(X), start[0])
    for [nodes] in stages:
        root = nodes[0]
        goes_left = X[:, root["feature_idx"]] <= root["num_threshold"]
        scores += np.where(goes_left, nodes[root["left"]]["value"], nodes[root["right"]]["value"])
    np.testing.assert_allclose(scores, model.decision_function(X))


def test_cache_of_a_kernel(tmp_path, monkeypatch):
    looked_up = []

    class Cache(numba_names.FunctionCache):
        def load_overload(self, sig, target_context):
            looked_up.append(sig)
            return super().load_overload(sig, target_context)

    def double(x):
        return 2 * x

    kernel = numba.njit(double)
    numba_names.set_cache(kernel, Cache(double))
    assert kernel(3) == 6
    assert len(looked_up) == 1
