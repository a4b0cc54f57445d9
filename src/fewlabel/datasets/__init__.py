"""Datasets of the published experiments, and generators of synthetic data."""

from fewlabel.datasets._credit import make_multiview_credit
from fewlabel.datasets._manifolds import make_three_circles, make_two_moons
from fewlabel.datasets._pu import make_pu
from fewlabel.datasets._registry import list_datasets, load_dataset, registry

__all__ = [
    "list_datasets",
    "load_dataset",
    "make_multiview_credit",
    "make_pu",
    "make_three_circles",
    "make_two_moons",
    "registry",
]
