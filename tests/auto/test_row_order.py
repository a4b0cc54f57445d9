"""The order of the rows in the file changes nothing."""

import numpy as np
import pytest

from fewlabel import AutoClassifier
from fewlabel.row_order import row_hashes, value_order

MEMBERS = {
    "binary": ["naive Bayes", "extra trees + components", "RBF-SVM on graph features"],
    "multiclass": ["naive Bayes", "extra trees + components"],
    "positive-unlabeled": ["logistic regression", "extra trees"],
}


def table(task):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(160, 3)), 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    X[80:90] = X[:10]  # copies
    y = np.digitize(np.nan_to_num(X[:, 0]) + 0.5 * rng.normal(size=160), [0.0, 0.8] if task == "multiclass" else [0.0])
    few = np.where(rng.random(160) < 0.4, y, -1)
    return X, np.where(few == 1, 1, -1) if task == "positive-unlabeled" else few


@pytest.mark.parametrize("task", ["binary", "multiclass", "positive-unlabeled"])
@pytest.mark.parametrize("options", [{}, {"sample_weight": True, "groups": True}])
def test_the_same_model_in_any_order(task, options):
    X, y = table(task)
    values = {"sample_weight": 1.0 + np.arange(160) % 3, "groups": np.array([f"g{k // 4}" for k in range(160)])}
    given = {name: values[name] for name in options}
    model = AutoClassifier(MEMBERS[task], n_repeats=1, random_state=0).fit(X, y, **given)
    order = np.random.default_rng(1).permutation(160)
    again = AutoClassifier(MEMBERS[task], n_repeats=1, random_state=0).fit(
        X[order], y[order], **{name: array[order] for name, array in given.items()}
    )
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    # NaN equals itself here: without an estimate, there is no score.
    np.testing.assert_equal(again.headline_, model.headline_)
    assert (np.diff(again.labeled_rows_) > 0).all()
    # Rows with the same values may change places.
    known = np.sort(np.c_[model.out_of_fold_.reshape(len(model.labeled_rows_), -1)], axis=0)
    np.testing.assert_array_equal(np.sort(again.out_of_fold_.reshape(known.shape), axis=0), known)


def test_out_of_fold_scores_belong_to_their_rows():
    X, y = table("binary")
    model = AutoClassifier(["naive Bayes"], n_repeats=1, random_state=0).fit(X, y)
    decision = model.decision_function(X[model.labeled_rows_])
    assert np.corrcoef(decision, model.out_of_fold_)[0, 1] > 0.9  # of models that hardly differ
    assert (y[model.labeled_rows_] >= 0).all()


def test_hashes_see_every_value_and_its_place_only():
    X = np.array([[0.0, np.nan, 2.0], [-0.0, -np.nan, 2.0], [np.nan, 0.0, 2.0], [0.0, np.nan, 2.5]])
    first, second, third, fourth = row_hashes(X)
    assert first == second
    assert len({int(first), int(third), int(fourth)}) == 3


def test_equal_rows_are_ordered_by_what_else_is_known():
    X = np.zeros((4, 2))
    assert value_order(X, np.array([1, 0, 1, 0]), None, np.array([2.0, 3.0, 1.0, 0.0])).tolist() == [3, 1, 2, 0]
