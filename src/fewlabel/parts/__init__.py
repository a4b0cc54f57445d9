"""A fitted model as data: records of numbers, texts and arrays, each with a formula.

What predicts in memory is what is saved: `AutoClassifier` and `TableClassifier` turn what they have fitted into parts,
and a file holds the same parts. Their formulas need NumPy, and Numba only where there are many trees or steps.
"""

from fewlabel.parts.model import Classes, Evidence, FittedModel, Sigmoids, Softmax
from fewlabel.parts.numbers import Chain, Linear, LogOdds, Ranks, Select, WeightedSum
from fewlabel.parts.part import Encoder, Formula, Part

# The closed list of what a file may hold; its names are looked up nowhere else.
KINDS = {
    part.kind: part
    for part in (
        Chain,
        Classes,
        Evidence,
        FittedModel,
        Linear,
        LogOdds,
        Ranks,
        Select,
        Sigmoids,
        Softmax,
        WeightedSum,
    )
}

__all__ = [
    "KINDS",
    "Chain",
    "Classes",
    "Encoder",
    "Evidence",
    "FittedModel",
    "Formula",
    "Linear",
    "LogOdds",
    "Part",
    "Ranks",
    "Select",
    "Sigmoids",
    "Softmax",
    "WeightedSum",
]
