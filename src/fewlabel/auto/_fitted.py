"""A fitted member, as it is kept and saved: what it sees of a table, the model, and the ranks of its scores."""

import numpy as np


class Reference:
    """Scores as ranks among reference rows, in (0, 1); between two reference scores the rank is interpolated.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_outputs)
        Scores of the reference rows.
    most : int, default=1000
        At most this many levels are kept of each output.
    """

    def __init__(self, scores, most=1000):
        self.levels = []
        for column in np.sort(scores, axis=0).T:
            if len(column) > most:
                column = column[np.linspace(0, len(column) - 1, most).round().astype(int)]
            values, counts = np.unique(column, return_counts=True)
            self.levels.append((values, (np.cumsum(counts) - counts / 2) / len(column)))

    def ranks(self, scores):
        """The rank of each score."""
        return np.column_stack([_rank(column, *levels) for column, levels in zip(scores.T, self.levels)])


def _rank(column, values, ranks):
    inside = np.interp(column, values, ranks)
    # Beyond the reference rows the order still counts: what is left of (0, 1) on either side is shared out.
    above, below = np.maximum(column - values[-1], 0.0), np.maximum(values[0] - column, 0.0)
    width = values[-1] - values[0] + 1e-300  # equal reference scores have none
    return inside + (1 - ranks[-1]) * (above / (width + above)) - ranks[0] * (below / (width + below))


class FittedMember:
    """One chosen member, fitted to all rows.

    Parameters
    ----------
    view : object or None
        Turns a table into what the member sees; None for the table itself.
    model : object
        The fitted model.
    reference : Reference
    n_outputs : int
    """

    def __init__(self, view, model, reference, n_outputs):
        self.view, self.model, self.reference, self.n_outputs = view, model, reference, n_outputs

    def ranks(self, X):
        """Rank of each row, one column for each output."""
        seen = X if self.view is None else self.view.transform(X)
        return self.reference.ranks(raw_scores(self.model, seen, self.n_outputs))


def raw_scores(model, table, n_outputs):
    """Scores of a fitted model, one column for each output; higher means more likely of the (positive) class.

    A class that the model has not seen has the lowest score of all.
    """
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(table), dtype=float)
        if scores.ndim == 1:
            scores = scores[:, None] if n_outputs == 1 else np.column_stack([-scores, scores])
    else:
        scores = np.asarray(model.predict_proba(table), dtype=float)
        scores = scores[:, 1:] if n_outputs == 1 else scores
    # Scores of a member may be infinite, as log-odds of certain rows are: the order is all that counts here.
    return np.nan_to_num(scores, posinf=1e300, neginf=-1e300)
