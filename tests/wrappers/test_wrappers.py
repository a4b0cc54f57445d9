"""The wrappers: the guard, what any user may pass in, and what scikit-learn may do with them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fewlabel import (
    CoTrainingClassifier,
    CrossTrainingClassifier,
    LabeledStratifiedKFold,
    TriTrainingClassifier,
    hide_labels,
)
from fewlabel.wrappers._cross_training import CrossTrainingRun
from fewlabel.wrappers._learner import Learner
from fewlabel.wrappers._loop import deal, most_confident

WRAPPERS = [CrossTrainingClassifier, CoTrainingClassifier, TriTrainingClassifier]
every_wrapper = pytest.mark.parametrize("wrapper", WRAPPERS)


def toy(seed=0, labeled=0.2, n=120):
    X, y = make_blobs(n, centers=3, n_features=4, cluster_std=3.0, random_state=seed)
    return X, y, hide_labels(y, labeled=labeled, mechanism="per-class", random_state=seed)


@pytest.mark.parametrize("n_parts", [2, 3])
def test_exhausted_labels_every_row_once_and_learns_from_all(n_parts):
    X, _, y = toy()
    model = CrossTrainingClassifier(GaussianNB(), n_parts, 5, stop="exhausted", max_iter=None, random_state=0).fit(X, y)
    assert (model.labeled_iter_[y >= 0] == 0).all()
    assert (model.labeled_iter_[y < 0] >= 1).all()
    assert np.bincount(model.labeled_iter_[y < 0])[1:].max() <= 5 * n_parts
    assert model.history_[-1]["n_labeled"] == np.count_nonzero(y < 0)
    assert model.best_iter_ == model.n_iter_ == model.labeled_iter_.max()
    assert model.estimators_[0].class_count_.sum() == len(X)


def test_max_iter_raises_k_so_that_all_rows_are_labeled():
    X, _, y = toy()
    model = CrossTrainingClassifier(GaussianNB(), k_best=1, max_iter=4, stop="exhausted", random_state=0).fit(X, y)
    assert model.n_iter_ == 4
    assert (model.labeled_iter_ >= 0).all()


@every_wrapper
@pytest.mark.parametrize("base", [GaussianNB(), DecisionTreeClassifier(max_depth=3), LogisticRegression()])
@pytest.mark.parametrize("seed", range(4))
def test_the_guard_never_ends_below_the_start(wrapper, base, seed):
    X, _, y = toy(seed, n=90)
    model = wrapper(base, max_iter=5, random_state=seed).fit(X, y)
    scores = [entry["score"] for entry in model.history_]
    assert not np.isnan(scores).any()
    assert scores[model.best_iter_] >= scores[0]
    if model.best_iter_:
        gained = (scores[model.best_iter_] - scores[0]) * np.count_nonzero(y >= 0)
        assert scores[model.best_iter_] == max(scores)
        assert gained > 1.64 * np.sqrt(gained) * (1 - 1e-9)  # the least that it takes, if no row is lost
    assert model.labeled_iter_.max() <= model.best_iter_


def test_with_worthless_unlabeled_rows_the_guard_gives_the_label_only_model():
    rng = np.random.default_rng(0)
    X = np.r_[np.repeat([[-3.0], [3.0]], 30, axis=0), rng.normal(0, 50, (200, 1))] + rng.normal(0, 0.1, (260, 1))
    y = np.r_[np.repeat([0, 1], 30), np.full(200, -1)]
    model = CrossTrainingClassifier(LogisticRegression(), random_state=0).fit(X, y)
    alone = LogisticRegression().fit(X[:60], y[:60])
    assert model.best_iter_ == 0
    np.testing.assert_array_equal(model.estimators_[0].coef_, alone.coef_)
    np.testing.assert_array_equal(model.labeled_iter_, np.where(y >= 0, 0, -1))


def test_the_start_score_is_that_of_the_labeled_rows_alone():
    X, _, y = toy(3)
    few = CrossTrainingClassifier(GaussianNB(), random_state=0).fit(X, y)
    other = np.where((y < 0)[:, None], X * 7 - 3, X)
    assert (
        few.history_[0]["score"]
        == CrossTrainingClassifier(GaussianNB(), random_state=0).fit(other, y).history_[0]["score"]
    )


def test_a_part_is_labeled_with_indirect_knowledge_of_its_own_labels():
    """Why the guard holds labels out of whole runs, and does not ask the classifier of part p about part p."""
    X, _, codes = toy(1)
    parts = deal(codes, np.flatnonzero(codes >= 0), 3, np.random.RandomState(0))
    free = np.flatnonzero(codes < 0)
    parts[free] = np.arange(len(free)) % 3
    changed = np.where((parts == 0) & (codes >= 0), (codes + 1) % 3, codes)
    means = []
    for known in (codes, changed):
        learner = Learner(GaussianNB(), X, np.arange(3), np.random.RandomState(0))
        run = CrossTrainingRun(learner, known, codes < 0, parts, k=5, shares=None)
        start = run._fit_for(0).theta_
        run.turn(1)
        means.append((start, run._fit_for(0).theta_))
    np.testing.assert_array_equal(means[0][0], means[1][0])
    assert not np.allclose(means[0][1], means[1][1])


@every_wrapper
def test_the_order_of_unlabeled_rows_does_not_matter(wrapper):
    X, _, y = toy()
    order = np.arange(len(y))
    free = np.flatnonzero(y < 0)
    order[free] = np.random.default_rng(0).permutation(free)
    a = wrapper(ExtraTreesClassifier(5), stop="exhausted", random_state=0).fit(X, y)
    b = wrapper(ExtraTreesClassifier(5), stop="exhausted", random_state=0).fit(X[order], y[order])
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    np.testing.assert_array_equal(a.labeled_iter_[order], b.labeled_iter_)


@every_wrapper
def test_reproducible_and_the_same_for_any_n_jobs(wrapper):
    X, _, y = toy()
    bases = [ExtraTreesClassifier(5, n_jobs=n) for n in (1, 2)]
    models = [wrapper(base, max_iter=3, random_state=3).fit(X, y) for base in bases]
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
    assert models[0].history_ == models[1].history_


@every_wrapper
@pytest.mark.parametrize("base", [LinearSVC(), RidgeClassifier(), KNeighborsClassifier(3)])
def test_any_classifier_with_string_classes_and_frames(wrapper, base):
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["a", "b", "c"])[y]
    few = pd.Series(hide_labels(names, labeled=0.3, mechanism="per-class", random_state=0))
    model = wrapper(base, max_iter=5, random_state=0).fit(X, few)
    assert (model.predict(X) == names).mean() > 0.7
    assert (model.transduction_[few.notna()] == few[few.notna()]).all()
    assert model.feature_names_in_.tolist() == list(X.columns)
    assert hasattr(model, "predict_proba") == hasattr(base, "predict_proba")
    assert model.decision_function(X).shape == (150, 3)


@every_wrapper
def test_without_unlabeled_rows_nothing_is_labeled(wrapper):
    X, y, _ = toy()
    model = wrapper(GaussianNB(), random_state=0).fit(X, y)
    assert (model.n_iter_, model.best_iter_) == (0, 0)
    if wrapper is CrossTrainingClassifier:
        np.testing.assert_array_equal(model.predict_proba(X), clone(GaussianNB()).fit(X, y).predict_proba(X))


@every_wrapper
@pytest.mark.filterwarnings("ignore:class .* has 1 labeled")
def test_one_label_a_class(wrapper):
    X, y, _ = toy()
    few = np.full(len(y), -1)
    few[[np.flatnonzero(y == c)[0] for c in range(3)]] = range(3)
    assert set(wrapper(LogisticRegression(), random_state=0).fit(X, few).predict(X)) <= {0, 1, 2}


def test_sparse_rows():
    X, _, y = toy()
    dense = CrossTrainingClassifier(LogisticRegression(), random_state=0).fit(np.maximum(X, 0), y)
    sparse = CrossTrainingClassifier(LogisticRegression(), random_state=0).fit(csr_matrix(np.maximum(X, 0)), y)
    assert sparse.predict(csr_matrix(X)).shape == dense.predict(X).shape


def test_parts_are_stratified():
    codes = np.r_[np.zeros(10, int), np.ones(7, int), np.full(4, 2)]
    parts = deal(codes, np.arange(21), 3, np.random.RandomState(0))
    assert np.ptp(np.bincount(parts)) <= 1
    assert all(np.ptp(np.bincount(parts[codes == c], minlength=3)) <= 1 for c in range(3))


def test_most_confident_by_hand():
    codes, confidence = np.array([0, 1, 0, 1, 0]), np.array([0.9, 0.6, 0.9, 0.8, 0.95])
    assert most_confident(codes, confidence, 3).tolist() == [4, 0, 2]
    assert most_confident(codes, confidence, 4, shares=np.array([0.5, 0.5])).tolist() == [0, 1, 3, 4]


def test_views_by_position_name_and_mask_are_the_same():
    X, _, y = toy()
    frame = pd.DataFrame(X, columns=list("abcd"))
    mask = np.array([True, True, False, False])
    ways = [[[0, 1], [2, 3]], [["a", "b"], ["c", "d"]], [mask, ~mask]]
    models = [CoTrainingClassifier(GaussianNB(), views, max_iter=3, random_state=0).fit(frame, y) for views in ways]
    assert all((m.predict_proba(frame) == models[0].predict_proba(frame)).all() for m in models)
    with pytest.raises(ValueError, match="'z'"):
        CoTrainingClassifier(GaussianNB(), [["a"], ["z"]]).fit(frame, y)
    with pytest.raises(ValueError, match=r"does not have: \[9\]"):
        CoTrainingClassifier(GaussianNB(), [[0], [9]]).fit(frame, y)


@every_wrapper
def test_one_class_is_an_error_that_says_what_to_do(wrapper):
    with pytest.raises(ValueError, match="positive-unlabeled"):
        wrapper(GaussianNB()).fit([[0.0, 1], [1, 2], [2, 3]], [1, -1, -1])


def test_few_labels_of_a_class_warn():
    X, y, _ = toy()
    few = np.full(len(y), -1)
    few[:60] = y[:60]
    few[np.flatnonzero(few == 2)[2:]] = -1
    with pytest.warns(UserWarning, match="fewer than n_parts"):
        CrossTrainingClassifier(GaussianNB(), random_state=0).fit(X, few)


@every_wrapper
def test_in_grid_search_pipeline_and_cross_validation(wrapper):
    X, _, y = toy()
    folds = LabeledStratifiedKFold(3)
    grid = {"estimator__var_smoothing": [1e-9, 10.0], "stop": ["out-of-fold", "exhausted"]}
    search = GridSearchCV(wrapper(GaussianNB(), max_iter=2, random_state=0), grid, cv=folds).fit(X, y)
    assert search.best_params_["estimator__var_smoothing"] == 1e-9
    assert not np.isnan(search.cv_results_["mean_test_score"]).any()
    model = make_pipeline(StandardScaler(), wrapper(GaussianNB(), max_iter=2, random_state=0))
    assert cross_val_score(model, X, y, cv=folds).mean() > 0.5


@every_wrapper
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_columns_of_polars_and_arrow(wrapper, library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    X, _, y = toy()
    names = np.array(["a", "b", "c", None], dtype=object)[y]  # -1 is the last
    table = {f"column {j}": X[:, j] for j in range(4)}
    if library == "polars":
        frame, column = frames.DataFrame(table), frames.Series(names.tolist())
    else:
        frame, column = frames.table(table), frames.array(names.tolist())
    model = wrapper(GaussianNB(), max_iter=3, random_state=0).fit(frame, column)
    alone = wrapper(GaussianNB(), max_iter=3, random_state=0).fit(X, names)
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), alone.predict(X))


@pytest.mark.parametrize("seed", range(5))
def test_co_training_goes_on_past_rows_that_its_views_dispute(seed):
    known, disputed, clear = [[0.0, 0.0], [1.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]] * 3, [[0.1, 0.2], [0.9, 0.8]] * 3
    X, y = np.array(known + disputed + clear), np.array([0, 1] + [-1] * 12)
    base = DecisionTreeClassifier()
    model = CoTrainingClassifier(base, [[0], [1]], pool_size=1, stop="exhausted", max_iter=None, random_state=seed)
    model.fit(X, y)
    assert (model.labeled_iter_[8:] > 0).all()
    assert (model.labeled_iter_[2:8] == -1).all()


def texts(n=120):
    """A table of text, a category and a number with gaps; the class is told by words."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    words = np.array([["late", "refund", "broken"], ["great", "thanks", "love"]])
    notes = [" ".join(rng.choice(words[c], 3)) + f" order {rng.integers(9)}" for c in y]
    table = pd.DataFrame({"note": notes, "kind": rng.choice(["a", "b"], n), "size": rng.normal(size=n)})
    table.loc[::7, "size"] = np.nan
    return table, y, np.where(np.arange(n) < 20, y, -1)


@every_wrapper
def test_pipelines_take_tables_with_text(wrapper):
    table, y, few = texts()
    columns = make_column_transformer((TfidfVectorizer(), "note"), (OneHotEncoder(), ["kind"]))
    options = {"views": [["note", "kind"], ["note", "kind", "size"]]} if wrapper is CoTrainingClassifier else {}
    model = wrapper(make_pipeline(columns, LogisticRegression()), random_state=0, **options).fit(table, few)
    assert (model.transduction_ == y).mean() > 0.9
    np.testing.assert_array_equal(model.predict(table)[20:], model.transduction_[20:])
    assert model.feature_names_in_.tolist() == ["note", "kind", "size"]
    order = np.r_[:20, np.random.default_rng(1).permutation(np.arange(20, 120))]
    again = clone(model).fit(table.iloc[order], few[order])
    np.testing.assert_array_equal(again.transduction_, model.transduction_[order])


@pytest.mark.parametrize("wrapper", [CrossTrainingClassifier, TriTrainingClassifier])
def test_lists_of_texts(wrapper):
    table, y, few = texts()
    model = wrapper(make_pipeline(TfidfVectorizer(), LogisticRegression()), random_state=0).fit(
        list(table["note"]), few
    )
    assert (model.predict(list(table["note"])) == y).mean() > 0.9


@every_wrapper
def test_gaps_where_the_base_takes_them(wrapper):
    X, _, y = toy()
    X[::5, 0] = np.nan
    model = wrapper(ExtraTreesClassifier(5), random_state=0).fit(X, y)
    assert len(model.transduction_) == len(X)
    with pytest.raises(ValueError, match="NaN"):
        wrapper(GaussianNB()).fit(X, y)


@every_wrapper
def test_threads_do_not_change_the_model(wrapper):
    X, _, y = toy(3, n=90)
    one, two = (wrapper(GaussianNB(), n_jobs=n, random_state=0).fit(X, y) for n in (None, 2))
    assert one.history_ == two.history_
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_no_round_is_run_if_none_could_be_accepted():
    X, y = make_blobs(90, centers=3, cluster_std=0.3, random_state=0)
    model = CrossTrainingClassifier(GaussianNB(), random_state=0).fit(X, hide_labels(y, labeled=0.3, random_state=0))
    assert model.n_iter_ == 0
    assert [entry["score"] for entry in model.history_] == [1.0]


def test_the_default_base_tells_classes_apart_with_three_labels_each():
    X, y = make_blobs(60, centers=2, cluster_std=0.5, random_state=0)
    few = np.full(60, -1)
    for code in (0, 1):
        few[np.flatnonzero(y == code)[:3]] = code
    assert CrossTrainingClassifier(random_state=0).fit(X, few).score(X, y) > 0.9
