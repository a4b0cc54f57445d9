"""A member that fails, is skipped or is not installed: its row says so, and nothing else changes."""

import re

import numpy as np
import pytest
from sklearn.exceptions import FitFailedWarning

from fewlabel import AutoClassifier, hide_labels
from fewlabel.auto import crossfit, learning_curve, members, views
from fewlabel.auto.experience import package_experience
from fewlabel.parts import Ranks
from fewlabel.parts.numbers import bounded
from fewlabel.rows import Rows

QUICK = dict(n_repeats=1, random_state=0)
SOME = ["logistic regression", "linear discriminant", "naive Bayes", "extra trees + components"]


@pytest.fixture(scope="module", autouse=True)
def _small_forests():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crossfit, "_FOLD_TREES", 5)
        patch.setattr(crossfit, "_FINAL_TREES", 10)
        yield


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 5))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=160) > 0).astype(int)
    return X, hide_labels(y, labeled=60, random_state=0)


def _breaks(monkeypatch, name, since=1):
    """Let the fits of a member fail from a certain one on."""
    member = next(m for m in members.PORTFOLIO if m.name == name)
    calls = []

    def make(context):
        calls.append(context)
        if len(calls) >= since:
            raise ArithmeticError("made\nto fail")
        return member.make(context)

    changed = tuple(m._replace(make=make) if m is member else m for m in members.PORTFOLIO)
    monkeypatch.setattr(members, "PORTFOLIO", changed)


@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("since", [1, 3, 6])  # the first fold, another one, the fit to all rows
def test_a_member_that_fails_changes_nothing_but_its_row(table, monkeypatch, name, since):
    X, y = table
    monkeypatch.setitem(package_experience().rule, "steepness", 0.0)  # every member is chosen
    without = AutoClassifier([m for m in SOME if m != name], **QUICK).fit(X, y)
    _breaks(monkeypatch, name, since)
    with pytest.warns(FitFailedWarning, match=re.escape(f"{name} (failed: ArithmeticError: made")):
        model = AutoClassifier(SOME, **QUICK).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))
    np.testing.assert_array_equal(model.out_of_fold_, without.out_of_fold_)
    assert model.ensemble_weights_ == without.ensemble_weights_
    board, last = model.leaderboard_.iloc[:-1], model.leaderboard_.iloc[-1]
    columns = ["method", "score", "low", "high", "weight", "status"]
    assert board[columns].equals(without.leaderboard_[columns])
    assert (last["method"], last["weight"], last["status"]) == (name, 0.0, "failed: ArithmeticError: made to fail")
    assert np.isnan(last["score"])


def test_the_learning_curve_does_without_a_member_that_fails(table, monkeypatch):
    X, y = table
    monkeypatch.setitem(package_experience().rule, "steepness", 0.0)  # every member is chosen
    model = AutoClassifier(SOME[:2], **QUICK).fit(X, y)

    def fail(context):
        raise ArithmeticError("made to fail")

    for broken in (1, 2):
        names = SOME[2 - broken : 2]
        changed = tuple(m._replace(make=fail) if m.name in names else m for m in members.PORTFOLIO)
        monkeypatch.setattr("fewlabel.auto.curves.PORTFOLIO", changed)
        curve = learning_curve(model, Rows.read(X, y))
        assert (curve is None) == (broken == 2)


def test_a_fit_without_any_member_left_names_the_reasons(table, monkeypatch):
    _breaks(monkeypatch, "naive Bayes")
    with pytest.raises(RuntimeError, match=r"naive Bayes \(failed: ArithmeticError: made to fail\)") as error:
        AutoClassifier(["naive Bayes"], **QUICK).fit(*table)
    assert isinstance(error.value.__cause__, ArithmeticError)


def test_a_view_that_cannot_be_learned_costs_its_members_only(table, monkeypatch):
    def fail(*_, **__):
        raise np.linalg.LinAlgError("no convergence")

    monkeypatch.setattr(views, "eigsh", fail)
    names = ["logistic regression", "RBF-SVM on graph features"]
    with pytest.warns(FitFailedWarning):
        model = AutoClassifier(names, **QUICK).fit(*table)
    status = model.leaderboard_.set_index("method")["status"]
    assert status["RBF-SVM on graph features"] == "failed: LinAlgError: no convergence"
    assert list(model.ensemble_weights_) == names[:1]


# Time and packages ------------------------------------------------------------------------------------------


def test_members_without_time_are_listed_and_not_reported_as_done(table):
    steps = []
    model = AutoClassifier(SOME, time_budget=1e-6, **QUICK).fit(*table, callback=lambda *step: steps.append(step))
    board = model.leaderboard_.set_index("method")["status"]
    assert board.to_dict() == {
        "logistic regression": "ok",
        "AutoClassifier": "ok",
        **dict.fromkeys(["linear discriminant", "naive Bayes", "extra trees + components"], "skipped: time budget"),
    }
    assert [name for _, _, name in steps][1:-1] == ["logistic regression"]
    assert steps[-1][:2] == (3, 3)


def test_a_failure_does_not_use_up_the_time_budget(table, monkeypatch):
    _breaks(monkeypatch, "logistic regression")
    with pytest.warns(FitFailedWarning):
        model = AutoClassifier(SOME, time_budget=1e-6, **QUICK).fit(*table)
    assert len(model.ensemble_weights_) == 1


def test_missing_packages_are_listed(table, monkeypatch):
    absent = ("catboost", "tabicl", "tabpfn")
    monkeypatch.setattr(members.importlib.util, "find_spec", lambda name: None if name in absent else object())
    model = AutoClassifier(["logistic regression", "CatBoost", "nnPU"], **QUICK).fit(*table)
    status = model.leaderboard_.set_index("method")["status"]
    assert status["CatBoost"] == "not installed: catboost"
    assert status["nnPU"] == "skipped: not for binary labels"
    with pytest.raises(ValueError, match=r"portfolio: CatBoost \(not installed: catboost\); choose from 'logistic"):
        AutoClassifier(["CatBoost"], **QUICK).fit(*table)
    tried, left_out = members.select_members("auto", "binary", True)
    assert not {m.name for m in tried} & {"CatBoost", "CatBoost + components", "TabICL", "extra trees"}
    assert {m.name: why for m, why in left_out.items()} == {"CatBoost": "not installed: catboost"}
    # With three classes or more CatBoost is a member on components, too.
    _, left_out = members.select_members("auto", "multiclass", True)
    assert {m.name for m in left_out} == {"CatBoost", "CatBoost + components"}


def test_members_whose_ranks_are_not_finite_are_left_out(table, monkeypatch):
    whole = crossfit.crossfit

    def spoiled(training, member, n_repeats):
        found = whole(training, member, n_repeats)
        return found._replace(ranks=found.ranks * np.nan) if member.name == "naive Bayes" else found

    monkeypatch.setattr(crossfit, "crossfit", spoiled)
    with pytest.warns(FitFailedWarning, match="not finite"):
        model = AutoClassifier(SOME, **QUICK).fit(*table)
    assert "naive Bayes" not in model.ensemble_weights_


# Columns and scores at the limits ---------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["binary", "multiclass", "positive-unlabeled"])
def test_half_of_300_columns_are_empty_among_the_labeled_rows(task):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 300))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.4, 0.8]) if task == "multiclass" else (X[:, 0] > 0).astype(int)
    few = np.where(np.arange(90) < 40, y, -1).astype(float)
    X[:40, 150:] = np.nan
    few[few == -1] = np.nan
    if task == "positive-unlabeled":
        few[few == 0] = np.nan
    model = AutoClassifier(n_repeats=1, prior=0.5 if task == "positive-unlabeled" else None, random_state=0)
    model.fit(X, few)
    assert not model.leaderboard_["status"].str.startswith("failed").any()
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_column_may_be_empty_in_one_fold_only(table):
    X, y = table[0].copy(), table[1]
    X[y >= 0, 4] = np.nan
    X[np.flatnonzero(y >= 0)[7], 4] = 1.0
    model = AutoClassifier(["histogram boosting"], **QUICK).fit(X, y)
    assert (model.leaderboard_["status"] == "ok").all()


TINY = np.nextafter(0.0, 1.0)


@pytest.mark.parametrize(
    "reference",
    [
        [0.0, TINY, 2 * TINY],
        [-1e300, 0.0, 1e300],
        [0.0, 1e-320, 1e-310, 1.0],
        [5.0],
        [1.0, np.nextafter(1.0, 2.0)],
        [-np.inf, 0.0, np.inf],
        [-1.7e308, 1.7e308],
    ],
)
def test_ranks_are_finite_and_in_order_for_any_score(reference):
    scores = np.unique([*reference, -np.inf, -1.7e308, -1.0, -TINY, 0.0, TINY, 3 * TINY, 1e-320, 1.0, 1.7e308, np.inf])
    ranks = Ranks.among(bounded(np.array(reference)[:, None]))(scores[:, None])[:, 0]
    assert np.isfinite(ranks).all()
    assert (np.diff(ranks) >= 0).all()
    assert ((ranks >= 0) & (ranks <= 1)).all()


def test_ranks_between_reference_scores_are_interpolated():
    reference = np.array([[0.0], [1.0], [1.0], [4.0]])
    scores = np.array([[-1.0], [0.0], [0.5], [1.0], [2.5], [4.0]])
    expected = np.interp(scores[1:, 0], [0.0, 1.0, 4.0], [0.125, 0.5, 0.875])
    np.testing.assert_allclose(Ranks.among(reference)(scores)[1:, 0], expected)


def test_naive_bayes_with_tiny_probabilities():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = np.repeat(3.0 * y[:, None], 250, axis=1) + rng.normal(size=(60, 250))
    model = AutoClassifier(["naive Bayes"], **QUICK).fit(np.r_[X, rng.normal(size=(80, 250))], np.r_[y, [-1] * 80])
    assert (model.leaderboard_["status"] == "ok").all()
    assert np.isfinite(model.decision_function(X)).all()


def test_a_method_whose_time_grows_with_the_cube_of_the_columns_is_left_out_of_wide_tables():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 501))
    y = np.arange(40) % 2
    model = AutoClassifier(["linear discriminant", "logistic regression"], n_repeats=1, random_state=0).fit(X, y)
    status = model.leaderboard_.set_index("method")["status"]
    assert status["linear discriminant"] == "skipped: more than 500 columns"
    assert model.ensemble_weights_ == {"logistic regression": 1.0}


def test_methods_on_distances_are_left_out_of_tables_with_thousands_of_columns():
    counts = np.array([20, 20])
    left_out = {member.name: why for member, why in members.unfit_members(members.portfolio(), counts, 1025).items()}
    distances = {member.name for member in members.portfolio() if member.view == "spectral"}
    distances |= {"path neighbors", "label spreading"}
    assert {left_out[name] for name in distances} == {"skipped: more than 1024 columns"}
    assert not distances & {member.name for member in members.unfit_members(members.portfolio(), counts, 1024)}
