import numpy as np
import pandas as pd
import pytest

from fewlabel import AutoClassifier, TableClassifier, scorecard
from fewlabel.auto import AdditiveChoice


def noisy_line(n=120):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    return X, pd.Series(np.where(X["a"] + rng.normal(size=n) > 0, "bad", "good"))


def test_the_best_additive_member_is_the_model_and_the_others_are_compared_with_it():
    X, y = noisy_line()
    auto = AutoClassifier(["naive Bayes", "RankBoost"], interpretable=True, n_repeats=1, random_state=0).fit(X, y)
    alone = AutoClassifier(["RankBoost"], n_repeats=1, random_state=0).fit(X, y)
    assert list(auto.members_) == ["RankBoost"]
    np.testing.assert_array_equal(auto.decision_function(X), alone.decision_function(X))
    np.testing.assert_array_equal(auto.out_of_fold_, alone.out_of_fold_)
    assert auto.headline_ == alone.headline_
    board = auto.leaderboard_.set_index("method")
    assert board.loc["naive Bayes", "weight"] == 0
    assert np.isfinite(board.loc["naive Bayes", "score"])
    choice = auto.additive_choice_
    assert choice == ("RankBoost", board.loc["RankBoost", "score"], "naive Bayes", board.loc["naive Bayes", "score"])
    assert alone.additive_choice_ is None


def test_a_scorecard_follows_from_it():
    X, y = noisy_line()
    estimator = AutoClassifier("small", interpretable=True, n_repeats=1, random_state=0)
    model = TableClassifier(estimator).fit(X, y)
    assert set(model.estimator_.leaderboard_["method"]) > {"additive boosting", "logistic regression"}
    assert scorecard(model)["column"].isin(["(base)", "a", "b", "c"]).all()


def test_positives_only_have_an_additive_method():
    X, y = noisy_line()
    y = y.where((y == "bad") & (np.arange(len(y)) % 2 == 0))
    model = AutoClassifier(["nnPU", "Ada-PU"], interpretable=True, prior=0.3, n_repeats=1, random_state=0).fit(X, y)
    assert list(model.members_) == ["Ada-PU"]


def test_a_time_budget_does_not_leave_it_out():
    X, y = noisy_line()
    model = AutoClassifier("small", interpretable=True, time_budget=1e-6, random_state=0).fit(X, y)
    assert list(model.members_) == ["additive boosting"]


def test_the_text_says_what_it_costs():
    assert "costs 0.050" in AdditiveChoice("RankBoost", 0.9, "extra trees", 0.95).text
    assert "no other method has a higher score" in AdditiveChoice("RankBoost", 0.9, "RankBoost", 0.9).text


@pytest.mark.parametrize(("portfolio", "classes"), [("small", "abc"), (["naive Bayes"], "ab")])
def test_without_an_additive_method_the_error_says_what_is_needed(portfolio, classes):
    X, y = np.arange(60.0)[:, None] % 7, list(classes) * (60 // len(classes))
    with pytest.raises(ValueError, match="none of the methods for these labels is additive"):
        AutoClassifier(portfolio, interpretable=True, random_state=0).fit(X, y)


def test_no_other_method_takes_the_place_of_one_that_fails(monkeypatch):
    from fewlabel import PNUAUCBoostClassifier

    def fail(self, *arguments):
        raise FloatingPointError("no")

    monkeypatch.setattr(PNUAUCBoostClassifier, "_fit", fail)
    X, y = noisy_line()
    with pytest.raises(RuntimeError, match="no additive method could be fitted: RankBoost"):
        AutoClassifier(["naive Bayes", "RankBoost"], interpretable=True, random_state=0).fit(X, y)


def test_the_long_booster_needs_labels_of_both_classes():
    X, y = noisy_line(240)
    few = y.where(np.arange(len(y)) < 80)
    by_labels = {}
    for labels in (few, y):
        auto = AutoClassifier("small", interpretable=True, n_repeats=1, random_state=0).fit(X, labels)
        board = auto.leaderboard_.set_index("method")
        by_labels[labels is y] = np.isfinite(board["score"].get("long additive boosting", np.nan))
    assert by_labels == {False: False, True: True}
