"""An experiment is one table or figure of a paper; a suite is a paper's experiments with its reference and notes."""

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from importlib import util
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Cell(NamedTuple):
    """One run: a method on a repeat of a dataset, in a setting of an experiment."""

    experiment: str
    dataset: str
    setting: str
    method: str
    repeat: int


@dataclass(frozen=True)
class Setting:
    """What varies between the tables of an experiment, such as the share of labels.

    Subclasses add fields, which the cells record, and `__str__`, which names the setting on the pages.
    """

    def __str__(self) -> str:
        return ""


@dataclass(frozen=True)
class Problem:
    """What a method learns from, and what it is evaluated on.

    Attributes
    ----------
    X : ndarray, DataFrame or CSR matrix
        All rows.
    y : ndarray of int
        All true classes; only the evaluation reads them.
    train, test : ndarray of int
        Training rows and test rows.
    few : ndarray of int
        Labels of the training rows, -1 where hidden.
    validation : ndarray of int
        Labeled rows for the choice of parameters, where the protocol has them.
    name : str
        Dataset.
    """

    X: Any
    y: np.ndarray
    train: np.ndarray
    few: np.ndarray
    test: np.ndarray
    validation: np.ndarray | None = None
    name: str = ""

    @property
    def known(self) -> np.ndarray:
        """The labeled rows among the training rows, as positions in them."""
        return np.flatnonzero(self.few != -1)


@dataclass(frozen=True)
class Figure:
    """A figure of a paper, redrawn from the cells of an experiment.

    Attributes
    ----------
    name : str
        As in the paper, such as "Figure 5.3".
    x : str
        Label of the horizontal axis.
    along : str
        Field of the settings that is the horizontal axis; the vertical one is the score. Empty: the cells record the
        lines themselves, as `curves`, ``{"test AUC": [[1, 2, ...], [0.5, 0.7, ...]]}``, one row of panels per entry.
    methods : tuple of str
        Lines; empty: all methods that have cells.
    also : tuple of str
        Other experiments of the suite whose cells are drawn too.
    mean : bool
        Whether to draw the mean over the datasets that all methods have; else one panel per dataset.
    log : bool
        Whether the horizontal axis is logarithmic.
    """

    name: str
    x: str
    along: str = ""
    methods: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    mean: bool = False
    log: bool = False


class Experiment(ABC):
    """A table or figure: how its problems are made, what a method returns, and how that is scored.

    `problem` makes the rows and labels of a repeat; `outcome` fits a method, and may read the labels of labeled rows
    only; `measure` compares the outcome with the true classes.

    Attributes
    ----------
    name : str
        What it reproduces, such as "Table 2"; unique in a suite.
    covers : tuple of str
        Tables and figures of the paper that it reproduces; empty: the experiment is ours.
    metric : str
    higher_is_better : bool
    digits : str
        Format of a score.
    datasets, methods : sequence of str
    settings : sequence of Setting
        One table per setting.
    tables : bool
        Whether the settings get tables; False for experiments that exist for their figures.
    figures : sequence of Figure
    comparable : bool
        Whether methods are compared by ranks and tests; run times are not.
    compared : sequence of (str, str)
        Pairs of methods whose difference the page states in a sentence.
    marked_against : str
        Method against which the others are tested on the draws of each dataset; empty: none.
    natural_ends : dict
        Values of a tuned parameter beyond which there are none: to choose one is not to choose an end of the grid.
    repeats, published_repeats : int
        Repeats of our protocol, and those behind a published mean.
    needs : dict
        Module that a method needs.
    constants : dict
        Parameters of the protocol that all settings share. Cells record them: a cell that was run with others is not
        counted as a cell of this experiment.
    own_constants : dict
        Further ones of a method, such as its grid: if they change, only its cells are run again.
    former : dict
        Version of the library by method, for methods whose stored cells are a record of that version: the present code
        does not run them.
    """

    name: str = ""
    covers: tuple[str, ...] = ()
    metric: str = "test AUC"
    higher_is_better: bool = True
    digits: str = ".4f"
    datasets: Sequence[str] = ()
    methods: Sequence[str] = ()
    settings: Sequence[Setting] = (Setting(),)
    tables: bool = True
    figures: Sequence[Figure] = ()
    comparable: bool = True
    compared: Sequence[tuple[str, str]] = ()
    marked_against: str = ""
    natural_ends: Mapping[str, tuple[float, ...]] = {}
    repeats: int = 10
    published_repeats: int = 10
    needs: Mapping[str, str] = {}
    constants: Mapping[str, Any] = {}
    own_constants: Mapping[str, Mapping[str, Any]] = {}
    former: Mapping[str, str] = {}

    def cells(self, datasets: Sequence[str], methods: Sequence[str], repeats: int) -> Iterator[Cell]:
        """All cells of a run."""
        for repeat in range(repeats):
            for dataset in datasets:
                for setting in self.settings:
                    for method in methods:
                        if self.has(dataset, setting, method):
                            yield Cell(self.name, dataset, str(setting), method, repeat)

    def has(self, dataset: str, setting: Any, method: str) -> bool:
        """Whether a combination is part of the experiment."""
        return True

    def why_not(self, method: str) -> str | None:
        """Why a method cannot run here, or None."""
        if method in self.former:
            return f"its cells are of version {self.former[method]}: run them with the code of their commit"
        module = self.needs.get(method)
        return f"{module} is not installed" if module and util.find_spec(module) is None else None

    def setting(self, label: str) -> Any:
        """The setting of a cell."""
        return next(setting for setting in self.settings if str(setting) == label)

    def parameters(self, setting: Setting, method: str = "") -> dict[str, Any]:
        """All that a cell of a setting depends on besides its key and the version, as plain JSON data."""
        return json.loads(json.dumps({**self.constants, **asdict(setting), **self.own_constants.get(method, {})}))

    @abstractmethod
    def problem(self, dataset: str, setting: Any, repeat: int, data_home: str | None = None) -> Problem:
        """Rows and labels of a repeat."""

    @abstractmethod
    def outcome(self, problem: Any, setting: Any, method: str, seed: int) -> Any:
        """What a method returns for the test rows; it may read the labels of labeled rows only."""

    @abstractmethod
    def measure(self, problem: Any, setting: Any, outcome: Any) -> dict[str, Any]:
        """Numbers of a cell: `score`, or `grid` if parameters are chosen over the repeats; `curves`, and others. What
        it has as `text` (Markdown) stands below the table.

        `grid` maps a name of parameters to the pair of its validation score and its test score.
        """

    def warm_up(self, problem: Any, setting: Any, method: str) -> None:
        """Compile what a method needs, outside the timing: the same fit on a few rows."""
        rows = _some_of_each(problem)
        small = replace(problem, train=problem.train[rows], few=problem.few[rows], test=problem.test[:20])
        self.outcome(small, setting, method, 0)

    def settle(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Fill in scores that need all repeats: those of the `grid` entry with the best mean validation score.

        Also `at_end`, the chosen values that are the first or last of their grid, and `hindsight`, the scores of the
        entry that is best on the test rows.
        """
        if "grid" not in frame:
            return frame
        frame = frame.copy()
        frame["at_end"] = pd.Series("", index=frame.index, dtype=object)
        for _, rows in frame[frame["grid"].notna()].groupby(["dataset", "setting", "method"]):
            grids = [dict(grid) for grid in rows["grid"]]
            shared = [key for key in grids[0] if all(key in grid for grid in grids)]
            best = max(shared, key=lambda key: np.mean([grid[key][0] for grid in grids]))
            frame.loc[rows.index, "score"] = [grid[best][1] for grid in grids]
            frame.loc[rows.index, "chosen"] = best
            frame.loc[rows.index, "at_end"] = ", ".join(_at_ends(best, shared, self.natural_ends))
            top = (max if self.higher_is_better else min)(shared, key=lambda key: np.mean([g[key][1] for g in grids]))
            frame.loc[rows.index, "hindsight"] = [grid[top][1] for grid in grids]
        return frame.drop(columns="grid")

    def paper(self, dataset: str, setting: Any, method: str) -> tuple[float, float] | None:
        """Published mean and standard deviation (NaN where not printed), or None."""
        return None


@dataclass(frozen=True)
class Suite:
    """A paper's experiments.

    Beside the file of a suite stand ``published.toml``, the published numbers if there are any; ``page.md``, the text
    of its page: a Jinja template that shows the experiments and takes its numbers from the results (see `pages`); and
    ``results.parquet``, the stored results.

    Attributes
    ----------
    name, title : str
    experiments : tuple of Experiment
    file : str
        File of the suite; empty: it has no folder.

    Examples
    --------
    >>> from benchmarks.harness import get_suite
    >>> [experiment.name for experiment in get_suite("auc-dcd").experiments]
    ['Table 2', 'Figure 2', 'Passes']
    """

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    file: str = ""

    def __getitem__(self, name: str) -> Experiment:
        return next(experiment for experiment in self.experiments if experiment.name == name)

    @property
    def stored(self) -> Path:
        """File of the stored results."""
        return Path(self.file).with_name("results.parquet")

    @cached_property
    def published(self) -> dict[str, Any]:
        """The published numbers, with the reference of the paper and what of it is missing here."""
        return published(self.file) if self.file else {}

    @property
    def text(self) -> str:
        """Template of the page."""
        return Path(self.file).with_name("page.md").read_text("utf-8") if self.file else ""


def published(file: str) -> dict[str, Any]:
    """The published numbers beside the file of a suite; empty for experiments of our own, which have none."""
    numbers = Path(file).with_name("published.toml")
    return tomllib.loads(numbers.read_text("utf-8")) if numbers.exists() else {}


def _at_ends(chosen: str, choices: Sequence[str], natural: Mapping[str, tuple[float, ...]]) -> list[str]:
    """Values of a choice ("gamma 0.5, rounds 100") that are the first or last of their grid and have no natural end."""
    found = []
    for part in chosen.split(", "):
        name, _, value = part.partition(" ")
        if not value:  # a choice between names has no ends
            continue
        values = {float(p.split(" ")[1]) for key in choices for p in key.split(", ") if p.split(" ")[0] == name}
        if len(values) > 1 and float(value) in {min(values), max(values)} - set(natural.get(name, ())):
            found.append(part)
    return found


def _some_of_each(problem: Problem, n: int = 8) -> np.ndarray:
    """A few labeled training rows of each class, as positions."""
    few = problem.few[problem.known]
    return np.concatenate([problem.known[few == c][:n] for c in np.unique(few)])
