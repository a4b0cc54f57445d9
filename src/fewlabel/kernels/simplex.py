"""Dual coordinate descent for the simplex-cone support vector machine."""

from fewlabel.jit import njit

_FAST = {"reassoc", "contract"}  # lets the compiler vectorize dot products


@njit(cache=True, nogil=True, fastmath=_FAST)
def pass_over(Z, squares, codes, S, bounds, order, alpha, W):
    r"""Run one pass of exact coordinate steps over the dual variables of the rows in `order`.

    The variable of row i and class :math:`k \ne y_i` lies between 0 and ``bounds[i]``. Its gradient is
    :math:`-(1 / (P - 1) + \langle s_k, W z_i \rangle)` and its curvature :math:`|z_i|^2 / 2`.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_features)
        The rows.
    squares : ndarray of shape (n_rows,)
        Squared lengths of the rows.
    codes : ndarray of shape (n_rows,), int64
        Class of each row.
    S : ndarray of shape (n_classes - 1, n_classes)
        The simplex code: unit vectors that sum to zero.
    bounds : ndarray of shape (n_rows,)
        Upper bound of the dual variables of each row.
    order : ndarray of int64
        The rows to visit.
    alpha : ndarray of shape (n_rows, n_classes)
        The dual variables; changed in place.
    W : ndarray of shape (n_classes - 1, n_features)
        The weights, :math:`-\frac12 \sum_{ik} \alpha_{ik} s_k z_i^\top`; changed in place.
    """
    n_outputs, n_classes = S.shape
    n_features = Z.shape[1]
    for i in order:
        for k in range(n_classes):
            if k == codes[i]:
                continue
            # The loss of a zero row does not depend on W, so the optimum is at the bound.
            if squares[i] == 0.0:
                alpha[i, k] = bounds[i]
                continue
            value = 1.0 / (n_classes - 1)
            for d in range(n_outputs):
                score = 0.0
                for j in range(n_features):
                    score += Z[i, j] * W[d, j]
                value += S[d, k] * score
            new = min(max(alpha[i, k] + 2.0 * value / squares[i], 0.0), bounds[i])
            change = new - alpha[i, k]
            if change == 0.0:
                continue
            alpha[i, k] = new
            for d in range(n_outputs):
                step = 0.5 * change * S[d, k]
                for j in range(n_features):
                    W[d, j] -= step * Z[i, j]
