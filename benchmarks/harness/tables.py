"""Results of an experiment as tables, and the sentences that compare their numbers."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.harness.experiment import Experiment
from fewlabel.metrics import Comparison, compare_methods

_MANY_METHODS = 8
_MANY_SETS = 15
_LEVEL = 0.05
_NEAR = 2  # standard errors
_LEAST_DRAWS = 6  # with fewer, no p-value of Wilcoxon's test is below the level
_DIGITS = 10  # equal scores stay equal whatever the order of a sum


class ResultTable:
    """Scores of one setting of an experiment: one row per dataset, one column per method.

    Suites use it in the text of their pages: ``{{ table("Table 5.2").wins("SSMAB", "tree") }}``. A number that is not
    there is printed as "(not run)".

    Parameters
    ----------
    experiment : Experiment
    setting : Setting
    cells : DataFrame
        Cells of the setting that have a score.
    """

    def __init__(self, experiment: Experiment, setting: Any, cells: pd.DataFrame):
        self.experiment, self.setting = experiment, setting
        groups = cells.groupby(["dataset", "method"])["score"]
        found = groups.agg(["mean", "std", "count"])
        self.published = self._published()
        order = [d for d in experiment.datasets if d in found.index.get_level_values(0)]
        methods = [m for m in experiment.methods if m in found.index.get_level_values(1)]
        self.mean_scores, self.sd, self.counts = (
            found[column].unstack().reindex(index=order, columns=methods) for column in ("mean", "std", "count")
        )
        self.by_draw = cells.pivot_table(index=["dataset", "repeat"], columns="method", values="score")
        self._cells = cells
        self.empty = found.empty

    def _published(self) -> pd.DataFrame:
        """Published means and standard deviations, by dataset and method."""
        one, found = self.experiment, {}
        for dataset in one.datasets:
            for method in one.methods:
                if one.has(dataset, self.setting, method):
                    number = one.paper(dataset, self.setting, method)
                    if number is not None:
                        found[dataset, method] = number
        index = (
            pd.MultiIndex.from_tuples(found, names=["dataset", "method"])
            if found
            else pd.MultiIndex([[]] * 2, [[]] * 2)
        )
        return pd.DataFrame(list(found.values()), index=index, columns=["mean", "std"], dtype=float)

    @property
    def title(self) -> str:
        """Heading of the table."""
        return f"{self.experiment.name}, {self.setting}" if str(self.setting) else self.experiment.name

    @property
    def draws(self) -> str:
        """Number of repeats, as a range where sets or methods differ."""
        if self.empty:
            return "no draws"
        least, most = self.counts.min(axis=None), self.counts.max(axis=None)
        return f"{most:.0f} draw{'s' if most > 1 else ''}" if least == most else f"{least:.0f} to {most:.0f} draws"

    def draws_on(self, dataset: str, methods: Iterable[str] | None = None) -> str:
        """Number of repeats on a dataset, as a range where the methods (by default all) differ."""
        if dataset not in self.counts.index:
            return "0"
        counts = self.counts.loc[dataset]
        if methods is not None:
            counts = counts.reindex(list(methods))
        least, most = counts.min(), counts.max()
        return f"{least:.0f}" if least == most else f"{least:.0f} to {most:.0f}"

    @property
    def text(self) -> str:
        """What the cells record as `text`, such as the equations of a model."""
        return "\n\n".join(self._cells["text"].dropna().unique()) if "text" in self._cells else ""

    @property
    def n_sets(self) -> int:
        """Number of datasets."""
        return len(self.mean_scores)

    # Numbers for the claims of a page; NaN, for which no comparison holds, if there is none.

    def score(self, method: str, dataset: str | None = None) -> float:
        """Mean score of a method on a dataset, or over all of them."""
        return _one_or_mean(self._scores(method), dataset)

    def difference(self, method: str, other: str, dataset: str | None = None) -> float:
        """Difference of two methods on a dataset, or the mean over the datasets that have both."""
        return _one_or_mean(self._apart(method, other), dataset)

    def published_score(self, method: str, dataset: str | None = None) -> float:
        """Published mean of a method on a dataset, or over the datasets on which we have it."""
        there = self.published["mean"].unstack().reindex(index=self._scores(method).index)
        return _one_or_mean(there[method].dropna(), dataset) if method in there else np.nan

    def hindsight(self, method: str, dataset: str) -> float:
        """Mean score of a tuned method with the parameters that are best on the test rows."""
        if "hindsight" not in self._cells:
            return np.nan
        mine = (self._cells["method"] == method) & (self._cells["dataset"] == dataset)
        return float(self._cells.loc[mine, "hindsight"].mean())

    def best_division(self, method: str, dataset: str, n_folds: int = 10) -> float:
        """Best mean over the folds of one division of a dataset, of those whose folds are all there."""
        if method not in self.by_draw or dataset not in self.by_draw.index:
            return np.nan
        scores = self.by_draw.loc[dataset, method].dropna()
        divisions = scores.groupby(scores.index // n_folds).agg(["mean", "size"])
        return float(divisions.loc[divisions["size"] == n_folds, "mean"].max())

    def better_on(self, method: str, other: str) -> int:
        """On how many datasets a method is better than another."""
        return int(self._better(self._apart(method, other)).sum())

    # Numbers for the text of a page.

    def show(self, value: float) -> str:
        """A number in the format of the experiment."""
        return self._show(value)

    def mean(self, method: str, dataset: str | None = None) -> str:
        """`score` as text."""
        return self._show(self.score(method, dataset))

    def gap(self, method: str, other: str, dataset: str | None = None) -> str:
        """`difference` as text."""
        return self._show(self.difference(method, other, dataset), sign="+")

    def wins(self, method: str, other: str) -> str:
        """On how many datasets a method is better than another, as "18 of 19"."""
        apart = self._apart(method, other)
        return f"{self._better(apart).sum()} of {len(apart)}" if len(apart) else "(not run)"

    def best(self, of: Iterable[str] | None = None) -> str:
        """Method with the best mean over the datasets."""
        means = self.mean_scores[[m for m in self.mean_scores if of is None or m in of]].dropna(axis=1).mean()
        if means.empty:
            return "(not run)"
        return str(means.idxmax() if self.experiment.higher_is_better else means.idxmin())

    def near(self, method: str) -> str:
        """On how many datasets a method is within two standard errors of the published number, or better."""
        apart = self._from_paper(method)
        return f"{(apart >= -_NEAR).sum()} of {len(apart)}" if len(apart) else "(not run)"

    def worse(self, method: str) -> str:
        """Datasets on which a method is more than two standard errors worse than published."""
        apart = self._from_paper(method)
        return ", ".join(f"{d} ({t:+.1f})" for d, t in apart[apart < -_NEAR].items()) or "none"

    # What the page shows.

    def markdown(self) -> str:
        """The tables, and the sentences that compare their numbers."""
        n_sets, n_methods = self.mean_scores.shape
        is_large = n_methods > _MANY_METHODS or n_sets > _MANY_SETS
        ours = self._ours()
        parts = [folded(f"All {n_sets} data sets and {n_methods} methods", ours) if is_large else ours]
        if (beside := self._beside_paper()) is not None:
            told = f"Ours / paper (difference in standard errors of both; + means better):\n\n{beside}"
            parts.append(folded("Beside the numbers of the paper", told) if is_large else told)
        parts.append("\n".join(f"- {sentence}" for sentence in self.sentences()))
        comparison = self.comparison
        if comparison is not None and (comparison.p_values < _LEVEL).any(axis=None):
            parts.append(
                folded("p-values of Wilcoxon's test, corrected by Holm over all pairs", self._p_values(comparison))
            )
        return "\n\n".join(part for part in parts if part)

    def leading(self, n_methods: int = 6) -> pd.Series:
        """Mean scores of the first method of the experiment and of the best others, on the data sets that all have."""
        whole = self.mean_scores.dropna(axis=1)
        if whole.empty:
            return pd.Series(dtype=float)
        means = whole.mean().sort_values(ascending=not self.experiment.higher_is_better)
        own = [method for method in self.experiment.methods if method in means][:1]
        others = [method for method in means.index if method not in own]
        kept = [*own, *others[: n_methods - 1]]
        return means[means.index.isin(kept)]

    def sentences(self) -> list[str]:
        """Comparisons with the published numbers, of the declared pairs, and of all methods."""
        found = [self._paper_sentence(method) for method in self.mean_scores]
        found += [self._pair_sentence(*pair) for pair in self.experiment.compared]
        if self.comparison is not None:
            found.append(_rank_sentence(self.comparison))
        found += [self._marks_sentence(), self._ends_sentence(), self._gaps_sentence()]
        return [sentence for sentence in found if sentence]

    @cached_property
    def comparison(self) -> Comparison | None:
        """All methods that have all datasets, compared on the draws that they share; None if they are too few."""
        whole = self.mean_scores.dropna(axis=1)
        shared = self.by_draw[list(whole)].dropna().groupby("dataset").mean()
        whole = shared if len(shared) == len(whole) else whole
        whole = whole.round(_DIGITS)
        if not self.experiment.comparable or whole.shape[1] < 2 or whole.shape[0] < 3:
            return None
        return compare_methods(whole, higher_is_better=self.experiment.higher_is_better, confidence=1 - _LEVEL)

    def _ours(self) -> str:
        text = self.mean_scores.map(self._show)
        text += self.sd.map(lambda sd: f" ± {self._show(sd)}" if sd == sd else "")
        text = text.where(self.mean_scores.notna(), "")
        marks = self.marks()
        text += marks
        text.loc["mean"] = [self._show(s.mean()) if s.notna().all() else "" for _, s in self.mean_scores.items()]
        if self.counts.min(axis=None) != self.counts.max(axis=None):
            text["draws"] = [*(self.draws_on(dataset) for dataset in self.counts.index), ""]
        if not (marks == "").all(axis=None):
            text.loc[f"{self.experiment.marked_against}: win/tie/lose"] = [self._record(m, marks) for m in text]
        return markdown_table(text)

    def marks(self) -> pd.DataFrame:
        """Where `marked_against` is significantly better (" *") or worse (" o") than a method, over a dataset's draws.

        Wilcoxon's signed-rank test at the 5% level, uncorrected, as papers print it; "" elsewhere.
        """
        found = pd.DataFrame("", index=self.mean_scores.index, columns=self.mean_scores.columns)
        reference = self.experiment.marked_against
        if reference not in self.by_draw:
            return found
        for dataset, draws in self.by_draw.groupby("dataset"):
            for method in found:
                apart = (draws[reference] - draws[method]).dropna().round(_DIGITS)
                if (apart != 0).any() and wilcoxon(apart).pvalue < _LEVEL:
                    found.loc[dataset, method] = " *" if self._better(pd.Series([apart.mean()]))[0] else " o"
        return found

    def _record(self, method: str, marks: pd.DataFrame) -> str:
        if method not in marks or method == self.experiment.marked_against:
            return ""
        column = marks.loc[self.mean_scores[method].notna(), method]
        win, lose = (column == " *").sum(), (column == " o").sum()
        return f"{win}/{len(column) - win - lose}/{lose}"

    def _beside_paper(self) -> str | None:
        """Our mean, the published one, and how many standard errors lie between them, where both have one."""
        rows: dict[str, dict[str, str]] = {}
        for method in self.mean_scores:
            apart = self._from_paper(method)
            for dataset, mean in self.mean_scores[method].dropna().items():
                if (dataset, method) in self.published.index:
                    theirs = self._show(self.published.loc[(dataset, method), "mean"])
                    errors = f" ({apart[dataset]:+.1f})" if dataset in apart else ""
                    rows.setdefault(str(dataset), {})[method] = f"{self._show(mean)} / {theirs}{errors}"
        return markdown_table(pd.DataFrame.from_dict(rows, orient="index").fillna("")) if rows else None

    def _paper_sentence(self, method: str) -> str | None:
        apart = self._from_paper(method)
        if apart.empty:
            return None
        worse = f"; worse on {self.worse(method)}" if (apart < -_NEAR).any() else ""
        return f"{method}: within two standard errors of the paper or better on {self.near(method)} sets{worse}."

    def _pair_sentence(self, method: str, other: str) -> str | None:
        apart = self._apart(method, other)
        if apart.empty:
            return None
        better, worse = self._better(apart).sum(), self._better(-apart).sum()
        error = f" ± {self._show(apart.std() / np.sqrt(len(apart)))}" if len(apart) > 1 else ""
        found, p = self.comparison, ""
        if found is not None and {method, other} <= set(found.ranks.index):
            p = f"; Wilcoxon p = {found.p_values.loc[method, other]:.2g} after Holm's correction"
        return (
            f"{method} compared with {other}: {self._show(apart.mean(), '+')}{error} (mean and standard error over the "
            f"sets{p}); better on {better}, worse on {worse} of {len(apart)} sets."
        )

    def _marks_sentence(self) -> str | None:
        reference = self.experiment.marked_against
        if not reference or reference not in self.mean_scores:
            return None
        few = [str(d) for d, n in self.counts[reference].items() if n < _LEAST_DRAWS]
        unable = f" With fewer than {_LEAST_DRAWS} draws nothing can be marked: {', '.join(few)}." if few else ""
        return (
            f"\\*: {reference} is significantly better than the method, o: significantly worse (Wilcoxon's signed-rank "
            f"test over the draws of the set, 5%, not corrected for the number of tests).{unable}"
        )

    def _ends_sentence(self) -> str | None:
        """Chosen parameters at an end of their grid."""
        if "at_end" not in self._cells:
            return None
        ends = self._cells[self._cells["at_end"].fillna("") != ""].groupby(["method", "dataset"], sort=False)["at_end"]
        by_method: dict[str, list[str]] = {}
        for (method, dataset), values in ends.first().items():
            by_method.setdefault(method, []).append(f"{dataset} ({values})")
        listed = "; ".join(f"{method} on {', '.join(sets)}" for method, sets in by_method.items())
        return f"Chosen at an end of the grid, so that a wider one may do better: {listed}." if by_method else None

    def _gaps_sentence(self) -> str | None:
        """Combinations of the experiment that have no cell."""
        one = self.experiment
        gaps: dict[str, list[str]] = {}
        for method in one.methods:
            wanted = [d for d in one.datasets if one.has(d, self.setting, method)]
            lacking = [
                d for d in wanted if method not in self.mean_scores or pd.isna(self._scores(method).get(d, np.nan))
            ]
            if lacking:
                gaps[method] = ["all sets"] if lacking == wanted else lacking
        listed = "; ".join(f"{method} on {', '.join(sets)}" for method, sets in gaps.items())
        return f"Not run: {listed}." if gaps else None

    def _p_values(self, comparison: Comparison) -> str:
        """All pairs or, of many methods, the best against each."""
        order = comparison.ranks.index
        p_values = comparison.p_values.loc[order, order]
        if len(order) > _MANY_METHODS:
            p_values = p_values[order[:1]].drop(index=order[0]).T
        return markdown_table(p_values.map("{:.2g}".format))

    def _scores(self, method: str) -> pd.Series:
        return self.mean_scores[method].dropna() if method in self.mean_scores else pd.Series(dtype=float)

    def _apart(self, method: str, other: str) -> pd.Series:
        """Mean difference of two methods by dataset, over the draws that both have."""
        if not {method, other} <= set(self.by_draw):
            return pd.Series(dtype=float)
        return (self.by_draw[method] - self.by_draw[other]).dropna().groupby("dataset").mean().round(_DIGITS)

    def _better(self, apart: pd.Series) -> pd.Series:
        return apart > 0 if self.experiment.higher_is_better else apart < 0

    def _from_paper(self, method: str) -> pd.Series:
        """How many standard errors of both a method is better than published, by dataset."""
        found = {}
        for dataset in self._scores(method).index:
            if (dataset, method) in self.published.index:
                theirs, their_sd = self.published.loc[(dataset, method)]
                variance = self.sd.loc[dataset, method] ** 2 / self.counts.loc[dataset, method]
                error = np.sqrt(variance + their_sd**2 / self.experiment.published_repeats)  # NaN if one side has none
                apart = self.mean_scores.loc[dataset, method] - theirs
                if error >= 0:
                    found[dataset] = apart / error if error else np.copysign(np.inf, apart) if apart else 0.0
        sign = 1 if self.experiment.higher_is_better else -1
        return sign * pd.Series(found, dtype=float)

    def _show(self, value: float, sign: str = "") -> str:
        return format(value, f"{sign}{self.experiment.digits}") if value == value else "(not run)"


def _one_or_mean(values: pd.Series, dataset: str | None) -> float:
    return float(values.mean() if dataset is None else values.get(dataset, np.nan))


def folded(title: str, text: str) -> str:
    """A text that is shown when its title is clicked."""
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def markdown_table(table: pd.DataFrame) -> str:
    """A table as Markdown, its index first."""
    rows = [["", *table.columns], ["---"] * (table.shape[1] + 1), *table.reset_index().to_numpy()]
    return "\n".join("| " + " | ".join(str(value) for value in row) + " |" for row in rows)


def _rank_sentence(comparison: Comparison) -> str:
    ranks = ", ".join(f"{method} {rank:.2f}" for method, rank in comparison.ranks.items())
    order = list(comparison.ranks.index)
    different = [
        f"{a} and {b}" for k, a in enumerate(order) for b in order[k + 1 :] if comparison.p_values.loc[a, b] < _LEVEL
    ]
    verdict = "No two methods differ significantly at the 5% level (Wilcoxon, Holm)."
    if different:
        verdict = (
            f"{len(different)} of {len(order) * (len(order) - 1) // 2} pairs differ significantly (Wilcoxon, Holm)."
        )
    return (
        f"Mean ranks over {comparison.n_datasets} sets (draws that all have): {ranks}. "
        f"Friedman p = {comparison.friedman_p:.2g}; Nemenyi's critical difference "
        f"{comparison.critical_difference:.2f}. {verdict}"
    )
