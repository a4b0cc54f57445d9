"""The selectors equal slow versions and hand-worked cases, and keep what the method promises."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from fewlabel import (
    ConsistencySubsetSelector,
    CorrelationSubsetSelector,
    LabeledStratifiedKFold,
    PathNeighborsClassifier,
    ReliefFSelector,
    SubsetReliefSelector,
)
from fewlabel.exceptions import LabelError
from fewlabel.selection._columns import Columns, read_columns, scale
from fewlabel.selection._consistency import Inconsistency
from fewlabel.selection._correlation import Merits
from fewlabel.selection._discretize import mdl_cuts
from reference import selection as reference

ALL = [SubsetReliefSelector, ReliefFSelector, CorrelationSubsetSelector, ConsistencySubsetSelector]


def mixed_table(seed, n=60, missing=0.0):
    """Three numeric columns, two nominal ones, three classes that depend on some of them."""
    rng = np.random.default_rng(seed)
    values = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 3, (n, 2))])
    y = (values[:, 0] + rng.normal(size=n) > 0).astype(int) + (values[:, 3] == 2)
    values[rng.random(values.shape) < missing] = np.nan
    return values, np.array([False, False, False, True, True]), y


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize(("norm", "k"), [("sum", 1), ("sum", 7), ("rms", 3), ("sum", 1000)])
def test_subset_search_equals_explicit_neighbors(seed, missing, norm, k):
    X, nominal, y = mixed_table(seed, missing=missing)
    model = SubsetReliefSelector(n_neighbors=k, max_samples=None, distance_norm=norm, categorical_features=nominal)
    model.fit(X, y)
    values = scale(Columns(X, nominal, None))
    path, scores = reference.forward_search(values, nominal, y, range(len(y)), k, X.shape[1], norm)
    assert model.path_.tolist() == path
    np.testing.assert_allclose(model.scores_path_, scores, rtol=0, atol=1e-9)


def test_best_first_scores_equal_explicit_neighbors():
    X, nominal, y = mixed_table(3)
    model = SubsetReliefSelector(search="best-first", max_samples=None, categorical_features=nominal).fit(X, y)
    greedy = SubsetReliefSelector(max_samples=None, categorical_features=nominal).fit(X, y)
    values = scale(Columns(X, nominal, None))
    for m, score in enumerate(model.scores_path_, start=1):
        expected = reference.subset_score(values, nominal, y, model.path_[:m], range(len(y)), 10)
        assert score == pytest.approx(expected, abs=1e-9)
    assert model.scores_path_[-1] >= greedy.scores_path_[-1] - 1e-12


def test_sum_and_rms_have_one_order_and_paths_are_prefixes():
    X, nominal, y = mixed_table(1)
    options = dict(max_samples=None, categorical_features=nominal, search="full")
    whole = SubsetReliefSelector(distance_norm="sum", **options).fit(X, y)
    rms = SubsetReliefSelector(distance_norm="rms", **options).fit(X, y)
    assert whole.path_.tolist() == rms.path_.tolist()
    np.testing.assert_allclose(whole.scores_path_, rms.scores_path_ * np.sqrt(np.arange(1, 6)), atol=1e-12)
    for m in range(1, 6):
        part = SubsetReliefSelector(m, **options).fit(X, y)
        assert part.path_.tolist() == whole.path_[:m].tolist()
    stopped = SubsetReliefSelector(max_samples=None, categorical_features=nominal).fit(X, y)
    assert (np.diff(stopped.scores_path_) > 0).all()


def test_subset_relief_is_invariant():
    X, nominal, y = mixed_table(2)
    options = dict(max_samples=None, categorical_features=nominal)
    base = SubsetReliefSelector(**options).fit(X, y)
    other = X * [3.0, 0.5, 100.0, 1, 1] + [1.0, -2.0, 5.0, 0, 0]
    other[:, 3] = np.array([7, 1, 4])[X[:, 3].astype(int)]
    order = np.random.default_rng(0).permutation(len(y))
    names = np.array(["c", "a", "b"])[y]
    for table, labels in ((other, y), (X[order], y[order]), (X, names)):
        model = SubsetReliefSelector(**options).fit(table, labels)
        assert model.path_.tolist() == base.path_.tolist()
        np.testing.assert_allclose(model.scores_path_, base.scores_path_, atol=1e-9)


def test_separating_column_scores_one_and_constants_are_not_added():
    y = np.repeat([0, 1], 20)
    X = np.column_stack([np.full(40, 3.0), y])
    model = SubsetReliefSelector(max_samples=None).fit(X, y)
    assert model.path_.tolist() == [1]
    assert model.scores_path_ == pytest.approx([1.0])


def test_a_copy_of_a_column_is_added_with_summed_distances_and_not_with_their_mean():
    X, y = load_iris(return_X_y=True)
    twice = np.column_stack([X[:, 3], X[:, 3]])
    summed = SubsetReliefSelector(max_samples=None).fit(twice, y)
    assert summed.path_.tolist() == [0, 1]
    assert summed.scores_path_[1] == pytest.approx(np.sqrt(2) * summed.scores_path_[0])
    assert SubsetReliefSelector(max_samples=None, distance_norm="rms").fit(twice, y).path_.tolist() == [0]


def test_result_does_not_depend_on_threads_and_sample_is_reproducible():
    X, nominal, y = mixed_table(5, n=200)
    options = dict(max_samples=50, categorical_features=nominal, random_state=4)
    one = SubsetReliefSelector(**options).fit(X, y)
    two = SubsetReliefSelector(n_jobs=2, **options).fit(X, y)
    np.testing.assert_array_equal(one.scores_path_, two.scores_path_)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("k", [1, 5, 1000])
def test_relieff_equals_the_naive_version(seed, missing, k):
    X, nominal, y = mixed_table(seed, n=40, missing=missing)
    model = ReliefFSelector(n_neighbors=k, categorical_features=nominal).fit(X, y)
    order = np.argsort(y, kind="stable")
    n_values = [len(np.unique(c[~np.isnan(c)])) if n else 0 for c, n in zip(X.T, nominal)]
    expected = reference.relieff(scale(Columns(X, nominal, None))[order], n_values, y[order], k)
    np.testing.assert_allclose(model.scores_, expected, atol=1e-12)


def test_symmetric_uncertainty_and_merit_by_hand():
    y = np.array([0, 0, 1, 1])
    codes = np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]])
    # The third column: H = 0.8113, H(y) = 1, joint (2, 1, 1) of 4 = 1.5 bits.
    h = -0.75 * np.log2(0.75) - 0.25 * np.log2(0.25)
    third = 2 * (h + 1 - 1.5) / (h + 1)
    np.testing.assert_allclose(Merits(codes, y).with_class, [1.0, 0.0, third])
    merits = Merits(codes, y).of_children((0,))
    assert np.isnan(merits[0])
    np.testing.assert_allclose(merits[1:], [1 / np.sqrt(2), (1 + third) / np.sqrt(2 + 2 * third)])


def test_mdl_cuts_by_hand():
    # 20 rows, 10 of each class, one clean cut: gain 1 > (log2(19) + log2(7) - 2) / 20 = 0.25.
    assert mdl_cuts(np.arange(20.0), np.repeat([0, 1], 10), 2).tolist() == [9.5]
    # Two rows: gain 1 > (log2(1) + log2(7) - 2) / 2 = 0.40. Alternating classes are not cut.
    assert mdl_cuts(np.array([0.0, 1.0]), np.array([0, 1]), 2).tolist() == [0.5]
    assert mdl_cuts(np.arange(20.0), np.tile([0, 1], 10), 2).size == 0
    assert mdl_cuts(np.full(9, 2.0), np.arange(9) % 2, 2).size == 0
    # Three blocks of m: gain 0.2516 against (log2(3m - 1) + log2(7) + 0.163) / 3m, 0.261 for m = 10, 0.148 for m = 20.
    assert mdl_cuts(np.arange(30.0), np.repeat([0, 1, 0], 10), 2).size == 0
    values, y = np.r_[np.arange(60.0), np.nan], np.r_[np.repeat([0, 1, 0], 20), 1]
    assert mdl_cuts(values, y, 2).tolist() == [19.5, 39.5]


@pytest.mark.parametrize("seed", range(5))
def test_inconsistency_equals_explicit_groups(seed):
    rng = np.random.default_rng(seed)
    codes, y = rng.integers(0, 3, (4, 50)), rng.integers(0, 3, 50)
    rates = Inconsistency(codes, y, 3)
    for subset in ((), (1,), (0, 2), (3, 1, 0)):
        assert rates.of(subset) == pytest.approx(reference.inconsistency(codes, y, subset))
        children = rates.of_children(subset)
        for j in set(range(4)) - set(subset):
            assert children[j] == pytest.approx(reference.inconsistency(codes, y, (*subset, j)))


def test_las_vegas_keeps_the_rate_with_fewer_columns():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 8))
    y = X[:, 2] ^ X[:, 5]
    model = ConsistencySubsetSelector(search="las-vegas", categorical_features=range(8), random_state=0).fit(X, y)
    assert model.get_support(indices=True).tolist() == [2, 5]
    strict = ConsistencySubsetSelector(search="las-vegas", max_rate=0.0, categorical_features=[0])
    with pytest.raises(ValueError, match="raise max_rate"):
        strict.fit(X[:, :1], y)


@pytest.mark.parametrize("selector", ALL)
def test_unlabeled_rows_are_left_out(selector):
    X, y = load_iris(return_X_y=True)
    y_few = np.where(np.arange(150) % 3 == 0, y, -1)
    few = selector().fit(X, y_few)
    labeled = selector().fit(X[y_few >= 0], y_few[y_few >= 0])
    np.testing.assert_array_equal(few.support_, labeled.support_)
    np.testing.assert_array_equal(few.scores_path_, labeled.scores_path_)


@pytest.mark.parametrize("selector", ALL)
def test_mixed_data_frames_in_and_out(selector):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    X = pd.DataFrame({"noise": rng.normal(size=80), "color": np.where(y, "red", "blue"), "size": y + rng.random(80)})
    X["color"] = X["color"].astype("category")
    X.loc[3, "color"], X.loc[4, "size"] = np.nan, np.nan
    out = selector().set_output(transform="pandas").fit_transform(X, y)
    assert isinstance(out, pd.DataFrame)
    assert set(out.columns) & {"color", "size"}
    assert (out.dtypes == X[out.columns].dtypes).all()
    assert read_columns(X, "auto").nominal.tolist() == [False, True, False]


@pytest.mark.parametrize("selector", ALL)
def test_wrong_input_says_what_to_do(selector):
    X = pd.DataFrame({"a": ["x", "y", "x"], "b": [1.0, 2.0, 3.0]})
    with pytest.raises(LabelError, match="only one labeled class"):
        selector().fit(X, [1, 1, -1])
    with pytest.raises(ValueError, match="does not have"):
        selector(categorical_features=["z"]).fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="name it in categorical_features"):
        selector(categorical_features=["b"]).fit(X, [0, 1, 1])
    with pytest.raises(ValueError, match="infinity"):
        selector().fit(X.assign(b=[1.0, np.inf, 2.0]), [0, 1, 1])


def test_in_a_pipeline():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(SubsetReliefSelector(2, search="full"), GaussianNB()).fit(X, y)
    assert model.score(X, y) > 0.9


def tables_of_both_kinds(library):
    """A mixed table with gaps in pandas and in another library, and its classes, some of them unknown."""
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    pytest.importorskip("pyarrow", reason="polars needs pyarrow to turn into pandas")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    table = {
        "noise": rng.normal(size=60),
        "color": np.where(y, "red", "blue").astype(object),
        "size": np.where(rng.random(60) < 0.1, np.nan, y + rng.random(60)),
    }
    table["color"][3] = None
    names = np.where(rng.random(60) < 0.3, None, np.where(y, "yes", "no").astype(object))
    plain = pd.DataFrame(table)
    if library == "polars":
        other = frames.DataFrame({**table, "color": table["color"].tolist()})
        return plain, names, other, frames.Series(names.tolist())
    return plain, names, frames.table({name: frames.array(v) for name, v in table.items()}), frames.array(names)


@pytest.mark.parametrize("selector", ALL)
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_polars_and_arrow_tables_are_read_like_pandas(selector, library):
    plain, names, other, column = tables_of_both_kinds(library)
    expected = selector().fit(plain, names)
    found = selector().fit(other, column)
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_array_equal(found.scores_path_, expected.scores_path_)
    assert found.classes_.tolist() == ["no", "yes"]
    assert found.get_feature_names_out().tolist() == plain.columns[expected.support_].tolist()
    assert found.transform(other).shape == (60, expected.support_.sum())


@pytest.mark.parametrize("selector", ALL)
def test_polars_out(selector):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    X, y = load_iris(return_X_y=True, as_frame=True)
    out = selector().set_output(transform="polars").fit(X, y).transform(X)
    assert isinstance(out, polars.DataFrame)
    assert out.columns == selector().fit(X, y).get_feature_names_out().tolist()


def test_number_of_columns_is_searched_inside_the_folds():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X = X.assign(noise=np.random.default_rng(0).random(150))
    y_few = np.where(np.arange(150) % 3 == 0, y, -1)
    # The last step reads -1 as unlabeled too: to a plain scikit-learn classifier it would be a class.
    model = make_pipeline(SubsetReliefSelector(search="full", random_state=0), PathNeighborsClassifier())
    grid = {"subsetreliefselector__n_features_to_select": [1, 2, 4]}
    search = GridSearchCV(model, grid, cv=LabeledStratifiedKFold(3)).fit(X, y_few)
    assert search.best_score_ > 0.85
    assert "noise" not in search.best_estimator_[0].get_feature_names_out()


@pytest.mark.parametrize("selector", [ReliefFSelector(n_neighbors=3), SubsetReliefSelector(n_neighbors=3)])
def test_the_comparison_with_shuffled_labels_does_not_depend_on_the_order_of_the_rows(selector):
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(12):  # so weak that some tables pass the test and others do not
        X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
        X[:, 0] += 0.8 * y
        order = rng.permutation(40)
        masks = [clone(selector).fit(X[o], y[o]).support_.tolist() for o in (np.arange(40), order)]
        assert masks[0] == masks[1]
        found.add(any(masks[0]))
    assert found == {True, False}


def test_a_column_that_ranks_nearly_all_rows_is_found_among_500():
    """The default of `fewlabel select`; SubsetReliefSelector took 206 s of CPU and found nothing."""
    rng = np.random.default_rng(0)
    y = np.arange(300) % 2
    X = rng.normal(size=(300, 500))
    X[:, 77] += 2.33 * y  # AUC .95
    model = CorrelationSubsetSelector().fit(X, y)
    assert model.path_[0] == 77


@pytest.mark.parametrize("search", ["greedy", "best-first"])
def test_without_the_guard_the_search_alone_decides(search):
    """As in the thesis: the best subset is kept, even if shuffled labels score as well."""
    rng = np.random.default_rng(1)
    X, y = rng.random((40, 4)), np.arange(40) % 2
    with pytest.warns(UserWarning, match="no column is selected"):
        assert not SubsetReliefSelector(search=search).fit(X, y).support_.any()
    plain = SubsetReliefSelector(search=search, guard=False).fit(X, y)
    limited = SubsetReliefSelector(4, search=search).fit(X, y)
    assert plain.path_.tolist() == limited.path_.tolist()
    assert plain.support_.any()
