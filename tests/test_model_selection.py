import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabel import labels
from fewlabel.exceptions import LabelError
from fewlabel.model_selection import LabeledStratifiedKFold, hide_labels

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
TARGET = (X[:, 0] + RNG.normal(size=120) > 0.5).astype(int)
WORDS = np.array(["no", "yes"])[TARGET]

CONTAINERS = {
    "ints": TARGET,
    "unsigned": TARGET.astype(np.uint8),
    "floats": TARGET.astype(float),
    "bools": TARGET.astype(bool),
    "NumPy strings": WORDS,
    "objects": WORDS.astype(object),
    "list of ints": TARGET.tolist(),
    "list of bools": TARGET.astype(bool).tolist(),
    "list of strings": WORDS.tolist(),
    "Series of ints": pd.Series(TARGET, index=np.arange(120)[::-1], name="target"),
    "Series of bools": pd.Series(TARGET.astype(bool)),
    "Series of strings": pd.Series(WORDS),
    "Series of objects": pd.Series(WORDS, dtype=object),
    "string": pd.Series(WORDS, dtype="string"),
    "category": pd.Series(WORDS, dtype="category"),
    "Int64": pd.Series(TARGET, dtype="Int64"),
    "boolean": pd.Series(TARGET.astype(bool), dtype="boolean"),
    "Series on Arrow": pd.Series(WORDS, dtype=pd.ArrowDtype(pa.string())),
    "Categorical": pd.Categorical(WORDS),
    "polars ints": pl.Series("target", TARGET),
    "polars strings": pl.Series("target", WORDS.tolist()),
    "Arrow ints": pa.array(TARGET),
    "Arrow strings, chunked": pa.chunked_array([WORDS.tolist()]),
}
every_container = pytest.mark.parametrize("y", CONTAINERS.values(), ids=CONTAINERS.keys())


class LabeledLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression on the labeled rows, with the library's meaning of y."""

    def __init__(self, C=1.0):
        self.C = C

    def fit(self, X, y):
        read = labels.read(y)
        labeled = read.codes >= 0
        self.classes_ = read.classes
        self.n_unlabeled_ = int((~labeled).sum())
        self.model_ = LogisticRegression(C=self.C).fit(X[labeled], read.codes[labeled])
        return self

    def decision_function(self, X):
        return self.model_.decision_function(X)

    def predict(self, X):
        return self.classes_[self.model_.predict(X)]


class TestLabeledStratifiedKFold:
    @given(
        y=st.lists(st.sampled_from([-1, 0, 1, 2]), max_size=40).map(lambda v: v + [0, 1, 2] * 4),
        n_splits=st.integers(2, 4),
        shuffle=st.booleans(),
    )
    def test_unlabeled_rows_always_train_and_labeled_rows_are_tested_once(self, y, n_splits, shuffle):
        y = np.array(y)
        folds = LabeledStratifiedKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
        splits = list(folds.split(np.zeros((len(y), 1)), y))
        assert len(splits) == n_splits == folds.get_n_splits()
        tested = np.concatenate([test for _, test in splits])
        assert sorted(tested) == np.flatnonzero(y >= 0).tolist()
        for train, test in splits:
            assert sorted([*train, *test]) == list(range(len(y)))
            assert set(np.flatnonzero(y < 0)) <= set(train)
        for label in (0, 1, 2):  # stratified: the folds' counts of a class differ by at most one
            counts = [np.sum(y[test] == label) for _, test in splits]
            assert max(counts) - min(counts) <= 1

    def test_without_unlabeled_rows_it_is_stratified_k_fold(self):
        ours = LabeledStratifiedKFold(4, shuffle=True, random_state=3).split(X, TARGET)
        theirs = StratifiedKFold(4, shuffle=True, random_state=3).split(X, TARGET)
        for (train, test), (their_train, their_test) in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(train, their_train)
            np.testing.assert_array_equal(test, their_test)

    @every_container
    def test_every_kind_of_y_gives_the_same_folds(self, y):
        hidden = hide_labels(y, 0.4, mechanism="per-class", random_state=0)
        expected = LabeledStratifiedKFold(3).split(X, hide_labels(TARGET, 0.4, mechanism="per-class", random_state=0))
        for (train, test), (other_train, other_test) in zip(
            LabeledStratifiedKFold(3).split(X, hidden), expected, strict=True
        ):
            np.testing.assert_array_equal(train, other_train)
            np.testing.assert_array_equal(test, other_test)

    def test_random_state(self):
        def tests(random_state):
            folds = LabeledStratifiedKFold(3, shuffle=True, random_state=random_state)
            return [test.tolist() for _, test in folds.split(X, TARGET)]

        assert tests(0) == tests(0)
        assert tests(0) != tests(1)

    def test_too_few_rows_of_a_class(self):
        y = ["no"] * 10 + ["yes"] * 3 + [None] * 20
        message = r"n_splits=5 is more than the 3 labeled row\(s\) of class 'yes'.*use n_splits=3 or fewer"
        with pytest.raises(ValueError, match=message):
            LabeledStratifiedKFold(5).split(np.zeros(33), y)  # at once, not when the first fold is asked for
        with pytest.raises(ValueError, match=r"class 1, .*label more rows"):
            LabeledStratifiedKFold(2).split(np.zeros(5), [0, 0, 0, 1, -1])

    def test_no_labels(self):
        with pytest.raises(LabelError, match="y holds no labeled row"):
            LabeledStratifiedKFold(2).split(np.zeros(3), [-1, -1, -1])

    def test_unequal_lengths(self):
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            LabeledStratifiedKFold(2).split(np.zeros((5, 1)), [0, 0, 1, 1])

    def test_groups_are_on_one_side(self):
        rng = np.random.default_rng(0)
        groups = np.repeat(np.arange(30), 4)
        y = np.where(np.arange(120) % 4 == 3, -1, rng.integers(0, 2, 30)[groups])
        tested = []
        for train, test in LabeledStratifiedKFold(5).split(np.zeros(120), y, groups=groups):
            assert not set(groups[train]) & set(groups[test])
            assert (y[test] >= 0).all()
            assert set(y[test]) == {0, 1}
            assert (y[train] == -1).any()  # unlabeled rows of other groups
            tested.extend(test)
        assert sorted(tested) == np.flatnonzero(y >= 0).tolist()

    def test_a_class_in_too_few_groups(self):
        with pytest.raises(ValueError, match=r"more than the 1 group\(s\) of class 1.*label rows of it in more groups"):
            LabeledStratifiedKFold(2).split(np.zeros(6), [0, 0, 0, 0, 1, 1], groups=["a", "b", "c", "d", "e", "e"])

    @pytest.mark.parametrize("dates", [False, True])
    def test_the_past_before_the_future(self, dates):
        rng = np.random.default_rng(0)
        time = rng.permutation(60) // 2
        y = np.where(np.arange(60) % 3 == 2, -1, np.arange(60) % 2)
        shown = pd.Timestamp("2024-01-31") + pd.to_timedelta(time, "D") if dates else time
        folds = list(LabeledStratifiedKFold(3).split(np.zeros(60), y, time=shown))
        assert len(folds) == 3
        for train, test in folds:
            assert time[train].max() < time[test].min()
            assert set(y[train]) == {-1, 0, 1}
        assert 15 <= sum(len(test) for _, test in folds) <= 25

    def test_time_that_cannot_be_ordered(self):
        y = [0, 1, 0, 1, 0, 1, 0, 1]
        with pytest.raises(ValueError, match=r"neither numbers nor dates, such as '31\.12\.2024'"):
            LabeledStratifiedKFold(2).split(np.zeros(8), y, time=["31.12.2024"] * 8)
        with pytest.raises(ValueError, match="time is missing for 1 labeled rows"):
            LabeledStratifiedKFold(2).split(np.zeros(8), y, time=[np.nan, *range(7)])
        with pytest.raises(LabelError, match="no moment with 2 labeled rows of each class before and after it"):
            list(LabeledStratifiedKFold(2).split(np.zeros(8), sorted(y), time=range(8)))

    def test_bad_parameters_have_scikit_learns_errors(self):
        with pytest.raises(ValueError, match="n_splits=2 or more"):
            LabeledStratifiedKFold(1)
        with pytest.raises(ValueError, match="random_state has no effect since shuffle is False"):
            LabeledStratifiedKFold(3, random_state=0)
        with pytest.raises(TypeError):
            LabeledStratifiedKFold(3, True)

    def test_repr_and_copies(self):
        folds = LabeledStratifiedKFold(3, shuffle=True, random_state=7)
        assert repr(folds) == "LabeledStratifiedKFold(n_splits=3, random_state=7, shuffle=True)"
        for other in (copy.deepcopy(folds), pickle.loads(pickle.dumps(folds)), clone(folds, safe=False)):
            assert repr(other) == repr(folds)
        search = clone(GridSearchCV(LabeledLogistic(), {"C": [1.0]}, cv=folds))
        assert repr(search.cv) == repr(folds)

    @every_container
    @pytest.mark.parametrize("scoring", ["roc_auc", "balanced_accuracy"])
    def test_cross_val_score_with_every_kind_of_y(self, y, scoring):
        def scores(y):
            hidden = hide_labels(y, 0.5, mechanism="per-class", random_state=0)
            folds = LabeledStratifiedKFold(3)
            return cross_val_score(LabeledLogistic(), X, hidden, cv=folds, scoring=scoring, error_score="raise")

        np.testing.assert_array_equal(scores(y), scores(TARGET))

    def test_grid_search_in_a_pipeline(self):
        y = hide_labels(pd.Series(WORDS), 40, mechanism="per-class", random_state=0)
        search = GridSearchCV(
            make_pipeline(StandardScaler(), LabeledLogistic()),
            {"labeledlogistic__C": [1e-3, 1.0]},
            cv=LabeledStratifiedKFold(4, shuffle=True, random_state=0),
            scoring="roc_auc",
            error_score="raise",
        ).fit(X, y)
        assert search.n_splits_ == 4
        assert 0.5 < search.best_score_ <= 1
        assert search.best_estimator_[-1].n_unlabeled_ == 40
        assert search.best_estimator_[-1].classes_.tolist() == ["no", "yes"]

    def test_cross_val_predict_refuses_it(self):
        # unlabeled rows are in no test part: there is no out-of-fold prediction for them
        y = hide_labels(TARGET, 0.5, mechanism="per-class", random_state=0)
        with pytest.raises(ValueError, match="partitions"):
            cross_val_predict(LabeledLogistic(), X, y, cv=LabeledStratifiedKFold(3))


class TestHideLabels:
    @every_container
    @pytest.mark.parametrize("mechanism", ["scar", "per-class", "positives-only"])
    def test_every_kind_of_y_hides_the_same_rows(self, y, mechanism):
        before = copy.deepcopy(y)
        hidden = hide_labels(y, 0.3, mechanism=mechanism, random_state=5)
        expected = hide_labels(TARGET, 0.3, mechanism=mechanism, random_state=5)
        unlabeled = labels.read(hidden).codes < 0
        np.testing.assert_array_equal(unlabeled, expected == -1)
        # the labels that are left are the old ones, and y is as it was
        assert labels.read(y).codes[~unlabeled].tolist() == expected[~unlabeled].tolist()
        assert labels.read(y).codes.tolist() == labels.read(before).codes.tolist() == TARGET.tolist()

    @pytest.mark.parametrize(
        ("y", "expected"),
        [
            (np.array([0, 1]), np.array([-1, 1])),
            (np.array([0.0, 1.0]), np.array([-1.0, 1.0])),
            (np.array([0, 1], dtype=np.uint8), np.array([-1, 1], dtype=np.int16)),
            (np.array([0, 1], dtype=np.uint64), np.array([-1, 1])),
            (np.array([0, 1], dtype=np.int8), np.array([-1, 1], dtype=np.int8)),
            (np.array(["a", "b"]), np.array([None, "b"], dtype=object)),
        ],
        ids=lambda y: str(y.dtype),
    )
    def test_arrays(self, y, expected):
        hidden = hide_labels(y, 1, mechanism="positives-only")
        assert type(hidden) is np.ndarray
        assert hidden.dtype == expected.dtype
        assert hidden.tolist() == expected.tolist()

    @pytest.mark.parametrize(
        ("values", "dtype", "marker", "expected_dtype"),
        [
            ([0, 1], "int64", -1, "int64"),
            ([0, 1], "float32", -1.0, "float32"),
            ([0, 1], "Int64", pd.NA, "Int64"),
            ([False, True], "bool", pd.NA, "boolean"),
            ([False, True], "boolean", pd.NA, "boolean"),
            (["a", "b"], "object", None, "object"),
            (["a", "b"], "str", np.nan, "str"),
            (["a", "b"], "string", pd.NA, "string"),
            (["a", "b"], pd.CategoricalDtype(["a", "b"]), np.nan, pd.CategoricalDtype(["a", "b"])),
        ],
    )
    def test_pandas(self, values, dtype, marker, expected_dtype):
        y = pd.Series(values, index=["first", "second"], name="target", dtype=dtype)
        expected = pd.Series([marker, values[1]], index=y.index, name="target", dtype=expected_dtype)
        pd.testing.assert_series_equal(hide_labels(y, 1, mechanism="positives-only"), expected)

    def test_other_containers(self):
        def hide(y):
            return hide_labels(y, 1, mechanism="positives-only")

        assert hide([0, 1]) == [-1, 1]
        assert hide((0, 1)) == (-1, 1)
        assert hide(["a", "b"]) == [None, "b"]
        assert hide([False, True]) == [None, True]
        assert isinstance(hide(np.array([False, True])), pd.arrays.BooleanArray)
        assert hide(pl.Series("t", ["a", "b"])).equals(pl.Series("t", [None, "b"]), check_names=True)
        assert hide(pa.array([0, 1])).equals(pa.array([None, 1]))
        pd.testing.assert_index_equal(hide(pd.Index([0, 1], name="t")), pd.Index([-1, 1], name="t"))

    @pytest.mark.parametrize("mechanism", ["scar", "per-class", "positives-only"])
    def test_random_state(self, mechanism):
        def hide(random_state):
            return hide_labels(TARGET, 0.3, mechanism=mechanism, random_state=random_state).tolist()

        assert hide(0) == hide(0)
        assert hide(np.random.RandomState(0)) == hide(np.random.RandomState(0))
        assert hide(0) != hide(1)

    def test_counts_and_shares(self):
        y = np.repeat([0, 1], [80, 20])

        def kept(*args, **options):
            hidden = hide_labels(y, *args, random_state=0, **options)
            return [int((hidden == label).sum()) for label in (0, 1)]

        assert sum(kept()) == 10
        assert sum(kept(0.25)) == 25
        assert sum(kept(7)) == 7
        assert sum(kept(np.int64(7))) == 7
        assert kept(1.0) == [80, 20]
        assert kept(100) == [80, 20]
        assert kept(0.25, mechanism="per-class") == [20, 5]
        assert kept(1e-9, mechanism="per-class") == [1, 1]
        assert kept(3, mechanism="per-class") == [3, 3]
        assert kept(0.25, mechanism="positives-only") == [0, 5]
        assert kept(3, mechanism="positives-only") == [0, 3]

    def test_rows_that_are_unlabeled_already_stay_so_and_do_not_count(self):
        y = np.array([0, 0, 0, 0, 1, 1, 1, 1] + [-1] * 92)
        hidden = hide_labels(y, 0.5, mechanism="per-class", random_state=0)
        assert (hidden[8:] == -1).all()
        assert [(hidden == label).sum() for label in (0, 1)] == [2, 2]
        positives = hide_labels(np.where(y == 0, -1, y), 2, mechanism="positives-only", random_state=0)
        assert (positives == 1).sum() == 2

    @given(st.lists(st.sampled_from([0, 1, 2, -1]), min_size=3, max_size=30), st.data())
    def test_scar_keeps_the_count_and_a_row_of_each_class(self, y, data):
        y = np.array([0, 1, 2, *y])
        count = data.draw(st.integers(3, int((y >= 0).sum())))
        hidden = hide_labels(y, count, random_state=data.draw(st.integers(0, 999)))
        assert (hidden >= 0).sum() == count
        assert set(hidden) >= {0, 1, 2}
        np.testing.assert_array_equal(hidden[hidden >= 0], y[hidden >= 0])

    def test_tiny_share_keeps_a_row_of_each_class(self):
        y = np.repeat([0, 1], [10_000, 1])
        hidden = hide_labels(y, 0.0001, random_state=0)
        assert sorted(hidden[hidden >= 0]) == [0, 1]

    def test_scar_is_uniform(self):
        y = np.repeat([0, 1], [15, 15])
        rng = np.random.RandomState(0)
        times_kept = sum((hide_labels(y, 10, random_state=rng) >= 0).astype(int) for _ in range(900))
        assert times_kept.sum() == 9000
        # every row is kept 300 times on average; its count has variance 900 / 3 * 2 / 3 = 200
        statistic = ((times_kept - 300) ** 2).sum() / 200
        assert 0.001 < stats.chi2.sf(statistic, 29) < 0.999
        # and the share of positives varies, which it does not with "per-class"
        counts = [(hide_labels(y, 10, random_state=rng) == 1).sum() for _ in range(300)]
        assert np.var(counts) == pytest.approx(stats.hypergeom(30, 15, 10).var(), rel=0.3)

    @pytest.mark.parametrize("labeled", [0, -3, 0.0, 1.5, True, "0.1", None, np.nan])
    def test_bad_labeled(self, labeled):
        with pytest.raises(ValueError, match=r"should be a float in \(0, 1\].* or an int >= 1"):
            hide_labels(TARGET, labeled)

    def test_impossible_counts(self):
        with pytest.raises(ValueError, match="labeled=121 is more than the 120 labeled rows of y"):
            hide_labels(TARGET, 121)
        with pytest.raises(ValueError, match="labeled=1 is fewer than the 2 classes of y"):
            hide_labels(TARGET, 1)
        with pytest.raises(ValueError, match="labeled=3 is more than the 2 labeled rows of class 'yes'"):
            hide_labels(["yes", "no", "yes", "no", "no"], 3, mechanism="per-class")
        with pytest.raises(ValueError, match="labeled=3 is more than the 2 labeled rows of class 1"):
            hide_labels([0, 0, 0, 1, 1], 3, mechanism="positives-only")

    def test_bad_y_and_mechanism(self):
        with pytest.raises(ValueError, match="mechanism='mar' is not known: use one of 'scar', 'per-class'"):
            hide_labels(TARGET, mechanism="mar")
        with pytest.raises(LabelError, match="y holds no labeled row"):
            hide_labels([-1, -1])
        with pytest.raises(LabelError, match="y holds 3 classes"):
            hide_labels([0, 1, 2], mechanism="positives-only")
        with pytest.raises(LabelError, match="there is no unlabeled row"):
            hide_labels([1, 1], mechanism="positives-only")
        with pytest.raises(LabelError, match="continuous"):
            hide_labels([0.1, 0.2])

    def test_hidden_labels_can_be_read_by_every_method(self):
        assert set(labels.read_binary(hide_labels(WORDS, 0.2, random_state=0)).signs) == {-1, 0, 1}
        positives = hide_labels(WORDS, 0.2, mechanism="positives-only", random_state=0)
        assert 0 < labels.read_pu(positives).positive.sum() < (TARGET == 1).sum()
