"""Figures by group: by hand, beside fairlearn, with unlabeled rows, weights and too few labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from fewlabel.metrics import by_group
from fewlabel.rows import effective_number


def make(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return y, rng.normal(1.5 * y).round(2), rng.choice(["a", "b", "c"], n, p=[0.6, 0.35, 0.05])


def test_values_are_those_of_scikit_learn():
    y, score, groups = make()
    found = by_group(y, score, groups, threshold=0.7).set_index("group")
    for name in "ab":
        here = groups == name
        flagged = (score[here] > 0.7).astype(int)
        assert found.loc[name, "rows"] == found.loc[name, "labels"] == here.sum()
        assert found.loc[name, "positives"] == y[here].sum()
        assert found.loc[name, "auc"] == pytest.approx(roc_auc_score(y[here], score[here]))
        assert found.loc[name, "flagged"] == pytest.approx(flagged.mean())
        assert found.loc[name, "precision"] == pytest.approx(precision_score(y[here], flagged))
        assert found.loc[name, "recall"] == pytest.approx(recall_score(y[here], flagged))
        for figure in ("auc", "flagged", "precision", "recall"):
            assert found.loc[name, f"{figure}_low"] < found.loc[name, figure] < found.loc[name, f"{figure}_high"]


def test_values_are_those_of_fairlearn():
    fairlearn = pytest.importorskip("fairlearn.metrics", reason="needs fairlearn to compare with")
    y, score, groups = make(seed=1)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    flagged = (score > 0.7).astype(int)
    metrics = {"precision": precision_score, "recall": recall_score, "auc": roc_auc_score}
    for weights in (None, weight):
        params = None if weights is None else {name: {"sample_weight": weights} for name in metrics}
        found = by_group(y, score, groups, threshold=0.7, sample_weight=weights).set_index("group")
        for name, metric in metrics.items():
            given = score if name == "auc" else flagged
            options = {} if params is None else {"sample_params": params[name]}
            frame = fairlearn.MetricFrame(metrics=metric, y_true=y, y_pred=given, sensitive_features=groups, **options)
            known = found[name].notna()
            assert known.sum() >= 2
            np.testing.assert_allclose(found.loc[known, name], frame.by_group[known].astype(float))
    rate = fairlearn.MetricFrame(
        metrics=fairlearn.selection_rate, y_true=y, y_pred=flagged, sensitive_features=groups
    ).by_group
    np.testing.assert_allclose(found["flagged"], rate.astype(float))


def test_too_few_labels_are_not_estimable():
    y = np.array([1] * 4 + [0] * 20)
    score = np.r_[np.ones(4), np.ones(3), -np.ones(17)]
    [row] = by_group(y, score, np.full(24, "only")).to_dict("records")
    assert np.isnan(row["auc"])
    assert np.isnan(row["recall"])
    assert row["precision"] == pytest.approx(4 / 7)


def test_unlabeled_rows_say_how_many_are_flagged_and_nothing_else():
    y, score, groups = make()
    hidden = np.where(np.arange(400) < 200, y, -1)
    found = by_group(hidden, score, groups)
    labeled_only = by_group(y[:200], score[:200], groups[:200])
    for name in ("labels", "positives", "auc", "precision", "recall"):
        pd.testing.assert_series_equal(found[name], labeled_only[name])
    for group, share in found[["group", "flagged"]].itertuples(index=False):
        assert share == pytest.approx(np.mean(score[200:][groups[200:] == group] > 0))
    # The labels of the unlabeled rows, whatever they are, are not looked at.
    other = by_group(np.where(np.arange(400) < 200, y, -1), score, groups)
    pd.testing.assert_frame_equal(found, other)


def test_positives_only_have_a_recall_but_no_precision():
    y, score, groups = make()
    found = by_group(np.where(y == 1, 1, -1), score, groups)
    assert found["precision"].isna().all()
    assert found["auc"].isna().all()
    assert found["recall"].notna().any()


def test_numbers_are_divided_at_their_quantiles():
    y, score, _ = make()
    ages = np.r_[np.arange(399.0), np.nan]
    found = by_group(y, score, ages)
    assert found["group"].tolist() == ["0 to 99.5", "99.5 to 199", "199 to 298.5", "298.5 to 398", "missing"]
    assert found["rows"].tolist() == [100, 100, 99, 100, 1]
    few = by_group(y, score, np.arange(400) % 11 // 2)
    assert few["group"].tolist() == ["0", "1", "2", "3", "4", "5"]
    assert by_group(y, score, np.arange(400) < 100)["group"].tolist() == ["False", "True"]


def test_many_groups_are_joined():
    y, score, _ = make()
    groups = [f"g{k // 2:03d}" if k < 100 else f"h{k % 5}" for k in range(400)]
    found = by_group(y, score, groups)
    assert len(found) == 20
    assert found["group"].iloc[-1] == "all others"
    assert found["rows"].sum() == 400


def test_weights_count_as_their_effective_number():
    y, score, _ = make()
    weight = np.where(score > 1, 5.0, 1.0)
    [row] = by_group(y, score, np.full(400, "all"), sample_weight=weight).to_dict("records")
    flagged = score > 0
    assert row["precision"] == pytest.approx(np.average(y[flagged], weights=weight[flagged]))
    n_effective = effective_number(weight[flagged])
    error = np.sqrt(row["precision"] * (1 - row["precision"]) / n_effective)
    assert row["precision_high"] - row["precision_low"] == pytest.approx(2 * 1.96 * error, rel=0.05)
    assert row["flagged"] == pytest.approx(flagged.mean())  # a count, without weights


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (dict(y_true=[0, 1, 2] * 2), "two classes, and there are 3"),
        (dict(groups=["a"]), "groups has 1 values and y_true 6"),
        (dict(y_score=[0.1, np.nan] * 3), "holds NaN"),
        (dict(y_true=[-1] * 6), "label"),
    ],
)
def test_bad_input(change, message):
    arguments = dict(y_true=[0, 1] * 3, y_score=np.arange(6.0), groups=list("aabbab")) | change
    with pytest.raises(ValueError, match=message):
        by_group(**arguments)
