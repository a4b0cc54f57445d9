"""The base classifier of the self-labeling loop: clones of one template, with posteriors over all classes."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from fewlabel.random_streams import draw_seed


class Learner:
    """Fits clones of one base classifier to chosen rows and columns of a table.

    Every clone has the same seeds, so that two rounds differ by their rows and not by chance, and the classifier of the
    labeled rows alone is the same whether or not rounds were run before.
    """

    def __init__(self, estimator, X, classes, rng):
        self.X = X
        self.classes = classes
        self._template = seeded(estimator, draw_seed(rng))

    def fit(self, rows, codes, columns=None):
        """Fit a clone to the rows and the classes at the positions `codes`."""
        # A part of the labeled rows may hold a single class, which many classifiers reject.
        model = clone(self._template) if np.ptp(codes) > 0 else DummyClassifier(strategy="prior")
        return model.fit(take(self.X, rows, columns), self.classes[codes])

    def read(self, model, rows, columns=None):
        """Return the predicted class of each row, as a position in `classes`, and its confidence.

        The confidence is the largest posterior or, for a model without posteriors, the difference between the two
        largest decision values.
        """
        X = take(self.X, rows, columns)
        if hasattr(model, "predict_proba"):
            posterior = align(model.predict_proba(X), model.classes_, self.classes)
            return posterior.argmax(axis=1), posterior.max(axis=1)
        decision = model.decision_function(X)
        if decision.ndim == 1:
            confidence = np.abs(decision)
        else:
            ranked = np.sort(decision, axis=1)
            confidence = ranked[:, -1] - ranked[:, -2]
        return np.searchsorted(self.classes, model.predict(X)), confidence


def seeded(estimator, seed):
    """Return a clone in which every `random_state` of None, at any depth, is replaced by an int."""
    model = clone(estimator)
    draw = np.random.RandomState(seed)
    for key, value in sorted(model.get_params(deep=True).items()):
        if (key == "random_state" or key.endswith("__random_state")) and value is None:
            model.set_params(**{key: draw_seed(draw)})
    return model


def take(X, rows, columns=None):
    """Return the given rows and columns of an array, a sparse matrix, a data frame or a series of texts."""
    X = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    if columns is None:
        return X
    return X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]


def align(values, own, classes):
    """Expand columns of the classes `own` to all `classes`; a class that the model has not seen gets 0."""
    if len(own) == len(classes):
        return values
    # A part of the labeled rows may lack a class.
    aligned = np.zeros((len(values), len(classes)))
    aligned[:, np.searchsorted(classes, own)] = values
    return aligned


def posteriors(model, X, classes):
    """Return posteriors over all `classes`; for a model without any, the softmax of its decision values."""
    if hasattr(model, "predict_proba"):
        return align(model.predict_proba(X), model.classes_, classes)
    decision = model.decision_function(X)
    if decision.ndim == 1:
        values = np.column_stack([expit(-decision), expit(decision)])
    else:
        values = softmax(decision, axis=1)
    return align(values, model.classes_, classes)


def votes(models, X, classes):
    """Return shares of the votes: one per model, and their mean posterior, which breaks ties."""
    each = np.array([posteriors(model, X, classes) for model in models])
    counts = np.zeros(each.shape[1:])
    for choice in each.argmax(axis=2):
        counts[np.arange(len(choice)), choice] += 1
    return (counts + each.mean(axis=0)) / (len(models) + 1)
