"""From cells to pages: results as a Parquet file, and the text of a suite filled with its tables, figures and numbers.

The text of a suite, ``papers/<module>.md``, is a Jinja template. It may use

- ``show(experiment)``: all tables, sentences and figures of an experiment;
- ``table(experiment, setting)``: a `ResultTable`, whose methods give single numbers;
- ``published``: the file of published numbers;
- ``{% call claim(condition) %}A sentence.{% endcall %}``: a sentence that holds for the results if the condition does,
  such as ``table("Table 2").score("a") > table("Table 2").score("b")``. Where it does not hold, the page leaves the
  sentence out and lists it as not supported; the stored results must support every one;
- ``{% call cited("Table 2") %}A sentence.{% endcall %}``: what the paper itself says of one of its parts.

A sentence that compares numbers takes them from the results, or is a claim: tests/bench/test_sentences.py finds others.
Its part above the first heading is the summary, which also stands in the index of all suites. Experiments that the text
does not show are added at its end.
"""

import base64
import functools
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from markdown_it import MarkdownIt

from fewlabel.bench import plots
from fewlabel.bench.cells import read_cells, why_other_settings
from fewlabel.bench.coverage import coverage
from fewlabel.bench.experiment import Suite
from fewlabel.bench.tables import ResultTable, markdown_table
from fewlabel.files import atomic_write

_JSON = ("curves", "parameters", "versions")


def read_results(suite: Suite, folder: Path) -> tuple[pd.DataFrame, Counter[str]]:
    """Results of a folder: its cells or, if it has none, its ``results.parquet``.

    Parameters
    ----------
    suite : Suite
    folder : Path

    Returns
    -------
    frame : DataFrame
        One row per cell, with what was chosen over the repeats filled in.
    refused : Counter
        How many cells are not counted, by reason: cells of a run that are of another version of fewlabel, and all cells
        that have other settings.
    """
    path = folder / "results.parquet"
    if _has_cells(folder) or not path.exists():
        frame, refused = read_cells(suite, folder)
        if frame.empty:
            raise ValueError(f"no finished cell of {suite.name} in {folder}: run the suite first")
        frame = frame.drop(columns="traceback", errors="ignore")  # paths of the machine stay in the cells
        parts = [suite[str(name)].settle(part) for name, part in frame.groupby("experiment", sort=False)]
        frame = pd.concat(parts, ignore_index=True)
    else:
        frame = pd.read_parquet(path)
        for column in set(_JSON) & set(frame.columns):
            frame[column] = [json.loads(text) if isinstance(text, str) else None for text in frame[column]]
        why = why_other_settings(suite, frame)
        refused = Counter(why.dropna())
        frame = frame[why.isna()]
    for column in ("score", "error"):
        if column not in frame:
            frame[column] = np.nan
    return frame, refused


def _has_cells(folder: Path) -> bool:
    return any((folder / "cells").glob("*.json"))


def add_results(suite: Suite, folder: Path, run: Path) -> None:
    """Replace the results that a run has in the ``results.parquet`` of a folder.

    Parameters
    ----------
    suite : Suite
    folder : Path
        Folder of the stored results.
    run : Path
        Folder of the run. What it has of a method on a dataset, in a setting of an experiment, replaces all stored
        repeats of it, as parameters are chosen over all of them; the rest stays.
    """
    new, _ = read_results(suite, run)
    if (folder / "results.parquet").exists():
        old, _ = read_results(suite, folder)
        keys = ["experiment", "dataset", "setting", "method"]
        replaced = pd.MultiIndex.from_frame(old[keys]).isin(pd.MultiIndex.from_frame(new[keys]))
        new = pd.concat([old[~replaced], new], ignore_index=True)
    folder.mkdir(parents=True, exist_ok=True)
    _write_parquet(new, folder / "results.parquet")


def write_pages(suite: Suite, folder: Path, left_out: dict[str, str] | None = None) -> list[ResultTable]:
    """Write ``results.parquet``, ``index.md`` (with pictures beside it) and ``index.html`` (self-contained).

    Parameters
    ----------
    suite : Suite
    folder : Path
        Folder of a run, or of a ``results.parquet``.
    left_out : dict, default=None
        What the run skipped, and why.

    Returns
    -------
    list of ResultTable
        The tables of the page.
    """
    page = _write_markdown(suite, folder, left_out)
    text = (folder / "index.md").read_text("utf-8")
    _write(folder / "index.html", _html(suite.title, text, page.pictures).encode())
    return page.tables


def write_all_pages(suites: Iterable[Suite], folder: Path) -> None:
    """Write the Markdown pages of all suites that have results in a folder, their index, and what they cover.

    Parameters
    ----------
    suites : iterable of Suite
    folder : Path
        Results of a suite are in the subfolder with its name.
    """
    pages = [_write_markdown(suite, folder / suite.name) for suite in suites if (folder / suite.name).is_dir()]
    entries = [(page.suite, page.summary()) for page in pages]
    _write(folder / "index.md", _template("index.md.j2").render(entries=entries).encode())
    parts = [(page.suite, coverage(page.suite, page.frame)) for page in pages]
    listed = [(suite, markdown_table(found), Counter(found["status"])) for suite, found in parts if len(found)]
    text = _template("coverage.md.j2").render(coverage=listed)
    _write(folder / "coverage.md", (re.sub(r"\n{3,}", "\n\n", text).strip() + "\n").encode())


def _write_markdown(suite: Suite, folder: Path, left_out: dict[str, str] | None = None) -> "_Page":
    frame, refused = read_results(suite, folder)
    if _has_cells(folder):
        _write_parquet(frame, folder / "results.parquet")
    page = _Page(suite, frame)
    _write(folder / "index.md", page.render(left_out or {}, refused).encode())
    for name, picture in page.pictures.items():
        _write(folder / f"{name}.png", picture)
    return page


class _Page:
    """Results of a suite, and its text."""

    def __init__(self, suite: Suite, frame: pd.DataFrame):
        self.suite, self.frame = suite, frame
        good = frame[frame["score"].notna()]
        self.by_key: dict[tuple[str, str], ResultTable] = {}
        for experiment in suite.experiments:
            here = good[good["experiment"] == experiment.name]
            for setting in experiment.settings:
                cells = here[here["setting"] == str(setting)]
                self.by_key[experiment.name, str(setting)] = ResultTable(experiment, setting, cells)
        self.tables = [t for t in self.by_key.values() if t.experiment.tables and not t.empty]
        self.pictures = plots.draw(suite, frame, self.tables)
        self.shown: set[str] = set()
        self.unsupported: list[str] = []

    def render(self, left_out: dict[str, str], refused: Counter[str]) -> str:
        """The page as Markdown."""
        text = self.text
        rest = [e.name for e in self.suite.experiments if e.name not in self.shown]
        text += "".join(f"\n\n## {name}\n\n{shown}" for name in rest if (shown := self.show(name)))
        failed = self.frame[self.frame["error"].notna()]
        errors = failed.groupby(["experiment", "dataset", "setting", "method"])["error"].agg(["size", "first"])
        page = _template("page.md.j2").render(
            suite=self.suite,
            text=text,
            origin=_origin(self.frame),
            n_cells=len(self.frame),
            left_out=left_out,
            refused=refused,
            errors=errors.reset_index().to_dict("records"),
            unsupported=self.unsupported,
        )
        return re.sub(r"\n{3,}", "\n\n", page).strip() + "\n"

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
                parts += [table.text, self._picture(f"ranks {table.title}", "Critical differences")]
        parts += [self._picture(figure.name, figure.name) for figure in experiment.figures]
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
        return template.render(
            show=self.show, table=self.table, claim=self.claim, cited=self.cited, published=self.suite.published
        )

    def _picture(self, name: str, caption: str) -> str:
        found = plots.stem(name)
        return f"![{caption}]({found}.png)" if found in self.pictures else ""


def _origin(frame: pd.DataFrame) -> list[str]:
    """Where the cells come from: versions, commits and dates, with the number of cells of each."""
    columns = [c for c in ("fewlabel", "commit", "date") if c in frame]
    lines = []
    for key, part in frame.fillna(dict.fromkeys(columns, "")).groupby(columns, sort=False):
        told = dict(zip(columns, key))
        parts = [f"fewlabel {told.get('fewlabel') or 'of unknown version'}"]
        parts += [f"commit {told['commit']}"] if told.get("commit") else []
        parts += [told["date"]] if told.get("date") else []
        packages: dict[str, str] = next((v for v in part.get("versions", []) if v), {})
        listed = ", ".join(f"{name} {version}" for name, version in packages.items())
        lines.append(f"{len(part)} cells of {', '.join(parts)}" + (f" ({listed})" if listed else ""))
    return lines


def _html(title: str, text: str, pictures: dict[str, bytes]) -> str:
    """The page as one HTML file, pictures included; text is escaped."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    for name, picture in pictures.items():
        data = base64.b64encode(picture).decode()
        body = body.replace(f'src="{name}.png"', f'src="data:image/png;base64,{data}"')
    environment = _environment(autoescape=True)
    return environment.from_string(_source("page.html.j2")).render(title=title, body=body)


def _environment(autoescape: bool = False) -> jinja2.Environment:
    return jinja2.Environment(
        autoescape=autoescape, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )


def _template(name: str) -> jinja2.Template:
    return _environment().from_string(_source(name))


def _source(name: str) -> str:
    return resources.files("fewlabel.bench").joinpath("templates", name).read_text("utf-8")


def _write_parquet(frame: pd.DataFrame, path: Path) -> None:
    flat = frame.copy()
    for column in set(_JSON) & set(flat.columns):
        flat[column] = [json.dumps(value) if isinstance(value, dict) else None for value in flat[column]]
    buffer = io.BytesIO()
    flat.to_parquet(buffer, index=False)
    _write(path, buffer.getvalue())


def _write(path: Path, content: Any) -> None:
    with atomic_write(path) as file:
        file.write(content)
