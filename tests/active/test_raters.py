"""Many hands: combined labels, and labels that look wrong."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fewlabel.active import combine_answers, label_confidence
from fewlabel.active.raters import combine_with_model, contradicting


def made(seed, n_rows=240, n_each=2):
    """True classes, and the answers of five people of whom two are poor."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    votes = np.full((n_rows, 5), -1)
    for row in range(n_rows):
        for person in rng.choice(5, n_each, replace=False):
            is_right = rng.random() < (0.95, 0.9, 0.9, 0.6, 0.55)[person]
            votes[row, person] = y[row] if is_right else 1 - y[row]
    return y, votes


def test_the_answers_of_good_people_count_more():
    y, votes = made(0, n_each=3)
    found = combine_answers(votes, 2)
    majority = (np.where(votes >= 0, votes, 0).sum(axis=1) > 1.5).astype(int)
    assert (found.codes == y).mean() > (majority == y).mean() + 0.02
    assert found.accuracy[:3].min() > found.accuracy[3:].max()
    np.testing.assert_allclose(found.errors.sum(axis=2), 1)


def test_agreement_by_hand():
    votes = np.array([[0, 0], [1, 1], [0, 1], [1, 1], [-1, 0], [-1, -1]])
    found = combine_answers(votes, 2)
    assert found.agreement == pytest.approx(3 / 4)
    # Of 8 answers 3 are 0 and 5 are 1: by chance (3 * 2 + 5 * 4) / (8 * 7) agree.
    assert found.kappa == pytest.approx((3 / 4 - 26 / 56) / (1 - 26 / 56))
    assert found.codes[-1] == -1
    assert np.isnan(found.probability[-1]).all()
    np.testing.assert_array_equal(contradicting(votes), [False, False, True, False, False, False])


def test_one_answer_each_is_kept():
    votes = np.full((6, 2), -1)
    votes[:3, 0] = [0, 1, 1]
    votes[3:, 1] = [1, 0, 0]
    found = combine_answers(votes, 2)
    np.testing.assert_array_equal(found.codes, [0, 1, 1, 1, 0, 0])
    assert np.isnan(found.kappa)


@pytest.mark.filterwarnings("ignore")  # of crowd-kit with new versions of pandas
def test_not_worse_than_crowd_kit():
    pytest.importorskip("nltk", reason="crowd-kit imports it")
    aggregation = pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed")
    import pandas as pd

    ours = []
    theirs = []
    for seed in range(6):
        y, votes = made(seed, n_each=3)
        rows, people = np.nonzero(votes >= 0)
        table = pd.DataFrame({"task": rows, "worker": people, "label": votes[rows, people]})
        labels = aggregation.DawidSkene(n_iter=100).fit_predict(table).sort_index().to_numpy()
        theirs.append((labels == y).mean())
        ours.append((combine_answers(votes, 2).codes == y).mean())
    assert np.mean(ours) >= np.mean(theirs) - 0.005


@pytest.fixture(scope="module")
def tumors():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200], y[:200]


def test_the_model_decides_where_people_contradict_each_other(tumors):
    X, y = tumors
    rng = np.random.default_rng(0)
    votes = np.where(rng.random((200, 2)) < 0.75, y[:, None], 1 - y[:, None])
    alone = combine_answers(votes, 2)
    found = combine_with_model(votes, 2, X)
    assert (found.codes == y).mean() > (alone.codes == y).mean() + 0.05
    unanimous = votes[:, 0] == votes[:, 1]
    np.testing.assert_array_equal(found.codes[unanimous], votes[unanimous, 0])
    assert len(found.accuracy) == 2


def test_wrong_labels_have_the_lowest_confidence(tumors):
    X, y = tumors
    rng = np.random.default_rng(1)
    flipped = rng.random(200) < 0.15
    codes = np.where(flipped, 1 - y, y)
    codes[:10] = -1
    confidence = label_confidence(X, codes)
    assert np.isnan(confidence[:10]).all()
    wrong = flipped[10:]
    k = wrong.sum()
    precision = wrong[np.argsort(confidence[10:])[:k]].mean()
    assert precision > 0.7
    rank = pytest.importorskip("cleanlab.rank", reason="cleanlab is not installed")
    from sklearn.ensemble import ExtraTreesClassifier
    from sklearn.model_selection import cross_val_predict

    trees = ExtraTreesClassifier(100, random_state=0)
    own = cross_val_predict(trees, X[10:], codes[10:], cv=5, method="predict_proba")
    theirs = wrong[np.argsort(rank.get_label_quality_scores(codes[10:], own))[:k]].mean()
    assert precision >= theirs
