"""The sum of step functions that the scores of an ensemble increase with, if its only member is one."""

from dataclasses import dataclass

import numpy as np

from fewlabel.boosting.additive import ShapeFunction
from fewlabel.parts import FittedModel, Ranks, Steps, WeightedSum
from fewlabel.parts.explanations import additive_steps


@dataclass(frozen=True, eq=False)
class AdditiveMember:
    """The only member of an ensemble, as a sum of step functions; it can be shown and scored as a stump booster.

    Attributes
    ----------
    steps : Steps
    offset_ : float
        Added to the sum.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds in its decision function.
    feature_importances_ : ndarray of shape (n_features,)
    names : list of str
        Of the features.
    ranks : Ranks or None
        From its decision function to the score of the ensemble; None of a booster that is the whole model.
    """

    steps: Steps
    offset_: float
    calibration_: np.ndarray
    feature_importances_: np.ndarray
    names: list[str]
    ranks: Ranks | None

    @property
    def shape_functions_(self) -> list[ShapeFunction]:
        functions = []
        for k, column in enumerate(self.steps.columns.tolist()):
            edges, values = self.steps.function(k)
            functions.append(ShapeFunction(column, self.names[column], edges, values, float(self.steps.missing[k])))
        return functions

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Score of each row.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.steps(X)[:, 0] + self.offset_


def additive_member(model: FittedModel) -> AdditiveMember | None:
    """The sum of step functions that the scores of an ensemble increase with; None if there is none.

    Parameters
    ----------
    model : FittedModel

    Returns
    -------
    AdditiveMember or None
    """
    known = model.about.get("additive")
    additive = additive_steps(model.score)
    if known is None or additive is None:
        return None
    steps, offset = additive
    first = model.score.steps[0]
    ranks = first.terms[0].steps[1] if isinstance(first, WeightedSum) else None
    names = model.names if model.encoder is None else model.encoder.features
    return AdditiveMember(
        steps,
        offset,
        calibration_=np.array(known["calibration"]),
        feature_importances_=np.array(known["importances"]),
        names=[f"x{k}" for k in range(model.score.n_inputs)] if names is None else list(names),
        ranks=ranks,
    )
