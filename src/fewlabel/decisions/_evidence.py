"""Labeled rows with scores as evidence for a cut, and cuts by capacity, cost and precision."""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit, logit, ndtri

from fewlabel.decisions._crossing import crossing

_N_DRAWS = 1000
_GRID = 40
_GOOD = ("true_positive", "true_negative", "precision", "recall", "lift")
_BAD = ("false_negative", "false_positive", "cost")
_LEAST = 1e-300  # a denominator of 0 becomes this


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

    def at_most(self, value: float, high: float) -> "Estimate":
        """The estimate with lower limits of what is possible."""
        return Estimate(min(self.value, value), min(self.low, high), min(self.high, high))


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
    next_score = ordered[n]
    return _halfway(next_score, ordered[ordered > next_score].min(initial=np.inf))


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
    prior_interval : (float, float), default=None
        A 90% interval of the prior, such as `low` and `high` of :func:`fewlabel.estimate_class_prior`. The bands then
        include that the prior is uncertain: its log-odds are drawn from two halves of normal distributions, one on
        either side of `prior`, with these limits. By default the prior is exact.
    positives_only : bool, default=False
        The rows that are not `positive` are unlabeled, with a share of `prior` positives.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows, such as one over the probability of being labeled. Bands are then those of the effective
        number of rows, the squared sum of the weights over the sum of their squares [4]_.
    training_share : float, default=1.0
        Labels that the models behind the scores were fitted to, as a share of all: 0.8 with five folds. A model of all
        labels errs less, at most by the factor `training_share` if errors decrease as one over the number of labels;
        the favorable limits allow for it.
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
        prior_interval: tuple[float, float] | None = None,
        positives_only: bool = False,
        sample_weight: ArrayLike | None = None,
        training_share: float = 1.0,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> None:
        scores = np.asarray(scores, dtype=float)
        positive = np.asarray(positive, dtype=bool)
        if scores.ndim != 1 or scores.shape != positive.shape:
            raise ValueError(f"positive and scores have shapes {positive.shape} and {scores.shape}: expected equal 1-D")
        if positive.all() or not positive.any():
            raise ValueError("rows of both kinds are needed: positives, and negatives or unlabeled rows")
        if positives_only and prior is None:
            raise ValueError("positives_only=True needs prior, the share of positives among the unlabeled rows")
        if prior_interval is not None and (prior is None or not prior_interval[0] <= prior <= prior_interval[1]):
            raise ValueError(f"prior_interval={prior_interval} does not contain prior={prior}: give both")
        weight = np.ones(len(scores)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
        if weight.shape != scores.shape or not (weight > 0).all():
            raise ValueError("sample_weight: expected one number greater than 0 per row")
        if not 0 < training_share <= 1:
            raise ValueError(f"training_share={training_share}: expected more than 0 and at most 1")
        # Each row counts as this many of the effective number of rows, of all or, with a prior, of its class.
        size = np.empty(len(scores))
        for rows in [positive, ~positive] if prior is not None else [np.full(len(scores), True)]:
            size[rows] = weight[rows] * weight[rows].sum() / (weight[rows] ** 2).sum()
        order = np.lexsort((size, positive, -scores))
        self.scores = scores[order]
        self.positive = positive[order]
        self._size = size[order]
        self.n_positive = float(self._size[self.positive].sum())
        self.n_other = float(self._size[~self.positive].sum())
        self.stated_prior = prior
        self.prior = self.n_positive / (self.n_positive + self.n_other) if prior is None else float(prior)
        self.prior_interval = prior_interval
        self.positives_only = positives_only
        self.training_share = training_share
        self.confidence = confidence
        self.random_state = random_state

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
        return self._estimates(self._counts(self.scores > cut), costs)

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
        share = n / of
        estimates = self._estimates(self._counts(self._parts_of_top(share)), costs, n_rows=n)
        if self.stated_prior is not None:  # there are no more positives
            highest = self.prior if self.prior_interval is None else self.prior_interval[1]
            estimates["precision"] = estimates["precision"].at_most(self.prior / share, min(1.0, highest / share))
        for name in ("true_positive", "false_positive"):  # both are among the flagged rows
            estimates[name] = estimates[name].at_most(share, share)
        estimates["share"] = Estimate(share, share, share)
        return estimates

    def curve(self, costs: Costs | None = None, *, also: float | None = None) -> pd.DataFrame:
        """Estimates by cut, from few flagged rows to all of them.

        Parameters
        ----------
        costs : Costs, default=None
        also : float, default=None
            A cut that is to be among them.

        Returns
        -------
        DataFrame
            One row per cut: `cut`, and for each estimate of `at` a column and its band, such as `precision`,
            `precision_low` and `precision_high`.
        """
        highest = self.scores[self.positive].max()
        cuts = [cut for cut in self._all_cuts() if cut < highest]  # higher ones flag no positive
        chosen = np.linspace(0, len(cuts) - 1, min(_GRID, len(cuts))).round().astype(int)
        shown = {cuts[k] for k in chosen}
        if also is not None:
            shown.add(also)
        rows = []
        for cut in sorted(shown, reverse=True):
            row = {"cut": cut}
            for name, estimate in self.at(cut, costs).items():
                row[name] = estimate.value
                row[f"{name}_low"] = estimate.low
                row[f"{name}_high"] = estimate.high
            rows.append(row)
        return pd.DataFrame(rows)

    def cost_cut(self, costs: Costs) -> float:
        r"""Cut with the lowest expected cost: rows above it are positive with at least the break-even probability.

        A row is worth flagging if its probability is above ``alarm / (miss + alarm)`` (Elkan, 2001). The log-odds are
        taken to be linear in the score on either side of the mean score; the change of slope is penalized. Scores that
        all lie between 0 and 1 are taken to be probabilities, and their log-odds are the score. The cut of least cost
        among the labeled rows themselves is noisier: with 100 labels and a miss 20 times as expensive as an alarm, its
        cost on new rows was 29% above the least possible in simulations, that of this cut 8%.

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
        scores = self.scores
        are_probabilities = 0 <= scores[-1] < scores[0] <= 1
        edge = 1 / (len(scores) + 2)
        if are_probabilities:
            scores = logit(np.clip(scores, edge, 1 - edge))
        cut = crossing(scores, self.positive, self._size, self.prior, wanted, self.positives_only)
        if not are_probabilities:
            return cut
        if abs(cut) >= logit(1 - edge):  # beyond all probabilities
            return 1.0 if cut > 0 else float(np.nextafter(0.0, -1.0))
        return float(expit(cut))

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
        precision = np.array([self._figures(self._counts(self.scores > cut))["precision"] for cut in cuts])
        enough = np.flatnonzero(precision >= target)
        if len(enough) == 0:
            raise ValueError(
                f"no cut reaches a precision of {target:g} on the labeled rows; the highest is {precision.max():.3g}. "
                "Ask for less, or label more rows"
            )
        return cuts[enough[-1]]

    def _all_cuts(self):
        """Cuts between neighboring scores, descending; the last flags all rows."""
        levels = np.unique(self.scores)[::-1]
        between = [_halfway(low, high) for high, low in itertools.pairwise(levels)]
        return [*between, float(np.nextafter(levels[-1], -np.inf))]

    def _counts(self, flagged):
        """Positives that are flagged and that are not, then other rows; `flagged` may hold parts of rows."""
        size = self._size * flagged
        flagged_positive = size[self.positive].sum()
        flagged_other = size[~self.positive].sum()
        return np.array(
            [flagged_positive, self.n_positive - flagged_positive, flagged_other, self.n_other - flagged_other]
        )

    def _parts_of_top(self, share):
        """How much of each row is in the top share of the population; rows that tie at the cut count in part."""
        if self.positives_only:
            weight = np.where(self.positive, 1e-12, self._size) / self.n_other
        else:
            weight = self._size * np.where(self.positive, self.prior / self.n_positive, (1 - self.prior) / self.n_other)
        _, level = np.unique(-self.scores, return_inverse=True)
        mass = np.bincount(level, weights=weight)
        before = np.cumsum(mass) - mass
        return np.clip((share - before) / mass, 0.0, 1.0)[level]

    def _estimates(self, counts, costs, n_rows=None):
        rng = np.random.default_rng(self.random_state)
        # One more error, and one more right decision: Clopper and Pearson's unfavorable and favorable limits.
        unfavorable = self._drawn(counts + [0.0, 1.0, 1.0, 0.0], costs, 1.0, rng)
        favorable = self._drawn(counts + [1.0, 0.0, 0.0, 1.0], costs, self.training_share, rng)
        if n_rows is not None:
            for figures in (unfavorable, favorable):
                figures["precision"] = rng.binomial(n_rows, np.clip(figures["precision"], 0, 1)) / n_rows
        tail = (1 - self.confidence) / 2
        estimates = {}
        for name, value in self._figures(counts, costs).items():
            lows = unfavorable[name]
            highs = favorable[name]
            if name in _BAD:
                lows, highs = highs, lows
            elif name not in _GOOD:  # flagging more rows is neither
                both = np.sort([lows, highs], axis=1)
                lows = both.min(axis=0)
                highs = both.max(axis=0)
            low = min(np.quantile(lows, tail), value)
            high = max(np.quantile(highs, 1 - tail), value)
            estimates[name] = Estimate(float(value), float(low), float(high))
        return estimates

    def _drawn(self, shapes, costs, error_share, rng):
        """Figures of random populations in which only this share of the errors is left."""
        counts = rng.gamma(shapes[:, None], size=(4, _N_DRAWS))
        prior = self._draw_priors(rng)
        return self._figures(counts, costs, prior, error_share)

    def _draw_priors(self, rng):
        if self.prior_interval is None:
            return self.prior
        limits = [self.prior_interval[0], self.prior, self.prior_interval[1]]
        low, middle, high = logit(np.clip(limits, 1e-6, 1 - 1e-6))
        z = rng.normal(size=_N_DRAWS) / ndtri(0.95)
        return expit(middle + z * np.where(z < 0, middle - low, high - middle))

    def _figures(self, counts, costs=None, prior=None, error_share=1.0):
        """What `at` gives, from counts of the four kinds of rows, or from draws of them."""
        prior = self.prior if prior is None else prior
        if self.stated_prior is None:
            true_positive, false_negative, false_positive, true_negative = counts / counts.sum(axis=0)
        else:
            recall = counts[0] / np.maximum(counts[0] + counts[1], _LEAST)
            flagged = counts[2] / np.maximum(counts[2] + counts[3], _LEAST)
            true_positive = prior * recall
            false_positive = (1 - prior) * flagged
            if self.positives_only:
                # The flagged unlabeled rows hold the true positives, and are not fewer than these.
                true_positive = np.minimum(true_positive, flagged)
                false_positive = np.clip(flagged - true_positive, 0.0, 1 - prior)
            false_negative = prior - true_positive
            true_negative = 1 - prior - false_positive
        spared_misses = (1 - error_share) * false_negative
        spared_alarms = (1 - error_share) * false_positive
        true_positive = true_positive + spared_misses
        false_negative = false_negative - spared_misses
        false_positive = false_positive - spared_alarms
        share = true_positive + false_positive
        positives = np.maximum(true_positive + false_negative, _LEAST)
        precision = true_positive / np.maximum(share, _LEAST)
        figures = {
            "true_positive": true_positive,
            "false_negative": false_negative,
            "false_positive": false_positive,
            "true_negative": true_negative + spared_alarms,
            "share": share,
            "precision": precision,
            "recall": true_positive / positives,
            "lift": precision / positives,
        }
        if costs is not None:
            figures["cost"] = costs.miss * false_negative + costs.alarm * false_positive
        return figures


def _halfway(low, high):
    """A cut above `low` and below `high`, also where no number lies between them."""
    middle = low / 2 + high / 2
    return float(middle if low <= middle < high and math.isfinite(middle) else low)
