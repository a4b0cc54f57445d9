"""A fitted model as data: records of numbers, texts and arrays, each with a formula.

What predicts in memory is what is saved: `AutoClassifier` and `TableClassifier` turn what they have fitted into parts,
and a file holds the same parts. Their formulas need NumPy, and Numba only where there are many trees or steps.
"""

from typing import Any

from fewlabel.parts.columns import (
    BooleanColumn,
    CategoryColumn,
    Columns,
    DateColumn,
    NumberColumn,
    SpecialNumberColumn,
    TextColumn,
)
from fewlabel.parts.expansions import GaussianBayes, GaussianKernel, PairsOfClasses, PolynomialKernel
from fewlabel.parts.learned import Opaque, formula_of, model_of, ranking_model
from fewlabel.parts.model import Baseline, Classes, Evidence, FittedModel, Shares, Sigmoids, Softmax
from fewlabel.parts.nearest import Neighbors, Paths, Spreading
from fewlabel.parts.numbers import Chain, Linear, Logits, LogOdds, Ranks, Select, WeightedSum
from fewlabel.parts.part import Encoder, Formula, Part
from fewlabel.parts.trees import Steps, SymmetricTrees, Trees
from fewlabel.parts.views import Beside, Components, FillAndScale, Smooth

# The closed list of what a file may hold; its names are looked up nowhere else.
KINDS: dict[str, Any] = {
    part.kind: part
    for part in (
        *(Columns, NumberColumn, SpecialNumberColumn, BooleanColumn, DateColumn, CategoryColumn),
        TextColumn,
        *(Chain, WeightedSum, Beside, Select, Linear, Ranks, LogOdds, Logits),
        *(FillAndScale, Components, Smooth),
        *(GaussianBayes, GaussianKernel, PolynomialKernel, PairsOfClasses),
        *(Neighbors, Paths, Spreading),
        *(Trees, SymmetricTrees, Steps),
        *(FittedModel, Sigmoids, Softmax, Shares, Classes, Evidence, Baseline),
    )
}

__all__ = [
    "KINDS",
    "Baseline",
    "Beside",
    "BooleanColumn",
    "CategoryColumn",
    "Chain",
    "Classes",
    "Columns",
    "Components",
    "DateColumn",
    "Encoder",
    "Evidence",
    "FillAndScale",
    "FittedModel",
    "Formula",
    "GaussianBayes",
    "GaussianKernel",
    "Linear",
    "LogOdds",
    "Logits",
    "Neighbors",
    "NumberColumn",
    "Opaque",
    "PairsOfClasses",
    "Part",
    "Paths",
    "PolynomialKernel",
    "Ranks",
    "Select",
    "Shares",
    "Sigmoids",
    "Smooth",
    "Softmax",
    "SpecialNumberColumn",
    "Spreading",
    "Steps",
    "SymmetricTrees",
    "TextColumn",
    "Trees",
    "WeightedSum",
    "formula_of",
    "model_of",
    "ranking_model",
]
