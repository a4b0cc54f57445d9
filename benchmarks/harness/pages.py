"""From cells to pages: results as a Parquet file, and the text of a suite filled with its tables, figures and numbers.

The text of a suite, ``page.md`` in its folder, is a Jinja template. It may use

- ``show(experiment)``: all tables, sentences and figures of an experiment;
- ``table(experiment, setting)``: a `ResultTable`, whose methods give single numbers;
- ``published``: the file of published numbers;
- ``{% call claim(condition) %}A sentence.{% endcall %}``: a sentence that holds for the results if the condition does,
  such as ``table("Table 2").score("a") > table("Table 2").score("b")``. Where it does not hold, the page leaves the
  sentence out and lists it as not supported; the stored results must support every one;
- ``{% call cited("Table 2") %}A sentence.{% endcall %}``: what the paper itself says of one of its parts.

A sentence that compares numbers takes them from the results, or is a claim. The part of the text above the first
heading
is the summary, which also stands in the index of all suites. Experiments that the text does not show are added at its
end.
"""

import functools
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from benchmarks.harness import plots
from benchmarks.harness.cells import is_former, read_cells, why_other_settings
from benchmarks.harness.coverage import coverage
from benchmarks.harness.experiment import Cell, Experiment, Figure, Suite
from benchmarks.harness.provenance import RERUN, RERUN_OF_EACH
from benchmarks.harness.tables import ResultTable, markdown_table
from fewlabel.files import atomic_write

_TEMPLATES = Path(__file__).with_name("templates")
_JSON = ("curves", "parameters", "versions")


def read_run(suite: Suite, folder: Path) -> tuple[pd.DataFrame, Counter[str]]:
    """The cells of a run.

    Parameters
    ----------
    suite : Suite
    folder : Path

    Returns
    -------
    frame : DataFrame
        One row per cell, with what was chosen over the repeats filled in.
    refused : Counter
        How many cells are of other code or data or have other settings, by reason; they are not in the frame.
    """
    frame, refused = read_cells(suite, folder)
    if frame.empty:
        raise ValueError(f"no finished cell of {suite.name} in {folder}: run the suite first")
    frame = frame.drop(columns="traceback", errors="ignore")  # paths of the machine stay in the cells
    parts = [suite[str(name)].settle(part) for name, part in frame.groupby("experiment", sort=False)]
    return _with_all_columns(pd.concat(parts, ignore_index=True)), refused


def read_stored(suite: Suite, path: Path | None = None) -> tuple[pd.DataFrame, Counter[str]]:
    """The stored results of a suite, in the form of `read_run`.

    Parameters
    ----------
    suite : Suite
    path : Path, default=None
        The file; None: the one in the folder of the suite.

    Returns
    -------
    frame : DataFrame
    refused : Counter
    """
    frame = pd.read_parquet(path or suite.stored)
    for column in set(_JSON) & set(frame.columns):
        frame[column] = [json.loads(text) if isinstance(text, str) else None for text in frame[column]]
    why = why_other_settings(suite, frame)
    return _with_all_columns(frame[why.isna()]), Counter(why.dropna())


def _with_all_columns(frame: pd.DataFrame) -> pd.DataFrame:
    for column in ("score", "error"):
        if column not in frame:
            frame[column] = np.nan
    return frame


def add_results(suite: Suite, run: Path, path: Path | None = None) -> None:
    """Put the results of a run into the stored ones.

    Parameters
    ----------
    suite : Suite
    run : Path
        Folder of the run. A cell replaces the stored one. Where parameters are chosen over the repeats, what the run
        has of a method on a dataset, in a setting of an experiment, replaces all stored repeats of it.
    path : Path, default=None
        File of the stored results; None: the one in the folder of the suite.
    """
    path = path or suite.stored
    new, _ = read_run(suite, run)
    if path.exists():
        old, _ = read_stored(suite, path)
        new = pd.concat([old[~_is_replaced(old, new)], new], ignore_index=True)
    for column in set(_JSON) & set(new.columns):
        new[column] = [json.dumps(value) if isinstance(value, dict) else None for value in new[column]]
    buffer = io.BytesIO()
    new.to_parquet(buffer, index=False)
    _write(path, buffer.getvalue())


def _is_replaced(old: pd.DataFrame, new: pd.DataFrame) -> np.ndarray:
    """Which stored cells those of a run take the place of."""
    cell = list(Cell._fields)
    group = [name for name in cell if name != "repeat"]
    same_cell = pd.MultiIndex.from_frame(old[cell]).isin(pd.MultiIndex.from_frame(new[cell]))
    if "chosen" not in new:
        return same_cell
    tuned = new[new["chosen"].notna()]
    return same_cell | pd.MultiIndex.from_frame(old[group]).isin(pd.MultiIndex.from_frame(tuned[group]))


def write_run_page(suite: Suite, folder: Path, left_out: dict[str, str] | None = None) -> list[ResultTable]:
    """Write the page of a run (``index.md`` with pictures beside it) into its folder.

    Parameters
    ----------
    suite : Suite
    folder : Path
    left_out : dict, default=None
        What the run skipped, and why.

    Returns
    -------
    list of ResultTable
        The tables of the page.
    """
    frame, refused = read_run(suite, folder)
    page = Page(suite, frame, partial=True)
    page.write(folder, left_out or {}, refused)
    return page.tables


def write_all_pages(suites: Iterable[Suite], folder: Path) -> None:
    """Write the pages of the stored results of all suites, their index, what they cover and where they come from.

    Parameters
    ----------
    suites : iterable of Suite
    folder : Path
        The page of a suite is in the subfolder with its name.
    """
    pages = []
    for suite in suites:
        frame, refused = read_stored(suite)
        page = Page(suite, frame)
        page.write(folder / suite.name, {}, refused)
        pages.append(page)
    entries = [(page.suite, page.summary()) for page in pages]
    _write(folder / "index.md", _template("index.md.j2").render(entries=entries).encode())
    _write(folder / "provenance.md", _provenance(pages).encode())
    parts = [(page.suite, coverage(page.suite, page.frame)) for page in pages]
    listed = [(suite, markdown_table(found), Counter(found["status"])) for suite, found in parts if len(found)]
    text = _template("coverage.md.j2").render(coverage=listed)
    _write(folder / "coverage.md", (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode())


class Page:
    """Results of a suite, and its text.

    Parameters
    ----------
    suite : Suite
    frame : DataFrame
        One row per cell.
    partial : bool, default=False
        Whether some methods may be lacking: a text that needs them is then left out.
    """

    def __init__(self, suite: Suite, frame: pd.DataFrame, *, partial: bool = False):
        self.suite, self.frame, self.partial = suite, frame, partial
        good = frame[frame["score"].notna()]
        self.by_key: dict[tuple[str, str], ResultTable] = {}
        for experiment in suite.experiments:
            here = good[good["experiment"] == experiment.name]
            for setting in experiment.settings:
                cells = here[here["setting"] == str(setting)]
                self.by_key[experiment.name, str(setting)] = ResultTable(experiment, setting, cells)
        self.tables = [t for t in self.by_key.values() if t.experiment.tables and not t.empty]
        self.pictures = plots.draw(suite, frame, self.tables)
        self.answer = next((table for table in self.tables if len(table.leading()) > 1), None)
        if self.answer is not None:
            self.pictures["answer"] = plots.draw_leading(self.answer)
        self.shown: set[str] = set()
        self.unsupported: list[str] = []

    def render(self, left_out: dict[str, str], refused: Counter[str]) -> str:
        """The page as Markdown."""
        text = self.text
        rest = [e.name for e in self.suite.experiments if e.name not in self.shown]
        text += "".join(f"\n\n## {name}\n\n{shown}" for name in rest if (shown := self.show(name)))
        failed = self.frame[self.frame["error"].notna()]
        errors = failed.groupby(["experiment", "dataset", "setting", "method"])["error"].agg(["size", "first"])
        summary, heading, rest_of_text = text.partition("\n## ")
        page = _template("page.md.j2").render(
            suite=self.suite,
            summary=summary.strip(),
            answer=self._answer(),
            text=heading + rest_of_text,
            origin=_origin(self.frame),
            n_cells=len(self.frame),
            left_out=left_out,
            refused=refused,
            errors=errors.reset_index().to_dict("records"),
            unsupported=self.unsupported,
        )
        return re.sub(r"\n{3,}", "\n\n", page).strip() + "\n"

    def _answer(self) -> str:
        """The picture under the summary."""
        if self.answer is None:
            return ""
        means = ", ".join(f"{method} {self.answer.show(mean)}" for method, mean in self.answer.leading().items())
        return (
            f"![{self.answer.title}, mean {self.answer.experiment.metric}: {means}](answer.png)\n\n{self.answer.title}"
        )

    def write(self, folder: Path, left_out: dict[str, str], refused: Counter[str]) -> None:
        """Write the page and its pictures."""
        _write(folder / "index.md", self.render(left_out, refused).encode())
        for name, picture in self.pictures.items():
            _write(folder / f"{name}.png", picture)

    def summary(self) -> str:
        """The text above its first heading."""
        return self.text.split("\n## ")[0].strip()

    def show(self, name: str) -> str:
        """All tables, sentences and figures of an experiment."""
        self.shown.add(name)
        experiment, parts = self.suite[name], []
        for table in self.tables:
            if table.experiment is experiment:
                title = f"### {table.setting}\n\n" if str(table.setting) else ""
                metric = experiment.metric[0].upper() + experiment.metric[1:]
                parts.append(f"{title}{metric}, {table.draws}.\n\n{table.markdown()}")
                parts += [table.text, self._picture(f"ranks {table.title}", _rank_caption(table))]
        parts += [self._picture(figure.name, self._figure_caption(experiment, figure)) for figure in experiment.figures]
        return "\n\n".join(part for part in parts if part) or "No results here."

    def table(self, name: str, setting: str = "") -> ResultTable:
        """The results of a setting."""
        return self.by_key[name, setting or str(self.suite[name].settings[0])]

    def claim(self, holds: bool, caller: Callable[[], str]) -> str:
        """A sentence, if its condition holds for the results."""
        sentence = caller()
        if holds:
            return sentence
        self.unsupported.append(" ".join(sentence.split()))
        return ""

    def cited(self, part: str, caller: Callable[[], str]) -> str:
        """A sentence about what the paper says of one of its parts."""
        if part not in self.suite.published["paper"]["parts"]:
            raise ValueError(f"{self.suite.name} cites {part}, which [paper.parts] does not list")
        return caller()

    @functools.cached_property
    def text(self) -> str:
        """The text of the suite, filled in."""
        # A sentence may end its line, whose break trim_blocks would take.
        template = _environment().from_string(self.suite.text.replace("endcall %}", "endcall +%}"))
        try:
            return template.render(
                show=self.show, table=self.table, claim=self.claim, cited=self.cited, published=self.suite.published
            )
        except (KeyError, jinja2.UndefinedError):
            if not self.partial:
                raise
            self.shown.clear()
            self.unsupported.clear()
            return ""

    def _figure_caption(self, experiment: Experiment, figure: Figure) -> str:
        """What a redrawn figure shows, for those who do not see it."""
        return f"{self.suite.name}, {figure.name}: {experiment.metric} by {figure.x}, one line per method"

    def _picture(self, name: str, caption: str) -> str:
        found = plots.stem(name)
        return f"![{caption}]({found}.png)" if found in self.pictures else ""


def _rank_caption(table: ResultTable) -> str:
    """What a diagram of critical differences shows, for those who do not see it."""
    if table.comparison is None:
        return ""
    ranks = table.comparison.ranks
    return (
        f"{table.title}: mean ranks of {len(ranks)} methods, "
        f"from {ranks.index[0]} ({ranks.iloc[0]:.1f}) to {ranks.index[-1]} ({ranks.iloc[-1]:.1f}); "
        f"methods within {table.comparison.critical_difference:.1f} are joined by a bar"
    )


def _origin(frame: pd.DataFrame) -> list[str]:
    """Where the cells come from: versions, commits and dates, with the number of cells of each."""
    columns = [c for c in ("fewlabel", "commit", "date") if c in frame]
    lines = []
    for key, part in frame.fillna(dict.fromkeys(columns, "")).groupby(columns, sort=False):
        told = dict(zip(columns, key))
        parts = [f"fewlabel {told.get('fewlabel') or 'of unknown version'}"]
        parts.append(f"commit {told['commit']}" if told.get("commit") else "of a commit that is not in the history")
        parts += [told["date"]] if told.get("date") else []
        packages: dict[str, str] = next((v for v in part.get("versions", []) if v), {})
        listed = ", ".join(f"{name} {version}" for name, version in packages.items() if name != "fewlabel")
        lines.append(f"{len(part)} cells of {', '.join(parts)}" + (f" ({listed})" if listed else ""))
    return lines


def _provenance(pages: list[Page]) -> str:
    """The page on how many stored cells were run again, and which commits made all of them."""
    again = pd.read_csv(RERUN)
    below = again["below_seconds"].iloc[0]
    rows = {}
    for page in pages:
        commits = page.frame["commit"].fillna("")
        drawn = again[again["suite"] == page.suite.name]
        rows[f"[{page.suite.title}]({page.suite.name}/index.md)"] = {
            "stored cells": f"{len(page.frame):,}",
            "drawn": len(drawn),
            "same number": int(drawn["same"].sum()),
            "with a hash of their code": f"{int(page.frame['code'].notna().sum()) if 'code' in page.frame else 0:,}",
            "commits": commits[commits != ""].nunique(),
            "without a commit": int((commits == "").sum()),
        }
    apart = again[~again["same"]]
    listed = apart[["suite", *Cell._fields, "stored", "again"]].fillna("").set_index("suite")
    text = _template("provenance.md.j2").render(
        n=len(again),
        same=int(again["same"].sum()),
        seed=again["seed"].iloc[0],
        run_with=again["run_with"].iloc[0],
        below=f"{below:g}",
        table=markdown_table(pd.DataFrame.from_dict(rows, orient="index")),
        nameless=sum(row["without a commit"] for row in rows.values()),
        each=_rerun_of_each(),
        former=[line for page in pages for line in _former_versions(page)],
        apart=markdown_table(listed) if len(apart) else "",
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _rerun_of_each() -> dict[str, Any] | None:
    """Numbers about the cells of each method and commit that were run again; None if there is no file of them."""
    if not RERUN_OF_EACH.exists():
        return None
    again = pd.read_csv(RERUN_OF_EACH)
    sizes = again.groupby(["suite", "experiment", "method", "commit"]).size()
    return {
        "n": len(again),
        "same": int(again["same"].sum()),
        "most": int(sizes.max()),
        "groups": len(sizes),
        "seed": again["seed"].iloc[0],
        "run_with": again["run_with"].iloc[0],
        "below": f"{again['below_seconds'].iloc[0]:g}",
    }


def _former_versions(page: Page) -> list[str]:
    """A sentence per version of which a page has cells that the present code does not run."""
    cells = page.frame[is_former(page.suite, page.frame)]
    lines = []
    for version, mine in cells.groupby("fewlabel"):
        commits = ", ".join(sorted(mine["commit"].unique()))
        methods = " and ".join(mine["method"].unique())
        lines.append(
            f"{len(mine)} cells of {page.suite.name} ({methods}) are a record of version {version}: their column says "
            "so, the present code does not run them, and they are not drawn. They are run again with the code of their "
            f"commits ({commits})."
        )
    return lines


def _environment() -> jinja2.Environment:
    return jinja2.Environment(trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)


def _template(name: str) -> jinja2.Template:
    return _environment().from_string((_TEMPLATES / name).read_text("utf-8"))


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(content)
