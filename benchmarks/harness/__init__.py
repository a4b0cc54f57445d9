"""One harness for all suites: experiments, cells that can be resumed, stored results, and pages made from them."""

from importlib import import_module

from benchmarks.harness.experiment import Cell, Experiment, Figure, Problem, Setting, Suite
from benchmarks.harness.pages import add_results, read_run, read_stored, write_all_pages, write_run_page
from benchmarks.harness.run import plan, run_cells, to_run

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
    "read_run",
    "read_stored",
    "run_cells",
    "to_run",
    "write_all_pages",
    "write_run_page",
]

SUITES = {
    "pnu-auc": "papers.pnu_auc",
    "auc-dcd": "papers.auc_dcd",
    "fscrf": "papers.fscrf",
    "cross-training": "papers.cross_training",
    "ssmab": "papers.ssmab",
    "paths": "papers.paths",
    "bssel": "papers.bssel",
    "ada-pu": "papers.ada_pu",
    "prior": "quality.prior",
    "few-labels": "quality.few_labels",
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
    >>> from benchmarks.harness import get_suite
    >>> get_suite("pnu-auc").experiments[0].metric
    'test AUC'
    """
    if name not in SUITES:
        raise ValueError(f"no suite is named {name!r}: there are {', '.join(SUITES)}")
    return import_module(f"benchmarks.{SUITES[name]}.experiment").SUITE
