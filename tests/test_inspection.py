"""Shape functions as pictures and as points."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fewlabel
from fewlabel import PNUAUCBoostClassifier, hide_labels
from fewlabel.inspection import plot_range, plot_shape_functions, scorecard
from fewlabel.tables.scorecards import _texts

BOOSTERS = [name for name, cls in fewlabel.all_estimators() if hasattr(cls, "shape_functions_")]


def _function(column, name, edges, values, missing):
    return SimpleNamespace(column=column, name=name, edges=np.array(edges), values=np.array(values), missing=missing)


def _hand_made(slope=2.0):
    return SimpleNamespace(
        shape_functions_=[
            _function(0, "age", [30.0, 50.0], [0.0, 1.0, 3.0], 0.5),
            _function(2, "cost $ & $", [np.inf], [1.0, 7.0], -1.0),
        ],
        feature_importances_=np.array([0.2, 0.0, 0.8]),
        offset_=-2.0,
        calibration_=np.array([slope, 0.5]),
    )


@pytest.fixture(scope="module")
def data():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.05)
    return X, hide_labels(y, 0.3, random_state=0)


@pytest.fixture(scope="module")
def booster(data):
    return PNUAUCBoostClassifier(n_estimators=60, random_state=0).fit(*data)


def _total(card, X):
    """The points of each row, added up from the bounds alone."""
    total = np.full(len(X), card["points"].iloc[0])
    for name, block in card.iloc[1:].groupby("column"):
        x = X[name].to_numpy()
        for row in block.itertuples():
            inside = np.isnan(x) if row.interval == "missing" else (x > row.low) & (x <= row.high)
            total[inside] += row.points
    return total


# Scorecard --------------------------------------------------------------------------------------------------


def test_hand_worked_scorecard():
    card = scorecard(_hand_made(), points=20, base=600)
    unit = 20 / np.log(2)
    assert card.columns.tolist() == ["column", "interval", "low", "high", "points"]
    assert card["column"].tolist() == ["(base)", "cost $ & $", "cost $ & $", "age", "age", "age", "age"]
    assert card["interval"].tolist() == [
        "",
        "(-inf, inf)",
        "missing",
        "(-inf, 30]",
        "(30, 50]",
        "(50, inf)",
        "missing",
    ]
    expected = [600 + unit * (2 * -2.0 + 0.5), unit * 2, -unit * 2, 0.0, unit * 2, unit * 6, unit]
    np.testing.assert_allclose(card["points"], expected, rtol=1e-14)


def test_deep_trees_are_not_additive(data):
    model = fewlabel.TreeAUCBoostClassifier(3, max_depth=2, random_state=0).fit(*data)
    with pytest.raises(TypeError, match=r"is not a sum of step functions: .* fit with max_depth=1"):
        scorecard(model)


@pytest.mark.parametrize("name", BOOSTERS)
def test_points_reproduce_the_ranking_and_the_odds(name, data):
    X, y = data
    if name in ("PUAdaBoostClassifier", "TreePUBoostClassifier"):  # only positives are labeled
        y = y.where(y == 1, -1)
    options = {"max_depth": 1} if name.startswith("Tree") else {}
    if (y != 0).all():
        options["prior"] = 0.4  # to estimate it takes longer than the fit
    model = getattr(fewlabel, name)(n_estimators=60, random_state=0, **options).fit(X, y)
    total = _total(scorecard(model, points=15, base=500), X)
    probability = model.predict_proba(X)[:, 1]
    np.testing.assert_allclose(total, 500 + 15 * np.log2(probability / (1 - probability)), rtol=1e-9, atol=1e-6)
    decision = model.decision_function(X)
    order = np.argsort(decision, kind="stable")
    apart = np.diff(decision[order]) > 1e-9  # ties may fall either way
    assert (np.diff(total[order])[apart] > 0).all()
    np.testing.assert_allclose(np.diff(total[order])[~apart], 0, atol=1e-6)


def test_even_odds_have_the_base_points_and_twice_the_odds_the_points_more():
    for slope in (0.3, 2.0):
        model = _hand_made(slope)
        model.offset_ = -0.5 / slope
        card = scorecard(model, points=33, base=100)
        assert card["points"].iloc[0] == pytest.approx(100)
        model.offset_ += np.log(2) / slope
        assert scorecard(model, points=33, base=100)["points"].iloc[0] == pytest.approx(133)


def test_intervals_tile_the_line(booster):
    for name, block in scorecard(booster).iloc[1:].groupby("column"):
        present = block[block["interval"] != "missing"]
        assert len(block) - len(present) == 1, name
        assert present["low"].iloc[0] == -np.inf
        assert present["high"].iloc[-1] == np.inf
        np.testing.assert_array_equal(present["low"].iloc[1:], present["high"].iloc[:-1])


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20, unique=True))
def test_bounds_that_differ_are_written_differently(bounds):
    bounds = sorted({b + 0.0 for b in bounds})  # -0.0 and 0.0 are one number
    assert len(set(_texts(bounds))) == len(bounds)


@pytest.mark.parametrize("points", [0, -20, np.nan])
def test_points_must_be_positive(points):
    with pytest.raises(ValueError, match="should be greater than 0: it is the number of points"):
        scorecard(_hand_made(), points=points)


def test_a_model_that_learned_nothing_has_no_scorecard():
    with pytest.raises(ValueError, match="calibrated slope is 0"):
        scorecard(_hand_made(slope=0.0))


# Models that are not sums of step functions -----------------------------------------------------------------


@pytest.mark.parametrize("look", [scorecard, plot_shape_functions])
def test_other_models_are_refused_with_a_remedy(look, data, booster):
    X, y = data
    with pytest.raises(TypeError, match=r"LogisticRegression .* pass a fitted stump booster"):
        look(LogisticRegression())
    pipeline = make_pipeline(StandardScaler(), PNUAUCBoostClassifier(n_estimators=2)).fit(X, y)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        look(pipeline)
    look(pipeline[-1])
    search = GridSearchCV(PNUAUCBoostClassifier(), {"n_estimators": [2]}, cv=2).fit(X[y != -1], y[y != -1])
    with pytest.raises(TypeError, match="best_estimator_"):
        look(search)
    with pytest.raises(NotFittedError, match="call fit first"):
        look(PNUAUCBoostClassifier())


def test_every_additive_model_is_shown_in_the_names_of_its_columns(data, tmp_path):
    assert fewlabel.scorecard is scorecard
    X, y = data
    X = X.iloc[:, :5]
    auto = fewlabel.AutoClassifier(interpretable=True, n_repeats=1, random_state=0).fit(X, y)
    booster = fewlabel.PNUAUCBoostClassifier(n_estimators=20, random_state=0)
    table = fewlabel.TableClassifier(booster, random_state=0).fit(X, y)
    for model in (auto, table):
        fewlabel.save(model, tmp_path / "model.fewlabel")
        loaded = fewlabel.load(tmp_path / "model.fewlabel")
        card = scorecard(model)
        pd.testing.assert_frame_equal(scorecard(loaded), card)
        assert set(card["column"].iloc[1:]) <= set(X)
        for shown in (model, loaded):
            figure = plot_shape_functions(shown, max_columns=2)
            assert {axes.get_xlabel() for axes in figure.axes} <= set(X)


# Pictures ---------------------------------------------------------------------------------------------------


def test_the_most_important_columns_are_drawn_first_and_no_figure_stays_open(booster, data, tmp_path):
    before = plt.get_fignums()
    figure = plot_shape_functions(booster, max_columns=5)
    assert isinstance(figure, Figure)
    assert plt.get_fignums() == before
    assert len(figure.axes) == 5
    order = np.argsort(-booster.feature_importances_, kind="stable")[:5]
    assert [axes.get_xlabel() for axes in figure.axes] == list(data[0].columns[order])
    figure.savefig(tmp_path / "shapes.png")
    figure.savefig(tmp_path / "shapes.svg")


def test_the_line_is_the_function(booster):
    function = max(booster.shape_functions_, key=lambda f: booster.feature_importances_[f.column])
    axes = plot_shape_functions(booster, max_columns=1).axes[0]
    drawn = axes.patches[0].get_data()
    finite = np.isfinite(function.edges)
    np.testing.assert_array_equal(drawn.edges[1:-1], function.edges[finite])
    np.testing.assert_array_equal(drawn.values, function.values[: finite.sum() + 1])
    assert axes.lines[0].get_ydata()[0] == function.missing
    assert axes.get_legend().get_texts()[0].get_text() == "missing"


def test_columns_by_name_and_position(booster, data):
    used = booster.shape_functions_[1]
    for wanted in (used.name, used.column, [used.name], [np.int64(used.column)]):
        figure = plot_shape_functions(booster, columns=wanted)
        assert [axes.get_xlabel() for axes in figure.axes] == [used.name]
    with pytest.raises(ValueError, match="does not use column 'color': choose from '"):
        plot_shape_functions(booster, columns=["color"])
    with pytest.raises(ValueError, match="columns is empty"):
        plot_shape_functions(booster, columns=[])
    with pytest.raises(ValueError, match="max_columns=0 should be at least 1"):
        plot_shape_functions(booster, max_columns=0)


def test_drawing_on_given_axes():
    figure = Figure()
    axes = figure.subplots(1, 2)
    assert plot_shape_functions(_hand_made(), axes=axes) is figure
    assert [a.get_xlabel() for a in axes] == [r"cost \$ & \$", "age"]
    single = Figure()
    assert plot_shape_functions(_hand_made(), columns="age", axes=single.subplots()) is single
    with pytest.raises(ValueError, match="2 columns to draw but 1 axes"):
        plot_shape_functions(_hand_made(), axes=Figure().subplots())


def test_hostile_and_odd_names_are_drawn(tmp_path):
    model = _hand_made()
    model.shape_functions_[0].name = "$\\frac{ <script>"
    plot_shape_functions(model).savefig(tmp_path / "odd.svg")


@pytest.mark.parametrize("edges", [[], [0.0], [5.0], [-3.0], [1.0, 2.0]])
def test_the_range_shows_every_cut(edges):
    low, high = plot_range(edges)
    assert low < high
    assert all(low < edge < high for edge in edges)


def test_the_card_is_a_frame_that_saves(tmp_path):
    scorecard(_hand_made()).to_csv(tmp_path / "card.csv", index=False)
    assert len(pd.read_csv(tmp_path / "card.csv")) == 7
