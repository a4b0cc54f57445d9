"""The experiments of the papers, rerun: one suite per paper or chapter, our numbers beside the published ones."""

from importlib import import_module

from fewlabel.bench.experiment import Cell, Experiment, Figure, Problem, Setting, Suite
from fewlabel.bench.pages import add_results, read_results, write_all_pages, write_pages
from fewlabel.bench.run import plan, run_cells, to_run

__all__ = [
    "SUITES",
    "Cell",
    "Experiment",
    "Figure",
    "Problem",
    "Setting",
    "Suite",
    "add_results",
    "get_suite",
    "plan",
    "read_results",
    "run_cells",
    "to_run",
    "write_all_pages",
    "write_pages",
]

SUITES = {
    "pnu-auc": "pnu_auc",
    "auc-dcd": "auc_dcd",
    "fscrf": "fscrf",
    "cross-training": "cross_training",
    "ssmab": "ssmab",
    "paths": "paths",
    "bssel": "bssel",
    "ada-pu": "ada_pu",
    "prior": "prior",
    "few-labels": "few_labels",
}


def get_suite(name):
    """A suite by its name.

    Parameters
    ----------
    name : str
        One of `SUITES`.

    Returns
    -------
    Suite

    Examples
    --------
    >>> from fewlabel.bench import get_suite
    >>> get_suite("pnu-auc").experiments[0].metric
    'test AUC'
    """
    if name not in SUITES:
        raise ValueError(f"no suite is named {name!r}: there are {', '.join(SUITES)}")
    return import_module(f"fewlabel.bench.papers.{SUITES[name]}").SUITE
