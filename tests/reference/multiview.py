"""Multi-view learning straight from the equations: explicit operators on all rows and views, sample-major.

`grams` and `laplacians` hold one N x N matrix a view; row (i, v) of a stacked matrix is ``i * m + v``. The first n_l
rows are labeled. gB and gW are the paper's: sums over rows, not means.
"""

import numpy as np
from scipy.optimize import minimize

VIEWS = [[0], [1, 2], [3, 4, 5]]


def few_rows(seed, n_classes=2, n=24, n_labeled=9):
    """Six columns in three views, labeled rows first."""
    rng = np.random.default_rng(seed)
    true = np.arange(n) % n_classes
    X = rng.normal(size=(n, 6)) + true[:, None] * [0.8, 0.0, 0.8, 0.5, 0.0, 0.5]
    y = np.where(np.arange(n) < n_labeled, true, -1)
    return X, y


def stack(matrices):
    """One matrix over (row, view): the block of rows i, j is diagonal, with the entries i, j of each view."""
    m, n = len(matrices), len(matrices[0])
    stacked = np.zeros((n * m, n * m))
    for v, matrix in enumerate(matrices):
        stacked[v::m, v::m] = matrix
    return stacked


def codes_of_classes(y, n_classes):
    return 2.0 * np.eye(n_classes)[y] - 1.0


def objective(A, grams, laplacians, c, Y, gA, gB, gW):
    """Objective (1) with the squared loss, term by term, for coefficients A of shape (N m, P)."""
    m, n, n_l = len(grams), len(grams[0]), len(Y)
    f = (stack(grams) @ A).reshape(n, m, -1)
    loss = sum(np.sum((Y[i] - sum(c[v] * f[i, v] for v in range(m))) ** 2) for i in range(n_l)) / n_l
    norm = sum(np.sum(A[v::m] * (grams[v] @ A[v::m])) for v in range(m))
    between = sum(np.sum((f[i, v] - f[i, w]) ** 2) for i in range(n) for v in range(m) for w in range(v))
    within = sum(np.sum(f[:, v] * (laplacians[v] @ f[:, v])) for v in range(m))
    return loss + gA * norm + gB * between + gW * within


def gradient(A, grams, laplacians, c, Y, gA, gB, gW):
    """Coefficients of the gradient of objective (1) in the kernel's space."""
    m, n, n_l = len(grams), len(grams[0]), len(Y)
    f = stack(grams) @ A
    M = np.kron(np.eye(n), m * np.eye(m) - np.ones((m, m)))
    target = np.zeros_like(A)
    target[: n_l * m] = np.kron(Y, c[:, None])
    J = np.kron(np.diag(np.arange(n) < n_l).astype(float), np.outer(c, c))
    return 2 * ((J @ f - target) / n_l + gA * A + gB * M @ f + gW * stack(laplacians) @ f)


def norm(A, grams):
    """Norm in the kernel's space."""
    return np.sqrt(max(np.sum(A * (stack(grams) @ A)), 0.0))


def solve(grams, laplacians, c, Y, gA, gB, gW, *, printed=False):
    """The system B A + n_l gA A = Y_C; `printed` leaves out the factor n_l of gB, as equation (5) of the paper does."""
    m, n, n_l = len(grams), len(grams[0]), len(Y)
    M = np.kron(np.eye(n), m * np.eye(m) - np.ones((m, m)))
    J = np.kron(np.diag(np.arange(n) < n_l).astype(float), np.outer(c, c))
    B = (J + (1 if printed else n_l) * gB * M + n_l * gW * stack(laplacians)) @ stack(grams)
    target = np.zeros((n * m, Y.shape[1]))
    target[: n_l * m] = np.kron(Y, c[:, None])
    return np.linalg.solve(B + n_l * gA * np.eye(n * m), target)


def outputs(A, grams_new, c):
    """sum_v c_v f^v of new rows, whose kernels with the rows are given."""
    m = len(grams_new)
    return sum(c[v] * grams_new[v] @ A[v::m] for v in range(m))


def simplex(n_classes):
    """Simplex code from the eigenvectors of the centering matrix."""
    _, vectors = np.linalg.eigh(np.eye(n_classes) - 1.0 / n_classes)
    return np.sqrt(n_classes / (n_classes - 1)) * vectors[:, 1:].T


def effective_kernel(grams, laplacians, c, n_l, gA, gB, gW):
    """Q of equation (6): (I' x c') G [ (gB I x M_m + gW L) G + gA I ]^-1 (I x c)."""
    m, n = len(grams), len(grams[0])
    G = stack(grams)
    M = np.kron(np.eye(n), m * np.eye(m) - np.ones((m, m)))
    regular = np.linalg.inv((gB * M + gW * stack(laplacians)) @ G + gA * np.eye(n * m))
    pick = np.kron(np.eye(n)[:, :n_l], c[:, None])
    return pick.T @ G @ regular @ pick


def hinge_dual(Q, y, n_classes, bounds=None):
    """Dual variables (P, n_l) and the least value of the boxed dual, by a general solver of bounded problems."""
    n_l = len(y)
    S = simplex(n_classes)
    quadratic = np.kron(Q, S.T @ S) / 4  # vec by columns: (i, k) at i * P + k
    bounds = np.full(n_l, 1.0 / n_l) if bounds is None else bounds
    box = [(0.0, 0.0 if k == y[i] else bounds[i]) for i in range(n_l) for k in range(n_classes)]

    def value(a):
        Qa = quadratic @ a
        return a @ Qa - a.sum() / (n_classes - 1), 2 * Qa - 1.0 / (n_classes - 1)

    options = {"maxiter": 100_000, "maxfun": 1_000_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 50}
    found = minimize(value, np.zeros(n_l * n_classes), jac=True, method="L-BFGS-B", bounds=box, options=options)
    return found.x.reshape(n_l, n_classes).T, found.fun


def hinge_primal(alpha, Q, y, n_classes):
    """Primal value at the function that the dual variables give."""
    S = simplex(n_classes)
    n_l = len(y)
    h = -0.5 * Q @ (S @ alpha).T
    losses = np.maximum(0, 1 / (n_classes - 1) + h @ S)
    losses[np.arange(n_l), y] = 0
    return losses.sum() / n_l + 0.25 * np.sum((S.T @ S) * (alpha @ Q @ alpha.T))


def simplex_loss(h, y, n_classes):
    """The simplex-cone hinge loss of an output in the coordinates of `simplex`."""
    scores = simplex(n_classes).T @ h
    return sum(max(0.0, 1 / (n_classes - 1) + scores[k]) for k in range(n_classes) if k != y)
