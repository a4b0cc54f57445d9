"""What all strategies share: reading the rows and labels, random draws, an order of the rows of their own."""

import numbers
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length

from fewlabel import labels
from fewlabel.active._draws import draw_rows
from fewlabel.row_order import value_order
from fewlabel.types import MatrixLike, Seed

RANDOM = "random"
AUDIT = "audit"
AGAIN = "again"
UNCERTAIN = "uncertain"
DIVERSE = "diverse"
LIKELY = "likely positive"
UNLIKE = "unlike the labeled"
REASONS = {
    RANDOM: "Drawn at random, so that an AUC can be estimated that the choice of the other rows does not bias.",
    AUDIT: "Drawn with known probability, so that the estimates hold for all rows that nobody chose to label.",
    AGAIN: "Its label looks wrong: models of the other rows find it improbable.",
    UNCERTAIN: "It represents rows that the model is uncertain about.",
    DIVERSE: "It represents a part of the table: there is no model yet.",
    LIKELY: "It looks like the rows of the only class that is labeled.",
    UNLIKE: "It is unlike the labeled rows: the class that is still missing may be there.",
}


class Query(NamedTuple):
    """Rows to label, in the order in which they were chosen.

    Attributes
    ----------
    rows : ndarray of int
        Positions in `X`.
    probability : ndarray of float
        The probability with which the draw gave the row, among the unlabeled rows left at that moment; 1 for a row
        that the rule was certain to choose.
    how : list of str
        Why each row was chosen: "random", "audit", "uncertain", "diverse", "likely positive" or "unlike the labeled".
    """

    rows: np.ndarray
    probability: np.ndarray
    how: list[str]

    def label_probability(self, n_rows: int) -> np.ndarray:
        """Probability of each drawn row to be in a sample of this size, NaN for the other rows of the table.

        For :meth:`fewlabel.AutoClassifier.fit`, once all rows of an audit have an answer.

        Parameters
        ----------
        n_rows : int
            Rows of the table.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        chance = np.full(n_rows, np.nan)
        chance[self.rows] = np.minimum(len(self.rows) * self.probability, 1.0)
        return chance


class Situation(NamedTuple):
    """What a rule sees: unlabeled rows that it may choose, in an order that does not depend on that of `X`."""

    X: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    taken: np.ndarray
    candidates: np.ndarray
    rng: np.random.Generator
    seed: int


class QueryStrategy(BaseEstimator):
    """Base of the strategies: draws a share of the rows at random, and lets the rule choose the others.

    Subclasses implement ``_choose``. The result does not depend on the order of the rows; of rows with
    the same values, either may be returned.
    """

    def _choose(self, now: Situation, n: int, probability: np.ndarray | None) -> tuple[np.ndarray, str]:
        """Positions of `n` of ``now.candidates``, the first choice first, and why they were chosen."""
        raise NotImplementedError  # never called if every row is drawn at random

    def query(
        self,
        X: MatrixLike,
        y: ArrayLike,
        n: int = 10,
        *,
        probability: ArrayLike | None = None,
        exclude: ArrayLike | None = None,
    ) -> Query:
        """Choose unlabeled rows to label next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            All rows, labeled and unlabeled. NaN marks a missing value.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` if it is unlabeled. There may be no
            label at all.
        n : int, default=10
            Number of rows to choose; fewer are returned if fewer are unlabeled.
        probability : array-like of shape (n_samples, n_classes), default=None
            Predicted class probabilities of all rows, for instance ``model.predict_proba(X)``. By default the strategy
            fits a model if it needs one.
        exclude : array-like of bool of shape (n_samples,), default=None
            Rows not to choose, for instance because somebody is labeling them already.

        Returns
        -------
        Query
            The rows, in the order in which they were chosen: random rows first.
        """
        if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n={n!r} should be a whole number of rows, 1 or more")
        X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        read = labels.read(y)
        check_consistent_length(X, read.codes)
        present, consecutive = np.unique(read.codes[read.codes >= 0], return_inverse=True)
        codes = read.codes.copy()
        # Labels that were read before may name a class that no row has.
        codes[codes >= 0] = consecutive
        order = value_order(X, codes)
        X = X[order]
        codes = codes[order]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rng = np.random.default_rng(seed)
        if probability is not None:
            probability = _read_probability(probability, len(X))[order]
        taken = codes >= 0
        if exclude is not None:
            check_consistent_length(X, exclude)
            taken = taken | np.asarray(exclude, dtype=bool)[order]
        now = Situation(X, codes, read.classes[present], taken, np.flatnonzero(~taken), rng, seed)
        n = min(int(n), len(now.candidates))
        if n == 0:
            return Query(np.empty(0, dtype=np.int64), np.empty(0), [])
        return self._query(now, n, probability, order)

    def _query(self, now, n, probability, order):
        n_random = self._n_random(n, now)
        probability = self._probability(now, probability)
        pool = now.candidates
        of_pool = None if probability is None else probability[pool]
        drawn, chances = draw_rows(n_random, len(pool), of_pool, now.rng)
        rows = pool[drawn]
        how = [RANDOM] * n_random
        n_chosen = n - n_random
        if n_chosen:
            now = now._replace(candidates=np.delete(pool, drawn))
            chosen, why = self._choose(now, n_chosen, probability)
            rows = np.r_[rows, chosen]
            how += [why] * n_chosen
        return Query(order[rows], np.r_[chances, np.ones(n_chosen)], how)

    def _probability(self, now, given):
        """Class probabilities of all rows, or None if the strategy does not use them, as here."""

    def _n_random(self, n, now):
        """Number of random rows; where `random_share` does not give a whole number, it is the mean."""
        share = self.random_share
        if not (isinstance(share, numbers.Real) and 0 <= share <= 1):
            raise ValueError(f"random_share={share!r} should be a number from 0 to 1")
        return min(int(n * share + now.rng.random()), n)


class RandomQuery(QueryStrategy):
    """Unlabeled rows drawn uniformly at random.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.active import RandomQuery
    >>> found = RandomQuery(random_state=0).query(np.arange(10.0)[:, None], [0, 1] + [None] * 8, n=2)
    >>> len(found.rows), found.how, bool(found.probability[0] == 1 / 8)
    (2, ['random', 'random'], True)
    """

    random_share = 1.0

    def __init__(self, *, random_state: Seed = None) -> None:
        self.random_state = random_state


def _read_probability(probability, n_rows):
    values = np.asarray(probability, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != n_rows or values.shape[1] < 2:
        raise ValueError(
            f"probability should have one row per row of X and one column per class, such as model.predict_proba(X), "
            f"shape ({n_rows}, 2 or more), got {values.shape}"
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("probability should hold finite numbers >= 0, such as model.predict_proba(X)")
    return values
