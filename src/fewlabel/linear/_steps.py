"""The solvers of Jiang et al. (2014): steps over single pairs, in random, permuted or streaming order."""

import numpy as np
from scipy import sparse

from fewlabel.kernels.linear_auc import Arrivals, Reservoirs, coordinate_steps, online_steps, stochastic_steps
from fewlabel.linear._exact import Solution
from fewlabel.linear._pairs import PairRisk

MAX_PAIRS = 50_000_000  # the dual variables and a permutation of them then take 0.6 GB
_CHUNK = 1 << 16
_STEPS_PER_ROW = 20  # length of a pass of "msgd" if there are more than MAX_PAIRS pairs


def sdcd(X, positive, alpha, *, squared, permuted, tol, max_iter, rng, after=None):
    """Run dual coordinate ascent over pairs drawn at random, or in a new random order in each pass.

    Parameters and result are those of `fewlabel.linear._exact.solve`.
    """
    rows, positives, negatives = as_rows(X), np.flatnonzero(positive), np.flatnonzero(~positive)
    n_pairs = len(positives) * len(negatives)
    if n_pairs > MAX_PAIRS:
        raise ValueError(
            f"this solver keeps a dual variable for each of the {len(positives)} x {len(negatives)} = {n_pairs} pairs, "
            f"but at most {MAX_PAIRS} are allowed: use solver='exact', which needs no pairs, or 'msgd'"
        )
    risk, scale = PairRisk(positive, None, squared), 1.0 / (alpha * n_pairs)
    w, duals, dual_sum = np.zeros(X.shape[1]), np.zeros(n_pairs), 0.0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        for pairs in _permuted(n_pairs, rng) if permuted else _drawn(n_pairs, n_pairs, rng):
            dual_sum += coordinate_steps(rows, positives, negatives, pairs, duals, w, scale, squared)
        shrinkage = 0.5 * alpha * (w @ w)
        objective = shrinkage + risk(X @ w, 1.0).loss
        gap = max(objective - (dual_sum / n_pairs - shrinkage), 0.0)
        if after is not None:
            after(w, objective, gap)
        if gap <= tol * objective:
            break
    return Solution(w, objective, gap, n_iter)


class Stream:
    """Coefficients that are updated as rows arrive, by "msgd" or by online AUC maximization.

    Parameters
    ----------
    solver : {"msgd", "oam-inf", "oam-seq", "oam-gra"}
    alpha : float
        The penalty.
    squared : bool
        Squared hinge instead of hinge.
    buffer_size : int
        Rows of each class that "oam-seq" and "oam-gra" keep; "oam-inf" keeps all.
    n_features : int
    """

    def __init__(self, solver, alpha, squared, buffer_size, n_features):
        self.solver, self.alpha, self.squared, self.buffer_size = solver, alpha, squared, buffer_size
        self.forget_rows()
        self.sum, self.n_steps = np.zeros(n_features), 0  # "msgd": coefficients times the number of steps
        self.w, self.scale = np.zeros(n_features), None

    def forget_rows(self):
        """Empty the buffers before a new pass."""
        self.seen = np.zeros(2, dtype=np.int64)  # negatives, positives
        self.kept, self.n_kept = None, np.zeros(2, dtype=np.int64)  # buffered rows, negatives first

    def at_hand(self, X, positive):
        """Return the buffered rows and their class; for a solver without buffers, the rows of the last batch."""
        return (X, positive) if self.kept is None else (self.kept, np.arange(self.n_kept.sum()) >= self.n_kept[0])

    @property
    def coef(self):
        """The coefficients."""
        return self.sum / max(self.n_steps, 1) if self.solver == "msgd" else self.w

    def feed(self, X, positive, rng):
        """Update the coefficients with labeled rows, in their order."""
        counts = np.array([np.count_nonzero(~positive), np.count_nonzero(positive)])
        if self.solver == "msgd":
            self.seen += counts
            self._descend(X, positive, counts, rng)
            return
        if self.scale is None:
            self.scale = 1.0 / (self.alpha * float(np.prod(np.maximum(counts, 1.0))))
        n_kept = int(self.n_kept.sum())
        rows = X if n_kept == 0 else _stack(self.kept, X)
        capacity = n_kept + len(positive) if self.solver == "oam-inf" else self.buffer_size
        buffers = np.zeros((2, capacity), dtype=np.int64)
        buffers[0, : self.n_kept[0]] = np.arange(self.n_kept[0])
        buffers[1, : self.n_kept[1]] = np.arange(self.n_kept[0], n_kept)
        signs = np.where(positive, np.int8(1), np.int8(-1))
        arrivals = Arrivals(np.arange(n_kept, n_kept + len(positive)), signs, rng.random(len(positive)))
        reservoirs = Reservoirs(buffers, self.n_kept, self.seen)
        gradual = self.solver == "oam-gra"
        online_steps(as_rows(rows), arrivals, reservoirs, self.w, self.scale, gradual, self.squared)
        self.kept = rows[np.concatenate([buffers[0, : self.n_kept[0]], buffers[1, : self.n_kept[1]]])]

    def _descend(self, X, positive, counts, rng):
        n_pairs = int(counts[0]) * int(counts[1])
        if n_pairs == 0:
            return
        n_steps = n_pairs if n_pairs <= MAX_PAIRS else min(n_pairs, _STEPS_PER_ROW * len(positive))
        rows, positives, negatives = as_rows(X), np.flatnonzero(positive), np.flatnonzero(~positive)
        for pairs in _drawn(n_pairs, n_steps, rng):
            stochastic_steps(rows, positives, negatives, pairs, self.sum, self.n_steps, self.alpha, self.squared)
            self.n_steps += len(pairs)


def certificate(X, risk, w, alpha):
    """Return objective and duality gap of any coefficients, by the best of a few feasible points of the dual."""
    scores, lower = X @ w, 0.0
    for width in (1.0,) if risk.squared else (1.0, 0.1, 0.01):
        value = risk(scores, width)
        v = X.T @ value.pull / alpha
        linear = value.pull[risk.positive].sum()  # c times the slopes has the dual value c * linear - c^2 * bend
        bend = 0.5 * alpha * (v @ v) + (value.loss if risk.squared else 0.0)
        c = linear / (2.0 * bend) if bend > 0 else 1.0
        c = c if risk.squared else min(c, 1.0)
        lower = max(lower, c * linear - c * c * bend)
    objective = 0.5 * alpha * (w @ w) + value.loss
    return objective, max(objective - lower, 0.0)


def as_rows(X):
    """Return the rows as the kernels take them."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    return X.data, X.indices, X.indptr


def _drawn(n_pairs, n_steps, rng):
    """Pairs drawn at random, in chunks; 64-bit draws, so that every pair can be drawn."""
    for begin in range(0, n_steps, _CHUNK):
        yield rng.integers(n_pairs, size=min(_CHUNK, n_steps - begin))


def _permuted(n_pairs, rng):
    order = np.arange(n_pairs, dtype=np.int32)
    rng.shuffle(order)
    yield order


def _stack(kept, X):
    return sparse.vstack([kept, X], format="csr") if sparse.issparse(X) else np.concatenate([kept, X])
