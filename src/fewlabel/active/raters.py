"""Many hands: one label from the answers of several people, and labels that look wrong."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import StratifiedKFold

_MOST_STEPS = 200
_TOLERANCE = 1e-6
_PRIOR_ANSWERS = 4.0  # answers that the mean of all people counts as, in the errors of one of them
_RIGHT = 0.8  # share of right answers to expect before any is seen
_LEAST_OF_CLASS = 2
_N_FOLDS = 5
_N_REPEATS = 2
_DOUBTED = 0.5  # labels with less than this probability are not learned from in the second round


class CombinedAnswers(NamedTuple):
    """Labels by the answers of several people.

    Attributes
    ----------
    codes : ndarray of int of shape (n_rows,)
        The most probable class of each row, -1 if nobody answered.
    probability : ndarray of shape (n_rows, n_classes)
        Of each class, given all answers; NaN if nobody answered.
    errors : ndarray of shape (n_raters, n_classes, n_classes)
        Probability that somebody answers the second class where the first is true.
    accuracy : ndarray of shape (n_raters,)
        Probability that somebody is right, over the rows that they answered.
    agreement : float
        Share of pairs of answers to the same row that agree; NaN if no row has two answers.
    kappa : float
        Krippendorff's alpha: agreement beyond chance, 0 by chance and 1 at best; NaN if no row has two answers.
    """

    codes: np.ndarray
    probability: np.ndarray
    errors: np.ndarray
    accuracy: np.ndarray
    agreement: float
    kappa: float


def combine_answers(votes: np.ndarray, n_classes: int) -> CombinedAnswers:
    r"""Estimate the true classes and everybody's errors from answers that contradict each other.

    Dawid and Skene's model [1]_: a row has class :math:`k` with probability :math:`p_k`, and person :math:`r` then
    answers :math:`l` with probability :math:`\pi^r_{kl}`, independently of the others. Expectation-maximization finds

    .. math:: P(k \mid \text{answers of row } i) \propto p_k \prod_r \pi^r_{k, v_{ir}} .

    With few answers each person's errors are uncertain: they are shrunken to those of all people together, and these to
    80% of right answers.

    Parameters
    ----------
    votes : ndarray of int of shape (n_rows, n_raters)
        Class that each person answered, -1 where they did not. A model can be one of them.
    n_classes : int

    Returns
    -------
    CombinedAnswers

    References
    ----------
    .. [1] A. P. Dawid, A. M. Skene. Maximum likelihood estimation of observer error-rates using the EM algorithm.
       Applied Statistics 28, 1979. There without the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.active import combine_answers
    >>> votes = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 1], [1, -1, 0], [0, 0, 0]])
    >>> found = combine_answers(votes, 2)
    >>> found.codes  # the third person is often alone
    array([1, 0, 1, 0, 1, 0])
    >>> found.accuracy.round(1)
    array([0.9, 1. , 0.4])
    """
    votes = np.asarray(votes)
    n_rows, n_raters = votes.shape
    answered = votes >= 0
    # One 0/1 array per answer: [row, person, class].
    said = np.zeros((n_rows, n_raters, n_classes))
    rows, raters = np.nonzero(answered)
    said[rows, raters, votes[rows, raters]] = 1.0
    counts = said.sum(axis=1)
    has_answer = answered.sum(axis=1) > 0
    probability = (counts + 1e-3) / (counts + 1e-3).sum(axis=1, keepdims=True)
    usual = np.full((n_classes, n_classes), (1 - _RIGHT) / max(n_classes - 1, 1))
    np.fill_diagonal(usual, _RIGHT)
    for _ in range(_MOST_STEPS):
        of_rows = probability * has_answer[:, None]
        confusion = np.einsum("ik,irl->rkl", of_rows, said)
        pooled = _shares(confusion.sum(axis=0) + _PRIOR_ANSWERS * usual)
        errors = _shares(confusion + _PRIOR_ANSWERS * pooled)
        share = (of_rows.sum(axis=0) + 1) / (of_rows.sum() + n_classes)
        evidence = np.log(share) + np.einsum("irl,rkl->ik", said, np.log(errors))
        evidence -= evidence.max(axis=1, keepdims=True)
        updated = _shares(np.exp(evidence))
        change = np.abs(updated - probability).max()
        probability = updated
        if change < _TOLERANCE:
            break
    right = (said * probability[:, None, :]).sum(axis=2)
    accuracy = right.sum(axis=0) / np.maximum(answered.sum(axis=0), 1)
    agreement, kappa = _agreement(counts)
    codes = np.where(has_answer, probability.argmax(axis=1), -1)
    probability[~has_answer] = np.nan
    return CombinedAnswers(codes, probability, errors, accuracy, agreement, kappa)


def combine_with_model(votes: np.ndarray, n_classes: int, X: Any, *, seed: int = 0) -> CombinedAnswers:
    """As `combine_answers`, with a model of the rows as one more person where answers contradict each other.

    The model is fitted to the labels that the answers alone give, and answers rows that it was not fitted to. Where all
    answers to a row agree, it has no say.

    Parameters
    ----------
    votes : ndarray of int of shape (n_rows, n_raters)
    n_classes : int
    X : array-like of shape (n_rows, n_features)
    seed : int, default=0

    Returns
    -------
    CombinedAnswers
        Errors and accuracy are those of the people.
    """
    alone = combine_answers(votes, n_classes)
    own = own_probability(X, alone.codes, seed=seed)
    by_model = np.where(np.isnan(own).any(axis=1), -1, np.nan_to_num(own).argmax(axis=1))
    found = combine_answers(np.column_stack([votes, by_model]), n_classes)
    contradicted = contradicting(votes)
    return found._replace(
        codes=np.where(contradicted, found.codes, alone.codes),
        probability=np.where(contradicted[:, None], found.probability, alone.probability),
        errors=found.errors[:-1],
        accuracy=found.accuracy[:-1],
        agreement=alone.agreement,
        kappa=alone.kappa,
    )


def contradicting(votes: np.ndarray) -> np.ndarray:
    """Rows to which people gave different answers."""
    lowest = np.where(votes >= 0, votes, votes.max(initial=0)).min(axis=1)
    return (votes >= 0).any(axis=1) & (votes.max(axis=1) > lowest)


def _shares(values):
    return values / values.sum(axis=-1, keepdims=True)


def _agreement(counts):
    """Observed agreement of pairs of answers, and Krippendorff's alpha."""
    several = counts[counts.sum(axis=1) > 1]
    if len(several) == 0:
        return float("nan"), float("nan")
    sizes = several.sum(axis=1)
    agreeing = ((several * (several - 1)).sum(axis=1) / (sizes - 1)).sum() / sizes.sum()
    totals = several.sum(axis=0)
    n = totals.sum()
    by_chance = (totals * (totals - 1)).sum() / (n * (n - 1))
    if by_chance == 1:
        return float(agreeing), 1.0
    return float(agreeing), float((agreeing - by_chance) / (1 - by_chance))


def label_confidence(X: Any, codes: np.ndarray, *, estimator: Any = None, seed: int = 0) -> np.ndarray:
    """Probability of each label by models that did not see it; low where a label looks wrong.

    Labeled rows are scored out of fold. Labels that this makes improbable are then left out of the training rows, and
    all rows are scored again: wrong labels no longer support each other.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        NaN, if the estimator takes it.
    codes : ndarray of int of shape (n_rows,)
        Class of each row, -1 if it is unlabeled.
    estimator : estimator, default=None
        By default extremely randomized trees.
    seed : int, default=0

    Returns
    -------
    ndarray of shape (n_rows,)
        NaN for unlabeled rows, and for rows of a class with fewer than two labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel.active import label_confidence
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> wrong = y.copy()
    >>> wrong[:10] = 1 - y[:10]
    >>> lowest = np.argsort(label_confidence(X[:200], wrong[:200]))[:10]
    >>> bool((lowest < 10).mean() >= 0.5)
    True
    """
    probability = own_probability(X, codes, estimator=estimator, seed=seed)
    rows = np.arange(len(codes))
    confidence = probability[rows, np.maximum(codes, 0)]
    confidence[codes < 0] = np.nan
    return confidence


def own_probability(X: Any, codes: np.ndarray, *, estimator: Any = None, seed: int = 0) -> np.ndarray:
    """Class probabilities of labeled rows by models that did not see their labels, as `label_confidence` uses them.

    Returns
    -------
    ndarray of shape (n_rows, n_classes)
        NaN where there is none.
    """
    X = np.asarray(X, dtype=np.float64)
    if estimator is None:
        estimator = ExtraTreesClassifier(150, min_samples_leaf=3, max_features=None, random_state=seed)
    counts = np.bincount(codes[codes >= 0])
    tested = np.flatnonzero((codes >= 0) & (counts[np.maximum(codes, 0)] >= _LEAST_OF_CLASS))
    probability = np.full((len(codes), len(counts)), np.nan)
    if len(np.unique(codes[tested])) < 2:
        return probability
    trusted = np.ones(len(tested), dtype=bool)
    for _ in range(2):
        scored = _out_of_fold(X[tested], codes[tested], trusted, estimator, len(counts), seed)
        own = scored[np.arange(len(tested)), codes[tested]]
        trusted = own >= _DOUBTED * scored.max(axis=1)
    probability[tested] = scored
    return probability


def _out_of_fold(X, y, trusted, estimator, n_classes, seed):
    """Mean probabilities over repeats of models of the other folds' trusted rows."""
    n_folds = int(min(_N_FOLDS, np.bincount(y)[np.unique(y)].min()))
    total = np.zeros((len(y), n_classes))
    for repeat in range(_N_REPEATS):
        for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat).split(X, y):
            learned = train[trusted[train]]
            # A class whose labels all look wrong keeps them: without it, nothing could be of that class.
            missing = np.setdiff1d(y[train], y[learned])
            learned = np.union1d(learned, train[np.isin(y[train], missing)])
            model = clone(estimator).fit(X[learned], y[learned])
            total[np.ix_(test, model.classes_)] += model.predict_proba(X[test])
    return total / _N_REPEATS
