"""Class prior: the error of the estimators on small tables of known prior. Our own experiment; it needs no file."""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

import fewlabel
from benchmarks.harness.experiment import Experiment, Problem, Setting, Suite
from benchmarks.quality.prior.kernel_embedding import estimate_km2

_GAUSSIANS = {"Gauss 1.5": (1.5, 200), "Gauss 3": (3.0, 200), "Gauss 3, 50 positives": (3.0, 50)}
_METHODS = {"auto": "auto", "BBE": "bbe", "DEDPUL": "dedpul", "Elkan-Noto": "en"}


@dataclass(frozen=True)
class Prior(Setting):
    """Share of positives among the unlabeled rows."""

    prior: float

    def __str__(self):
        return f"prior {self.prior:g}"


class PriorError(Experiment):
    """Absolute error of the estimated share of positives among the unlabeled rows."""

    name = "Class prior"
    metric = "absolute error"
    higher_is_better = False
    digits = ".3f"
    datasets = (*_GAUSSIANS, "breast cancer", "digits")
    settings = tuple(Prior(prior) for prior in (0.1, 0.3, 0.6))
    methods = ("auto", "BBE", "DEDPUL", "KM2", "Elkan-Noto")  # the order of the page
    compared = tuple(("auto", other) for other in methods[1:])
    repeats = 2

    def problem(self, dataset, setting, repeat, data_home=None):
        if dataset in _GAUSSIANS:
            positives, unlabeled, n_positive = _gaussians(*_GAUSSIANS[dataset], setting.prior, repeat)
        elif dataset == "breast cancer":
            found = load_breast_cancer()
            positives, unlabeled, n_positive = _from_table(found.data, found.target, (100, 400), setting.prior, repeat)
        else:
            found = load_digits()
            even = (found.target % 2 == 0).astype(int)
            positives, unlabeled, n_positive = _from_table(found.data, even, (150, 800), setting.prior, repeat)
        X, rows = np.vstack([positives, unlabeled]), np.arange(len(positives) + len(unlabeled))
        y = np.r_[np.ones(len(positives) + n_positive, int), np.zeros(len(unlabeled) - n_positive, int)]
        few = np.where(rows < len(positives), 1, -1)
        return Problem(X, y, rows, few, rows[len(positives) :], name=dataset)

    def outcome(self, problem, setting, method, seed):
        if method == "KM2":
            estimate = estimate_km2(problem.X, problem.few == 1, np.random.RandomState(0))
            return estimate, estimate, estimate
        how = {"setting": "case-control", "random_state": 0}
        found = fewlabel.estimate_class_prior(problem.X, problem.few, _METHODS[method], **how)
        return found.prior, found.low, found.high

    def measure(self, problem, setting, outcome):
        prior, (estimate, low, high) = problem.y[problem.test].mean(), outcome
        found = {"estimate": estimate, "low": low, "high": high, "covered": low <= prior <= high}
        return {"score": abs(estimate - prior), **{key: float(value) for key, value in found.items()}}

    def warm_up(self, problem, setting, method):
        """The estimators compile what they need in their own fits; the time is not what this experiment measures."""


def _gaussians(separation, n_p, prior, seed, n_u=1000, d=5):
    """Positives, unlabeled rows with the positive ones first, and the number of those."""
    rng = np.random.default_rng([seed, int(prior * 10), int(separation * 10), n_p])
    apart = rng.normal(size=d)
    apart *= separation / np.linalg.norm(apart)
    positive = np.arange(n_u) < round(prior * n_u)
    return rng.normal(size=(n_p, d)) + apart, rng.normal(size=(n_u, d)) + np.outer(positive, apart), positive.sum()


def _from_table(X, y, sizes, prior, seed):
    """The same from a table, disjoint; fewer unlabeled rows where the table has too few."""
    n_p, n_u = sizes
    rng = np.random.default_rng([seed, int(prior * 10), len(X)])
    positives, negatives = (rng.permutation(np.flatnonzero(y == k)) for k in (1, 0))
    n_negative = min(n_u - round(prior * n_u), len(negatives))
    n_positive = min(round(n_negative * prior / (1 - prior)), len(positives) - n_p)
    n_negative = min(n_negative, round(n_positive * (1 - prior) / prior))
    return X[positives[:n_p]], X[np.r_[positives[n_p : n_p + n_positive], negatives[:n_negative]]], n_positive


SUITE = Suite("prior", "Class prior estimation", (PriorError(),), __file__)
