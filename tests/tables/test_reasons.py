"""Reasons: exact for sums of step functions, Shapley values for the others."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabel import AutoClassifier, PNUAUCBoostClassifier, TableClassifier, load, save
from fewlabel.parts.explanations import explain_by_sampling
from fewlabel.tables import score_table, table_classifier


def make_rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "purpose": rng.choice(["car", "house", "trip"], n),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
        }
    )
    score = (rows["age"] - 40) / 10 + 2 * (rows["purpose"] == "car") + rows["income"].fillna(1.0)
    return rows, pd.Series(np.where(score + rng.normal(size=n) > 1, "bad", "good"), name="y")


@pytest.fixture(scope="module")
def rows():
    return make_rows()


@pytest.fixture(scope="module")
def booster(rows):
    return TableClassifier(PNUAUCBoostClassifier(n_estimators=60, random_state=0), positive="bad").fit(*rows)


@pytest.fixture(scope="module")
def linear(rows):
    X, y = rows
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return TableClassifier(model, positive="bad").fit(X.fillna({"income": 0.0}), y)


def test_reasons_of_an_additive_model_sum_to_its_score(booster, rows):
    found = booster.explain(rows[0])
    assert list(found.contributions) == ["age", "purpose", "income"]
    assert found.standard_error is None
    np.testing.assert_allclose(
        booster.explain(rows[0]).base, booster.estimator_.decision_function(booster.reference_).mean()
    )
    total = found.contributions.sum(axis=1) + found.base
    np.testing.assert_allclose(total, score_table(booster, rows[0])["score"], rtol=0, atol=1e-12)


def test_the_only_member_of_an_auto_classifier_is_explained_exactly(rows):
    X, y = rows
    model = TableClassifier(AutoClassifier(["RankBoost"], n_repeats=1, random_state=0), positive="bad").fit(X, y)
    found = model.explain(X)
    assert found.standard_error is None
    np.testing.assert_allclose(found.contributions.sum(axis=1) + found.base, found.score, rtol=0, atol=1e-12)
    ranked = pd.Series(found.score).rank()
    assert ranked.corr(pd.Series(score_table(model, X)["score"]).rank()) > 0.9999


def test_sampled_reasons_of_a_linear_model_are_its_terms(linear, rows):
    X = rows[0].fillna({"income": 0.0})[:20]
    with pytest.warns(ConvergenceWarning):  # all 50 reference rows are used
        found = linear.explain(X, tol=1e-6, max_rounds=50)
    scaler, model = linear.estimator_
    terms = (linear.encoder_.transform(X) - linear.reference_.mean(axis=0)) / scaler.scale_ * model.coef_[0]
    expected = pd.DataFrame(terms, columns=linear.encoder_.sources_).T.groupby(level=0).sum().T
    np.testing.assert_allclose(found.contributions["age"], expected["age"], atol=0.1)
    np.testing.assert_allclose(found.contributions["purpose"], expected["purpose"], atol=0.25)
    np.testing.assert_allclose(found.contributions.sum(axis=1) + found.base, found.score, atol=1e-9)


def test_a_row_has_the_same_reasons_alone_and_among_others(linear, rows):
    X = rows[0].fillna({"income": 0.0})[:8]
    together = linear.explain(X, max_rounds=50)
    alone = pd.concat([linear.explain(X[k : k + 1], max_rounds=50).contributions for k in range(8)], ignore_index=True)
    pd.testing.assert_frame_equal(together.contributions, alone)


def test_a_column_that_is_as_in_the_reference_row_adds_nothing(linear, rows):
    X = rows[0].fillna({"income": 0.0})[:30]
    features = linear.encoder_.transform(X)
    asked = []

    def decide(table):
        asked.append(len(table))
        return linear.estimator_.decision_function(table)

    groups = linear.encoder_.part_.groups
    found = explain_by_sampling(decide, groups, features, features[:1], max_rounds=4)
    np.testing.assert_array_equal(found.contributions.iloc[0], 0.0)
    same = X["purpose"] == X["purpose"].iloc[0]
    assert 1 < same.sum() < 30
    np.testing.assert_array_equal(found.contributions["purpose"][same.to_numpy()], 0.0)
    assert (found.contributions["purpose"][~same.to_numpy()] != 0).all()
    assert sum(asked) < 30 + 4 * (1 + 2 * 30 * (X.shape[1] - 1))  # the last step ends at the row, whose score is known


def test_too_few_rounds_are_reported(linear, rows):
    with pytest.warns(ConvergenceWarning, match="have not converged after 4 rounds"):
        found = linear.explain(rows[0].fillna({"income": 0.0})[:5], max_rounds=4, tol=1e-6)
    assert not found.converged
    assert (found.standard_error.to_numpy() > 0).any()


def test_many_classes_explain_the_predicted_one():
    X, _ = make_rows(90)
    y = np.array(["a", "b", "c"])[np.digitize(X["age"], [36, 44])]
    model = TableClassifier(LogisticRegression(max_iter=500)).fit(X.drop(columns="income"), y)
    found = model.explain(X)
    assert found.contributions["age"].abs().mean() > 5 * found.contributions["purpose"].abs().mean()
    np.testing.assert_allclose(found.contributions.sum(axis=1) + found.base, found.score, atol=1e-9)


def test_reasons_name_columns_and_values(booster, rows):
    X = rows[0][:50]
    result = score_table(booster, X, n_reasons=3)
    parts = booster.explain(X).contributions
    for row in range(50):
        name = parts.iloc[row].abs().idxmax()
        value = X[name].iloc[row]
        shown = value if name == "purpose" else "missing" if np.isnan(value) else f"{value:.6g}"
        assert result["reason 1"][row] == f"{name} = {shown} ({parts[name].iloc[row]:+.2f})"


@pytest.mark.parametrize("member", ["logistic regression", "RankBoost"])
def test_a_saved_model_gives_the_same_reasons(rows, member, tmp_path):
    X, y = rows
    model = TableClassifier(AutoClassifier([member], n_repeats=1, random_state=0), positive="bad").fit(X, y)
    save(model, tmp_path / "model.fewlabel")
    loaded = load(tmp_path / "model.fewlabel")
    pd.testing.assert_frame_equal(loaded.explain(X[:10]).contributions, model.explain(X[:10]).contributions)
    again = table_classifier(loaded)
    pd.testing.assert_frame_equal(again.explain(X[:10]).contributions, model.explain(X[:10]).contributions)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    boards = [one.estimator_.leaderboard_.drop(columns="fit_seconds") for one in (again, model)]
    assert boards[0].equals(boards[1])


def test_reference_rows_do_not_depend_on_the_order_of_the_rows(rows):
    X, y = rows
    X = X.drop(columns="purpose").fillna(0.0)
    first = TableClassifier(LogisticRegression()).fit(X, y)
    second = TableClassifier(LogisticRegression()).fit(X[::-1], y[::-1])
    np.testing.assert_array_equal(first.reference_, second.reference_)


def test_a_model_without_decision_function_cannot_be_explained(rows):
    from sklearn.naive_bayes import GaussianNB

    X = rows[0].drop(columns=["purpose", "income"])
    with pytest.raises(ValueError, match="GaussianNB cannot be explained"):
        TableClassifier(GaussianNB()).fit(X, rows[1]).explain(X)
