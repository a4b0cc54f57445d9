"""BatchQuery: uncertain rows in dense regions, unlike each other, and a share of random ones."""

from typing import Any

import numpy as np

from fewlabel.active._model import class_probability, likeness, margin_uncertainty
from fewlabel.active._query import DIVERSE, LIKELY, UNCERTAIN, UNLIKE, QueryStrategy
from fewlabel.active._space import farthest, nearest_distance, representatives, standardize
from fewlabel.types import Seed

# Rows that are compared with each other; a random sample of them if there are more.
_MOST_CANDIDATES = 5000


class BatchQuery(QueryStrategy):
    r"""Choose rows that are uncertain, typical of many rows, and different from each other.

    The unlabeled rows are clustered by k-means with weights, as many clusters as rows to choose, and the row nearest to
    each center is chosen [1]_. The centers minimize

    .. math:: \sum_i u(x_i)^2 \min_k \|x_i - c_k\|^2 ,

    so that they lie where uncertain rows are dense, and apart from each other. The uncertainty :math:`u` is one minus
    the difference between the two largest class probabilities of a row.

    What replaces the uncertainty while there is no model of the classes:

    - without any label the distance to rows that are left out with `exclude`, if there are any, so that the first rows
      represent the table;
    - if only the positive class is labeled, likeness to it: each row has the largest product of squared likeness and
      distance to the rows chosen before it. They are further positives, or negatives that are hard to distinguish from
      them;
    - if only another class is labeled, unlikeness to it and distance to all labeled rows as well, in search of the rare
      positives.

    A share of the rows is drawn at random with known probability, so that the labels give unbiased estimates in spite
    of the choice, see `draw_weights`. Half of that probability is uniform, half favors rows of classes that the model
    predicts rarely.

    Parameters
    ----------
    estimator : estimator, default=None
        Classifier whose probabilities are used, unless `query` is given some. By default extremely randomized trees.
    random_share : float, default=0.1
        Share of the rows to draw at random. If it does not give a whole number of rows, it holds on average.
    positive : str, int or bool, default=None
        The class to find, which matters while only one class is labeled. By default it is that class.
    random_state : int, RandomState instance or None, default=None
        Draws the random rows and seeds the model.

    See Also
    --------
    draw_weights : Weights for unbiased estimates.
    RandomQuery : Rows drawn at random.

    Notes
    -----
    Zhdanov clusters the most uncertain rows, weighted by the uncertainty. Here all rows are clustered, weighted by its
    square. ``benchmarks/quality/active.py`` compares it with the other strategies.

    References
    ----------
    .. [1] Zhdanov, F. "Diverse mini-batch active learning." arXiv:1901.05954, 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel.active import BatchQuery
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> known = np.where(np.arange(len(y)) < 20, y, -1)
    >>> found = BatchQuery(random_state=0).query(X, known, n=10)
    >>> found.how.count("random"), found.how.count("uncertain")
    (1, 9)
    >>> known[found.rows] = y[found.rows]  # after somebody has labeled them
    >>> int((known >= 0).sum())
    30
    """

    def __init__(
        self, estimator: Any = None, *, random_share: float = 0.1, positive: Any = None, random_state: Seed = None
    ) -> None:
        self.estimator = estimator
        self.random_share = random_share
        self.positive = positive
        self.random_state = random_state

    def _probability(self, now, given):
        return class_probability(self.estimator, now) if given is None else given

    def _choose(self, now, n, probability):
        candidates = now.candidates
        n_compared = max(_MOST_CANDIDATES, n)
        if len(candidates) > n_compared:
            candidates = np.sort(now.rng.choice(candidates, n_compared, replace=False))
        interest, why = self._interest(now, candidates, probability)
        Z = standardize(now.X)
        pool = Z[candidates]
        worth = interest**2
        if why in (LIKELY, UNLIKE):
            # Likely positives are close to the labeled ones: they only have to differ from each other.
            distance = nearest_distance(pool, Z[now.taken] if why == UNLIKE else Z[:0])
            return candidates[farthest(pool, distance, worth, n)], why
        # Asked for already, though not yet answered.
        if why == DIVERSE and now.taken.any():
            worth = nearest_distance(pool, Z[now.taken])
        return candidates[representatives(pool, worth, n, now.rng)], why

    def _interest(self, now, candidates, probability):
        """What a label of each candidate would teach, before density and distance, and its name."""
        if len(now.classes) == 0:
            return np.ones(len(candidates)), DIVERSE
        if probability is not None:
            return margin_uncertainty(probability[candidates]), UNCERTAIN
        like = likeness(now, candidates)
        is_positive = self.positive is None or str(now.classes[0]) == str(self.positive)
        return (like, LIKELY) if is_positive else (1 - like, UNLIKE)
