"""SAR-EM: the probability that a positive is labeled, by named columns (Bekker, Robberechts and Davis 2019)."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from fewlabel.population import flatten_weights
from fewlabel.thread_limits import one_thread

_N_STEPS = 200
_TOLERANCE = 1e-4  # mean change of the probabilities in a step
_LEAST = 1e-3  # probability


def labeling_probability(X, positive, columns, prior):
    r"""Estimate the probability :math:`e(x)` that a positive row is labeled, as a function of some columns.

    Let :math:`f(x)` be the probability of a positive, :math:`s` whether a row is labeled. Expectation maximization
    alternates between the probability that an unlabeled row is positive,

    .. math:: \hat y = P(y = 1 \mid s = 0, x) = \frac{f (1 - e)}{1 - f e},

    and two logistic regressions: :math:`f` of all columns on :math:`\hat y`, and :math:`e` of the named columns on
    :math:`s`, with weights :math:`\hat y`. Labeled rows have :math:`\hat y = 1`.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    positive : ndarray of bool of shape (n_samples,)
        The labeled positives; all other rows are unlabeled.
    columns : ndarray of int
        Positions of the columns that labels depend on.
    prior : float
        Share of positives among the unlabeled rows, to start from.

    Returns
    -------
    ndarray of shape (n_samples,)

    References
    ----------
    .. [1] J. Bekker, P. Robberechts, J. Davis. Beyond the selected completely at random assumption for learning from
       positive and unlabeled data. ECML PKDD, 2019. Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.prior import labeling_probability
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(2000) < 0.4
    >>> X = np.column_stack([rng.normal(4.0 * truth), rng.normal(size=2000)])
    >>> labeled = truth & (rng.random(2000) < np.where(X[:, 1] > 0, 0.8, 0.2))  # by the second column
    >>> e = labeling_probability(X, labeled, [1], prior=0.3)
    >>> bool(e[X[:, 1] > 1].mean() > 0.7), bool(e[X[:, 1] < -1].mean() < 0.3)
    (True, True)
    """
    filled = np.where(np.isnan(X), np.nanmedian(np.where(np.isnan(X).all(axis=0), 0.0, X), axis=0), X)
    scaled = StandardScaler().fit_transform(filled)
    is_labeled = positive.astype(int)
    is_positive = LogisticRegression(max_iter=500)
    is_chosen = LogisticRegression(max_iter=500)
    believed = np.where(positive, 1.0, prior)
    # Each row counts as a positive and as a negative, in parts.
    twice = np.vstack([scaled, scaled])
    classes = np.repeat([1, 0], len(X))
    with one_thread():
        for _ in range(_N_STEPS):
            is_positive.fit(twice, classes, np.concatenate([believed, 1 - believed]))
            is_chosen.fit(scaled[:, columns], is_labeled, believed)
            f = is_positive.predict_proba(scaled)[:, 1]
            e = is_chosen.predict_proba(scaled[:, columns])[:, 1]
            updated = np.where(positive, 1.0, f * (1 - e) / (1 - f * e))
            change = np.abs(updated - believed).mean()
            believed = updated
            if change < _TOLERANCE:
                break
    return np.clip(e, _LEAST, 1 - _LEAST)


def weigh_positives(X, positive, columns, prior):
    """Weights with which labeled positives stand for those that are not labeled: (1 - e) / e, and 1 for unlabeled rows.

    Parameters
    ----------
    X, positive, columns, prior
        As in `labeling_probability`.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    e = labeling_probability(X, positive, columns, prior)[positive]
    weight = np.ones(len(positive))
    weight[positive] = flatten_weights((1 - e) / e)
    return weight
