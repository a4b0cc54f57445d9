"""TableClassifier: an encoder, an estimator, sorted classes and a positive one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.svm import LinearSVC

import fewlabel
from fewlabel import AutoClassifier, TableClassifier
from fewlabel.exceptions import LabelError
from fewlabel.tables import score_table


class Supervised(LogisticRegression):
    """Logistic regression on the labeled rows, missing values filled with 0."""

    def fit(self, X, y):
        known = ~pd.isna(pd.Series(y)).to_numpy()
        return super().fit(np.nan_to_num(X[known]), np.asarray(y)[known].astype(int))

    def decision_function(self, X):
        return super().decision_function(np.nan_to_num(X))

    def predict_proba(self, X):
        return super().predict_proba(np.nan_to_num(X))

    def predict(self, X):
        return super().predict(np.nan_to_num(X))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    z = rng.normal(size=120)
    table = pd.DataFrame(
        {"z": z, "city": np.where(z > 0, "Oslo", "Graz"), "when": "2024-01-01", 5: rng.normal(size=120)}
    )
    table.loc[::3, "when"] = "2024-06-30"
    y = pd.Series(np.where(rng.random(120) < 0.5, np.where(z > 0, "b", "a"), None), name="class")
    return table, y


@pytest.fixture(scope="module")
def credit():
    """A fully labeled table of good and bad customers."""
    rng = np.random.default_rng(3)
    bad = rng.random(200) < 0.3
    table = pd.DataFrame({"income": rng.normal(size=200) - bad, "job": np.where(rng.random(200) < 0.5, "yes", "no")})
    return table, pd.Series(np.where(bad, "bad", "good"))


def test_any_estimator_and_any_order_of_columns(rows):
    table, y = rows
    model = TableClassifier(Supervised()).fit(table, y)
    assert model.encoder_.columns_ == {"z": "number", "city": "text", "when": "date", "5": "number"}
    assert model.target_ == "class"
    assert model.n_features_in_ == 4
    assert list(model.feature_names_in_) == ["z", "city", "when", "5"]
    shuffled = table.iloc[:, ::-1].assign(more=1)
    np.testing.assert_array_equal(model.predict(shuffled), model.predict(table))
    assert set(model.predict(table)) <= {"a", "b"}


@pytest.mark.parametrize("positive", ["bad", "good", None])
def test_scorers_of_scikit_learn_are_not_inverted(credit, positive):
    table, y = credit
    model = TableClassifier(LogisticRegression(), positive=positive)
    scores = cross_val_score(model, table, y, scoring="roc_auc")
    assert scores.mean() > 0.65
    inner = TableClassifier(AutoClassifier(["logistic regression"], n_repeats=1, random_state=0), positive=positive)
    assert cross_val_score(inner, table, y, cv=2, scoring="roc_auc").mean() > 0.65
    search = GridSearchCV(model, {"estimator__C": [1e-6, 1.0]}, scoring="roc_auc", cv=3).fit(table, y)
    assert search.best_score_ > 0.65
    fitted = model.fit(table, y)
    # scikit-learn scores classes_[1], whichever class is positive here.
    expected = roc_auc_score(y == "good", fitted.decision_function(table))
    assert get_scorer("roc_auc")(fitted, table, y) == pytest.approx(expected)


@pytest.mark.parametrize("positive", ["bad", "good"])
def test_classes_are_sorted_and_the_positive_one_is_separate(credit, positive):
    table, y = credit
    model = TableClassifier(LogisticRegression(), positive=positive).fit(table, y)
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.classes_[model.positive_] == positive
    decision, probability = model.decision_function(table), model.predict_proba(table)
    np.testing.assert_array_equal(model.predict(table), model.classes_[(decision > 0).astype(int)])
    np.testing.assert_array_equal(model.predict(table), model.classes_[probability.argmax(axis=1)])
    result = score_table(model, table)
    np.testing.assert_array_equal(result[f"probability of {positive}"], probability[:, model.positive_])
    np.testing.assert_array_equal(result["score"], decision if positive == "good" else -decision)
    np.testing.assert_array_equal(result["label"], model.predict(table))
    assert roc_auc_score(y == positive, result["score"]) > 0.65


def test_the_other_classes_become_one(rows):
    table, y = rows
    three = y.where(np.arange(120) % 2 == 0, "c")
    model = TableClassifier(Supervised(), positive="c").fit(table, three)
    assert model.classes_.tolist() == ["c", "not c"]
    assert model.positive_ == 0
    assert set(model.predict(table)) <= {"c", "not c"}
    numbers = three.map({"a": 0, "b": 1, "c": 2}).astype("Int64")
    model = TableClassifier(Supervised(), positive=2).fit(table, numbers)
    assert model.classes_.tolist() == ["2", "not 2"]  # a number and a text cannot be sorted
    every = TableClassifier(Supervised()).fit(table, numbers)
    assert every.classes_.tolist() == [0, 1, 2]
    assert every.positive_ is None
    assert every.predict_proba(table).shape == (120, 3)
    assert list(score_table(every, table)) == ["probability of 0", "probability of 1", "probability of 2", "label"]
    with pytest.raises(LabelError, match="no labeled row holds the positive class 'd'"):
        TableClassifier(positive="d").fit(table, y)


def test_positives_and_unlabeled_rows(rows):
    table, y = rows
    model = TableClassifier(fewlabel.PUAdaBoostClassifier(5, prior=0.5, random_state=0)).fit(table, y.where(y == "b"))
    assert model.classes_.tolist() == ["b", "not b"]
    assert model.positive_ == 0
    known = (y == "b") | (y == "a")
    assert roc_auc_score(y[known] == "b", score_table(model, table[known])["score"]) > 0.9
    assert roc_auc_score(y[known] == "a", model.decision_function(table[known])) > 0.9
    numbers = TableClassifier(fewlabel.PUAdaBoostClassifier(5, prior=0.5)).fit(table, np.where(y == "b", 1, -1))
    assert numbers.classes_.tolist() == [0, 1]


def test_halves_of_a_fit(rows):
    table, y = rows
    auto = AutoClassifier(["logistic regression"], n_repeats=1, random_state=0)
    model = TableClassifier(auto, positive="a", random_state=0)
    encoded = model.encode(table, y)
    np.testing.assert_array_equal(encoded.X, model.encoder_.transform(table))
    np.testing.assert_array_equal(encoded.codes == 1, y == "a")
    steps = []
    model.fit_encoded(encoded, callback=lambda *step: steps.append(step))
    assert [step[0] for step in steps] == [1, 2, 3, 1, 2, 3]  # one column is suspected to leak the label
    assert {step[1] for step in steps} == {3}
    whole = TableClassifier(auto, positive="a", random_state=0).fit(table, y)
    np.testing.assert_array_equal(whole.predict_proba(table), model.predict_proba(table))


def test_methods_are_those_of_the_estimator(credit):
    table, y = credit
    model = TableClassifier(LinearSVC()).fit(table, y)
    assert hasattr(model, "decision_function")
    assert not hasattr(model, "predict_proba")


def test_polars(rows):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    table, y = rows
    table = table.rename(columns={5: "5"})
    model = TableClassifier(Supervised()).fit(table, y)
    np.testing.assert_array_equal(model.predict(polars.from_pandas(table)), model.predict(table))


def test_unequal_lengths(rows):
    table, y = rows
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[120, 119\]"):
        TableClassifier(Supervised()).fit(table, y[:-1])


def test_saved_and_loaded(rows, tmp_path):
    table, y = rows
    model = TableClassifier(fewlabel.PNUAUCBoostClassifier(5), positive="a", random_state=0).fit(table, y)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    np.testing.assert_array_equal(again.decision_function(table), model.decision_function(table))
    assert again.positive_ == 0


def test_a_second_fit_without_suspected_leaks_shows_in_the_progress():
    rng = np.random.default_rng(0)
    y = pd.Series(np.where(np.arange(80) % 2, "yes", "no"))
    table = pd.DataFrame({"leak": (np.arange(80) % 2) + 0.01 * rng.random(80), "x": rng.normal(size=80)})
    steps = []
    model = TableClassifier(AutoClassifier(["logistic regression"], n_repeats=1, random_state=0))
    model.fit(table, y, callback=lambda *step: steps.append(step))
    assert list(model.leaks_) == ["leak"]
    assert model.without_leaks_["score"] < model.estimator_.headline_["score"]
    assert [(done, total, name.startswith("without suspected leaks: ")) for done, total, name in steps] == [
        *((done, 3, False) for done in (1, 2, 3)),
        *((done, 3, True) for done in (1, 2, 3)),
    ]


@pytest.mark.parametrize("positive", ["bad", "good"])
def test_positive_proba_and_rank_speak_of_the_named_class(positive):
    rng = np.random.default_rng(0)
    truth = np.where(np.arange(120) % 3 == 0, "bad", "good")
    table = pd.DataFrame({"amount": rng.normal(size=120) + 1.5 * (truth == "bad"), "noise": rng.normal(size=120)})
    y = pd.Series(truth).where(np.arange(120) < 80)
    auto = AutoClassifier(["logistic regression"], n_repeats=1, random_state=0)
    model = TableClassifier(auto, positive=positive, random_state=0).fit(table, y)
    assert model.classes_.tolist() == ["bad", "good"]
    assert model.classes_[model.positive_] == positive
    favors_good = model.decision_function(table) > 0
    np.testing.assert_array_equal(model.predict(table) == "good", favors_good)
    for one in (model, model.model_):
        probability = one.positive_proba(table)
        np.testing.assert_array_equal(probability, one.predict_proba(table)[:, model.positive_])
        assert roc_auc_score(truth == positive, probability) > 0.7
        assert (np.diff(probability[one.rank(table)]) <= 0).all()


@pytest.mark.parametrize("positive", ["a", "b"])
def test_what_is_saved_is_what_predicts(rows, positive, tmp_path):
    """Also where the class to find is the first one, and the threshold was moved."""
    table, y = rows
    model = TableClassifier(AutoClassifier(["logistic regression"], n_repeats=1, random_state=0), positive=positive)
    model.fit(table, y).set_threshold(0.3, "chosen by hand")
    chance = model.positive_proba(table)
    np.testing.assert_array_equal(chance, model.predict_proba(table)[:, model.positive_])
    assert (np.diff(chance[model.rank(table)]) <= 0).all()
    scores = score_table(model, table)
    np.testing.assert_array_equal(model.predict(table) == positive, scores["score"] > 0.3)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    again = fewlabel.load(tmp_path / "model.fewlabel")
    for method in ("predict", "predict_proba", "decision_function", "positive_proba", "rank"):
        np.testing.assert_array_equal(getattr(again, method)(table), getattr(model, method)(table))
    for name, column in score_table(again, table).items():
        np.testing.assert_array_equal(column, scores[name])


def test_an_estimator_of_another_library_is_not_saved(rows, tmp_path):
    model = TableClassifier(Supervised()).fit(*rows)
    assert model.model_ is None
    with pytest.raises(TypeError, match="joblib"):
        fewlabel.save(model, tmp_path / "model.fewlabel")
