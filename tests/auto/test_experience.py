"""Experience: what members achieved elsewhere, and what their out-of-fold scores add to it."""

import json

import numpy as np
import pytest

from benchmarks.quality.experience import Trial, learn_experience, rounded
from fewlabel import AutoClassifier
from fewlabel.auto import Experience, portfolio
from fewlabel.auto.experience import PoolExperience, package_experience
from fewlabel.metrics.angles import from_angle, to_angle

NAMES = ["a", "b", "c"]
RULE = {"steepness": 20.0, "noise": 1.0, "most": 5}
LEVELS = np.array([0.0, 0.2, -0.2])  # angles of the members, relative to the table


def trials(n_tables=60, spread=0.1, noise=0.5, n_rarest=20, seed=0):
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n_tables):
        truth = rng.uniform(1.8, 2.2) + LEVELS + rng.normal(0, spread, 3)
        seen = truth + rng.normal(0, np.sqrt(noise / (n_rarest - 2)), 3)
        found.append(Trial(f"table {k}", 0.05, n_rarest, from_angle(truth), from_angle(seen)))
    return found


@pytest.fixture(scope="module")
def learned():
    return learn_experience(trials(), NAMES, RULE)


def test_it_learns_means_spreads_and_the_error_of_out_of_fold_scores(learned):
    np.testing.assert_allclose(learned.mean, LEVELS, atol=0.05)
    np.testing.assert_allclose(np.diag(learned.covariance), 0.01 * 2 / 3, rtol=0.5)
    np.testing.assert_allclose(np.diag(learned.noise), 0.5 * 2 / 3, rtol=0.5)


def test_few_labels_leave_the_prior_and_many_replace_it(learned):
    scores = to_angle(np.array([0.9, 0.7, 0.8]))
    prior, few = learned.posterior(scores, 3)
    _, many = learned.posterior(scores, 10**6)
    assert prior.argmax() == few.argmax() == 1
    np.testing.assert_allclose(np.diff(few), np.diff(prior), atol=0.1)
    np.testing.assert_allclose(np.diff(many), np.diff(scores - learned.bias), atol=1e-3)


def test_evidence_for_one_member_is_evidence_for_its_relatives():
    rng = np.random.default_rng(1)
    shared = [rng.normal(0, 0.2) * np.array([1, 1, 0]) for _ in range(80)]
    tables = [
        Trial(f"t{k}", 0.05, 20, from_angle(2 + s + rng.normal(0, 0.02, 3)), from_angle(2 + s + rng.normal(0, 0.1, 3)))
        for k, s in enumerate(shared)
    ]
    found = learn_experience(tables, NAMES, RULE)
    prior, posterior = found.posterior(np.array([2.4, 2.0, 2.0]), 20)
    assert posterior[1] - posterior[2] > 0.02 + prior[1] - prior[2]


def test_weights_follow_the_posterior_and_poor_members_get_none(learned):
    weights = learned.weights(to_angle(np.array([0.83, 0.84, 0.5])), 200)
    assert weights.sum() == pytest.approx(1)
    assert weights[1] > weights[0] > weights[2] == 0


def test_no_more_members_than_the_rule_says(learned):
    scores = to_angle(np.array([0.83, 0.83, 0.83]))
    flat, one = ({**RULE, "steepness": 1.0, "most": most} for most in (5, 1))
    assert (Experience({**learned.state, "rule": flat}).weights(scores, 20) > 0).all()
    assert Experience({**learned.state, "rule": one}).weights(scores, 20).tolist() == [0.0, 1.0, 0.0]


def test_members_can_be_missing_or_new(learned):
    part = learned.of(["new", "b"])
    assert part.mean[0] == pytest.approx(learned.mean.mean())
    assert part.mean[1] == learned.mean[1]
    assert part.covariance[0, 1] == 0
    assert part.covariance[0, 0] == pytest.approx(np.diag(learned.covariance).mean())
    order = learned.of(NAMES[::-1])
    scores = to_angle(np.array([0.8, 0.9, 0.7]))
    np.testing.assert_allclose(order.posterior(scores[::-1], 9)[1][::-1], learned.posterior(scores, 9)[1])


def test_positive_unlabeled_data_start_without_experience(learned):
    assert np.ptp(learned.of(NAMES, "positive-unlabeled").mean) == 0


def test_many_classes_are_weighed_by_their_losses():
    state = {
        "members": ["a", "b"],
        "loss": [-0.1, 0.1],
        "bias": [0.0, 0.05],
        "rule": dict(RULE, steepness=6, labels=100),
    }
    pool = PoolExperience(state).of(["b", "new", "a"])
    losses = np.array([0.55, 0.5, 0.5])
    prior, posterior = pool.posterior(losses, 100)
    # Half of what was seen, half of what other tables say.
    np.testing.assert_allclose(prior, 0.5 + np.array([0.1, 0.0, -0.1]))
    np.testing.assert_allclose(posterior, [0.55, 0.5, 0.45])
    weights = pool.weights(losses, 100)
    np.testing.assert_allclose(weights / weights[2], np.exp(-6 * np.array([0.1, 0.05, 0.0])))


def test_without_experience_of_many_classes_the_losses_decide(learned):
    prior, posterior = learned.of(["a", "b"], "multiclass").posterior(np.array([0.3, 0.5]), 10)
    np.testing.assert_allclose(posterior, [0.3, 0.5])
    assert np.ptp(prior) == 0


def test_the_file_holds_the_same_model(learned):
    again = Experience(json.loads(json.dumps(rounded(learned))))
    scores = to_angle(np.array([0.8, 0.9, 0.7]))
    np.testing.assert_allclose(again.posterior(scores, 9), learned.posterior(scores, 9), atol=1e-4)


def test_the_experience_of_the_package_is_about_its_members():
    found = package_experience()
    assert set(found.members) <= {member.name for member in portfolio()}
    for matrix in (found.covariance, found.noise):
        np.testing.assert_array_equal(matrix, matrix.T)
        assert np.linalg.eigvalsh(matrix).min() > 0


def test_another_experience_is_used_if_it_is_given():
    """With three labels per class experience decides: the member that it prefers gets the larger weight."""
    names = ["logistic regression", "naive Bayes"]
    rng = np.random.default_rng(0)
    y = np.tile([0, 1], 3)
    X = rng.normal(size=(6, 2)) + y[:, None]
    for better in (0, 1):
        levels = 2.0 + 0.4 * (np.arange(2) == better) + rng.normal(0, 0.05, (40, 2))
        seen = levels + rng.normal(0, 0.3, (40, 2))
        tables = [Trial(f"t{k}", 0.05, 5, from_angle(levels[k]), from_angle(seen[k])) for k in range(40)]
        known = learn_experience(tables, names, RULE)
        model = AutoClassifier(names, experience=known, n_repeats=1, random_state=0).fit(X, y)
        assert max(model.ensemble_weights_, key=model.ensemble_weights_.get) == names[better]
