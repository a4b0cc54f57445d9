"""Small suites for the tests; workers import them by name."""

import time
import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import Experiment, Figure, Problem, Setting, Suite


@dataclass(frozen=True)
class Share(Setting):
    percent: int

    def __str__(self):
        return f"{self.percent}%"


class Toy(Experiment):
    """One method that works, one that fails, one that takes too long, and one that ends its process."""

    name = "Table 1"
    covers = ("Table 1",)
    datasets = ("made",)
    methods = ("mean", "broken", "slow", "crash", "noisy")
    repeats = 3

    def problem(self, dataset, setting, repeat, data_home=None):
        y = np.arange(20) % 2
        return Problem(np.arange(20.0)[:, None], y, np.arange(10), y[:10], np.arange(10, 20), name=dataset)

    def outcome(self, problem, setting, method, seed):
        if method == "broken":
            raise RuntimeError("no such luck")
        if method == "slow":
            time.sleep(60)
        if method == "crash":
            import os

            os._exit(3)
        if method == "noisy":
            warnings.warn("loud", UserWarning, stacklevel=1)
        return seed

    def measure(self, problem, setting, outcome):
        return {"score": 0.5 + 0.1 * outcome}

    def warm_up(self, problem, setting, method):
        pass

    def paper(self, dataset, setting, method):
        return (0.5, 0.1) if method == "mean" else None


class Changed(Toy):
    """The same table with another parameter."""

    constants = {"rounds": 7}


class Curves(Toy):
    """A figure by setting, and one that the cells record."""

    methods = ("mean", "other")
    settings = (Share(10), Share(20))
    figures = (Figure("Figure 1", "share", "percent"), Figure("Figure 2", "round", methods=("mean",)))
    compared = (("mean", "other"),)

    def outcome(self, problem, setting, method, seed):
        return seed + (method == "mean")

    def measure(self, problem, setting, outcome):
        found = super().measure(problem, setting, outcome)
        return {**found, "curves": {"loss": [[1, 2], [1.0, 0.1 * outcome]], "AUC": [[1, 2], [0.5, 0.7]]}}


class Chosen(Toy):
    """Parameters are chosen over the repeats: "b" has the better mean, "a" the better first repeat."""

    name = "Table 2"
    methods = ("tuned",)

    def measure(self, problem, setting, outcome):
        return {"grid": {"a": [0.9 - 0.4 * outcome, 0.1], "b": [0.8, 0.7]}}


class Slow(Toy):
    """Sixty cells of some hundredths of a second, for the test that kills its run."""

    methods = ("a", "b", "c")
    repeats = 20

    def outcome(self, problem, setting, method, seed):
        time.sleep(0.03)
        return seed


TOY = Suite("toy", "Toy <script>", (Toy(),))
CHANGED = Suite("toy", "Toy", (Changed(),))
CURVES = Suite("toy", "Curves", (Curves(), Chosen()))
SLOW = Suite("slow", "Slow", (Slow(),))
