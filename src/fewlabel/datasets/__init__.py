"""Data to try things on."""

from fewlabel.datasets._pu import make_pu

__all__ = ["make_pu"]
