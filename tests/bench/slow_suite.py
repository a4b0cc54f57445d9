"""A suite of sixty cells of a few hundredths of a second, for the test that kills its run."""

import time

import numpy as np

from fewlabel.bench import Problem, Suite


class Slow(Suite):
    name = "slow"
    datasets = ("made",)
    methods = ("a", "b", "c")
    repeats = 20

    def problem(self, dataset, setting, repeat):
        y = np.arange(4) % 2
        return Problem(np.zeros((4, 1)), y, np.arange(4), y, np.arange(4))

    def outcome(self, problem, method, seed):
        time.sleep(0.03)
        return seed

    def measure(self, problem, outcome):
        return {"score": outcome}

    def warm_up(self, problem, method):
        pass
