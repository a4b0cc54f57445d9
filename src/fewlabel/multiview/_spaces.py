"""The functions that a fit chooses from: kernel functions at all rows of a group (exact) or at some (Nystroem)."""

import numpy as np

from fewlabel.multiview._basis import ViewBasis
from fewlabel.multiview._system import MOST_COLUMNS, System


class KernelSpace:
    """Kernel functions of each view, centered at landmarks.

    Parameters
    ----------
    views : list of ndarray of shape (n_rows, n_columns_of_view)
        The rows in each view.
    widths : ndarray of shape (n_views,)
        Widths of their Gaussian kernels.
    shared : ndarray of int, default=None
        Positions of the landmarks, which all groups share. None is exact: the landmarks of a group are its own rows.
    """

    def __init__(self, views, widths, shared=None):
        self.views = views
        self.widths = widths
        self.n_rows = len(views[0])
        self.shared = shared
        self.bases = []
        if shared is not None:
            self.bases = [ViewBasis(X[shared], width) for X, width in zip(views, widths)]

    @property
    def landmarks(self):
        """Rows at which the functions of each view are centered, those of all groups together."""
        return self.views if self.shared is None else [X[self.shared] for X in self.views]

    def learn(self, group, labeled, loss, penalties, view_weights):
        """Fit a model to a group of rows.

        Parameters
        ----------
        group : ndarray of int
            Positions of the rows of the group.
        labeled : LabeledRows
            The labeled rows among them.
        loss : SquaredLoss or HingeLoss
        penalties : Penalties
        view_weights : ndarray of shape (n_views,)

        Returns
        -------
        coefficients : list of ndarray of shape (n_landmarks, n_outputs)
            Of the kernel functions of each view, times the weight of the view.
        held_out : ndarray of shape (n_labeled, n_outputs)
            Outputs of the labeled rows by models that were not shown their labels.
        """
        n_columns = len(self.views) * len(group if self.shared is None else self.shared)
        if n_columns > MOST_COLUMNS:
            raise MemoryError(
                f"the system has {n_columns:,} columns, views times landmarks, which take "
                f"{8e-9 * n_columns**2:.0f} GB: set approximation='nystroem' and a lower n_components"
            )
        views = [X[group] for X in self.views]
        if self.shared is None:
            bases = [ViewBasis(X, width) for X, width in zip(views, self.widths)]
            features = [basis.own_coordinates for basis in bases]
        else:
            bases = self.bases
            features = [basis.coordinates(X) for basis, X in zip(bases, views)]
        by_view, held_out = System(features, views, penalties).learn(labeled, loss, view_weights)
        coefficients = []
        for weight, basis, theta in zip(view_weights, bases, by_view):
            at_landmarks = weight * basis.coefficients(theta)
            if self.shared is None:
                placed = np.zeros((self.n_rows, at_landmarks.shape[1]))
                placed[group] = at_landmarks
                at_landmarks = placed
            coefficients.append(at_landmarks)
        return coefficients, held_out


def choose_landmarks(codes, n_landmarks, rng):
    """Draw landmarks, at most half of them labeled: as many of each class as of any other, as far as there are.

    Drawn from all rows, ten rows of a rare class among thousands would hardly ever be among the landmarks.

    Parameters
    ----------
    codes : ndarray
        Class of each row, -1 if unlabeled.
    n_landmarks : int
    rng : RandomState

    Returns
    -------
    ndarray of int
        Sorted positions.
    """
    if n_landmarks >= len(codes):
        return np.arange(len(codes))
    by_class = [rng.permutation(np.flatnonzero(codes == k)) for k in range(codes.max() + 1)]
    unlabeled = np.flatnonzero(codes < 0)
    room = max(n_landmarks // 2, n_landmarks - len(unlabeled))
    n_classes_left = len(by_class)
    chosen: list[np.ndarray] = []
    # The rarest first: what a class lacks, others get.
    for rows in sorted(by_class, key=len):
        chosen.append(rows[: room // n_classes_left])
        room -= len(chosen[-1])
        n_classes_left -= 1
    n_labeled = sum(len(rows) for rows in chosen)
    chosen.append(rng.permutation(unlabeled)[: n_landmarks - n_labeled])
    return np.sort(np.concatenate(chosen))
