"""Labeled rows with scores as evidence for a threshold, and thresholds by capacity, cost and precision."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit

from fewlabel.decisions._response import N_DRAWS, Rows, response_draws
from fewlabel.rows import effective_number

_GRID = 40
_PROMISE = 0.8  # confidence of `precision_threshold`
_LEAST = 1e-300  # a denominator of 0 becomes this
_LEAST_ODDS = 1e-9
_FURTHEST = 60.0  # log-odds, beyond those of any row
FACTOR = 3.0  # how many times lower or higher odds may be that the labels cannot tell
_N_SPLITS = 101
# Recall and lift follow from the positives alone, all other figures from the share of positives too.
_OF_SHARE = ("true_positive", "false_positive", "false_negative", "true_negative", "precision", "cost")
_CURVE_ROWS = 10.0  # labeled rows that the curve counts as, beside those on the same side of the threshold


class Estimate(NamedTuple):
    """A value with its confidence band.

    Attributes
    ----------
    value : float
        NaN where only the band is known.
    low, high : float
    """

    value: float
    low: float
    high: float

    def columns(self, name: str) -> dict[str, float]:
        """As three columns of a table of estimates."""
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    @classmethod
    def of_columns(cls, row: Mapping[str, float], name: str) -> "Estimate":
        """From three columns of a table of estimates."""
        return cls(row[name], row[f"{name}_low"], row[f"{name}_high"])


class Sensitivity(NamedTuple):
    """The precision of the flagged rows if their odds of being positive are not as estimated.

    Attributes
    ----------
    factor : float
        How many times lower or higher the odds of each row may be.
    low, high : float
        The precision with odds as low and as high as that.
    target : float
        The precision below which flagging is not worthwhile.
    reversing : float
        Factor of the odds at which the precision is the target: the decision to flag these rows is reversed there.
    """

    factor: float
    low: float
    high: float
    target: float
    reversing: float


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


def capacity_threshold(scores: ArrayLike, n: int) -> float:
    """Threshold above which the `n` highest scores lie, halfway to the next score.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Of the rows to decide on.
    n : int
        How many of them can be reviewed. If rows tie at the threshold, fewer are above it.

    Returns
    -------
    float

    Examples
    --------
    >>> from fewlabel.decisions import capacity_threshold
    >>> capacity_threshold([0.1, 0.9, 0.4, 0.7], 2)
    0.55
    """
    ordered = np.sort(np.asarray(scores, dtype=float))[::-1]
    if n < 1:
        raise ValueError(f"n={n} rows to review: expected 1 or more")
    if n >= len(ordered):
        return float(np.nextafter(ordered[-1], -np.inf))
    return _halfway(ordered[n], ordered[ordered > ordered[n]].min(initial=np.inf))


class Evidence:
    r"""Labeled rows with scores, the rows to decide on, and what flagging some of these yields.

    The probability :math:`p_j` that row :math:`j` is positive is estimated from the labeled rows, as a function of its
    score: the log-odds are piecewise linear in the log-odds of the rank of the score, and normal priors
    keep them moderate where labels are few. With :math:`F` rows above a threshold,

    .. math:: TP = \sum_{j\ \text{flagged}} p_j,\quad FP = F - TP,\quad FN = \sum_j p_j - TP,

    and precision, recall, lift and cost follow from these, so that all figures of a threshold agree with each other and
    with the number of flagged rows, which is counted. Estimates are at the mode of the function's posterior, bands are
    quantiles over 400 draws from it; for the precision they include that the number of positives among the flagged
    rows varies by chance.

    Parameters
    ----------
    positive : array-like of bool of shape (n_labeled,)
    scores : array-like of shape (n_labeled,)
        Higher means more likely positive; of models that were not fitted to the row.
    population : array-like of shape (n_rows,), default=None
        Scores of the rows to decide on, such as the unlabeled ones. By default `scores`; with `positives_only` those of
        the rows that are not positive.
    prior : float, default=None
        Share of positives among the rows to decide on. By default labels were drawn at random from rows like these.
        Give it if positives and negatives were labeled at different rates.
    prior_interval : (float, float), default=None
        A 90% interval of the prior, such as `low` and `high` of :func:`fewlabel.estimate_class_prior`, which widens the
        bands. By default the prior is exact.
    positives_only : bool, default=False
        The rows that are not `positive` are unlabeled, with a share of `prior` positives. With a `prior_interval`,
        figures that depend on this share have a band and no value.
    sample_weight : array-like of shape (n_labeled,), default=None
        Weights of the labeled rows, such as one over the probability of being labeled. They count as the effective
        number of rows, the squared sum of the weights over the sum of their squares [2]_.
    training_share : float, default=1.0
        Labels that the models behind the scores were fitted to, as a share of all: 0.8 with five folds. A model of all
        labels errs less, at most by the factor `training_share` if errors decrease as one over the number of labels;
        the bands allow for it.
    ranked_among : array-like of shape (n_others,), default=None
        The curve is one of the rank of a score among these, by default among the rows to decide on. Give the scores of
        rows like the labeled ones if those to decide on differ from them much.
    confidence : float, default=0.95
        Nominal coverage of the bands, each by itself.
    random_state : int, default=0
        Seed of the draws.

    Attributes
    ----------
    population : ndarray of shape (n_rows,)
        Scores of the rows to decide on, descending.
    prior : Estimate
        Share of positives among them.

    References
    ----------
    .. [1] C. Elkan. The foundations of cost-sensitive learning. IJCAI, 2001.
    .. [2] L. Kish. Survey Sampling. Wiley, 1965.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.decisions import Costs, Evidence
    >>> rng = np.random.default_rng(0)
    >>> positive = np.arange(400) < 100
    >>> evidence = Evidence(positive, rng.normal(2.0 * positive))
    >>> found = evidence.at_top(50)
    >>> round(found["precision"].value, 2)
    0.91
    >>> threshold = evidence.cost_threshold(Costs(miss=10, alarm=1))
    >>> threshold < evidence.cost_threshold(Costs(miss=1, alarm=1))  # an expensive miss: more rows are flagged
    True
    """

    def __init__(
        self,
        positive: ArrayLike,
        scores: ArrayLike,
        population: ArrayLike | None = None,
        *,
        prior: float | None = None,
        prior_interval: tuple[float, float] | None = None,
        positives_only: bool = False,
        sample_weight: ArrayLike | None = None,
        training_share: float = 1.0,
        ranked_among: ArrayLike | None = None,
        confidence: float = 0.95,
        random_state: int = 0,
    ) -> None:
        scores = np.asarray(scores, dtype=float)
        positive = np.asarray(positive, dtype=bool)
        size = _checked_sizes(positive, scores, prior, prior_interval, positives_only, sample_weight)
        if population is None:
            population = scores[~positive] if positives_only else scores
        self.population = np.sort(np.asarray(population, dtype=float))[::-1]
        if not 0 < training_share <= 1:
            raise ValueError(f"training_share={training_share}: expected more than 0 and at most 1")
        self.prior_interval = prior_interval
        self.training_share = training_share
        self.confidence = confidence
        self._rows = Rows.of(self.population)
        # One order of the rows, so that sums do not depend on how they were given.
        order = np.lexsort((size, positive, -scores))
        labeled = _Labeled(positive[order], scores[order], size[order])
        self._labeled = labeled
        self._knows_negatives = not positives_only
        self._knows_prior = prior is not None
        is_exact = prior_interval is None or prior_interval[0] == prior_interval[1]
        self._knows_share = is_exact or not positives_only
        self._random_state = random_state
        if ranked_among is not None:
            ranked_among = Rows.of(np.asarray(ranked_among, dtype=float))
        probability = response_draws(
            self._rows,
            *labeled,
            rng=np.random.default_rng(random_state),
            prior=prior,
            prior_interval=prior_interval,
            positives_only=positives_only,
            ranked_among=ranked_among,
        )
        counted = self._rows.counts[:, None] * probability
        # Expected positives among the k highest of the rows that are kept, by draw; the first entry is for none.
        self._positives = np.vstack([np.zeros(probability.shape[1]), np.cumsum(counted, axis=0)])
        self._above = np.concatenate([[0.0], np.cumsum(self._rows.counts)])
        self.prior = self._estimate(self._positives[-1] / len(self.population))

    def at(self, threshold: float, costs: Costs | None = None) -> dict[str, Estimate]:
        """Estimate what flagging the rows above a threshold yields.

        Parameters
        ----------
        threshold : float
        costs : Costs, default=None

        Returns
        -------
        dict of str to Estimate
            The shares of all rows that are `true_positive`, `false_positive`, `false_negative` and `true_negative`
            (the confusion matrix), `share` (flagged; counted, so its band has no width), `precision`, `recall` (the
            gain), `lift` (precision against that of a random choice), and `cost` per row if `costs` are given.
        """
        return self._figures(self.n_above(threshold), costs)

    def auc(self) -> Estimate:
        r"""Estimate the AUC among the rows to decide on, whose labels are not known.

        With the scores in descending order, :math:`\hat A = \sum_{i<j} p_i (1 - p_j) / (\sum_i p_i \sum_j (1 - p_j))`:
        each row counts as a positive by its probability and as a negative by the rest; with itself it ties.

        Returns
        -------
        Estimate
            Its band is for the AUC that all labels of these rows would show.
        """
        counts = self._rows.counts[:, None]
        found = np.diff(self._positives, axis=0)
        rng = np.random.default_rng(self._random_state)
        chance = np.clip(found / counts, 0.0, 1.0)
        seen = rng.binomial(counts.astype(int), chance).astype(float)
        estimate = self._estimate(_areas(found, counts), _areas(seen, counts))
        # With all labels, only this share of the errors may be left.
        return estimate._replace(high=1 - (1 - estimate.high) * self.training_share)

    def at_top(self, n: int, costs: Costs | None = None) -> dict[str, Estimate]:
        """Estimate what flagging the `n` highest rows yields; rows that tie with the last count in part.

        Parameters
        ----------
        n : int
        costs : Costs, default=None

        Returns
        -------
        dict of str to Estimate
            As `at`.
        """
        if not 1 <= n <= len(self.population):
            raise ValueError(f"n={n} of {len(self.population)} rows: expected from 1 to {len(self.population)}")
        return self._figures(n, costs)

    def sensitivity(self, threshold: float, target: float = 0.5, factor: float = FACTOR) -> Sensitivity:
        r"""Precision of the rows above a threshold if their log-odds are :math:`z_j + \delta` instead of :math:`z_j`.

        For labels that cannot tell the odds of these rows: no labeled row resembles them.

        Parameters
        ----------
        threshold : float
            With at least one row above it.
        target : float, default=0.5
            The precision below which flagging is not worthwhile.
        factor : float, default=3.0
            :math:`e^{|\delta|}`, how many times lower or higher the odds may be.

        Returns
        -------
        Sensitivity

        References
        ----------
        .. [1] J. M. Robins, A. Rotnitzky, D. O. Scharfstein. Sensitivity analysis for selection bias and unmeasured
           confounding. Statistical Models in Epidemiology, 2000.
        """
        flagged = self._rows.scores > threshold
        counts = self._rows.counts[flagged]
        share = counts / counts.sum()
        probability = np.diff(self._positives[:, 0])[flagged] / counts
        log_odds = logit(np.clip(probability, _LEAST_ODDS, 1 - _LEAST_ODDS))

        def precision(delta):
            return float(share @ expit(log_odds + delta))

        delta = math.log(factor)
        reversing = brentq(lambda shift: precision(shift) - target, -_FURTHEST, _FURTHEST)
        return Sensitivity(factor, precision(-delta), precision(delta), target, math.exp(reversing))

    def n_above(self, threshold: float) -> int:
        """Number of rows to decide on that are above a threshold."""
        return int(np.count_nonzero(self.population > threshold))

    def curve(self, costs: Costs | None = None, *, also: float | None = None) -> pd.DataFrame:
        """Estimates by threshold, from few flagged rows to all of them.

        Parameters
        ----------
        costs : Costs, default=None
        also : float, default=None
            A threshold that is to be among them.

        Returns
        -------
        DataFrame
            One row per threshold: `threshold`, and for each estimate of `at` a column and its band, such as
            `precision`, `precision_low` and `precision_high`.
        """
        thresholds = {capacity_threshold(self.population, n) for n in self._grid()}
        if also is not None:
            thresholds.add(also)
        rows = []
        for threshold in sorted(thresholds, reverse=True):
            row = {"threshold": threshold}
            for name, estimate in self.at(threshold, costs).items():
                row |= estimate.columns(name)
            rows.append(row)
        return pd.DataFrame(rows)

    def cost_threshold(self, costs: Costs) -> float:
        """Threshold with the lowest expected cost.

        As the probability rises with the score, it is where a row has the break-even probability
        ``alarm / (miss + alarm)`` (Elkan, 2001).

        Parameters
        ----------
        costs : Costs

        Returns
        -------
        float
        """
        if not (costs.miss > 0 and costs.alarm > 0):
            raise ValueError(f"costs {costs.miss:g} and {costs.alarm:g}: expected two numbers greater than 0")
        found = self._positives[:, 0]
        cost = costs.miss * (found[-1] - found) + costs.alarm * (self._above - found)
        return self._cut_after(int(np.argmin(cost)))

    def precision_threshold(self, target: float, confidence: float = _PROMISE) -> float:
        """The lowest threshold that promises a precision: the most rows of this precision.

        Parameters
        ----------
        target : float
            Between 0 and 1.
        confidence : float, default=0.8
            The precision of the flagged rows reaches the target with this probability.

        Returns
        -------
        float

        Raises
        ------
        ValueError
            If no threshold promises it; the message has the highest precision that one promises, rounded down.
        """
        precision = self._positives[1:] / self._above[1:, None]
        promised = np.quantile(precision, 1 - confidence, axis=1)
        enough = np.flatnonzero(promised >= target)
        if len(enough) == 0:
            # Rounded down: what the message names can be asked for.
            best = math.floor(100 * promised.max()) / 100
            raise ValueError(
                f"these labels cannot promise a precision of {target:g}: the best they can promise, with "
                f"{confidence:.0%} confidence, is {best:g}. Ask for no more than that, or label more rows"
            )
        return self._cut_after(int(enough[-1]) + 1)

    def _grid(self):
        """Numbers of flagged rows from few to all, closer together where few are flagged."""
        n_rows = len(self.population)
        numbers = np.linspace(0, 1, _GRID + 1)[1:] ** 2 * n_rows
        return sorted({int(n) for n in np.ceil(numbers)})

    def _cut_after(self, n_kept):
        """The threshold below the first of the rows that are kept, above all others."""
        scores = self._rows.scores
        if n_kept == 0:
            return float(scores[0])
        if n_kept == len(scores):
            return float(np.nextafter(scores[-1], -np.inf))
        return _halfway(scores[n_kept], scores[n_kept - 1])

    def _figures(self, n_flagged, costs):
        """All figures if this many of the highest rows are flagged."""
        n_rows = len(self.population)
        share = n_flagged / n_rows
        total = self._positives[-1]
        of_flagged = self._found(n_flagged)
        expected = _shares(of_flagged, total, n_flagged, n_rows, costs)
        # Bands are for what will be seen: the positives among the flagged rows and among the others vary by chance.
        rng = np.random.default_rng(self._random_state)
        found = _seen(of_flagged, n_flagged, rng)
        missed = _seen(total - of_flagged, n_rows - n_flagged, rng)
        seen = _shares(found, found + missed, n_flagged, n_rows, costs)
        # A model of all labels may miss fewer positives, which then take the place of false alarms.
        gained = (1 - self.training_share) * np.minimum(missed, n_flagged - found)
        better = _shares(found + gained, found + missed, n_flagged, n_rows, costs)
        ranges = [seen, better]
        if self._knows_negatives:
            ranges.append(self._counted(n_flagged, costs, rng))
        estimates = {}
        for name, drawn in expected.items():
            estimates[name] = self._estimate(drawn, *[one[name] for one in ranges])
        estimates["share"] = Estimate(share, share, share)
        if not self._knows_share:
            estimates |= {name: estimates[name]._replace(value=math.nan) for name in _OF_SHARE if name in estimates}
            estimates |= self._found_of_positives(n_flagged, estimates["recall"].value)
        return estimates

    def _found_of_positives(self, n_flagged, expected):
        """Recall and lift, by the labeled positives above the threshold and by the curve, which is lower at the top.

        Labeled positives rank higher out of fold than others do: the others are among the unlabeled rows of the fit.
        """
        if n_flagged == 0:
            return {}
        n_rows = len(self.population)
        labeled = self._labeled
        above = labeled.scores >= self.population[n_flagged - 1]
        rng = np.random.default_rng(self._random_state)
        counted = labeled.drawn_share(above & labeled.positive, ~above & labeled.positive, expected, rng)
        by_curve = np.minimum(self._found(n_flagged) / self._positives[-1], 1.0)
        # As many other positives as are most likely vary by chance.
        n_others = max(round(self._positives[-1, 0]), 1)
        seen = [_seen(n_others * drawn, n_others, rng) / n_others for drawn in (counted, by_curve)]
        recall = self._estimate([expected], *seen, seen[0] + (1 - self.training_share) * (1 - seen[0]))
        return {"recall": recall, "lift": Estimate(*(value * n_rows / n_flagged for value in recall))}

    def _counted(self, n_flagged, costs, rng):
        """All figures by the labeled rows above and below the threshold, whatever the form of the curve."""
        n_rows = len(self.population)
        total = self._positives[-1, 0]
        found = self._found(n_flagged)[0]
        lowest = self.population[n_flagged - 1] if n_flagged else np.inf
        labeled = self._labeled
        above = labeled.scores >= lowest
        if self._knows_prior:
            # Classes may have been labeled at different rates: shares within the positives are the same at any rate.
            recall = labeled.drawn_share(above & labeled.positive, ~above & labeled.positive, found / total, rng)
            found = np.minimum(_seen(total * recall, round(total), rng), n_flagged)
            return _shares(found, total, n_flagged, n_rows, costs)
        drawn = []
        for side, expected, size in ((above, found, n_flagged), (~above, total - found, n_rows - n_flagged)):
            share = labeled.drawn_share(side & labeled.positive, side & ~labeled.positive, expected / max(size, 1), rng)
            drawn.append(_seen(size * share, size, rng))
        found, missed = drawn
        return _shares(found, found + missed, n_flagged, n_rows, costs)

    def _found(self, n_flagged):
        """Expected positives among this many of the highest rows, by draw."""
        place = np.searchsorted(self._above, n_flagged, side="right") - 1
        if place == len(self._above) - 1:
            return self._positives[-1]
        before, after = self._positives[place : place + 2]
        n_before, n_after = self._above[place : place + 2]
        part = (n_flagged - n_before) / (n_after - n_before)
        return before + part * (after - before)

    def _estimate(self, expected, *seen):
        """The figure at the mode, which is the first draw, and the outermost quantiles of what may be seen."""
        tail = (1 - self.confidence) / 2
        value = float(expected[0])
        low = high = value
        for drawn in seen or (expected,):
            ends = np.quantile(drawn, [tail, 1 - tail]).tolist()
            low = min(low, ends[0])
            high = max(high, ends[1])
        return Estimate(value, low, high)


def curve_auc(positive: np.ndarray, scores: np.ndarray, population: np.ndarray) -> float:
    """AUC among rows without labels, by the probabilities that labeled rows give to scores (Begg and Greenes).

    It holds whatever rows were labeled, as long as they were chosen by their scores: the probability of a positive,
    given the score, is then the same in labeled and unlabeled rows.

    Parameters
    ----------
    positive : ndarray of bool of shape (n_labeled,)
    scores : ndarray of shape (n_labeled,)
        Of models that were not fitted to the row.
    population : ndarray of shape (n_rows,)
        Scores of the rows without labels.

    Returns
    -------
    float

    References
    ----------
    .. [1] C. B. Begg, R. A. Greenes. Assessment of diagnostic tests when disease verification is subject to selection
       bias. Biometrics 39, 1983.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import roc_auc_score
    >>> from fewlabel.decisions import curve_auc
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(5000) < 0.3
    >>> score = rng.normal(2.0 * y)
    >>> labeled = rng.random(5000) < np.where(score > 1, 0.3, 0.03)  # high scores were investigated
    >>> plain = roc_auc_score(y[labeled], score[labeled])
    >>> truth = roc_auc_score(y[~labeled], score[~labeled])
    >>> found = curve_auc(y[labeled], score[labeled], score[~labeled])
    >>> print(f"{plain:.2f} of the labeled rows; {found:.2f} of the others, in truth {truth:.2f}")
    0.89 of the labeled rows; 0.93 of the others, in truth 0.92
    """
    probability, counts = _expected(positive, scores, population)
    return float(_areas(counts * probability, counts)[0])


def auc_range(
    positive: np.ndarray, scores: np.ndarray, population: np.ndarray, factor: float = FACTOR
) -> tuple[float, float]:
    """The lowest and the highest AUC among rows whose odds are up to `factor` times lower or higher than estimated.

    The AUC is lowest if rows above some score have lower odds, and those below it higher ones.

    Parameters
    ----------
    positive, scores, population
        As in `curve_auc`.
    factor : float, default=3.0

    Returns
    -------
    low, high : float
    """
    extremes = _ExtremeAreas.of(positive, scores, population)
    return extremes.lowest(factor), extremes.highest(factor)


def reversing_odds(
    positive: np.ndarray, scores: np.ndarray, population: np.ndarray, target: float = 0.5
) -> float | None:
    """The smallest factor of the odds with which the lowest AUC of `auc_range` is no higher than a target.

    Parameters
    ----------
    positive, scores, population
        As in `curve_auc`.
    target : float, default=0.5
        The AUC at which the ranking is worth nothing.

    Returns
    -------
    float or None
        None if the AUC is no higher with the odds as estimated.
    """
    extremes = _ExtremeAreas.of(positive, scores, population)
    if extremes.lowest(1.0) <= target:
        return None
    logarithm = brentq(lambda log_factor: extremes.lowest(math.exp(log_factor)) - target, 0.0, _FURTHEST)
    return math.exp(logarithm)


class _ExtremeAreas(NamedTuple):
    """The AUC of rows whose odds are lower above some score and higher below it, or the other way round."""

    log_odds: np.ndarray
    counts: np.ndarray
    side: np.ndarray  # -1 above the score and 1 below it, one column per score

    @classmethod
    def of(cls, positive, scores, population):
        probability, counts = _expected(positive, scores, population)
        log_odds = logit(np.clip(probability, _LEAST_ODDS, 1 - _LEAST_ODDS))
        n_above = np.linspace(0, len(counts), _N_SPLITS).round()
        is_above = np.arange(len(counts))[:, None] < n_above
        return cls(log_odds, counts, np.where(is_above, -1.0, 1.0))

    def lowest(self, factor):
        return float(self._areas(math.log(factor)).min())

    def highest(self, factor):
        return float(self._areas(-math.log(factor)).max())

    def _areas(self, shift):
        return _areas(self.counts * expit(self.log_odds + shift * self.side), self.counts)


def _expected(positive, scores, population):
    """Probability of a positive for rows that stand for all of them, and for how many each stands."""
    rows = Rows.of(population)
    equal = np.ones(len(scores))
    probability = response_draws(rows, positive, scores, equal, rng=np.random.default_rng(0), n_draws=1)
    return probability, rows.counts[:, None]


def _areas(positives, counts):
    """AUC by draw, of rows in descending order of their scores that hold so many positives of so many rows."""
    negatives = counts - positives
    # Half of the row's own: a tie.
    below = negatives.sum(axis=0) - np.cumsum(negatives, axis=0) + negatives / 2
    pairs = positives.sum(axis=0) * negatives.sum(axis=0)
    return (positives * below).sum(axis=0) / np.maximum(pairs, _LEAST)


class _Labeled(NamedTuple):
    """Labeled rows and how much each counts."""

    positive: np.ndarray
    scores: np.ndarray
    size: np.ndarray

    def drawn_share(self, rows, others, expected, rng):
        """Draws of the share of some rows beside others, with the curve's estimate as prior."""
        expected = np.clip(expected, 0.001, 0.999)
        n_rows = self.size[rows].sum() + _CURVE_ROWS * expected
        n_others = self.size[others].sum() + _CURVE_ROWS * (1 - expected)
        return rng.beta(n_rows, n_others, N_DRAWS)


def _seen(expected, n_rows, rng):
    """Numbers of positives among rows, drawn with these expectations."""
    if n_rows == 0:
        return np.zeros(len(expected))
    return rng.binomial(n_rows, np.clip(expected / n_rows, 0.0, 1.0)).astype(float)


def _shares(found, total, n_flagged, n_rows, costs):
    """The figures of a threshold from the positives found and all positives, by draw."""
    missed = total - found
    alarms = n_flagged - found
    precision = found / max(n_flagged, _LEAST)
    figures = {
        "true_positive": found / n_rows,
        "false_negative": missed / n_rows,
        "false_positive": alarms / n_rows,
        "true_negative": (n_rows - total - alarms) / n_rows,
        "precision": precision,
        "recall": found / np.maximum(total, _LEAST),
        "lift": precision * n_rows / np.maximum(total, _LEAST),
    }
    if costs is not None:
        figures["cost"] = (costs.miss * missed + costs.alarm * alarms) / n_rows
    return figures


def _checked_sizes(positive, scores, prior, prior_interval, positives_only, sample_weight):
    """How much each labeled row counts: their weights, scaled to the effective number of rows."""
    if scores.ndim != 1 or scores.shape != positive.shape:
        raise ValueError(f"positive and scores have shapes {positive.shape} and {scores.shape}: expected equal 1-D")
    if positive.all() or not positive.any():
        raise ValueError("rows of both kinds are needed: positives, and negatives or unlabeled rows")
    if positives_only and prior is None:
        raise ValueError("positives_only=True needs prior, the share of positives among the unlabeled rows")
    if prior_interval is not None and (prior is None or not prior_interval[0] <= prior <= prior_interval[1]):
        raise ValueError(f"prior_interval={prior_interval} does not contain prior={prior}: give both")
    if sample_weight is None:
        return np.ones(len(scores))
    weight = np.asarray(sample_weight, dtype=float)
    if weight.shape != scores.shape or not (weight > 0).all():
        raise ValueError("sample_weight: expected one number greater than 0 per row")
    return weight * (effective_number(weight) / weight.sum())


def _halfway(low: float, high: float) -> float:
    """A threshold above `low` and below `high`, also where no number lies between them."""
    middle = low / 2 + high / 2
    return float(middle if low <= middle < high and math.isfinite(middle) else low)
