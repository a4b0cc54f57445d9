"""The commands that work on a user's table. Heavy imports are inside them, so that ``--help`` answers at once."""

from fewlabel.commands._bench import bench
from fewlabel.commands._demo import demo
from fewlabel.commands._fit import fit
from fewlabel.commands._methods import methods
from fewlabel.commands._predict import predict
from fewlabel.commands._prior import prior
from fewlabel.commands._select import select

__all__ = ["bench", "demo", "fit", "methods", "predict", "prior", "select"]
