"""Pretrained transformers for tables, TabICL and TabPFN, if their weights are on this machine."""

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class MissingWeights(RuntimeError):
    """The weights of a pretrained model are not on this machine."""


class PretrainedClassifier(ClassifierMixin, BaseEstimator):
    """A pretrained transformer that reads the labeled rows when it scores new ones.

    Nothing is downloaded: `fit` raises `MissingWeights` if the weights are not there. It has no formula: a model with
    it cannot be written to a model file. A pickle holds the labeled rows, and needs the package and its weights where
    it is loaded.

    Parameters
    ----------
    package : {"tabicl", "tabpfn"}, default="tabicl"
    n_estimators : int, default=4
        Permutations of the columns whose predictions are averaged.
    random_state : int, default=None

    References
    ----------
    .. [1] J. Qu, D. Holzmüller, G. Varoquaux, M. Le Morvan. TabICL: A Tabular Foundation Model for In-Context Learning
       on Large Data. International Conference on Machine Learning, 2025.
    .. [2] N. Hollmann, S. Müller, L. Purucker, A. Krishnakumar, M. Körfer, S. B. Hoo, R. T. Schirrmeister, F. Hutter.
       Accurate Predictions on Small Data with a Tabular Foundation Model. Nature 637, 2025.
    """

    def __init__(self, package="tabicl", n_estimators=4, random_state=None):
        self.package = package
        self.n_estimators = n_estimators
        self.random_state = random_state

    def fit(self, X, y):
        """Keep the labeled rows, and load the weights.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
        y : ndarray of shape (n_samples,)

        Returns
        -------
        self : object
        """
        self.X_ = X
        self.y_ = y
        self.classes_ = np.unique(y)
        self.n_features_in_ = X.shape[1]
        self._loaded = self._load()
        return self

    def predict_proba(self, X):
        """Probability of each class.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        # It comes from a pickle.
        if "_loaded" not in vars(self):
            self._loaded = self._load()
        return self._loaded.predict_proba(X)

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_loaded"}

    def _load(self):
        make = {"tabicl": _tabicl, "tabpfn": _tabpfn}[self.package]
        return make(self.n_estimators, self.random_state, self.X_, self.y_)


def _tabicl(n_estimators, seed, X, y):
    from tabicl import TabICLClassifier

    model = TabICLClassifier(n_estimators=n_estimators, allow_auto_download=False, device="cpu", random_state=seed)
    try:
        return model.fit(X, y)
    except ValueError as error:
        if "download is disabled" in str(error):
            raise MissingWeights(_remedy("tabicl", "TabICLClassifier")) from error
        raise


def _tabpfn(n_estimators, seed, X, y):
    weights = sorted(_tabpfn_cache().glob("*classifier*.ckpt"))
    if not weights:
        raise MissingWeights(_remedy("tabpfn", "TabPFNClassifier"))
    from tabpfn import TabPFNClassifier

    # The newest: versions are part of the names.
    path = str(weights[-1])
    model = TabPFNClassifier(n_estimators=n_estimators, model_path=path, device="cpu", random_state=seed)
    return model.fit(X, y)


def _remedy(package, name):
    return f"the weights are not on this machine; {package}.{name}().fit(X, y) downloads them"


def _tabpfn_cache():
    """Where TabPFN keeps its weights."""
    chosen = os.environ.get("TABPFN_MODEL_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "tabpfn"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA", Path.home())) / "tabpfn"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tabpfn"
