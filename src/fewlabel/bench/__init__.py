"""The papers' experiments, rerun: one suite a paper or chapter, our numbers beside the published ones."""

from importlib import import_module

from fewlabel.bench.results import collect, write_pages
from fewlabel.bench.run import Step, plan, run_cells
from fewlabel.bench.suite import Cell, Curve, Problem, Suite

__all__ = [
    "SUITES",
    "Cell",
    "Curve",
    "Problem",
    "Step",
    "Suite",
    "collect",
    "get_suite",
    "plan",
    "run_cells",
    "write_pages",
]

SUITES = {
    "pnu-auc": "pnu_auc.PNUAUCSuite",
    "auc-dcd": "auc_dcd.AUCDCDSuite",
    "fscrf": "fscrf.FSCRFSuite",
    "cross-training": "cross_training.CrossTrainingSuite",
    "ssmab": "ssmab.SSMABSuite",
    "paths": "paths.PathsSuite",
    "bssel": "bssel.BSSELSuite",
    "ada-pu": "ada_pu.AdaPUSuite",
    "few-labels": "few_labels.FewLabelsSuite",
}


def get_suite(name):
    """A suite by its name.

    Examples
    --------
    >>> from fewlabel.bench import get_suite
    >>> get_suite("pnu-auc").metric
    'test AUC'
    """
    if name not in SUITES:
        raise ValueError(f"no suite is named {name!r}: there are {', '.join(SUITES)}")
    module, cls = SUITES[name].split(".")
    return getattr(import_module(f"fewlabel.bench.papers.{module}"), cls)()
