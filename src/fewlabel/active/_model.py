"""Quick models of the labels so far, for strategies that need probabilities."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier

_N_TREES = 100
_LEAST_LEAF = 3
_MOST_LEAF = 50


def class_probability(estimator, now):
    """Class probabilities of all rows by a model of the labeled ones; None with fewer than two classes."""
    if len(now.classes) < 2:
        return None
    labeled = now.codes >= 0
    if estimator is None:
        model = ExtraTreesClassifier(_N_TREES, random_state=now.seed)
    else:
        model = clone(estimator)
    return model.fit(now.X[labeled], now.codes[labeled]).predict_proba(now.X)


def likeness(now, candidates):
    """How much each candidate looks like the labeled rows, by trees that separate these from other candidates.

    The trees that score a half of the candidates are fitted to the other half.
    """
    labeled = np.flatnonzero(now.codes >= 0)
    # Small leaves would separate single rows rather than regions.
    leaf = int(np.clip(len(labeled) // 4, _LEAST_LEAF, _MOST_LEAF))
    model = ExtraTreesClassifier(_N_TREES, min_samples_leaf=leaf, class_weight="balanced", random_state=now.seed)
    like = np.full(len(candidates), 0.5)
    halves = np.array_split(now.rng.permutation(len(candidates)), 2)
    for scored, fitted in (halves, halves[::-1]):
        if len(scored) and len(fitted):
            rows = np.sort(np.r_[labeled, candidates[fitted]])
            model.fit(now.X[rows], now.codes[rows] >= 0)
            like[scored] = model.predict_proba(now.X[candidates[scored]])[:, 1]
    return like


def margin_uncertainty(probability):
    """One minus the difference between the two largest probabilities of each row."""
    top = np.sort(probability, axis=1)
    return 1 - (top[:, -1] - top[:, -2])
