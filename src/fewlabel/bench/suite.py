"""What a suite is: datasets, methods, a protocol, and the numbers that a paper printed."""

import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources, util
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer

from fewlabel.datasets import load_dataset


class Cell(NamedTuple):
    """One run: a method on a repeat of a dataset, in a setting (such as the share of labels)."""

    dataset: str
    setting: str
    method: str
    repeat: int


@dataclass(frozen=True)
class Problem:
    """What a method learns from, and what it is judged by.

    Attributes
    ----------
    X : ndarray, DataFrame or CSR matrix
        All rows.
    y : ndarray of int
        All true classes; only the evaluation reads them.
    train, test : ndarray of int
        Rows to learn from, and rows to be judged by.
    few : ndarray of int
        Labels of the training rows, -1 where hidden.
    validation : ndarray of int
        Labeled rows for the choice of parameters, where the protocol has them.
    name, setting : str
        Dataset and setting it came from.
    """

    X: Any
    y: np.ndarray
    train: np.ndarray
    few: np.ndarray
    test: np.ndarray
    validation: np.ndarray | None = None
    name: str = ""
    setting: str = ""

    @property
    def known(self) -> np.ndarray:
        """The labeled rows among the training rows, as positions in them."""
        return np.flatnonzero(self.few != -1)


@dataclass(frozen=True)
class Curve:
    """A picture of a paper, redrawn: the score by setting, or what each cell of a setting records along an axis.

    Attributes
    ----------
    name : str
        What the paper calls it, such as "Figure 5.3".
    caption : str
        What it shows, and what the paper says of it.
    x : str
        Label of the axis.
    settings : dict
        Settings, and the place of each on the axis. With a single one (and any place) the cells themselves record
        the lines: their `curves` are a dict of places and values, ``{"test AUC": [[1, 2, ...], [0.5, 0.7, ...]]}``,
        and each entry is a row of panels.
    methods : tuple of str
        Lines; empty: all that have cells.
    mean : bool
        Whether to draw the mean over the datasets that all methods have; else a panel a dataset.
    log : bool
        Whether the axis is logarithmic.
    """

    name: str
    caption: str
    x: str
    settings: dict[str, float]
    methods: tuple[str, ...] = ()
    mean: bool = False
    log: bool = False

    @property
    def recorded(self) -> bool:
        """Whether the cells record the lines."""
        return len(self.settings) == 1


class Suite(ABC):
    """A paper's experiment.

    A suite says how a problem is made (`problem`), what a method gives for its test rows (`outcome`, which sees the
    labels of labeled rows alone), and how that is judged (`measure`).

    Attributes
    ----------
    name, title, metric : str
    higher_is_better : bool
    datasets, settings, methods : sequence of str
        Each setting gets a table.
    curves : sequence of Curve
        Pictures; they may have settings of their own, which get no table.
    metrics : dict
        What is measured in a setting, where it is not `metric`.
    repeats : int
        Repeats of the paper.
    protocol : str
        What is done, as printed.
    deviations : sequence of str
        Where we do otherwise, and why.
    needs : dict
        Module that a method needs.
    published_repeats : int
        Repeats behind a published mean.
    """

    name = ""
    title = ""
    metric = "test AUC"
    higher_is_better = True
    datasets: Sequence[str] = ()
    settings: Sequence[str] = ("",)
    methods: Sequence[str] = ()
    curves: Sequence[Curve] = ()
    metrics: dict[str, str] = {}
    repeats = 10
    published_repeats = 10
    protocol = ""
    deviations: Sequence[str] = ()
    needs: dict[str, str] = {}

    def cells(self, datasets: Sequence[str], methods: Sequence[str], repeats: int) -> Iterator[Cell]:
        """All cells of a run, repeats outermost: a run that is stopped has whole repeats."""
        for repeat in range(repeats):
            for dataset in datasets:
                for setting in dict.fromkeys([*self.settings, *(s for curve in self.curves for s in curve.settings)]):
                    for method in methods:
                        if self.has(dataset, setting, method):
                            yield Cell(dataset, setting, method, repeat)

    def has(self, dataset: str, setting: str, method: str) -> bool:
        """Whether a combination is part of the suite."""
        return True

    def why_not(self, method: str) -> str | None:
        """Why a method cannot run here, or None."""
        module = self.needs.get(method)
        return f"{module} is not installed" if module and util.find_spec(module) is None else None

    @abstractmethod
    def problem(self, dataset: str, setting: str, repeat: int) -> Problem:
        """Rows and labels of a repeat."""

    @abstractmethod
    def outcome(self, problem: Problem, method: str, seed: int) -> Any:
        """What a method gives for the test rows; it sees the labels of labeled rows alone."""

    @abstractmethod
    def measure(self, problem: Problem, outcome: Any) -> dict[str, Any]:
        """Numbers of a cell: `score`, or `grid` if parameters are chosen over the repeats, `curves`, and any others."""

    def warm_up(self, problem: Problem, method: str) -> None:
        """Compile what a method needs, outside the timing: the same fit on few rows."""
        rows = _some_of_each(problem)
        small = replace(problem, train=problem.train[rows], few=problem.few[rows], test=problem.test[:20])
        self.outcome(small, method, 0)

    def settle(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Fill in scores that need all repeats at once: the `grid` entry with the best mean validation score."""
        if "grid" not in frame or frame["grid"].isna().all():
            return frame
        frame = frame.copy()
        for _, rows in frame[frame["grid"].notna()].groupby(["dataset", "setting", "method"]):
            grids = [dict(grid) for grid in rows["grid"]]
            shared = [key for key in grids[0] if all(key in grid for grid in grids)]
            best = max(shared, key=lambda key: np.mean([grid[key][0] for grid in grids]))
            frame.loc[rows.index, "score"] = [grid[best][1] for grid in grids]
            frame.loc[rows.index, "chosen"] = best
        return frame.drop(columns="grid")

    @property
    def numbers(self) -> dict[str, Any]:
        """The published numbers, from the TOML file beside the suite's module."""
        return published(type(self).__module__.rsplit(".", 1)[1])

    def paper(self, dataset: str, setting: str, method: str) -> tuple[float, float] | None:
        """Published mean and standard deviation (NaN where not printed), or None."""
        return None


@cache
def published(module: str) -> dict[str, Any]:
    """A file of published numbers."""
    return tomllib.loads(resources.files("fewlabel.bench.papers").joinpath(f"{module}.toml").read_text("utf-8"))


@cache
def table(name: str) -> Any:
    """A dataset, read once a process."""
    return load_dataset(name)


def binary(name: str, positive: str | None = None) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns as they are, and 1 for the positive class."""
    found = table(name)
    return found.data, (found.target == (positive or found.positive)).to_numpy().astype(int)


def multiclass(name: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns as they are, and classes as 0, 1, ..."""
    found = table(name)
    return found.data, pd.factorize(found.target, sort=True)[0]


def as_numbers(data: pd.DataFrame, train: np.ndarray, *, fill: bool = True) -> np.ndarray:
    """Categories one-hot; gaps filled by the median of the training rows."""
    values = pd.get_dummies(data, dtype=float).to_numpy(dtype=float)
    if not fill or not np.isnan(values).any():
        return values
    return SimpleImputer(strategy="median", keep_empty_features=True).fit(values[train]).transform(values)


def _some_of_each(problem: Problem, n: int = 8) -> np.ndarray:
    """A few labeled training rows of each class, as positions."""
    few = problem.few[problem.known]
    return np.concatenate([problem.known[few == c][:n] for c in np.unique(few)])
