"""Comparison of methods over many datasets: Friedman, Nemenyi, Wilcoxon and Holm; critical-difference diagram."""

import itertools
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

__all__ = ["Comparison", "compare_methods", "plot_critical_difference"]


class Comparison(NamedTuple):
    """Several methods compared over several datasets.

    Attributes
    ----------
    ranks : Series
        Mean rank of each method, ascending; 1 is best.
    friedman_p : float
        p-value of the hypothesis that all methods perform equally.
    critical_difference : float
        Nemenyi's critical difference: mean ranks that differ by less do not differ significantly at level
        1 - `confidence`.
    p_values : DataFrame of shape (n_methods, n_methods)
        p-values of Wilcoxon's signed-rank test of each pair, with Holm's correction; 1 on the diagonal.
    n_datasets : int
        Number of datasets without gaps.
    confidence : float
        Of the critical difference.
    """

    ranks: pd.Series
    friedman_p: float
    critical_difference: float
    p_values: pd.DataFrame
    n_datasets: int
    confidence: float


def compare_methods(scores: pd.DataFrame, *, higher_is_better: bool = True, confidence: float = 0.95) -> Comparison:
    r"""Compare methods by their scores on the same datasets.

    With :math:`r_j` the mean rank of method j of k over N datasets (ties get midranks), Friedman's statistic is

    .. math:: \chi^2 = \frac{12 N}{k (k + 1)} \Big[\sum_j r_j^2 - \frac{k (k + 1)^2}{4}\Big] ,

    corrected for ties, and Nemenyi's critical difference is :math:`q_\alpha \sqrt{k (k + 1) / 6N}`. Pairs are tested by
    Wilcoxon's signed-rank test (the ranks of zero differences are split), with Holm's correction over all pairs.

    Parameters
    ----------
    scores : DataFrame of shape (n_datasets, n_methods)
        One row per dataset, one column per method. Rows with gaps are dropped, so that all methods are compared on the
        same datasets.
    higher_is_better : bool, default=True
        Whether a larger score is better; False for errors and losses.
    confidence : float, default=0.95
        Of the critical difference: one minus its level.

    Returns
    -------
    Comparison
        Mean ranks, p-values and the critical difference.

    See Also
    --------
    plot_critical_difference : Draw the result.

    References
    ----------
    .. [1] Demšar, J. "Statistical comparisons of classifiers over multiple data sets." Journal of Machine Learning
       Research 7, 2006.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.metrics import compare_methods
    >>> scores = pd.DataFrame({"a": [0.9, 0.8, 0.7, 0.95, 0.85], "b": [0.8, 0.7, 0.6, 0.9, 0.8], "c": [0.5] * 5})
    >>> comparison = compare_methods(scores)
    >>> comparison.ranks.to_dict()
    {'a': 1.0, 'b': 2.0, 'c': 3.0}
    >>> round(comparison.critical_difference, 3)
    1.482
    """
    scores = pd.DataFrame(scores).dropna()
    n, k = scores.shape
    if k < 2 or n < 2:
        raise ValueError(
            f"scores holds {k} methods and {n} datasets without gaps, but two of each are needed: drop the methods "
            "that did not run on all datasets"
        )
    values = scores.to_numpy(dtype=float)
    ranks = stats.rankdata(-values if higher_is_better else values, axis=1)
    mean_ranks = pd.Series(ranks.mean(axis=0), index=scores.columns).sort_values(kind="stable")
    # Nemenyi's quantile is that of the studentized range over the root of 2 (Demšar 2006, Table 5).
    quantile = stats.studentized_range.ppf(confidence, k, np.inf) / np.sqrt(2)
    critical_difference = float(quantile * np.sqrt(k * (k + 1) / (6 * n)))
    return Comparison(mean_ranks, _friedman(ranks), critical_difference, _wilcoxon_holm(scores), n, confidence)


def _friedman(ranks):
    """p-value; unlike SciPy's test it takes two methods."""
    n, k = ranks.shape
    # Ranks of different datasets are moved apart, so that equal numbers are ties within one dataset.
    apart = np.arange(n)[:, None] * 2 * k
    _, ties = np.unique(ranks + apart, return_counts=True)
    spread = n * k * (k * k - 1) - (ties**3 - ties).sum()
    # All methods are tied on every dataset.
    if spread == 0:
        return 1.0
    deviations = ranks.sum(axis=0) - n * (k + 1) / 2
    statistic = 12 * (deviations**2).sum() * (k - 1) / spread
    return float(stats.chi2.sf(statistic, k - 1))


def _wilcoxon_holm(scores):
    methods = list(scores.columns)
    pairs = list(itertools.combinations(methods, 2))
    raw = []
    for a, b in pairs:
        difference = scores[a] - scores[b]
        raw.append(_wilcoxon(difference.to_numpy(dtype=float)))
    table = pd.DataFrame(np.eye(len(methods)), index=methods, columns=methods)
    corrected = 0.0
    for place, i in enumerate(np.argsort(raw, kind="stable")):
        # Holm's p-values do not decrease: a hypothesis is rejected only if all with smaller p-values are.
        corrected = max(corrected, min(1.0, raw[i] * (len(pairs) - place)))
        a, b = pairs[i]
        table.loc[a, b] = corrected
        table.loc[b, a] = corrected
    return table


def _wilcoxon(difference):
    """p-value of the signed-rank test with zero differences split.

    SciPy's is exact below 14 differences, but takes seconds where there are ties: it goes through all signs one by one.
    Here the signs that give each sum of ranks are counted.
    """
    if not difference.any():
        return 1.0
    if len(difference) > 13:
        return stats.wilcoxon(difference, zero_method="zsplit").pvalue
    # Doubled: midranks are halves.
    ranks = np.rint(2 * stats.rankdata(np.abs(difference))).astype(int)
    observed = ranks[difference > 0].sum()
    # Number of signs of the ranks so far that give each sum.
    signs = np.ones(1)
    for rank in ranks[difference != 0]:
        signs = np.pad(signs, (0, rank)) + np.pad(signs, (rank, 0))
    lower = signs[: observed + 1].sum()
    upper = signs[observed:].sum()
    return min(1.0, 2 * min(lower, upper) / signs.sum())


def plot_critical_difference(comparison: Any, *, ax: Any = None) -> Any:
    """Draw the mean ranks; a bar joins methods that do not differ significantly by Nemenyi's test.

    Parameters
    ----------
    comparison : Comparison
        From `compare_methods`.
    ax : matplotlib Axes, default=None
        Where to draw; None makes a new figure.

    Returns
    -------
    matplotlib Axes
        The axes with the diagram.

    References
    ----------
    .. [1] Demšar, J. "Statistical comparisons of classifiers over multiple data sets." Journal of Machine Learning
       Research 7, 2006.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel.metrics import compare_methods, plot_critical_difference
    >>> scores = pd.DataFrame({"a": [0.9, 0.8, 0.7], "b": [0.8, 0.7, 0.6]})
    >>> ax = plot_critical_difference(compare_methods(scores))
    """
    ranks = comparison.ranks
    k = len(ranks)
    bars = _cliques(ranks.to_numpy(), comparison.critical_difference)
    rows = (k + 1) // 2
    if ax is None:
        import matplotlib.pyplot as plt

        height = 1.1 + 0.27 * rows + 0.16 * len(bars)
        _, ax = plt.subplots(figsize=(9, height))
    # Names are placed below the bars.
    top = 0.45 * len(bars) + 0.5
    ax.set(xlim=(k + 0.02, 0.98), ylim=(top + rows, -1.9))
    ax.axis("off")
    ax.plot([1, k], [0, 0], color="black", lw=1)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, -0.18], color="black", lw=1)
        ax.text(tick, -0.3, str(tick), ha="center", va="bottom", fontsize=9)
    width = min(comparison.critical_difference, k - 1)
    ax.plot([1, 1 + width], [-1.35, -1.35], color="black", lw=2)
    title = f"critical difference {comparison.critical_difference:.2f}, {comparison.n_datasets} datasets"
    ax.text(1, -1.5, title, ha="right", va="bottom", fontsize=9)
    for place, (method, rank) in enumerate(ranks.items()):
        # The better half is named on the side of rank 1, the others on the side of rank k, the last one on top.
        if place < rows:
            row = top + place + 0.3
            end = 1
            side = {"ha": "left", "x": 0.98}
        else:
            row = top + k - 1 - place + 0.3
            end = k
            side = {"ha": "right", "x": k + 0.02}
        ax.plot([rank, rank, end], [0, row, row], color="0.45", lw=0.8)
        ax.text(y=row, s=f"{method} ({rank:.2f})", va="center", fontsize=9, **side)
    for level, (first, last) in enumerate(bars):
        ends = [ranks.iloc[first] - 0.04, ranks.iloc[last] + 0.04]
        y = 0.3 + 0.45 * level
        ax.plot(ends, [y, y], color="black", lw=3, solid_capstyle="butt")
    return ax


def _cliques(ranks, difference):
    """First and last of each longest run of ascending ranks that differ by less than the critical difference."""
    runs = []
    reached = -1
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + difference, side="left")) - 1
        # A run that ends where an earlier one did is part of it.
        if last > max(first, reached):
            runs.append((first, last))
            reached = last
    return runs
