"""The usual strategies, to compare with: small margins, and rows far from the labeled ones."""

from typing import Any

import numpy as np

from fewlabel.active._model import class_probability, margin_uncertainty
from fewlabel.active._query import DIVERSE, UNCERTAIN, QueryStrategy
from fewlabel.active._space import farthest, nearest_distance, standardize
from fewlabel.types import Seed


class MarginQuery(QueryStrategy):
    """The rows whose two most probable classes are closest.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier whose probabilities are used, unless `query` is given some. By default extremely randomized trees.
    random_share : float, default=0.0
        Share of the rows to draw at random. While fewer than two classes are labeled, all rows are drawn at random.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    .. [1] Scheffer, T., Decomain, C. and Wrobel, S. "Active hidden Markov models for information extraction." Advances
       in Intelligent Data Analysis, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.quality.strategies import MarginQuery
    >>> X = np.arange(5.0)[:, None]
    >>> MarginQuery().query(X, [0, -1, -1, -1, 1], n=1, probability=np.c_[X / 4, 1 - X / 4]).rows
    array([2])
    """

    def __init__(self, estimator: Any = None, *, random_share: float = 0.0, random_state: Seed = None) -> None:
        self.estimator = estimator
        self.random_share = random_share
        self.random_state = random_state

    def _n_random(self, n, now):
        return n if len(now.classes) < 2 else super()._n_random(n, now)

    def _probability(self, now, given):
        return class_probability(self.estimator, now) if given is None else given

    def _choose(self, now, n, probability):
        uncertainty = margin_uncertainty(probability[now.candidates])
        return now.candidates[np.argsort(-uncertainty, kind="stable")[:n]], UNCERTAIN


class CoresetQuery(QueryStrategy):
    """Rows far from the labeled rows and from each other: each is the farthest from all before it.

    Columns are standardized first, and missing values replaced by medians.

    Parameters
    ----------
    random_share : float, default=0.0
        Share of the rows to draw at random.
    random_state : int, RandomState instance or None, default=None

    References
    ----------
    .. [1] Sener, O. and Savarese, S. "Active learning for convolutional neural networks: a core-set approach."
       International Conference on Learning Representations, 2018. The greedy algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> from benchmarks.quality.strategies import CoresetQuery
    >>> CoresetQuery().query(np.arange(5.0)[:, None], [0, -1, -1, -1, -1], n=2).rows
    array([4, 2])
    """

    def __init__(self, *, random_share: float = 0.0, random_state: Seed = None) -> None:
        self.random_share = random_share
        self.random_state = random_state

    def _choose(self, now, n, probability):
        Z = standardize(now.X)
        pool = Z[now.candidates]
        distance = nearest_distance(pool, Z[now.taken])
        return now.candidates[farthest(pool, distance, np.ones(len(pool)), n)], DIVERSE
