"""Candidates for members of AutoClassifier, beside those of its portfolio: `benchmarks.quality.cells` runs them.

None of them makes the ensemble better, and neither does a list that a greedy search found among all, on tables that it
was not chosen on: members.csv and portfolios.csv.
"""

import numpy as np
from catboost import CatBoostClassifier
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVC

from fewlabel.auto.members import ALL, BINARY, MULTICLASS, POSITIVE_UNLABELED, Member, portfolio
from fewlabel.boosting import TreeAUCBoostClassifier
from fewlabel.linear import LeastSquaresAUCClassifier


class ObliqueForest(BaseEstimator, ClassifierMixin):
    """Extra trees in ten groups; each sees the columns, and as many sums of two or three random ones of them.

    Parameters
    ----------
    n_estimators : int
    kind : {"beside", "only", "rotated"}
        Sums beside the columns; twice as many sums instead of the columns; or all columns rotated at random beside
        them.
    random_state : int
    """

    _n_groups = 10

    def __init__(self, n_estimators, kind="beside", random_state=0):
        self.n_estimators = n_estimators
        self.kind = kind
        self.random_state = random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        self.scale_ = X.std(axis=0) + 1e-9
        self.groups_ = []
        for _ in range(self._n_groups):
            sums = self._draw(rng, X.shape[1])
            trees = ExtraTreesClassifier(
                max(1, self.n_estimators // self._n_groups),
                min_samples_leaf=3 if len(y) >= 10 else 1,
                random_state=int(rng.integers(2**31)),
            )
            self.groups_.append((sums, trees.fit(self._seen(X, sums), y)))
        return self

    def _draw(self, rng, n_columns):
        if self.kind == "rotated":
            return np.linalg.qr(rng.standard_normal((n_columns, n_columns)))[0]
        n_sums = max(2 * n_columns if self.kind == "only" else n_columns, 5)
        sums = np.zeros((n_columns, n_sums))
        for column in sums.T:
            n_terms = min(n_columns, rng.choice((2, 3)))
            column[rng.choice(n_columns, n_terms, replace=False)] = rng.standard_normal(n_terms)
        return sums

    def _seen(self, X, sums):
        found = X / self.scale_ @ sums
        return found if self.kind == "only" else np.c_[X, found]

    def predict_proba(self, X):
        return np.mean([trees.predict_proba(self._seen(X, sums)) for sums, trees in self.groups_], axis=0)


class MeanOfNetworks(BaseEstimator, ClassifierMixin):
    """Three networks of one hidden layer, which start elsewhere."""

    def __init__(self, random_state=0):
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        self.networks_ = []
        for k in range(3):
            network = MLPClassifier(
                (64,), alpha=1.0, learning_rate_init=3e-3, max_iter=100, random_state=self.random_state + k
            )
            self.networks_.append(network.fit(X, y))
        return self

    def predict_proba(self, X):
        return np.mean([network.predict_proba(X) for network in self.networks_], axis=0)


def _extra_trees(leaf, max_features="sqrt"):
    def make(context):
        return ExtraTreesClassifier(
            context.n_trees, min_samples_leaf=leaf, max_features=max_features, random_state=context.seed
        )

    return make


def _oblique(kind):
    return lambda context: ObliqueForest(context.n_trees, kind, context.seed)


def _shrunken_logistic(context):
    return LogisticRegression(C=0.03, max_iter=500)


def _splines(context):
    steps = SplineTransformer(5, degree=1, knots="quantile", extrapolation="constant")
    return make_pipeline(steps, StandardScaler(), LogisticRegression(C=0.01, max_iter=500))


def _networks(context):
    return MeanOfNetworks(context.seed)


def _wide_svm(context):
    return SVC(C=3.0, gamma=0.3 / context.n_columns, random_state=context.seed)


def _gaussian_process(context):
    width = np.sqrt(context.n_columns)
    kernel = ConstantKernel(4.0, (0.1, 100)) * RBF(width, (0.1 * width, 30 * width))
    return GaussianProcessClassifier(kernel, max_iter_predict=30, random_state=context.seed)


def _fixed_process(smoothness, widths):
    """A Gaussian process whose kernel is not fitted; its width in square roots of the number of columns."""

    def make(context):
        kernel = Matern(widths * np.sqrt(context.n_columns), "fixed", nu=smoothness)
        return GaussianProcessClassifier(
            ConstantKernel(4.0, "fixed") * kernel, optimizer=None, random_state=context.seed
        )

    return make


def _least_squares(context):
    return LeastSquaresAUCClassifier(risk="pn", alpha="cv", cv=4, basis="nystroem", random_state=context.seed)


def _catboost(n_per_tree, most, **parameters):
    def make(context):
        return CatBoostClassifier(
            min(n_per_tree * context.n_trees, most),
            border_count=context.n_trees // 4,
            rsm=min(1.0, np.clip(context.n_columns / 2, 10, 20) / context.n_columns),
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
            random_seed=context.seed,
            **parameters,
        )

    return make


def _tree_boosting(penalty):
    """As the member of the portfolio, with another penalty."""

    def make(context):
        rounds = 3 * context.n_trees
        return TreeAUCBoostClassifier(
            rounds, learning_rate=20.0 / rounds, l2_regularization=penalty, random_state=context.seed
        )

    return make


def _candidate(name, family, view, make, tasks=(BINARY,)):
    return Member(name, family, view, ALL, make, tasks)


_CLASSES = (BINARY, MULTICLASS)


def _on(view, suffix, names):
    """Members for positives only, with features that all rows teach."""
    of_name = {member.name: member for member in portfolio()}
    return tuple(
        of_name[name]._replace(name=f"{name} + {suffix}", view=view, learns=ALL, tasks=(POSITIVE_UNLABELED,))
        for name in names
    )


CANDIDATES = (
    _candidate("logistic on components C=.03", "linear", "spectral", _shrunken_logistic, _CLASSES),
    _candidate("logistic on splines", "linear", "scaled", _splines),
    _candidate("networks", "network", "scaled", _networks),
    _candidate("SVM wide", "kernel", "scaled", _wide_svm, _CLASSES),
    _candidate("Gaussian process", "kernel", "scaled", _gaussian_process),
    _candidate("Laplace process", "kernel", "scaled", _fixed_process(0.5, 2.0)),
    _candidate("Laplace process, narrow", "kernel", "scaled", _fixed_process(0.5, 1.0)),
    _candidate("Laplace process, wide", "kernel", "scaled", _fixed_process(0.5, 5.0)),
    _candidate("Laplace process + components", "kernel", "components", _fixed_process(0.5, 2.0)),
    _candidate("Laplace process, wide + components", "kernel", "components", _fixed_process(0.5, 5.0)),
    _candidate("Matern process", "kernel", "scaled", _fixed_process(1.5, 2.0)),
    _candidate("least-squares AUC + components", "kernel", "components", _least_squares),
    _candidate("least-squares AUC + graph features", "kernel", "spectral", _least_squares),
    _candidate("extra trees, leaf 1 + components", "forest", "components", _extra_trees(1)),
    _candidate("extra trees, leaf 3 + components", "forest", "components", _extra_trees(3), (MULTICLASS,)),
    _candidate("extra trees, most columns + components", "forest", "components", _extra_trees(3, 0.7)),
    _candidate("extra trees, leaf 3 + graph features", "graph", "spectral", _extra_trees(3), _CLASSES),
    _candidate("oblique forest", "forest", "scaled", _oblique("beside")),
    _candidate("oblique forest, sums only", "forest", "scaled", _oblique("only")),
    _candidate("oblique forest + components", "forest", "components", _oblique("beside")),
    _candidate("rotated forest + components", "forest", "components", _oblique("rotated")),
    _candidate("tree AUC boosting, penalty 5", "boosting", "raw", _tree_boosting(5.0))._replace(fits_unlabeled=True),
    _candidate("tree AUC boosting, penalty 10", "boosting", "raw", _tree_boosting(10.0))._replace(fits_unlabeled=True),
    _candidate("CatBoost, long", "boosting", "raw", _catboost(4, 10**9, depth=6, learning_rate=0.03)),
    _candidate(
        *("CatBoost depth 4 + components", "boosting", "components"),
        _catboost(2, 200, depth=4, l2_leaf_reg=10.0),
        _CLASSES,
    ),
    *_on("components", "components", ("RBF least-squares AUC", "extra trees", "tree PU boosting", "CatBoost")),
    *_on("spectral", "graph features", ("logistic regression", "extra trees", "tree PU boosting")),
)
