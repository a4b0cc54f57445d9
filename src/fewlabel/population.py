r"""Who was labeled, and what that means for every number about the unlabeled rows.

Labels are seldom a random sample: accepted applicants, investigated claims and biopsied patients were chosen. Rows are
taken to be chosen by their columns: given the columns, whether a row is labeled says nothing more about its class. Then
a labeled row stands for :math:`w(x) = (1 - e(x)) / e(x)` unlabeled rows, where :math:`e(x)` is the probability of being
labeled, and weighted means over the labeled rows estimate means over the unlabeled ones.

Rows may also be drawn class by class, such as as many positives as negatives. Then the two classes look in the labeled
rows as they do in the unlabeled ones, but have other shares there, which only their columns can tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from fewlabel.row_order import value_order
from fewlabel.rows import effective_number

__all__ = [
    "ClassDraw",
    "ColumnDifference",
    "Selection",
    "describe_selection",
    "flatten_weights",
]

_LEVEL = 0.03  # chance that labels drawn at random are called chosen
_N_PERMUTATIONS = 499
_MOST_UNLABELED = 4000  # rows that the labeled ones are compared with; more cost time and change little
_MOST_FEATURES = 400  # in the test of directions, whose cost grows with their cube
_MOST_SPLITS = 200  # features that the forest tries for a node: half of them, unless there are many
_RIDGE = 0.1  # added to the variances of standardized features, so that correlated ones do not dominate
_LEAST_EFFECTIVE = 0.3  # effective number of labels, as a share of all: weights are flattened until it is reached
_N_FOLDS = 5
_LEAST_PROBABILITY = 0.002  # of being labeled; smaller ones cannot be told apart with these numbers of rows
_MOST_CERTAIN = 0.99  # of a known probability: a row stands for at least a hundredth of another
_EDGE = 0.01  # of the labeled rows may lie at the edge of what the labels cover
_MOST_UNCOVERED = 0.3  # of the unlabeled rows; beyond it, no estimate is made for them
# Where an audit of 50 rows would tell more than the labels do.
_FEW_EFFECTIVE = 50
_MANY_UNCOVERED = 0.1
_MOST_SHOWN = 3
# With a random 30% of the positives labeled, at most 44% of them seem to be, in 60 draws of 20 tables.
_MOST_LABELED_POSITIVES = 0.5
# Rows that seem drawn class by class: standard deviations between their mean rank and that of a random sample.
_FAR = 2.58
_FAR_IF_BALANCED = 1.64  # as many rows of each class are a sign by themselves
_LEVEL_IF_BALANCED = 0.003
_BALANCED = 0.02  # difference of the classes' counts, as a share of all
_NORMAL_90 = 1.645
_PROPORTIONAL = (
    "probabilities are proportional to the share of positives, for which they take what other tables suggest; the "
    "highest ones are those at the largest possible share"
)
_ASK = "State their share (prior=, --prior): precision, cost and probabilities depend on it"


@dataclass(frozen=True)
class ColumnDifference:
    """A column in which labeled and unlabeled rows differ.

    Attributes
    ----------
    column : str
    share : float
        How often a labeled row has the higher value of a labeled and an unlabeled one; 1/2 if they do not differ.
        For gaps: how often the labeled row is the one with a gap, ties counting one half.
    what : {"values", "gaps", "frequency"}
        What differs: the values, where there are gaps, or how often a yes/no column or a category is true.
    """

    column: str
    share: float
    what: str = "values"

    @property
    def text(self) -> str:
        """The difference in words."""
        is_more = self.share > 0.5
        if self.what == "gaps":
            return f"{self.column} is {'more' if is_more else 'less'} often missing"
        if self.what == "frequency":
            return f"{self.column} is {'more' if is_more else 'less'} frequent"
        return f"{self.column} is {'higher' if is_more else 'lower'}"


@dataclass(frozen=True)
class ClassDraw:
    r"""Whether rows seem to have been labeled class by class, at other rates than the classes occur.

    Let :math:`r` be the rank of a row among the unlabeled ones, by models of the class that were not fitted to it. Over
    unlabeled rows its mean is 1/2. If classes have the mean ranks :math:`r_+` and :math:`r_-`, the share of positives
    among the unlabeled rows is :math:`(1/2 - r_-) / (r_+ - r_-)`.

    Attributes
    ----------
    z : float
        Distance of the labeled rows' mean rank from 1/2, in standard deviations.
    pvalue : float
        Of the test that other shares of the classes suffice to explain how labeled and unlabeled rows differ.
    labeled_share : float
        Share of positives among the labels.
    n_labeled : int
    share, low, high : float
        Share of positives among the unlabeled rows if rows were drawn class by class, and its 90% interval.
    """

    z: float
    pvalue: float
    labeled_share: float
    n_labeled: int
    share: float
    low: float
    high: float

    @property
    def is_balanced(self) -> bool:
        """Whether there are as many labels of each class."""
        return abs(2 * self.labeled_share - 1) <= max(_BALANCED, 1.01 / self.n_labeled)

    @property
    def is_suspected(self) -> bool:
        """Whether the class of a row seems to have decided if it was labeled."""
        if self.is_balanced:
            return abs(self.z) > _FAR_IF_BALANCED and self.pvalue > _LEVEL_IF_BALANCED
        return abs(self.z) > _FAR and self.pvalue > _LEVEL

    @property
    def text(self) -> str:
        """What the two shares are."""
        return (
            f"{self.labeled_share:.0%} of the labels are positive, and by the columns about {self.share:.0%} "
            f"({self.low:.0%} to {self.high:.0%}) of the unlabeled rows"
        )


@dataclass(frozen=True)
class Selection:
    """Whether labeled rows are a random sample of the table, and how they stand for its unlabeled rows.

    Attributes
    ----------
    chosen : bool
        Whether the labeled rows differ from the unlabeled ones by more than chance.
    pvalue : float
        Of the permutation test that they do not differ. NaN if there is nothing to test.
    differences : list of ColumnDifference
        The columns that differ most.
    n_labeled : int
    effective_labels : float
        The labels count as this many drawn at random from the unlabeled rows: :math:`(\\sum w)^2 / \\sum w^2` [1]_.
    uncovered : float
        Share of the unlabeled rows that no labeled row resembles.
    weight : ndarray of shape (n_labeled,) or None
        Weight of each labeled row, in the order of the table, with mean 1; None if labels are taken to be drawn at
        random. With known probabilities, rows without one have weight 0.
    audited : int
        Labeled rows that were drawn with known probability, if there are any: estimates are based on these alone.
    class_draw : ClassDraw or None
        Whether rows seem to have been labeled class by class; None with three classes or more, or with a stated share.
    stated_share : float or None
        Share of positives among the unlabeled rows, if it was stated.
    labeled_positives : float or None
        With positives only: the share of all positives that are labeled, if these are a random sample of them.
    easy_positives : bool
        Whether so many would be labeled that more likely they were chosen: those that are easily recognized.
    audit_lacks : str or None
        What the rows that were drawn with known probability lack, where they are too few and the others were chosen.

    References
    ----------
    .. [1] L. Kish. Survey Sampling. Wiley, 1965.
    """

    chosen: bool
    pvalue: float
    differences: list[ColumnDifference]
    n_labeled: int
    effective_labels: float
    uncovered: float = 0.0
    weight: np.ndarray | None = None
    audited: int = 0
    class_draw: ClassDraw | None = None
    stated_share: float | None = None
    labeled_positives: float | None = None
    easy_positives: bool = False
    audit_lacks: str | None = None

    @classmethod
    def unknown(cls, n_labeled: int) -> "Selection":
        """Of labels that say nothing about how they were chosen."""
        return cls(False, float("nan"), [], n_labeled, float(n_labeled))

    @classmethod
    def of_positives(
        cls, n_labeled: int, n_others: float, *, trusted: bool = False, stated_share: float | None = None
    ) -> "Selection":
        """Of positives only.

        Parameters
        ----------
        n_labeled : int
        n_others : float
            Positives among the unlabeled rows, if the labeled ones are a random sample.
        trusted : bool, default=False
            Whether they are known to be a random sample.
        stated_share : float, default=None
            Share of positives among the unlabeled rows, if it was stated: they are then trusted.
        """
        share = n_labeled / (n_labeled + n_others)
        is_easy = share > _MOST_LABELED_POSITIVES and not trusted and stated_share is None
        found = cls.unknown(n_labeled)
        return replace(found, labeled_positives=share, easy_positives=is_easy, stated_share=stated_share)

    @property
    def can_tell(self) -> bool:
        """Whether the labels allow a number about the unlabeled rows."""
        if self.audited:
            return True
        return self.audit_lacks is None and self.uncovered < _MOST_UNCOVERED and not self.easy_positives

    @property
    def asks_share(self) -> bool:
        """Whether precision, cost and probabilities need the share of positives, which the labels do not tell."""
        draw = self.class_draw
        return self.weight is None and draw is not None and draw.is_suspected and not self.audited

    @property
    def reason(self) -> str:
        """Why there is no number."""
        if self.easy_positives:
            return (
                "more likely the positives that are easily recognized are labeled. If they are a random sample of all "
                "positives, say so: --labels-drawn random"
            )
        if self.audit_lacks is not None:
            return f"labels were chosen, and {self.audit_lacks}. Label more rows of an audit: then the labels can tell"
        return (
            f"{self.uncovered:.0%} of the unlabeled rows resemble no labeled row. Label the rows that "
            "`fewlabel audit TABLE --target COLUMN --n 50` draws: then the labels can tell"
        )

    @property
    def doubt(self) -> str | None:
        """For which rows probabilities hold, if not for the unlabeled ones."""
        if self.labeled_positives is not None:
            return None if self.stated_share is not None else _PROPORTIONAL
        if self.class_draw is not None and self.asks_share:
            return (
                f"probabilities hold if {self.class_draw.labeled_share:.0%} of the rows are positive, as among the "
                "labels: state the share of positives (prior=, --prior)"
            )
        if self.can_tell:
            return None
        return "probabilities hold for rows like the labeled ones: these were chosen, and most others differ from them"

    @property
    def scores_hold(self) -> str:
        """What the scores of methods are about where there is no estimate for the unlabeled rows."""
        if self.easy_positives:
            return "The scores of the methods assume that the labeled positives are a random sample of all positives."
        return "The scores of the methods are for rows like the labeled ones."

    def by_design(self, probability: np.ndarray) -> "Selection":
        """The same with estimates based on the rows that were drawn with known probability, such as those of an audit.

        Parameters
        ----------
        probability : ndarray of shape (n_labeled,)
            Of each labeled row, in the order of the table; NaN where it is not known: such rows have no weight.

        Returns
        -------
        Selection
        """
        known = np.isfinite(probability)
        if not known.any() or not ((probability[known] > 0) & (probability[known] <= 1)).all():
            raise ValueError(
                "label_probability: expected more than 0 and at most 1 for every labeled row, or NaN where it is not "
                "known"
            )
        weight = np.zeros(len(probability))
        # A row that was certain to be labeled stands for no other row, but a small weight keeps its class estimable.
        chances = np.minimum(probability[known], _MOST_CERTAIN)
        weight[known] = (1 - chances) / chances
        weight /= weight.mean()
        n_known = int(known.sum())
        return replace(self, weight=weight, audited=n_known, effective_labels=effective_number(weight))

    def renamed(self, names: Mapping[str, str]) -> "Selection":
        """The same with other names of the columns, each of them once."""
        differences: dict[str, ColumnDifference] = {}
        for one in self.differences:
            column = names.get(one.column, one.column)
            differences.setdefault(column, replace(one, column=column))
        return replace(self, differences=list(differences.values()))

    def to_dict(self) -> dict[str, Any]:
        """The findings as a dict that can be written as JSON."""
        return {
            "chosen": self.chosen,
            "pvalue": None if np.isnan(self.pvalue) else self.pvalue,
            "differences": [asdict(one) for one in self.differences],
            "labels": self.n_labeled,
            "effective_labels": self.effective_labels,
            "uncovered": self.uncovered,
            "audited": self.audited,
            "labeled_positives": self.labeled_positives,
            "easy_positives": self.easy_positives,
            "class_draw": None if self.class_draw is None else asdict(self.class_draw),
            "asks_share": self.asks_share,
            "doubt": self.doubt,
            "text": self.text,
        }

    @property
    def _text_of_positives(self) -> str:
        """What nobody can know without a labeled negative, and how to know it."""
        text = (
            "Label the rows that `fewlabel audit TABLE --target COLUMN --n 50` draws: only positives are labeled, so "
            "nobody can know from these labels how many unlabeled rows are positive. "
        )
        if self.easy_positives:
            return text + (
                "If the labeled positives were a random sample of all positives, "
                f"{self.labeled_positives:.0%} of these would be labeled already. More likely those that are easily "
                "recognized were labeled, and others are missed."
            )
        return text + (
            "Until then, figures are right only if the labeled positives are a random sample of all positives, and not "
            "if they are those that are easily recognized."
        )

    @property
    def text(self) -> str:
        """One sentence for the reader."""
        if self.labeled_positives is not None:
            return self._text_of_positives
        text = ""
        if self.chosen:
            differing = "; ".join(one.text for one in self.differences)
            text = f"Labels were chosen: compared with unlabeled rows, in labeled rows {differing}."
        if self.audited:
            text += (
                f" Estimates are for the unlabeled rows, by {self.audited} rows that were drawn with known probability."
            )
            return text.strip()
        if np.isnan(self.pvalue):
            return ""
        if self.class_draw is not None and self.asks_share:
            return f"Labels seem to be drawn class by class: {self.class_draw.text}. {_ASK}."
        if not self.chosen and self.stated_share is not None:
            return f"With a share of {self.stated_share:.3g} positives, labels look like a random sample of each class."
        if not self.chosen:
            return "Labels look like a random sample of the rows."
        if not self.can_tell:
            return text
        text += f" Estimates are for the unlabeled rows, for which {self.n_labeled} labels count as "
        text += f"{self.effective_labels:.0f}."
        if self.uncovered >= _EDGE:
            text += f" {self.uncovered:.0%} of the rows resemble no labeled row: for them nothing can be said."
        if self.effective_labels < _FEW_EFFECTIVE or self.uncovered >= _MANY_UNCOVERED:
            text += " To be sure, label the rows that `fewlabel audit TABLE --target COLUMN --n 50` draws."
        if self.class_draw is not None and self.class_draw.is_suspected:
            text += (
                f" Were rows labeled class by class? {self.class_draw.text}: then state their share (prior=, --prior)."
            )
        return text


def describe_selection(
    features: np.ndarray,
    labeled: np.ndarray,
    sources: Sequence[str],
    *,
    positive: np.ndarray | None = None,
    share: float | None = None,
    drawn: str = "auto",
    seed: int = 0,
) -> Selection:
    """Compare labeled with unlabeled rows, and weigh the labeled rows to stand for the unlabeled ones.

    Parameters
    ----------
    features : ndarray of shape (n_rows, n_features)
        The encoded table; NaN marks a missing value.
    labeled : ndarray of bool of shape (n_rows,)
    sources : sequence of str of length n_features
        The column that each feature comes from.
    positive : ndarray of bool of shape (n_rows,), default=None
        Labeled rows of the positive class, if there are two classes.
    share : float, default=None
        Share of positives among the unlabeled rows, if it is known: labels of a class then stand for this share.
    drawn : {"auto", "random", "by-columns"}, default="auto"
        Whether labels were drawn at random, or chosen by columns of the table; "auto" tests it.
    seed : int, default=0

    Returns
    -------
    Selection

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel.population import describe_selection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 2))
    >>> older = X[:, 0] + rng.normal(size=1000) > 1.5  # rows with a high first column are labeled
    >>> found = describe_selection(X, older, ["age", "income"])
    >>> found.chosen, found.differences[0].text
    (True, 'age is higher')
    >>> describe_selection(X, rng.random(1000) < 0.1, ["age", "income"]).chosen
    False
    """
    rng = np.random.default_rng(seed)
    n_labeled = int(labeled.sum())
    is_positive = np.zeros(len(labeled), dtype=bool) if positive is None else positive & labeled
    # The order of the rows in the table must not matter to what is drawn.
    order = value_order(features, labeled.astype(np.int64) + is_positive)
    unlabeled = order[~labeled[order]]
    if len(unlabeled) == 0 or n_labeled == 0:
        return Selection.unknown(n_labeled)
    if len(unlabeled) > _MOST_UNLABELED:
        unlabeled = rng.permutation(unlabeled)[:_MOST_UNLABELED]
    rows = np.concatenate([order[labeled[order]], unlabeled])
    is_labeled = np.arange(len(rows)) < n_labeled
    described, origins = _comparable(features[rows], sources)
    is_positive = is_positive[rows[:n_labeled]]
    counted = np.full(n_labeled, 1 / n_labeled)
    if share is not None:
        counted = _class_weight(is_positive, share)
    pvalue = _permutation_test(described, counted, rng)
    draw = None
    if drawn == "auto" and share is None and positive is not None:
        draw = _class_draw(described, is_positive, rng, seed)
    is_suspected = draw is not None and draw.is_suspected
    chosen = drawn == "by-columns" or (drawn == "auto" and (pvalue <= _LEVEL or is_suspected))
    found = Selection(chosen, pvalue, [], n_labeled, float(n_labeled), class_draw=draw, stated_share=share)
    if not chosen:
        return found
    found = replace(found, differences=_differences(described, origins, is_labeled))
    # Labels of both classes in equal numbers are no accident: within a class they are taken as a random sample.
    if draw is not None and draw.is_suspected and draw.is_balanced:
        return found
    by_forest = _cross_fitted(features[rows], is_labeled, _forest(seed, features.shape[1]), seed)
    uncovered = max(_uncovered(by_forest, is_labeled), _beyond(features[rows], is_labeled))
    by_logistic = _cross_fitted(described, is_labeled, LogisticRegression(C=0.1, max_iter=500), seed)
    # The mean of the log-odds: the forest sees thresholds and combinations, the regression extrapolates smoothly.
    both = np.sqrt(_odds(by_logistic) * _odds(by_forest))
    in_table = np.argsort(rows[:n_labeled])
    weight = flatten_weights(1 / both[is_labeled])[in_table]
    return replace(found, weight=weight, effective_labels=effective_number(weight), uncovered=uncovered)


def flatten_weights(weight: np.ndarray, least: float = _LEAST_EFFECTIVE) -> np.ndarray:
    """Raise weights to the largest power up to 1 at which their effective number is a share of their number.

    A few huge weights would leave the estimate to a few rows. Flattening trades some of the bias that weights remove
    for much less variance.

    Parameters
    ----------
    weight : ndarray of shape (n_rows,)
        Positive.
    least : float
        The share.

    Returns
    -------
    ndarray of shape (n_rows,)
        With mean 1.
    """
    logarithm = np.log(weight / weight.max())

    def excess(power):
        return effective_number(np.exp(power * logarithm)) - least * len(weight)

    power = 1.0
    if excess(power) < 0:
        # Equal weights, at power 0, have the largest effective number.
        power = brentq(excess, 0.0, 1.0)
    flattened = np.exp(power * logarithm)
    return flattened / flattened.mean()


def _comparable(features, sources):
    """Ranks of each feature, how far they are from the middle, and its gaps, all standardized.

    Ranks make the comparison independent of units and outliers; distances from the middle show where labels favor
    typical or extreme rows. Returns also the source of each, and whether it is of gaps; None for distances.
    """
    columns = []
    origins = []
    # Columns in one piece are read faster.
    for values, source in zip(np.ascontiguousarray(features.T), sources):
        missing = np.isnan(values)
        ranks = np.zeros(len(values))
        n_present = int((~missing).sum())
        if n_present:
            ranks[~missing] = (rankdata(values[~missing]) - 0.5) / n_present - 0.5
        is_flag = bool(np.isin(values[~missing], (0.0, 1.0)).all())
        columns += [ranks, ranks**2]
        origins += [(source, "frequency" if is_flag else "values"), (source, "distance")]
        if n_present < len(values):
            columns.append(missing.astype(float))
            origins.append((source, "gaps"))
    table = np.column_stack(columns)
    spread = table.std(axis=0)
    varies = np.flatnonzero(spread > 1e-9)
    standardized = (table[:, varies] - table[:, varies].mean(axis=0)) / spread[varies]
    return standardized, [origins[k] for k in varies]


def _class_weight(positive, share):
    """Weights that sum to 1, those of the positives to their share."""
    return np.where(positive, share / max(positive.sum(), 1), (1 - share) / max((~positive).sum(), 1))


def _class_draw(described, positive, rng, seed):
    """Compare the labeled rows with the unlabeled ones along what separates the classes."""
    n_labeled = len(positive)
    counts = np.bincount(positive, minlength=2)
    n_folds = int(min(_N_FOLDS, counts.min()))
    if n_folds < 2 or described.shape[1] == 0:
        return None
    unlabeled = described[n_labeled:]
    ranks = _class_ranks(described[:n_labeled], positive, unlabeled, n_folds, seed)
    noise = 1 / 12 / len(unlabeled)  # of the mean rank of unlabeled rows
    z = (ranks.mean() - 0.5) / np.sqrt(ranks.var() / n_labeled + noise)
    of_positive = ranks[positive]
    of_negative = ranks[~positive]
    # Models that do not separate the classes cannot tell their shares.
    gap = max(of_positive.mean() - of_negative.mean(), 0.01)
    least = 0.5 / n_labeled
    share = float(np.clip((0.5 - of_negative.mean()) / gap, least, 1 - least))
    variance = share**2 * of_positive.var() / counts[1]
    variance += (1 - share) ** 2 * of_negative.var() / counts[0]
    half = _NORMAL_90 * float(np.sqrt(variance + noise)) / gap
    low = float(max(share - half, least))
    high = float(min(share + half, 1 - least))
    pvalue = 0.0
    if abs(z) > _FAR_IF_BALANCED:
        pvalue = max(_permutation_test(described, _class_weight(positive, at), rng) for at in (share, low, high))
    return ClassDraw(float(z), pvalue, float(positive.mean()), n_labeled, share, low, high)


def _class_ranks(labeled, positive, unlabeled, n_folds, seed):
    """Ranks of labeled rows among the unlabeled ones, by models of the class that were not fitted to them."""
    ranks = np.empty(len(labeled))
    model = LogisticRegression(C=0.1, max_iter=500)
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labeled, positive):
        model.fit(labeled[train], positive[train])
        reference = np.sort(model.decision_function(unlabeled))
        scores = model.decision_function(labeled[test])
        below = np.searchsorted(reference, scores, side="left")
        not_above = np.searchsorted(reference, scores, side="right")
        ranks[test] = (below + not_above) / (2 * len(reference))
    return ranks


def _permutation_test(described, weight, rng):
    """p-value of the hypothesis that the first rows, with these weights, are a random sample of all.

    Three statistics of the mean of the labeled rows are compared with those of random samples of the same size: its
    largest entry, its squared length, and its squared length in directions of equal variance. The smallest of their
    p-values is compared with that of the random samples, so the level is exact with any number of labels.
    """
    n_rows = len(described)
    if described.shape[1] == 0:
        return 1.0
    # Of many features, samples of the rows are copied several times as fast if each row is in one piece.
    if described.shape[1] > _MOST_FEATURES:
        described = np.ascontiguousarray(described)
    means = np.empty((_N_PERMUTATIONS + 1, described.shape[1]))
    means[0] = weight @ described[: len(weight)]
    for k in range(_N_PERMUTATIONS):
        means[k + 1] = weight @ described[rng.permutation(n_rows)[: len(weight)]]
    statistics = [np.abs(means).max(axis=1), (means**2).sum(axis=1)]
    if described.shape[1] <= _MOST_FEATURES:
        variances, directions = np.linalg.eigh(described.T @ described / n_rows)
        whitened = means @ (directions / np.sqrt(np.maximum(variances, 0.0) + _RIDGE))
        statistics.append((whitened**2).sum(axis=1))
    # Share of the samples whose statistic is at least as large, the sample itself included.
    tails = [1 - (rankdata(values, method="min") - 1) / len(values) for values in statistics]
    smallest = np.min(tails, axis=0)
    return float(np.mean(smallest <= smallest[0]))


def _differences(described, origins, is_labeled):
    """The columns whose labeled rows differ most, each by its values or by its gaps."""
    found: dict[str, ColumnDifference] = {}
    for values, (source, what) in zip(described.T, origins):
        if what == "distance":
            continue
        n_labeled = int(is_labeled.sum())
        place = rankdata(values)[is_labeled].mean() - (n_labeled + 1) / 2
        share = float(place / (len(values) - n_labeled))
        known = found.get(source)
        if known is None or abs(share - 0.5) > abs(known.share - 0.5):
            found[source] = ColumnDifference(source, share, what)
    return sorted(found.values(), key=lambda one: -abs(one.share - 0.5))[:_MOST_SHOWN]


def _forest(seed, n_features):
    n_tried = max(1, min(n_features // 2, _MOST_SPLITS))
    return RandomForestClassifier(40, min_samples_leaf=20, max_features=n_tried, random_state=seed)


def _cross_fitted(table, is_labeled, model, seed):
    """Probability of being labeled, of each row by a model that was not fitted to it."""
    table = np.nan_to_num(table)
    probability = np.empty(len(table))
    n_folds = min(_N_FOLDS, int(is_labeled.sum()), int((~is_labeled).sum()))
    if n_folds < 2:
        return np.full(len(table), is_labeled.mean())
    for train, test in StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(table, is_labeled):
        probability[test] = model.fit(table[train], is_labeled[train]).predict_proba(table[test])[:, 1]
    return probability


def _odds(probability):
    clipped = np.clip(probability, _LEAST_PROBABILITY, 1 - _LEAST_PROBABILITY)
    return clipped / (1 - clipped)


def _uncovered(probability, is_labeled):
    """Share of unlabeled rows that are less likely to be labeled than nearly all labeled rows, beyond chance."""
    labeled = np.sort(probability[is_labeled])
    n_edge = int(np.ceil(_EDGE * len(labeled)))
    below = float(np.mean(probability[~is_labeled] < labeled[n_edge - 1]))
    by_chance = n_edge / (len(labeled) + 1)
    return max(0.0, (below - by_chance) / (1 - by_chance))


def _beyond(features, is_labeled):
    """The largest share of unlabeled rows that lie beyond all labeled rows in one feature, on one side."""
    labeled = features[is_labeled]
    others = features[~is_labeled]
    # Of a feature without a value among the labeled rows nothing is known; comparisons with infinity are False.
    lowest = np.where(np.isnan(labeled), np.inf, labeled).min(axis=0)
    highest = np.where(np.isnan(labeled), -np.inf, labeled).max(axis=0)
    is_known = highest >= lowest
    below = (others < np.where(is_known, lowest, -np.inf)).mean(axis=0)
    above = (others > np.where(is_known, highest, np.inf)).mean(axis=0)
    return float(max(below.max(initial=0.0), above.max(initial=0.0)))
