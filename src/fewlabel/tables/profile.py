"""Profiles: what each column looked like at fit, and where the columns of new rows do not fit it."""

import datetime
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fewlabel.parts.cells import BOOLEAN, DATE, NUMBER, TEXT, Cells, columns_of, read_as
from fewlabel.tables.kinds import ReadColumns
from fewlabel.text import short

_MOST_CATEGORIES = 100
_MOST_CHARACTERS = 20_000  # of all categories of a column together
_EXAMPLES = 3
_LARGE_PSI = 0.25  # a large shift by convention (Siddiqi, 2006)
_PSI_ROWS = 30
_NORMAL_LIMIT = 3.0902  # standard deviations; one-sided chance of .001 for a column that did not change
_GAP_ROWS = 10
_GAP_CHANGE = 0.1
_Z = 3.3  # standard errors; two-sided chance of .001
_SCALE = math.log2(100)  # a change of units is at least this
_FAR_DATES = 0.01
_MICROSECONDS_PER_DAY = 86_400e6
_PLURALS = {NUMBER: "numbers", BOOLEAN: "booleans", DATE: "dates"}
Figures = dict[str, Any]  # of a column, as JSON can hold them


class Finding(NamedTuple):
    """One way in which the new values of a column do not fit those of the fit.

    Attributes
    ----------
    column : str
    reason : str
        "unparseable", "missing", "unseen categories", "scale", "distribution" or "date range".
    value : float
        The share of new values; for "scale" the factor; for "distribution" the population stability index.
    at_fit : float
        The same at fit.
    text : str
        The finding as a sentence.
    """

    column: str
    reason: str
    value: float
    at_fit: float
    text: str


class Drift:
    """Compare new rows with the profile of a fit, chunk by chunk.

    How the rows are split into chunks makes no difference to the findings.

    Parameters
    ----------
    profile : dict
        `profile_` of a `TableEncoder` or a `TableClassifier`.

    See Also
    --------
    compare : The findings for one table.

    Examples
    --------
    >>> import pandas as pd
    >>> from fewlabel import TableEncoder
    >>> from fewlabel.tables import Drift
    >>> rows = pd.DataFrame({"city": ["Oslo", "Graz"] * 20, "age": [20.0, 30.0, 40.0, None] * 10})
    >>> drift = Drift(TableEncoder().fit(rows).profile_)
    >>> drift.update(pd.DataFrame({"city": ["Lima", "Oslo"], "age": [25.0, 35.0]}))
    >>> drift.update(pd.DataFrame({"city": ["Lima", "Graz"], "age": [30.0, None]}))
    >>> [finding.text for finding in drift.findings()]
    ["50.0% of the values are categories that were not seen at fit, such as 'Lima'"]
    """

    def __init__(self, profile: dict[str, Figures]) -> None:
        self.profile = profile
        self._tallies = {name: _Tally(column) for name, column in profile.items()}
        self._months: dict[str, Drift] = {}

    def update(self, X: Any) -> None:
        """Add new rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
            A column that is not there counts as missing in every row.
        """
        columns = columns_of(X)
        cells = {}
        for name, column in self.profile.items():
            values = columns[name] if name in columns else [None] * len(X)
            cells[name] = read_as(values, column["kind"], column["notation"], column.get("special", ()))
        self.add(cells)

    def add(self, cells: Mapping[str, Cells], months: np.ndarray | None = None) -> None:
        """Add new rows that were converted to their kinds.

        Parameters
        ----------
        cells : dict of str to Cells
            What the encoder read.
        months : ndarray of str of shape (n_rows,), default=None
            The month of each row, such as "2024-03": `summary` then has the stability of each column by month.
        """
        for name, tally in self._tallies.items():
            tally.add(cells[name])
        for month in [] if months is None else np.unique(months).tolist():
            rows = np.flatnonzero(months == month)
            of_month = self._months.setdefault(month, Drift(self.profile))
            of_month.add({name: cells[name].take(rows) for name in self.profile})

    def merge(self, other: "Drift") -> None:
        """Add the rows of another comparison with the same profile, which come after those of this one.

        Parameters
        ----------
        other : Drift
        """
        for name, counts in self._tallies.items():
            counts.merge(other._tallies[name])
        for month, drift in other._months.items():
            self._months.setdefault(month, Drift(self.profile)).merge(drift)

    def findings(self) -> list[Finding]:
        """Columns whose new values do not fit the profile, in the order of the columns.

        Returns
        -------
        list of Finding
        """
        return [finding for name in self.profile for finding in self._tallies[name].findings(name)]

    @property
    def n_rows(self) -> int:
        """Number of new rows."""
        return max((tally.rows for tally in self._tallies.values()), default=0)

    def stability(self) -> dict[str, float | None]:
        """Population stability index of each column; None where too few values are there to tell.

        With :math:`a_k` and :math:`b_k` the shares of the values in bin :math:`k` at fit and now, the index is
        :math:`\\sum_k (b_k - a_k) \\log (b_k / a_k)`. Bins are categories, or tenths of the values at fit.

        Returns
        -------
        dict of str to float or None
        """
        return {name: tally.stability() for name, tally in self._tallies.items()}

    def summary(self) -> Figures:
        """Findings and figures of every column, as plain values for JSON.

        Returns
        -------
        dict
        """
        stability = self.stability()
        columns = {}
        for name, at_fit in self.profile.items():
            columns[name] = {"fit": at_fit, "new": self._tallies[name].result(), "stability": stability[name]}
        months = []
        for month in sorted(self._months):
            drift = self._months[month]
            months.append({"month": month, "rows": drift.n_rows, "stability": drift.stability()})
        findings = [finding._asdict() for finding in self.findings()]
        return {"rows": self.n_rows, "findings": findings, "columns": columns, "months": months}


def compare(profile: dict[str, Figures], X: Any) -> list[Finding]:
    """Find the columns whose values do not fit the profile of a fit.

    Reported are values that cannot be parsed, more or fewer missing values, categories that the fit did not see,
    numbers of another scale (100 times larger or smaller), a population stability index above .25 that chance does
    not explain [1]_, and dates far outside the range of the fit.

    Parameters
    ----------
    profile : dict
        `profile_` of a `TableEncoder` or a `TableClassifier`.
    X : DataFrame or array-like of shape (n_samples, n_columns)

    Returns
    -------
    list of Finding

    See Also
    --------
    Drift : The same, chunk by chunk.

    References
    ----------
    .. [1] Siddiqi. Credit Risk Scorecards. Wiley, 2006. The index and its limit. Its distribution by chance: Yurdakul,
       Naranjo. Statistical properties of the population stability index. Journal of Risk Model Validation 14(4), 2020.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from fewlabel import TableEncoder
    >>> from fewlabel.tables import compare
    >>> amounts = pd.DataFrame({"amount": np.random.default_rng(0).lognormal(5, 1, size=200)})
    >>> profile = TableEncoder().fit(amounts).profile_
    >>> compare(profile, amounts)
    []
    >>> compare(profile, amounts * 1000)[0].text
    'the values are about 1,000 times larger than at fit'
    """
    drift = Drift(profile)
    drift.update(X)
    return drift.findings()


def months_of(moments: np.ndarray) -> np.ndarray:
    """The month of each date, such as "2024-03"; "no date" for a gap."""
    return np.where(np.isnat(moments), "no date", np.datetime_as_string(moments, unit="M"))


def profile_columns(columns: ReadColumns) -> dict[str, Figures]:
    """Profile of each column in use.

    Parameters
    ----------
    columns : ReadColumns

    Returns
    -------
    dict
        Plain values only, for JSON.
    """
    return {name: profile_cells(cells, columns.notations.get(name, "")) for name, cells in columns.cells.items()}


def profile_cells(cells: Cells, notation: str = "") -> Figures:
    """Profile of one column."""
    column = {"kind": cells.kind, "notation": notation, **_bins(cells)}
    if cells.special_values():
        column["special"] = cells.special_values()
    tally = _Tally(column)
    tally.add(cells)
    return {**column, **tally.result()}


def _bins(cells: Cells) -> Figures:
    """Categories, or deciles of the numbers (of the lengths of long text), and their range."""
    n_characters = sum(map(len, cells.values)) if cells.kind == TEXT else math.inf
    if n_characters <= _MOST_CHARACTERS and len(cells.values) <= _MOST_CATEGORIES:
        return {"categories": sorted(cells.values), "singletons": int((cells.counts() == 1).sum())}
    numbers = _as_numbers(cells)
    numbers = numbers[~np.isnan(numbers)]
    tenths = np.quantile(numbers, np.arange(1, 10) / 10)
    return {"cuts": np.unique(tenths).tolist(), "low": float(numbers.min()), "high": float(numbers.max())}


def _as_numbers(cells: Cells) -> np.ndarray:
    """Each cell as a number, NaN for a gap: the length of a text, the days since 1970 of a date."""
    if cells.kind == TEXT:
        lengths = [len(text) for text in cells.values]
        # -1 is the last one.
        return np.array([*lengths, np.nan])[cells.codes]
    values = cells.rows()
    if cells.kind == DATE:
        return np.where(np.isnat(values), np.nan, values.astype(np.int64) / _MICROSECONDS_PER_DAY)
    return values


class _Tally:
    """Counts of one column, over any number of chunks."""

    def __init__(self, column: Figures) -> None:
        self.column = column
        self.rows = 0
        self.missing = 0
        self.unparseable = 0
        self.far = 0
        # Of unparseable values or unseen categories, in the order of the rows.
        self.examples: dict[str, None] = {}
        self.categories = {name: k for k, name in enumerate(column.get("categories", ()))}
        bounds = column["categories"] if "categories" in column else column["cuts"]
        # The last count is that of the unseen categories.
        self.counts = np.zeros(len(bounds) + 1, dtype=np.int64)
        # Number, sum and sum of squares of log2|x|.
        self.logs = np.zeros(3)

    def add(self, cells: Cells) -> None:
        """Count the cells of a chunk."""
        self.rows += cells.n_rows
        self.missing += int(np.count_nonzero(cells.gaps()))
        if cells.written is not None:
            counts = cells.counts()
            failed = cells.missing_values() & ~cells.is_special() & (counts > 0)
            n_failed = int(counts[failed].sum())
            # A value that was written is there, although it cannot be used.
            self.unparseable += n_failed
            self.missing -= n_failed
            self._keep_examples(cells.written[k] for k in np.flatnonzero(failed))
        if "categories" in self.column:
            self._add_categories(cells)
        else:
            self._add_numbers(_as_numbers(cells))

    def _add_categories(self, cells: Cells) -> None:
        counts = cells.counts()
        places = np.array([self.categories.get(text, -1) for text in cells.values], dtype=np.int64)
        unseen = (places < 0) & (counts > 0)
        self._keep_examples(cells.values[k] for k in np.flatnonzero(unseen))
        # -1 is the last count.
        np.add.at(self.counts, places, counts)

    def _add_numbers(self, numbers: np.ndarray) -> None:
        """Count numbers by interval, ``(cuts[k - 1], cuts[k]]``, and sum the logarithms of their sizes."""
        numbers = numbers[~np.isnan(numbers)]
        low = self.column["low"]
        high = self.column["high"]
        # Comparisons with each cut are several times as fast as searchsorted.
        below = [np.count_nonzero(numbers <= cut) for cut in self.column["cuts"]]
        self.counts += np.diff([0, *below, len(numbers)])
        is_far = (numbers < 2 * low - high) | (numbers > 2 * high - low)
        self.far += int(np.count_nonzero(is_far))
        # Zeros have no logarithm, and are of every scale.
        sizes = np.log2(np.abs(numbers[numbers != 0]))
        self.logs += [len(sizes), sizes.sum(), sizes @ sizes]

    def merge(self, other: "_Tally") -> None:
        """Add the counts of rows that come later."""
        self.rows += other.rows
        self.missing += other.missing
        self.unparseable += other.unparseable
        self.far += other.far
        self.counts += other.counts
        self.logs += other.logs
        self._keep_examples(other.examples)

    def _keep_examples(self, values: Iterable[object]) -> None:
        for value in itertools.islice(values, _EXAMPLES):
            if len(self.examples) < _EXAMPLES:
                self.examples[short(value, 30)] = None

    def result(self) -> Figures:
        """Figures of the rows so far."""
        n_rows = max(self.rows, 1)
        # There may be no value at all.
        n_present = max(int(self.counts.sum()), 1)
        n_logs, total, squares = self.logs.tolist()
        mean = total / n_logs if n_logs else 0.0
        variance = squares / n_logs - mean**2 if n_logs else 0.0
        spread = math.sqrt(max(variance, 0.0))
        shares = self.counts / n_present
        return {
            "rows": self.rows,
            "missing": self.missing / n_rows,
            "unparseable": self.unparseable / n_rows,
            "shares": shares.tolist(),
            "far": self.far / n_present,
            # Rounded: the order of the sums depends on the chunks.
            "mean_log2": round(mean, 6),
            "std_log2": round(spread, 6),
            "examples": list(self.examples),
        }

    def findings(self, name: str) -> Iterator[Finding]:
        """Findings of this column, each with its sentence."""
        if self.rows > 0:
            new = self.result()
            yield from self._odd_cells(name, new)
            yield from self._odd_values(name, new)

    def _odd_cells(self, name: str, new: Figures) -> Iterator[Finding]:
        """Cells that cannot be read, gaps, and categories that the fit did not see."""
        column = self.column
        n_fit = column["rows"]
        share = new["unparseable"]
        before = column["unparseable"]
        if share > 0 and _exceeds(share, before, self.rows):
            kind = _PLURALS[column["kind"]]
            notation = column["notation"]
            written = f" written like {notation}" if notation else ""
            text = f"{_percent(share)} of the values are not {kind}{written}, such as {self._examples()}"
            text += f" ({_percent(before)} at fit); they count as missing"
            yield Finding(name, "unparseable", share, before, text)
        share = new["missing"]
        before = column["missing"]
        pooled = (share * self.rows + before * n_fit) / (self.rows + n_fit)
        error = math.sqrt(pooled * (1 - pooled) * (1 / self.rows + 1 / n_fit))
        if self.rows >= _GAP_ROWS and abs(share - before) > max(_GAP_CHANGE, _Z * error):
            text = f"{_percent(share)} of the values are missing ({_percent(before)} at fit)"
            yield Finding(name, "missing", share, before, text)
        if "categories" not in column:
            return
        share = new["shares"][-1]
        # Good and Turing's estimate of what fit did not see.
        before = column["singletons"] / n_fit
        if share > 0 and _exceeds(share, max(before, 1 / n_fit), int(self.counts.sum())):
            unseen = f"{_percent(share)} of the values are categories that were not seen at fit"
            yield Finding(name, "unseen categories", share, before, f"{unseen}, such as {self._examples()}")

    def _odd_values(self, name: str, new: Figures) -> Iterator[Finding]:
        """Numbers of another scale, dates out of range, another distribution."""
        column = self.column
        kind = column["kind"]
        spread = column["std_log2"]
        n_sizes = self.logs[0]
        change = 0.0
        if kind == NUMBER and n_sizes and spread:
            change = new["mean_log2"] - column["mean_log2"]
        is_rescaled = abs(change) > max(_SCALE, _Z * spread / math.sqrt(max(n_sizes, 1)))
        if is_rescaled:
            factor = float(f"{2 ** abs(change):.2g}")
            direction = "larger" if change > 0 else "smaller"
            text = f"the values are about {factor:,.0f} times {direction} than at fit"
            yield Finding(name, "scale", 2**change, 1.0, text)
        share = new["far"]
        if kind == DATE and share > _FAR_DATES:
            low = _day(column["low"])
            high = _day(column["high"])
            text = f"{_percent(share)} of the dates are far outside {low} to {high}"
            yield Finding(name, "date range", share, 0.0, text)
        counts = self._comparable()
        # Another scale is another distribution, too: one of them is enough. New rows are later: no fault of dates.
        if is_rescaled or kind == DATE or counts is None:
            return
        at_fit, now = counts
        index = _stability_index(at_fit, now)
        variance = 1 / at_fit.sum() + 1 / now.sum()
        by_chance = _chi_square_limit(len(now) - 1) * variance
        if index > max(_LARGE_PSI, by_chance):
            what = "lengths of the texts" if kind == TEXT and "cuts" in column else "values"
            text = f"the {what} are distributed differently: population stability index {index:.2f} (0.25 is large)"
            yield Finding(name, "distribution", index, 0.0, text)

    def _comparable(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Numbers of values by bin, at fit and now; None if there are too few to compare."""
        counts = self.counts
        shares = np.array(self.column["shares"])
        # The unseen ones have a finding of their own.
        if "categories" in self.column:
            counts = counts[:-1]
            shares = shares[:-1]
        n_fit = self.column["rows"] * (1 - self.column["missing"] - self.column["unparseable"])
        if min(counts.sum(), n_fit) < _PSI_ROWS or len(counts) < 2:
            return None
        return shares * n_fit, counts

    def stability(self) -> float | None:
        """Population stability index."""
        counts = self._comparable()
        return None if counts is None else _stability_index(*counts)

    def _examples(self) -> str:
        return ", ".join(map(repr, self.examples))


def _stability_index(expected: np.ndarray, found: np.ndarray) -> float:
    """Population stability index of two lists of counts; half a row is added to each, so that no share is zero."""
    expected = expected + 0.5
    found = found + 0.5
    before = expected / expected.sum()
    after = found / found.sum()
    return float(((after - before) * np.log(after / before)).sum())


def _chi_square_limit(degrees: int) -> float:
    """About the value that a chi-square variable exceeds with a chance of .001, by Wilson and Hilferty (1931)."""
    variance = 2 / (9 * degrees)
    return degrees * (1 - variance + _NORMAL_LIMIT * math.sqrt(variance)) ** 3


def _day(days: float) -> str:
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=days)
    return str(moment.date())


def _exceeds(share: float, before: float, n: int) -> bool:
    """Whether a share of `n` rows is above `before` by more than chance."""
    return share > before + _Z * math.sqrt(before * (1 - before) / n)


def _percent(share: float) -> str:
    if share == 0:
        return "none"
    return f"{100 * share:.1f}%" if share >= 0.001 else "less than 0.1%"
