import math

import numpy as np
import pandas as pd
import pytest

from fewlabel.exceptions import LabelError
from fewlabel.metrics import auc_confidence_interval, paired_auc_test, pnu_auc_score, pu_auc_score


class TestInput:
    def test_labels_and_scores_of_many_kinds(self):
        y, score = [0, 1, 0, 1, -1], [1.0, 3.0, 2.0, 1.5, 9.0]
        expected = auc_confidence_interval(y, score)
        words = ["no", "yes", "no", "yes", None]
        for other in (words, pd.Series(words, dtype="category"), pd.array([0, 1, 0, 1, None], dtype="Int64")):
            assert auc_confidence_interval(other, pd.Series(score, index=list("abcde"))) == expected
        assert auc_confidence_interval(y, np.array(score, dtype=np.float32)) == expected
        assert auc_confidence_interval(y, pd.array([10, 30, 20, 15, 90], dtype="Int64")) == expected

    @pytest.mark.parametrize(
        ("score", "message"),
        [
            ([1, 2, np.nan, np.nan], "y_score holds NaN in 2 of 4 rows, which cannot be ranked: drop these rows"),
            (pd.array([1, 2, 3, None], dtype="Int64"), "y_score"),
            ([1, 2, 3], r"y_true has 4 rows and y_score has 3"),
            (
                np.zeros((4, 2)),
                r"two columns: pass that of the positive class, e.g. predict_proba\(X\)\[:, 1\]",
            ),
            (np.zeros((4, 1)), r"1d array with one score per row, got shape \(4, 1\)"),
            (["a", "b", "c", "d"], "y_score should hold numbers"),
        ],
    )
    def test_bad_scores(self, score, message):
        for measure in (auc_confidence_interval, pnu_auc_score):
            with pytest.raises(ValueError, match=message):
                measure([0, 1, 0, 1], score)
        with pytest.raises(ValueError, match=message):
            pu_auc_score([0, 1, 0, 1], score, 0.5)

    def test_paired_test_names_the_bad_score(self):
        with pytest.raises(ValueError, match="score_b holds NaN in 1 of 4 rows"):
            paired_auc_test([0, 1, 0, 1], [1, 2, 3, 4], [1, np.nan, 2, 3])

    @pytest.mark.parametrize("prior", [0, 1, -0.2, 30, math.nan, "0.5", True])
    def test_bad_prior(self, prior):
        y, score = [1, 0, -1], [3, 1, 2]
        with pytest.raises(ValueError, match="should be a number between 0 and 1"):
            auc_confidence_interval(y, score, pairs="auto", prior=prior)
        with pytest.raises(ValueError, match="the share of positives among the unlabeled rows"):
            pnu_auc_score(y, score, prior=prior)
        with pytest.raises(ValueError, match="should be a number between 0 and 1"):
            pu_auc_score([1, -1, -1], score, prior)

    @pytest.mark.parametrize("pairs", ["pu", "un", "auto"])
    def test_missing_prior(self, pairs):
        with pytest.raises(ValueError, match=f"pairs='{pairs}' needs prior"):
            auc_confidence_interval([1, 0, -1], [3, 1, 2], pairs=pairs)

    @pytest.mark.parametrize("prior_sd", [-0.1, math.inf, math.nan, None])
    def test_bad_prior_sd(self, prior_sd):
        with pytest.raises(ValueError, match="the standard error of prior"):
            auc_confidence_interval([1, 0, -1], [3, 1, 2], pairs="pu", prior=0.5, prior_sd=prior_sd)

    def test_un_needs_unlabeled_rows_and_both_classes(self):
        with pytest.raises(ValueError, match="pairs='un' needs unlabeled rows, y_true has none"):
            auc_confidence_interval([1, 0], [3, 1], pairs="un", prior=0.5)
        with pytest.raises(LabelError, match="only one labeled class"):
            auc_confidence_interval([0, -1], [3, 1], pairs="un", prior=0.5)

    def test_bad_confidence(self):
        with pytest.raises(ValueError, match=r"confidence=95 .*for 95% write 0.95"):
            auc_confidence_interval([1, 0], [3, 1], confidence=95)
        for confidence in (0, 1, math.nan, "high"):
            with pytest.raises(ValueError, match="between 0 and 1"):
                paired_auc_test([1, 0], [3, 1], [3, 1], confidence=confidence)

    def test_unknown_choices(self):
        with pytest.raises(ValueError, match="method='delong' is not known: use one of 'score', 'newcombe'"):
            auc_confidence_interval([1, 0], [3, 1], method="delong")
        with pytest.raises(ValueError, match="pairs='np' is not known: use one of 'pn', 'pu'"):
            auc_confidence_interval([1, 0], [3, 1], pairs="np")
        with pytest.raises(ValueError, match="method=None is not known"):
            auc_confidence_interval([1, 0], [3, 1], method=None)

    @pytest.mark.parametrize("measure", [auc_confidence_interval, pnu_auc_score])
    def test_labels_have_their_usual_errors(self, measure):
        with pytest.raises(LabelError, match="if -1 is your negative class, recode it as 0"):
            measure([1, -1, -1], [3, 2, 1])
        with pytest.raises(LabelError, match="y holds 3 classes"):
            measure([0, 1, 2], [3, 2, 1])
