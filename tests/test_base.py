"""What the bases promise of every estimator: a fit leaves one whole model, or none."""

import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

import fewlabel
from fewlabel.exceptions import LabelError
from reference.fitted_stumps import stumps_of

SOURCE = str(Path(fewlabel.__file__).parent)
HAS_TORCH = importlib.util.find_spec("torch") is not None
ARGUMENTS = {
    "AutoClassifier": dict(portfolio=["logistic regression", "naive Bayes"], n_repeats=1),
    "NeuralPUClassifier": dict(prior=0.4, max_iter=2),
    "LinearAUCClassifierCV": dict(alphas=(0.001, 0.1), cv=3),
    "LinearPUClassifier": dict(prior=0.4, max_iter=50),
    "PUAdaBoostClassifier": dict(prior=0.4, n_estimators=10),
    "TreeAUCBoostClassifier": dict(n_estimators=10),
    "TreePUBoostClassifier": dict(prior=0.4, n_estimators=10),
    "TableClassifier": dict(estimator=fewlabel.AutoClassifier(["naive Bayes"], n_repeats=1, random_state=0)),
    "VariableClusterer": dict(n_bootstraps=2),
    "MultiviewKernelClassifier": dict(views=[[0, 1], [2, 3]]),
    "BalancedMultiviewClassifier": dict(views=[[0, 1], [2, 3]], max_iter=2),
    "CoTrainingClassifier": dict(estimator=GaussianNB()),
    "CrossTrainingClassifier": dict(estimator=GaussianNB()),
    "TriTrainingClassifier": dict(estimator=GaussianNB()),
    "PseudoLabelSelector": dict(teacher=GaussianNB()),
    "StabilitySelector": dict(n_draws=5),
}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
TRUE = (X[:, 0] + X[:, 1] > 0.3).astype(int)
Y = np.where(np.arange(60) < 30, TRUE, -1)
OTHER_X, OTHER_Y = np.c_[X[::-1], X[:, 0]], np.where(Y >= 0, 5 + 2 * Y, -1)  # other rows, columns and classes


def make(name):
    estimator = dict(fewlabel.all_estimators())[name]
    if name == "NeuralPUClassifier" and not HAS_TORCH:
        pytest.skip("PyTorch is not installed: pip install 'fewlabel[torch]'")
    model = estimator(**ARGUMENTS.get(name, {}))
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def labels_for(model, y):
    return np.where(y == y.max(), y, -1) if "PU" in type(model).__name__ else y


def use(model, table):
    return model.predict(table) if hasattr(model, "predict") else model.transform(table)


class Interrupter:
    """Counts calls of functions of the library in this thread, and raises KeyboardInterrupt at one of them."""

    def __init__(self, at=None):
        self.n_calls, self._at = 0, at

    def __call__(self, frame, event, _):
        code = frame.f_code
        # Not in the decorator of fit, which would be a second interrupt within the clean-up of the first.
        if event == "call" and code.co_filename.startswith(SOURCE) and code.co_name not in ("_forget", "whole"):
            self.n_calls += 1
            if self.n_calls == self._at:
                raise KeyboardInterrupt

    def watch(self, fit):
        sys.setprofile(self)
        try:
            fit()
        finally:
            sys.setprofile(None)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name, _ in fewlabel.all_estimators()])
def test_an_interrupted_refit_leaves_no_model(name):
    model = make(name).fit(X, labels_for(make(name), Y))
    expected = use(model, X)
    other = labels_for(model, OTHER_Y)
    counter, fresh = Interrupter(), clone(model)
    counter.watch(lambda: fresh.fit(OTHER_X, other))
    n_interrupted = 0
    for share in (0.01, 0.5, 0.99):
        model.fit(X, labels_for(model, Y))
        try:
            Interrupter(at=max(1, round(share * counter.n_calls))).watch(lambda: model.fit(OTHER_X, other))
        except KeyboardInterrupt:
            n_interrupted += 1
            for table in (X, OTHER_X):
                with pytest.raises(NotFittedError):
                    use(model, table)
            assert not [key for key in vars(model) if key.endswith("_")]
        else:  # the calls of threads that wait for each other differ from run to run
            np.testing.assert_array_equal(use(model, OTHER_X), use(fresh, OTHER_X))
    assert n_interrupted >= 2
    np.testing.assert_array_equal(use(model.fit(X, labels_for(model, Y)), X), expected)


@pytest.mark.parametrize("name", ["PNUAUCBoostClassifier", "PathNeighborsClassifier", "ReliefFSelector"])
def test_a_refused_refit_leaves_no_model(name):
    model = make(name).fit(X, Y)
    with pytest.raises(LabelError, match="no labeled row"):
        model.fit(X, np.full(60, -1))
    with pytest.raises(NotFittedError):
        use(model, X)


def test_an_interrupted_warm_start_goes_on_from_the_rounds_before_it():
    model = fewlabel.PNUAUCBoostClassifier(5, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=30)
    counter = Interrupter()
    counter.watch(lambda: clone(model).fit(X, Y))
    with pytest.raises(KeyboardInterrupt):
        Interrupter(at=counter.n_calls // 2).watch(lambda: model.fit(X, Y))
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, Y)
    whole = fewlabel.PNUAUCBoostClassifier(30, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(stumps_of(model)[:5], stumps_of(whole)[:5])
    assert model.n_iter_ == 30


@pytest.mark.parametrize(
    ("model", "changed"),
    [
        (fewlabel.PNUAUCBoostClassifier(3, random_state=0), {"learning_rate": 0.5, "random_state": 1}),
        (fewlabel.TreeAUCBoostClassifier(3, random_state=0), {"l2_regularization": 2.0}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_warm_start_with_other_parameters_columns_or_classes(model, changed, tmp_path):
    model = clone(model).set_params(warm_start=True).fit_ranking(X, Y)
    fewlabel.save(model, tmp_path / "model.fewlabel")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_estimators=5).fit_ranking(X, Y)
    loaded = fewlabel.load(tmp_path / "model.fewlabel")
    for continued in (clone(model).fit_ranking(X, Y), loaded):
        with pytest.warns(UserWarning, match="other parameters: " + next(iter(changed))) as caught:
            continued.set_params(**changed).fit_ranking(X, Y)
        assert all(name in str(caught[0].message) for name in changed)
        assert caught[0].filename == __file__
    for other in ((X[:, :-1], Y), (X, np.where(Y == 1, 2, Y))):
        with pytest.raises(ValueError, match="warm_start=False to start again"):
            clone(model).fit_ranking(X, Y).fit_ranking(*other)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(model).set_params(warm_start=False).fit_ranking(X, Y).fit_ranking(X[:, :-1], Y)


def test_fit_ranking_is_only_where_it_works():
    assert not hasattr(fewlabel.AutoClassifier(), "fit_ranking")
    assert hasattr(fewlabel.PNUAUCBoostClassifier(), "fit_ranking")


def test_a_refit_keeps_what_was_set_outside_fit():
    model = fewlabel.ReliefFSelector().set_output(transform="pandas")
    model.note = "of the user"
    model.fit(X, Y)
    assert model.fit(X, Y).note == "of the user"
    assert isinstance(model.transform(X), pd.DataFrame)


@pytest.mark.parametrize("name", ["AssembleClassifier", "MultiviewKernelClassifier", "PNUAUCBoostClassifier"])
def test_a_class_without_weight_is_named(name):
    with pytest.raises(LabelError, match="every labeled row of class 1 has sample_weight 0"):
        make(name).fit(X, Y, sample_weight=np.where(Y == 1, 0.0, 1.0))


@pytest.mark.parametrize("name", [name for name, _ in fewlabel.all_estimators()])
def test_one_class_is_refused_in_the_same_words(name):
    model = make(name)
    if "PU" in name or name in ("AutoClassifier", "TableClassifier", "TableEncoder", "VariableClusterer"):
        pytest.skip("it learns from one class and unlabeled rows, or without labels")
    with pytest.raises(LabelError, match=r"^only one labeled class \(1\): if -1 is your negative class, recode it"):
        model.fit(X, np.where(Y == 1, 1, -1))


RANKERS = {
    "LeastSquaresAUCClassifier": {},
    "LinearAUCClassifier": dict(random_state=0),
    "LinearAUCClassifierCV": dict(alphas=[1e-2, 1e-1], cv=3, random_state=0),
    "PNUAUCBoostClassifier": dict(n_estimators=40, random_state=0),
    "PNUAdaBoostClassifier": dict(n_estimators=40, random_state=0),
    "TreeAUCBoostClassifier": dict(n_estimators=40, random_state=0),
}


def weak_table(n, seed):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.35).astype(int)
    X = rng.normal(size=(n, 20))
    X[:, :3] += 0.5 * y[:, None]
    return X, y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RANKERS)
def test_probabilities_of_few_labels_are_no_worse_than_a_constant(name):
    """On the scores of the rows of the fit, the log-loss is 0.8 to 2.3."""
    X, y = weak_table(60, 0)
    X_new, y_new = weak_table(2000, 1)
    model = getattr(fewlabel, name)(**RANKERS[name])
    too_good = model.fit_ranking(X, y)
    decision, loss = too_good.decision_function(X_new), log_loss(y_new, too_good.predict_proba(X_new))
    model.fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X_new), decision)
    constant = log_loss(y_new, np.full(len(y_new), y.mean()))
    assert log_loss(y_new, model.predict_proba(X_new)) < constant + 0.04
    assert loss > constant + 0.05


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", RANKERS)
def test_weights_on_any_scale_and_rows_of_weight_zero(name):
    X, y = weak_table(60, 0)
    rng = np.random.default_rng(2)
    weight = rng.integers(0, 3, 60).astype(float)
    model = getattr(fewlabel, name)(**RANKERS[name])
    expected = clone(model).fit(X, y, sample_weight=weight).predict_proba(X)
    trees = name == "TreeAUCBoostClassifier"  # their penalty counts rows, of which the weights are repetitions
    for scale in () if trees else (2.0**-20, 2.0**20):
        found = clone(model).fit(X, y, sample_weight=scale * weight).predict_proba(X)
        np.testing.assert_allclose(found, expected, atol=1e-6)
    kept = weight > 0
    found = clone(model).fit(X[kept], y[kept], sample_weight=weight[kept]).predict_proba(X)
    np.testing.assert_allclose(found, expected, atol=1e-9)
