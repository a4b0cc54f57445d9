"""What the report says when a figure means something that a reader might not expect."""

from types import SimpleNamespace

import numpy as np
import pytest

from fewlabel.auto import LearningCurve
from fewlabel.decisions import Costs, Evidence
from fewlabel.reporting.sentences import certainty_text, choice_text, class_name, outlook, threshold_text
from fewlabel.tables.thresholds import Decision


def decided(ratio):
    """A decision by costs on a hundred rows of which a fifth are positive."""
    rng = np.random.default_rng(0)
    positive = np.arange(100) < 20
    evidence = Evidence(positive, rng.normal(positive))
    costs = Costs(ratio, 1.0)
    threshold = evidence.cost_threshold(costs)
    yields = evidence.at(threshold, costs)
    return Decision(threshold, "least expected cost", 100, evidence.n_above(threshold), yields, costs, evidence)


@pytest.mark.parametrize(
    ("ratio", "n_flagged", "said"),
    [
        (10_000, 100, "Every row is flagged: by these labels no row is"),
        (0.0001, 0, "No row is flagged: at these costs"),
    ],
)
def test_a_threshold_that_decides_nothing_says_so(ratio, n_flagged, said):
    decision = decided(ratio)
    assert decision.n_flagged == n_flagged
    assert said in threshold_text(decision, "bad", None, None, False)
    assert "row is flagged" not in threshold_text(decided(4.0), "bad", None, None, False)


def test_costs_that_flag_nearly_every_row_say_what_a_row_that_is_left_out_needs():
    decision = decided(60.0)
    assert 90 <= decision.n_flagged < 100
    said = "left out only if it is bad with a probability below 1.6%"
    assert said in threshold_text(decision._replace(target=1 / 61), "bad", None, None, False)
    assert said not in threshold_text(decision._replace(n_rows=150, target=1 / 61), "bad", None, None, False)


def test_what_the_interval_cannot_tell():
    data = {"labeled_by_class": {"good": 58, "bad": 7}, "unlabeled": 0}
    summary = {
        "data": data,
        "task": "binary",
        "headline": {"score": 0.9, "low": 0.606, "high": 0.996, "with_leaks": None},
    }
    text = "65 labels, 7 of them bad, cannot tell 0.61 from 1.00: label about 120 more rows to be within 0.05."
    assert certainty_text(summary, 123) == text
    assert "label many more rows" in certainty_text(summary, 10_000)
    data["unlabeled"] = 123
    assert certainty_text(summary, 123) == text
    data["unlabeled"] = 122
    more = "to be within 0.05, which is more than the 122 unlabeled rows of this table."
    assert certainty_text(summary, 123).endswith(more)
    summary["headline"]["with_leaks"] = {"score": 0.99}
    assert certainty_text(summary, 123).startswith("Without the suspected columns, 65 labels, 7 of them bad, cannot")


def test_a_class_that_is_a_number_is_quoted():
    assert [class_name(name) for name in ("bad", 1, "-1", "<=50K", "?")] == ["bad", "'1'", "'-1'", "<=50K", "'?'"]


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (0.01, 0.05, "beats logistic regression, the plain baseline, by 0.030 AUC"),
        (-0.02, 0.08, "these labels cannot tell the two apart"),
    ],
)
def test_the_choice_names_the_best_method_without_weight_and_the_baseline(low, high, said):
    baseline = {"method": "logistic regression", "difference": 0.03, "low": low, "high": high}
    headline = {"reason": None}
    auto = SimpleNamespace(additive_choice_=None, baseline_=baseline, headline_=headline, task_="binary")
    methods = [{"method": "RBF-SVM", "weight": 1.0}, {"method": "path neighbors", "weight": 0.0}]
    unchosen = {
        "best": {"method": "path neighbors", "score": 0.93},
        "weight": {"method": "RBF-SVM"},
        "difference": 0.02,
    }
    text = choice_text(auto, methods, unchosen, "AUC")
    assert "The model is RBF-SVM, one of 2 methods that were tried." in text
    assert "path neighbors has the highest score of a single method, 0.930, and no weight" in text
    assert "RBF-SVM is expected to be better by 0.020 AUC" in text
    assert said in text


def test_no_forecast_where_the_score_is_near_one_and_the_labels_do_not_show_it():
    curve = LearningCurve([10, 20, 32], [0.99, 0.995, 0.997], [0.8, 0.85, 0.9], [1.0, 1.0, 1.0], 0.5, 0.003)
    more, text = outlook(curve, 0.9, 40, "AUC")
    assert more is None
    assert "40 labels only show that it is 0.90 or more, so no forecast is made." in text
