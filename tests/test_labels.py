import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning

import fewlabel
from fewlabel.exceptions import LabelError
from fewlabel.labels import UNLABELED, name_rest, read, read_binary, read_positive, read_pu

# Every container holds: first class, unlabeled, second class, first class.
CODES = [0, -1, 1, 0]

NUMBERS = {
    "int64": np.array([0, -1, 1, 0]),
    "int8": np.array([0, -1, 1, 0], dtype=np.int8),
    "float with -1": np.array([0.0, -1.0, 1.0, 0.0]),
    "float with NaN": np.array([0.0, np.nan, 1.0, 0.0], dtype=np.float32),
    "objects": np.array([0, None, 1, 0], dtype=object),
    "objects with -1": np.array([0, -1, 1, 0], dtype=object),
    "masked": np.ma.array([0, 0, 1, 0], mask=[0, 1, 0, 0]),
    "list": [0, -1, 1, 0],
    "list with None": [0, None, 1, 0],
    "list of ints and floats": [0, None, 1.0, 0],
    "tuple": (0, -1, 1, 0),
    "Series": pd.Series([0, -1, 1, 0]),
    "Series with NaN": pd.Series([0, np.nan, 1, 0]),
    "Series, shuffled index": pd.Series([0, -1, 1, 0], index=[3, 3, 0, 1]),
    "Int64": pd.Series([0, None, 1, 0], dtype="Int64"),
    "Int64 with -1": pd.Series([0, -1, 1, 0], dtype="Int64"),
    "UInt8": pd.Series([0, None, 1, 0], dtype="UInt8"),
    "Float64": pd.Series([0, None, 1, 0], dtype="Float64"),
    "pandas array": pd.array([0, None, 1, 0], dtype="Int64"),
    "pandas Index": pd.Index([0, -1, 1, 0]),
    "pandas on Arrow": pd.Series([0, None, 1, 0], dtype=pd.ArrowDtype(pa.int64())),
    "categorical": pd.Series([0, None, 1, 0], dtype="category"),
    "Categorical with -1": pd.Categorical([0, -1, 1, 0]),
    "polars": pl.Series([0, None, 1, 0]),
    "polars with -1": pl.Series([0, -1, 1, 0]),
    "polars with NaN": pl.Series([0.0, float("nan"), 1.0, 0.0]),
    "Arrow": pa.array([0, None, 1, 0]),
    "Arrow with -1": pa.array([0, -1, 1, 0]),
    "Arrow with NaN": pa.array([0.0, float("nan"), 1.0, 0.0]),
    "Arrow decimal": pa.array([0, None, 1, 0], type=pa.decimal128(5, 0)),
    "Arrow, chunked": pa.chunked_array([[0, None], [1, 0]]),
}
STRINGS = {
    "objects": np.array(["no", None, "yes", "no"], dtype=object),
    "objects with NaN": np.array(["no", np.nan, "yes", "no"], dtype=object),
    "NumPy strings": np.array(["no", None, "yes", "no"], dtype=np.dtypes.StringDType(na_object=None)),
    "list": ["no", None, "yes", "no"],
    "list with pd.NA": ["no", pd.NA, "yes", "no"],
    "list with NaT": ["no", pd.NaT, "yes", "no"],
    "list of NumPy strings": [np.str_("no"), None, np.str_("yes"), np.str_("no")],
    "Series": pd.Series(["no", None, "yes", "no"]),
    "Series of objects": pd.Series(["no", None, "yes", "no"], dtype=object),
    "string": pd.Series(["no", None, "yes", "no"], dtype="string"),
    "pandas on Arrow": pd.Series(["no", None, "yes", "no"], dtype=pd.ArrowDtype(pa.string())),
    "categorical": pd.Series(["no", None, "yes", "no"], dtype="category"),
    "Categorical": pd.Categorical(["no", None, "yes", "no"]),
    "polars": pl.Series(["no", None, "yes", "no"]),
    "polars categorical": pl.Series(["no", None, "yes", "no"], dtype=pl.Categorical),
    "Arrow": pa.array(["no", None, "yes", "no"]),
    "Arrow dictionary": pa.array(["no", None, "yes", "no"]).dictionary_encode(),
}
BOOLS = {
    "list": [False, None, True, False],
    "list of NumPy bools": [np.False_, None, np.True_, np.False_],
    "objects": np.array([False, None, True, False], dtype=object),
    "boolean": pd.Series([False, None, True, False], dtype="boolean"),
    "categorical": pd.Series([False, None, True, False], dtype="category"),
    "polars": pl.Series([False, None, True, False]),
    "Arrow": pa.array([False, None, True, False]),
}


def cases(columns):
    return pytest.mark.parametrize("y", columns.values(), ids=columns.keys())


class TestRead:
    @cases(NUMBERS)
    def test_numbers(self, y):
        labels = read(y)
        assert labels.codes.tolist() == CODES
        assert labels.codes.dtype == np.int64
        assert labels.classes.tolist() == [0, 1]
        assert labels.classes.dtype.kind in "iuf"

    @cases(STRINGS)
    def test_strings(self, y):
        labels = read(y)
        assert labels.codes.tolist() == CODES
        assert labels.classes.tolist() == ["no", "yes"]

    @cases(BOOLS)
    def test_bools(self, y):
        labels = read(y)
        assert labels.codes.tolist() == CODES
        assert labels.classes.tolist() == [False, True]
        assert labels.classes.dtype == bool

    def test_fully_labeled_bools(self):
        assert read(np.array([True, False])).codes.tolist() == [1, 0]

    def test_classes_keep_the_type_of_y(self):
        assert read(np.array([0, 255], dtype=np.uint8)).classes.dtype == np.uint8
        assert read(np.array([0, -1, 3], dtype=np.int16)).classes.dtype == np.int16
        assert read(np.array([0.0, 3.0])).classes.dtype == np.float64

    def test_many_classes_are_sorted(self):
        labels = read(["b", "c", None, "a", "b"])
        assert labels.classes.tolist() == ["a", "b", "c"]
        assert labels.codes.tolist() == [1, 2, -1, 0, 1]

    def test_negative_classes_other_than_the_marker(self):
        labels = read([-2, -1, 5])
        assert labels.classes.tolist() == [-2, 5]
        assert labels.codes.tolist() == [0, -1, 1]

    def test_text_minus_one_is_a_class(self):
        assert read(["-1", "1", None]).codes.tolist() == [0, 1, -1]

    def test_text_nan_is_a_class(self):
        assert read(["nan", "a"]).codes.tolist() == [1, 0]

    def test_order_of_categories_does_not_matter(self):
        y = pd.Series(pd.Categorical(["no", "yes"], categories=["yes", "no"], ordered=True))
        assert read(y).codes.tolist() == [0, 1]

    def test_hidden_classes_are_unused_categories_but_not_the_marker(self):
        assert read(pd.Categorical([1, 1], categories=[-1, 0, 1])).hidden_classes == (0,)
        y = pd.Categorical([1, -1, 1], categories=[-1, 0, 1])
        assert read(y).hidden_classes == (0,)
        assert read(pd.Categorical(["a", "b"])).hidden_classes == ()

    def test_objects_that_are_only_arrays(self):
        class OnlyAnArray:
            def __array__(self, dtype=None, copy=None):
                return np.array([0, -1, 1, 0], dtype=dtype)

        assert read(OnlyAnArray()).codes.tolist() == CODES

    @pytest.mark.parametrize(
        "column",
        [
            np.array([[0], [-1], [1], [0]]),
            [[0], [-1], [1], [0]],
            pd.DataFrame({"y": [0, -1, 1, 0]}),
            pl.DataFrame({"y": [0, None, 1, 0]}),
            pa.table({"y": [0, None, 1, 0]}),
        ],
        ids=["array", "list", "pandas", "polars", "Arrow"],
    )
    def test_column_vector_is_taken_with_a_warning(self, column):
        with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
            assert read(column).codes.tolist() == CODES

    @given(st.lists(st.sampled_from([-1, 0, 3, 7])))
    def test_classes_and_codes_rebuild_y(self, y):
        labels = read(np.array(y, dtype=np.int64))
        rebuilt = np.append(labels.classes, -1)[labels.codes]
        assert rebuilt.tolist() == y

    @given(st.lists(st.one_of(st.none(), st.text(max_size=2))))
    def test_texts_and_none_rebuild_y(self, y):
        labels = read(y)
        assert [None if c < 0 else labels.classes[c] for c in labels.codes] == y

    def test_input_is_not_changed(self):
        y = pd.Series([0, -1, 1], index=[5, 6, 7])
        before = y.copy()
        read(y)
        pd.testing.assert_series_equal(y, before)

    def test_no_labels_can_be_read(self):
        for y in ([], [None, None], [-1, -1], np.array([np.nan]), pd.Series([pd.NaT, pd.NaT])):
            labels = read(y)
            assert len(labels.classes) == 0
            assert labels.codes.tolist() == [-1] * len(y)


class TestReadErrors:
    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (
                [0.5, 1, 2],
                r"Unknown label type: continuous. y holds numbers such as 0\.5, which are not classes",
            ),
            (np.array([1, 2.25], np.float32), r"numbers such as 2\.25,"),
            ([np.inf, 1.0], "y contains infinity"),
            (
                ["yes", -1, "no"],
                "mixed text and number values, e.g. 'yes', -1, 'no'.*mark unlabeled rows with None",
            ),
            (pd.Series(pd.to_datetime(["2020-01-01", None])), "y holds date values"),
            ([datetime.date(2020, 1, 1), None], "y holds date values"),
            (pd.Series(pd.to_timedelta([1, 2])), "y holds duration values"),
            (np.array([1j, 0]), "y holds complex values"),
            (np.array([b"a", b"b"]), "y holds bytes values"),
            ([object(), object()], "y holds mixed values"),
            (np.array([2**70, 0], dtype=object), "more than 64 bits: write them as text"),
        ],
    )
    def test_values(self, y, message):
        with pytest.raises(LabelError, match=message):
            read(y)

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            (None, "the target y is None"),
            ("yes", "got str instead: pass one label per row"),
            (3, "got int instead"),
            ((label for label in (0, 1)), "got generator instead"),
            ({0, 1}, "got set instead"),
            ({"a": 0, "b": 1}, "got dict instead"),
            (np.array(1), r"shape \(\) instead"),
            (np.zeros((3, 2)), r"shape \(3, 2\) instead"),
            (np.zeros((3, 1, 1)), r"shape \(3, 1, 1\) instead"),
            ([[1, 2], [3]], r"nested rows instead \(row 0 is list of length 2\): pass one label per row"),
            ([0, 1, [1, 0]], r"row 2 is list of length 2"),
            ([[0, 1], [1, 0]], r"row 0 is list of length 2"),
            ([np.zeros((2, 3)), np.zeros((2, 4))], "row 0 is ndarray of length 2"),
            (
                pd.DataFrame({"a": [1, 0, 1], "b": [1, 0, 1]}),
                r"a table of shape \(3, 2\) instead: pass one column",
            ),
            (pl.DataFrame({"a": [1, 0, 1], "b": [1, 0, 1]}), r"a table of shape \(3, 2\) instead"),
            (pa.table({"a": [1, 0, 1], "b": [1, 0, 1]}), r"a table of shape \(3, 2\) instead"),
            (pd.MultiIndex.from_tuples([(1, 2), (3, 4)]), "MultiIndex of 2 levels"),
        ],
    )
    def test_shapes(self, y, message):
        with pytest.raises(LabelError, match=message):
            read(y)

    def test_errors_are_value_errors(self):
        assert issubclass(LabelError, ValueError)

    def test_the_marker_is_one_number_everywhere(self):
        assert fewlabel.UNLABELED == UNLABELED == -1


class TestReadBinary:
    def test_signs(self):
        labels = read_binary([1, 0, -1, 0])
        assert labels.signs.tolist() == [1, -1, 0, -1]
        assert labels.signs.dtype == np.int8
        assert labels.classes.tolist() == [0, 1]

    def test_the_second_class_is_positive(self):
        assert read_binary(["good", None, "bad"]).signs.tolist() == [1, 0, -1]
        assert read_binary([2, 1, None]).signs.tolist() == [1, -1, 0]
        assert read_binary([True, None, False]).signs.tolist() == [1, 0, -1]

    @pytest.mark.parametrize("y", [[], [-1, -1], [None, None], np.full(3, np.nan), pd.Series([pd.NaT])])
    def test_no_labeled_row(self, y):
        with pytest.raises(LabelError, match=r"y holds no labeled row: .*if -1 is one of your classes, recode it"):
            read_binary(y)

    @pytest.mark.parametrize("y", [[-1, 1, 1], np.array([-1.0, 1.0]), pd.Series([-1, 1], dtype="Int64")])
    def test_minus_one_and_one(self, y):
        message = (
            r"^only one labeled class \(1(\.0)?\): if -1 is your negative class, recode it as 0; "
            r"-1 marks unlabeled rows\. If only positives are labeled, use a positive-unlabeled method such as \w+$"
        )
        with pytest.raises(LabelError, match=message):
            read_binary(y)

    @pytest.mark.parametrize("y", [[1, 1], ["yes", None], [True, None]])
    def test_one_class(self, y):
        with pytest.raises(LabelError, match=r"only one labeled class .*use a positive-unlabeled method"):
            read_binary(y)

    def test_a_class_with_every_row_hidden(self):
        y = pd.Categorical(["yes", None, "yes"], categories=["no", "yes"])
        with pytest.raises(LabelError, match=r"\('yes'\): every row of class 'no' is hidden; label a few rows"):
            read_binary(y)

    def test_many_classes(self):
        with pytest.raises(LabelError, match=r"^Only binary classification is supported.*y holds 3 classes, 0, 1, 2$"):
            read_binary([0, 1, 2, -1])
        with pytest.raises(LabelError, match=r"y holds 9 classes, 0, 1, 2, 3, 4, 5, \.\.\.$"):
            read_binary(np.arange(9))

    def test_text_minus_one_beside_two_classes_gets_a_hint(self):
        with pytest.raises(LabelError, match=r"The text '-1' is a class: mark unlabeled rows .* with None"):
            read_binary(["-1", "no", "yes"])


class TestReadPU:
    @pytest.mark.parametrize(
        "y",
        [
            [1, 0, 0, 1],
            [1, -1, -1, 1],
            [0, None, None, 0],  # the only labeled class is the positive one
            ["fraud", None, None, "fraud"],
            [True, False, False, True],
            [True, None, None, True],
            pd.Categorical(["yes", None, None, "yes"], categories=["no", "yes"]),
        ],
    )
    def test_positives(self, y):
        labels = read_pu(y)
        assert labels.positive.tolist() == [True, False, False, True]
        assert labels.positive.dtype == bool

    def test_labeled_negatives_and_markers_name_the_pnu_methods(self):
        with pytest.raises(LabelError, match=r"both classes \(0, 1\) and unlabeled rows: .*PNUAUCBoostClassifier"):
            read_pu([1, 0, -1])

    def test_no_unlabeled_row(self):
        with pytest.raises(LabelError, match="every row is labeled 1: there is no unlabeled row"):
            read_pu([1, 1])

    def test_many_classes(self):
        with pytest.raises(LabelError, match="need one positive class, y holds 3: 0, 1, 2"):
            read_pu([0, 1, 2])

    def test_no_labeled_row(self):
        with pytest.raises(LabelError, match="y holds no labeled row"):
            read_pu([-1, -1])


# One labeled class, and the name of the class of the other rows.
ONE_CLASS = {
    "1": ([1, 1, 1, 1] + [-1] * 8, [0, 1]),
    "0": ([0, 0, 0, 0] + [None] * 8, [1, 0]),
    "floats": ([2.0] * 4 + [np.nan] * 8, [0, 2]),
    "text": (["fraud"] * 4 + [None] * 8, ["not fraud", "fraud"]),
    "bools": ([True] * 4 + [None] * 8, [False, True]),
    "False": ([False] * 4 + [None] * 8, [True, False]),
    "categorical": (pd.Categorical(["yes"] * 4 + [None] * 8, categories=["no", "yes"]), ["no", "yes"]),
    "many categories": (pd.Categorical(["a"] * 4 + [None] * 8, categories=["a", "b", "c"]), ["not a", "a"]),
    "many numbers": (pd.Categorical([1] * 4 + [None] * 8, categories=[0, 1, 2]), [0, 1]),
}
ONE_CLASS_ESTIMATORS = {
    "Ada-PU": fewlabel.PUAdaBoostClassifier(3, prior=0.4),
    "linear": fewlabel.LinearPUClassifier(prior=0.4),
    "auto": fewlabel.AutoClassifier(["logistic regression"], prior=0.4),
    "table": fewlabel.TableClassifier(fewlabel.AutoClassifier(["logistic regression"], prior=0.4)),
}


@pytest.mark.filterwarnings("ignore:only one labeled class")
@pytest.mark.parametrize("estimator", ONE_CLASS_ESTIMATORS.values(), ids=ONE_CLASS_ESTIMATORS.keys())
@pytest.mark.parametrize(("y", "classes"), ONE_CLASS.values(), ids=ONE_CLASS.keys())
def test_every_estimator_gives_the_absent_class_the_same_name(estimator, y, classes):
    X = pd.DataFrame({"x": [8.0, 9, 10.5, 11, 8.5, 9.5, 10.6, 1, 2, 3.5, 4, 5]})
    model = clone(estimator).fit(X, y)
    assert model.classes_.tolist() == sorted(classes)
    assert model.classes_[model.positive_] == classes[1]
    assert {type(c) for c in model.classes_.tolist()} == {type(read(y).classes.tolist()[0])}
    assert set(model.predict(X).tolist()) <= set(classes)
    probability, decision = model.predict_proba(X), model.decision_function(X)
    assert probability[2, model.positive_] > probability[8, model.positive_]
    assert (decision[2] > decision[8]) == (model.positive_ == 1)  # as in scikit-learn
    np.testing.assert_array_equal(model.predict(X), model.classes_[(decision > 0).astype(int)])


class TestReadPositive:
    @pytest.mark.parametrize(
        ("y", "positive", "classes", "codes"),
        [
            ([0, 1, -1], None, [0, 1], [0, 1, -1]),
            ([0, 1, -1], 0, [1, 0], [1, 0, -1]),
            ([0, 1, -1], "0", [1, 0], [1, 0, -1]),  # as on a command line
            ([0, 1, 2, -1], None, [0, 1, 2], [0, 1, 2, -1]),
            ([0, 1, 2, -1], 1, ["not 1", 1], [0, 1, 0, -1]),
            (["a", "b", "c", None], "a", ["not a", "a"], [1, 0, 0, -1]),
            (["a", None], None, ["not a", "a"], [1, -1]),
            (["a", None], "a", ["not a", "a"], [1, -1]),
            ([True, None], "True", [False, True], [1, -1]),
        ],
    )
    def test_the_positive_class_is_last(self, y, positive, classes, codes):
        labels = read_positive(y, positive)
        assert labels.classes.tolist() == classes
        assert labels.codes.tolist() == codes

    def test_numbers_keep_their_type_and_text_is_of_objects(self):
        assert read_positive(np.array([0, 1], dtype=np.int16), 0).classes.dtype == np.int16
        assert read_positive(np.array(["a", "b"])).classes.dtype == object

    def test_a_class_that_no_row_holds(self):
        with pytest.raises(LabelError, match="no labeled row holds the positive class 'd': the classes are 'a', 'b'"):
            read_positive(["a", "b"], "d")

    def test_no_labeled_row(self):
        with pytest.raises(LabelError, match="y holds no labeled row"):
            read_positive([None, None])


@pytest.mark.parametrize("positive", [0, 1, -3, 2.0, True, False, "", "a", np.True_])
def test_the_rest_is_never_named_like_the_positive_class(positive):
    assert name_rest(positive) != positive
