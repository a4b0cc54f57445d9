import numpy as np
import pandas as pd
import pytest

from fewlabel import AutoClassifier, TableClassifier, scorecard
from fewlabel.auto import portfolio
from fewlabel.tables import AdditiveChoice, fit_additive


def test_the_best_additive_method_is_fitted_alone_and_its_cost_is_told():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    y = pd.Series(np.where(X["a"] + rng.normal(size=120) > 0, "bad", "good"))
    auto = AutoClassifier(["naive Bayes", "RankBoost"], n_repeats=1, random_state=0)
    model = TableClassifier(auto)
    found = fit_additive(model, model.encode(X, y))
    assert found.method == "RankBoost"
    assert list(model.estimator_.members_) == ["RankBoost"]
    assert model.estimator is auto
    assert scorecard(model)["column"].isin(["(base)", "a", "b", "c"]).all()
    assert found.best_score >= found.score


def test_additive_methods_are_compared_though_they_are_not_tried_by_default(monkeypatch):
    few = [member for member in portfolio() if member.name in ("naive Bayes", "RankBoost")]
    monkeypatch.setattr("fewlabel.tables.additive.portfolio", lambda: few)
    model = TableClassifier(AutoClassifier(n_repeats=1, random_state=0))
    X = pd.DataFrame({"a": np.arange(60.0) % 7})
    assert fit_additive(model, model.encode(X, np.where(X["a"] > 3, "bad", "good"))).method == "RankBoost"
    assert model.estimator.portfolio == "auto"


def test_the_text_says_what_it_costs():
    assert "costs 0.050" in AdditiveChoice("RankBoost", 0.9, "extra trees", 0.95).text
    assert "no other method has a higher score" in AdditiveChoice("RankBoost", 0.9, "RankBoost", 0.9).text


def test_three_classes_have_no_additive_method():
    X, y = pd.DataFrame({"a": np.arange(60.0) % 7}), list("abc") * 20
    model = TableClassifier(AutoClassifier(["naive Bayes"], n_repeats=1, random_state=0))
    with pytest.raises(ValueError, match="none of the methods for these labels is additive"):
        fit_additive(model, model.encode(X, y))
