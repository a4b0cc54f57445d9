"""From a ranking to decisions: where to cut, and what the decisions yield.

The evidence are scores of labeled rows by models that were not fitted to them, such as `out_of_fold_` of
:class:`fewlabel.AutoClassifier`. Rows above the cut are *flagged*: reviewed, refused, treated as positive.
"""

import itertools
import math
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

__all__ = ["Costs", "Estimate", "Evidence", "capacity_cut"]

_N_DRAWS = 1000
_GRID = 40
_GOOD = ("true_positive", "true_negative", "precision", "recall", "lift")
_BAD = ("false_negative", "false_positive", "cost")


class Estimate(NamedTuple):
    """A value with its confidence band.

    Attributes
    ----------
    value : float
    low, high : float
    """

    value: float
    low: float
    high: float


class Costs(NamedTuple):
    """What wrong decisions cost; right ones cost nothing.

    Attributes
    ----------
    miss : float
        Cost of a positive row that is not flagged.
    alarm : float
        Cost of a negative row that is flagged.
    """

    miss: float
    alarm: float


def capacity_cut(scores: ArrayLike, n: int) -> float:
    """Cut above which the `n` highest scores lie, halfway to the next score.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Of the rows to decide on.
    n : int
        How many of them can be reviewed. If rows tie at the cut, fewer are above it.

    Returns
    -------
    float

    Examples
    --------
    >>> from fewlabel.decisions import capacity_cut
    >>> capacity_cut([0.1, 0.9, 0.4, 0.7], 2)
    0.55
    """
    ordered = np.sort(np.asarray(scores, dtype=float))[::-1]
    if n < 1:
        raise ValueError(f"n={n} rows to review: expected 1 or more")
    if n >= len(ordered):
        return float(np.nextafter(ordered[-1], -np.inf))
    return _halfway(ordered[n], ordered[ordered > ordered[n]].min(initial=np.inf))


class Evidence:
    r"""Labeled rows with scores, and what they say about a cut.

    All bands are limits of the counts of rows above the cut, by class: the population's shares of true and false
    positives and negatives are drawn 1,000 times from Gamma distributions, with the counts as shapes, and normalized.
    As in the interval of Clopper and Pearson [1]_, the unfavorable limit adds one to the counts of errors and the
    favorable limit to those of right decisions, so that the limits hold with few rows, too; for the precision of
    randomly drawn labels they are that interval.

    Parameters
    ----------
    positive : array-like of bool of shape (n_rows,)
    scores : array-like of shape (n_rows,)
        Higher means more likely positive.
    prior : float, default=None
        Share of positives among the rows to decide on. By default labels were drawn at random from these rows. Give it
        if positives and negatives were labeled at different rates.
    positives_only : bool, default=False
        The rows that are not `positive` are unlabeled, with a share of `prior` positives. The bands take the prior as
        exact; if it was estimated, they are too narrow.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows, such as one over the probability of being labeled. Bands are then those of the effective
        number of rows, the squared sum of the weights over the sum of their squares [4]_.
    confidence : float, default=0.95
        Nominal coverage of the bands, each by itself.
    random_state : int, default=0
        Seed of the draws.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        Descending.
    prior : float
        Share of positives that all figures refer to.

    References
    ----------
    .. [1] C. J. Clopper, E. S. Pearson. The use of confidence or fiducial limits illustrated in the case of the
       binomial. Biometrika 26, 1934.
    .. [2] C. Elkan. The foundations of cost-sensitive learning. IJCAI, 2001.
    .. [3] A. R. Thatcher. Relationships between Bayesian and confidence limits for predictions. Journal of the Royal
       Statistical Society B 26, 1964. Limits of a share among rows that are still to come.
    .. [4] L. Kish. Survey Sampling. Wiley, 1965.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.decisions import Costs, Evidence
    >>> rng = np.random.default_rng(0)
    >>> positive = np.arange(400) < 100
    >>> evidence = Evidence(positive, rng.normal(2.0 * positive))
    >>> found = evidence.at_top(50, of=1000)  # review 50 of 1,000 rows
    >>> round(found["precision"].value, 2), round(found["precision"].low, 2), round(found["precision"].high, 2)
    (0.95, 0.72, 1.0)
    >>> cut = evidence.cost_cut(Costs(miss=10, alarm=1))
    >>> cut < evidence.cost_cut(Costs(miss=1, alarm=1))  # an expensive miss: more rows are flagged
    True
    """

    def __init__(
        self,
        positive: ArrayLike,
        scores: ArrayLike,
        *,
        prior: float | None = None,
        positives_only: bool = False,
        sample_weight: ArrayLike | None = None,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> None:
        scores, positive = np.asarray(scores, dtype=float), np.asarray(positive, dtype=bool)
        if scores.ndim != 1 or scores.shape != positive.shape:
            raise ValueError(f"positive and scores have shapes {positive.shape} and {scores.shape}: expected equal 1-D")
        if positive.all() or not positive.any():
            raise ValueError("rows of both kinds are needed: positives, and negatives or unlabeled rows")
        if positives_only and prior is None:
            raise ValueError("positives_only=True needs prior, the share of positives among the unlabeled rows")
        size = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if size.shape != scores.shape or not (size > 0).all():
            raise ValueError("sample_weight: expected one number greater than 0 per row")
        groups = [np.full(len(size), True)] if prior is None else [positive, ~positive]
        for rows in groups:  # each row counts as this many of the effective number of rows
            size = np.where(rows, size * size[rows].sum() / (size[rows] ** 2).sum(), size)
        order = np.lexsort((size, positive, -scores))
        self.scores, self.positive, self._size = scores[order], positive[order], size[order]
        self.n_positive, self.n_other = (float(self._size[rows].sum()) for rows in (self.positive, ~self.positive))
        self.stated_prior, self.positives_only = prior, positives_only
        self.prior = self.n_positive / (self.n_positive + self.n_other) if prior is None else float(prior)
        self.confidence, self.random_state = confidence, random_state

    def at(self, cut: float, costs: Costs | None = None) -> dict[str, Estimate]:
        """Estimate what flagging the rows above a cut yields.

        Parameters
        ----------
        cut : float
        costs : Costs, default=None

        Returns
        -------
        dict of str to Estimate
            The shares of all rows that are `true_positive`, `false_positive`, `false_negative` and `true_negative`
            (the confusion matrix), `share` (flagged), `precision`, `recall` (the gain), `lift` (precision against
            that of a random choice), and `cost` per row if `costs` are given.
        """
        above = self.scores > cut
        return self._estimates(*self._counted(above), costs)

    def at_top(self, n: int, *, of: int, costs: Costs | None = None) -> dict[str, Estimate]:
        """Estimate what flagging the `n` highest scores of `of` rows yields.

        Parameters
        ----------
        n, of : int
        costs : Costs, default=None

        Returns
        -------
        dict of str to Estimate
            As `at`. The band of the precision is for the observed share of positives among these `n` rows, which
            varies by chance even if the ranking is known (Thatcher, 1964).
        """
        if not 1 <= n <= of:
            raise ValueError(f"n={n} of {of} rows: expected from 1 to {of}")
        found = self._estimates(*self._counted_top(n / of), costs, n_rows=n)
        most = min(1.0, self.prior * of / n) if self.stated_prior is not None else 1.0  # there are no more positives
        found["precision"] = Estimate(*(min(value, most) for value in found["precision"]))
        return {**found, "share": Estimate(n / of, n / of, n / of)}

    def curve(self, costs: Costs | None = None) -> pd.DataFrame:
        """Estimates by cut, from few flagged rows to all of them.

        Parameters
        ----------
        costs : Costs, default=None

        Returns
        -------
        DataFrame
            One row per cut: `cut`, and for each estimate of `at` a column and its band, such as `precision`,
            `precision_low` and `precision_high`.
        """
        rows = []
        for cut in self._grid():
            row = {"cut": cut}
            for name, found in self.at(cut, costs).items():
                row |= {name: found.value, f"{name}_low": found.low, f"{name}_high": found.high}
            rows.append(row)
        return pd.DataFrame(rows)

    def cost_cut(self, costs: Costs) -> float:
        r"""Cut with the lowest expected cost: rows above it are positive with at least the break-even probability.

        A row is worth flagging if its probability is above ``alarm / (miss + alarm)`` (Elkan, 2001). The log-odds are
        taken to be linear in the score on either side of the mean score; the change of slope is penalized. The cut of
        least cost among the labeled rows themselves is noisier: with 100 labels and a miss 20 times as expensive as an
        alarm, its cost on new rows was 29% above the least possible in simulations, that of this cut 8%.

        Parameters
        ----------
        costs : Costs

        Returns
        -------
        float
        """
        if not (costs.miss > 0 and costs.alarm > 0):
            raise ValueError(f"costs {costs.miss:g} and {costs.alarm:g}: expected two numbers greater than 0")
        wanted = math.log(costs.alarm / costs.miss)
        return _crossing(self.scores, self.positive, self._size, self.prior, wanted, self.positives_only)

    def precision_cut(self, target: float) -> float:
        """The lowest cut at which the estimated precision is at least `target`: the most rows of this precision.

        Parameters
        ----------
        target : float
            Between 0 and 1.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If no cut reaches it; the message has the highest precision that one reaches.
        """
        cuts = self._all_cuts()
        precision = np.array([self._point(*self._counted(self.scores > cut))["precision"] for cut in cuts])
        enough = np.flatnonzero(precision >= target)
        if len(enough) == 0:
            raise ValueError(
                f"no cut reaches a precision of {target:g} on the labeled rows; the highest is {precision.max():.3g}. "
                "Ask for less, or label more rows"
            )
        return cuts[enough[-1]]

    def _grid(self) -> list[float]:
        found = self.scores[self.positive].max()
        cuts = [cut for cut in self._all_cuts() if cut < found]  # higher ones flag no positive
        return [cuts[k] for k in np.unique(np.linspace(0, len(cuts) - 1, min(_GRID, len(cuts))).round().astype(int))]

    def _all_cuts(self) -> list[float]:
        """Cuts between neighboring scores, descending; the last flags all rows."""
        levels = np.unique(self.scores)[::-1]
        between = [_halfway(low, high) for high, low in itertools.pairwise(levels)]
        return [*between, float(np.nextafter(levels[-1], -np.inf))]

    def _counted(self, above: np.ndarray) -> tuple[float, float]:
        return float(self._size[above & self.positive].sum()), float(self._size[above & ~self.positive].sum())

    def _counted_top(self, share: float) -> tuple[float, float]:
        """Rows in the top share of the population, by class; the row at the cut counts in part, and ties are split."""
        weight = self._weights()
        _, place = np.unique(-self.scores, return_inverse=True)
        mass = np.bincount(place, weights=weight)
        before = np.cumsum(mass) - mass
        part = np.clip((share - before) / mass, 0.0, 1.0)[place] * self._size
        return float(part[self.positive].sum()), float(part[~self.positive].sum())

    def _weights(self) -> np.ndarray:
        """Weight of each row in the population; they sum to one."""
        if self.positives_only:
            return np.where(self.positive, 1e-12, self._size) / self.n_other
        return self._size * np.where(self.positive, self.prior / self.n_positive, (1 - self.prior) / self.n_other)

    def _point(self, flagged_positive: float, flagged_other: float, costs: Costs | None = None) -> dict[str, Any]:
        counts = [flagged_positive, self.n_positive - flagged_positive, flagged_other, self.n_other - flagged_other]
        return _figures(self._cells(np.array(counts)[:, None]), costs)

    def _cells(self, counts: np.ndarray) -> np.ndarray:
        """Shares of the population: true positives, false negatives, false positives, true negatives."""
        if self.stated_prior is None:
            return counts / counts.sum(axis=0)
        recall, flagged = (counts[k] / np.maximum(counts[k] + counts[k + 1], 1e-300) for k in (0, 2))
        true_positive = self.prior * recall
        if self.positives_only:  # the flagged unlabeled rows hold the true positives, and are not fewer than these
            true_positive = np.minimum(true_positive, flagged)
            false_positive = np.clip(flagged - true_positive, 0.0, 1 - self.prior)
        else:
            false_positive = (1 - self.prior) * flagged
        return np.array([true_positive, self.prior - true_positive, false_positive, 1 - self.prior - false_positive])

    def _estimates(
        self, flagged_positive: float, flagged_other: float, costs: Costs | None, n_rows: int | None = None
    ) -> dict[str, Estimate]:
        shapes = np.array(
            [flagged_positive, self.n_positive - flagged_positive, flagged_other, self.n_other - flagged_other]
        )
        rng = np.random.default_rng(self.random_state)
        wrong, right = np.array([0.0, 1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0, 1.0])
        drawn = [
            _figures(self._cells(rng.gamma((shapes + one)[:, None], size=(4, _N_DRAWS))), costs)
            for one in (wrong, right)
        ]
        if n_rows is not None:
            for figures in drawn:
                figures["precision"] = rng.binomial(n_rows, np.clip(figures["precision"], 0, 1)) / n_rows
        tail = (1 - self.confidence) / 2
        found = {}
        for name, value in self._point(flagged_positive, flagged_other, costs).items():
            unfavorable, favorable = (figures[name] for figures in drawn)
            lows, highs = (favorable, unfavorable) if name in _BAD else (unfavorable, favorable)
            value = float(value[0])
            low, high = float(np.quantile(lows, tail)), float(np.quantile(highs, 1 - tail))
            found[name] = Estimate(value, min(low, value), max(high, value))
        return found


def _figures(cells: np.ndarray, costs: Costs | None) -> dict[str, np.ndarray]:
    true_positive, false_negative, false_positive, true_negative = cells
    share = true_positive + false_positive
    precision = true_positive / np.maximum(share, 1e-300)
    found = {
        "true_positive": true_positive,
        "false_negative": false_negative,
        "false_positive": false_positive,
        "true_negative": true_negative,
        "share": share,
        "precision": precision,
        "recall": true_positive / np.maximum(true_positive + false_negative, 1e-300),
        "lift": precision / np.maximum(true_positive + false_negative, 1e-300),
    }
    if costs is not None:
        found["cost"] = costs.miss * false_negative + costs.alarm * false_positive
    return found


def _crossing(
    scores: np.ndarray, positive: np.ndarray, size: np.ndarray, prior: float, wanted: float, positives_only: bool
) -> float:
    """Score at which the log-odds of a positive are as wanted, for a share of `prior` positives.

    The log-odds f minimize a sum of ``hold * log(1 + exp(f)) - pull * f``: the logistic loss or, from positives and
    unlabeled rows, its unbiased estimate (du Plessis, Niu, Sugiyama. Convex formulation for learning from positive and
    unlabeled data. ICML, 2015).
    """
    center, scale = float(np.mean(scores)), float(np.std(scores))
    if not scale > 0:
        return float(scores[0]) if wanted >= logit(prior) else float(np.nextafter(scores[0], -np.inf))
    z = (scores - center) / scale
    counts = np.where(positive, size[positive].sum(), size[~positive].sum())
    if positives_only:
        hold, pull = np.where(positive, 0.0, size / counts), np.where(positive, prior * size / counts, 0.0)
        steepest = math.log1p(len(z)) / np.abs(z).max()  # the loss has no lower bound where the groups are separable
    else:
        hold = np.where(positive, prior, 1 - prior) * size / counts
        pull = hold * np.where(positive, (counts + 1) / (counts + 2), 1 / (counts + 2))  # Platt's: finite slopes
        steepest = None
    left_side = z < 0

    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        left, right, middle = parameters
        log_odds = np.where(left_side, left, right) * z + middle
        bend = right - left
        slope = hold * expit(log_odds) - pull
        parts = [slope[left_side] @ z[left_side], slope[~left_side] @ z[~left_side], slope.sum()]
        value = -hold @ log_expit(-log_odds) - pull @ log_odds
        return value + bend**2 / (2 * len(z)), np.array(parts) + np.array([-bend, bend, 0.0]) / len(z)

    bounds = [(1e-3, steepest), (1e-3, steepest), (None, None)]
    start = [min(1.0, steepest or 1.0)] * 2 + [logit(prior)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-9})
    left, right, middle = found.x
    distance = (wanted - middle) / (left if wanted < middle else right)
    return float(center + scale * distance)


def _halfway(low: float, high: float) -> float:
    """A cut above `low` and below `high`, also where no number lies between them."""
    middle = low / 2 + high / 2
    return float(middle if low <= middle < high and math.isfinite(middle) else low)
