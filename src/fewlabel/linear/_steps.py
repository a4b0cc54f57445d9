"""The solvers of Jiang et al. (2014): steps over single pairs, in random, permuted or streaming order."""

import numpy as np
from scipy import sparse

from fewlabel.kernels.linear_auc import (
    Arrivals,
    Averages,
    PairRows,
    Reservoirs,
    coordinate_steps,
    fill_reservoirs,
    online_steps,
    stochastic_steps,
)
from fewlabel.linear._exact import Solution, best_dual
from fewlabel.linear._pairs import PairRisk

MAX_PAIRS = 50_000_000  # the dual variables and a permutation of them then take 0.6 GB
_CHUNK = 1 << 16
_STEPS_PER_ROW = 20  # length of a pass of "msgd" if there are more than MAX_PAIRS pairs


def sdcd(X, positive, alpha, *, squared, permuted, tol, max_iter, rng, average=False, init="zero", after=None):
    r"""Run dual coordinate ascent over pairs drawn at random, or in a new random order in each pass.

    With `average`, the result is the mean :math:`\bar w` of the iterates since half of ``max_iter`` passes, as in
    Lemma 1 of Jiang et al. (2014). The mean of the dual variables is feasible and :math:`w(\bar\alpha) = \bar w`, so
    the gap is certified for the mean; `squared`: by a lower bound of its dual value, which is concave. ``init="msgd"``
    starts from the dual variables of a pass of AUC-MSGD over a permutation of all pairs. Other parameters and the
    result are those of `fewlabel.linear._exact.solve`.
    """
    rows = PairRows(as_rows(X), np.flatnonzero(positive), np.flatnonzero(~positive))
    n_pairs = len(rows.positives) * len(rows.negatives)
    if n_pairs > MAX_PAIRS:
        raise ValueError(
            f"this solver keeps a dual variable for each of the {len(rows.positives)} x {len(rows.negatives)} = "
            f"{n_pairs} pairs, but at most {MAX_PAIRS} are allowed: use solver='exact', which needs no pairs, or 'msgd'"
        )
    risk, scale = PairRisk(positive, None, squared), 1.0 / (alpha * n_pairs)
    w, duals, dual_sum = np.zeros(X.shape[1]), np.zeros(n_pairs), 0.0
    if init == "msgd":
        for pairs in _permuted(n_pairs, rng):
            stochastic_steps(rows, pairs, w, 0, alpha, squared, duals)
        w /= n_pairs
        dual_sum = float(np.sum(duals - 0.25 * duals**2 if squared else duals))
    none, means = Averages(np.zeros(0), np.zeros(2)), Averages(np.zeros(X.shape[1]), np.zeros(2))
    n_steps, first = 0, max_iter * n_pairs // 2  # T_0 of the lemma is half of the steps
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        for pairs in _permuted(n_pairs, rng) if permuted else _drawn(n_pairs, n_pairs, rng):
            early, late = np.split(pairs, [np.clip(first - n_steps, 0, len(pairs))])
            dual_sum = coordinate_steps(rows, early, duals, w, scale, squared, none, dual_sum)
            dual_sum = coordinate_steps(rows, late, duals, w, scale, squared, means if average else none, dual_sum)
            n_steps += len(pairs)
        coef, dual = w, dual_sum
        if means.sums[0]:
            coef, dual = w - means.drift / means.sums[0], means.sums[1] / means.sums[0]
        shrinkage = 0.5 * alpha * (coef @ coef)
        objective = shrinkage + risk(X @ coef, 1.0).loss
        gap = max(objective - (dual / n_pairs - shrinkage), 0.0)
        if after is not None:
            after(coef, objective, gap)
        if gap <= tol * objective:
            break
    return Solution(coef, objective, gap, n_iter)


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
        Rows of each class that "msgd", "oam-seq" and "oam-gra" keep; "oam-inf" keeps all.
    n_features : int
    n_pairs : float
        Number of pairs that the stream is expected to have; OAM's constant C is 1 / (alpha * n_pairs).
    """

    def __init__(self, solver, alpha, squared, buffer_size, n_features, n_pairs):
        self.solver, self.alpha, self.squared, self.buffer_size = solver, alpha, squared, buffer_size
        self.sum, self.n_steps = np.zeros(n_features), 0  # "msgd": coefficients times the number of steps
        self.w, self.scale = np.zeros(n_features), 1.0 / (alpha * n_pairs)
        self.tally, self.n_passes = np.zeros(3), 0  # of the dual variables of all passes
        self.forget_rows()

    def state(self):
        """Return the attributes as plain data, sparse rows as the arrays of a CSR matrix."""
        kept = self.kept
        if sparse.issparse(kept):
            kept = (kept.data, kept.indices, kept.indptr, kept.shape)
        return {**vars(self), "kept": kept}

    @classmethod
    def resume(cls, state):
        """Make a stream that goes on where another one was."""
        stream, kept = cls.__new__(cls), state["kept"]
        vars(stream).update(state)
        if isinstance(kept, tuple):
            stream.kept = sparse.csr_array(kept[:3], shape=kept[3])
        return stream

    def forget_rows(self):
        """Empty the buffers before a new pass."""
        self.seen = np.zeros(2, dtype=np.int64)  # negatives, positives
        self.kept, self.n_kept = None, np.zeros(2, dtype=np.int64)  # buffered rows, negatives first
        self.n_passes += 1

    def at_hand(self, X, positive):
        """Return the buffered rows and their class; before there are any, the rows of the last batch."""
        return (X, positive) if self.kept is None else (self.kept, np.arange(self.n_kept.sum()) >= self.n_kept[0])

    @property
    def coef(self):
        """The coefficients."""
        return self.sum / max(self.n_steps, 1) if self.solver == "msgd" else self.w

    def feed(self, X, positive, rng, *, keep=True):
        """Update the coefficients with labeled rows, in their order; `keep` says whether more rows will follow."""
        n_kept = int(self.n_kept.sum())
        rows = X if n_kept == 0 else _stack(self.kept, X)
        if self.solver == "msgd":
            self._descend(rows, np.r_[np.arange(n_kept) >= self.n_kept[0], positive], n_kept, rng)
            if not keep:
                self.seen += np.array([np.count_nonzero(~positive), np.count_nonzero(positive)])
                return
        capacity = n_kept + len(positive) if self.solver == "oam-inf" else self.buffer_size
        buffers = np.zeros((2, capacity), dtype=np.int64)
        buffers[0, : self.n_kept[0]] = np.arange(self.n_kept[0])
        buffers[1, : self.n_kept[1]] = np.arange(self.n_kept[0], n_kept)
        signs = np.where(positive, np.int8(1), np.int8(-1))
        arrivals = Arrivals(np.arange(n_kept, n_kept + len(positive)), signs, rng.random(len(positive)))
        reservoirs = Reservoirs(buffers, self.n_kept, self.seen)
        if self.solver == "msgd":
            fill_reservoirs(arrivals, reservoirs)
        else:
            gradual, tally = self.solver == "oam-gra", np.zeros(3)
            online_steps(as_rows(rows), arrivals, reservoirs, self.w, self.scale, gradual, self.squared, tally)
            self.tally += tally
        self.kept = rows[np.concatenate([buffers[0, : self.n_kept[0]], buffers[1, : self.n_kept[1]]])]

    def _descend(self, X, positive, n_kept, rng):
        """Step over pairs drawn from those that have a new row, at most as many as there are."""
        new = np.arange(len(positive)) >= n_kept
        positives, negatives = (np.r_[np.flatnonzero(c & new), np.flatnonzero(c & ~new)] for c in (positive, ~positive))
        n_positives, n_negatives = np.count_nonzero(positive & new), np.count_nonzero(~positive & new)
        with_new_positive = n_positives * len(negatives)
        n_pairs = with_new_positive + (len(positives) - n_positives) * n_negatives
        if n_pairs == 0:
            return
        n_steps = n_pairs if n_pairs <= MAX_PAIRS else min(n_pairs, _STEPS_PER_ROW * int(new.sum()))
        rows = PairRows(as_rows(X), positives, negatives)
        for drawn in _drawn(n_pairs, n_steps, rng):
            rest = drawn - with_new_positive  # a new negative with an earlier positive
            other = (n_positives + rest // max(n_negatives, 1)) * len(negatives) + rest % max(n_negatives, 1)
            pairs = np.where(rest < 0, drawn, other)
            stochastic_steps(rows, pairs, self.sum, self.n_steps, self.alpha, self.squared, np.zeros(0))
            self.n_steps += len(pairs)

    def dual_point(self, n_pairs):
        """Return the value and w of the best multiple of the dual variables of OAM's own steps.

        They belong to the objective over the `n_pairs` pairs of the rows that were fed, each once in each pass. The
        variables of a pair add up over the passes, so that the largest is at most the sum of the largest of the passes,
        and the sum of squares at most the number of passes times the sum over them.
        """
        ratio = self.scale * self.alpha * n_pairs  # from the expected number of pairs to that of the objective
        total, squares, largest = (
            self.tally * np.array([ratio, ratio**2 * self.n_passes, ratio]) / [n_pairs, n_pairs, 1]
        )
        bend = 0.5 * self.alpha * (self.w @ self.w) + (0.25 * squares if self.squared else 0.0)
        c = total / (2.0 * bend) if bend > 0 else np.inf
        c = min(c, np.inf if self.squared else 1.0 / max(largest, 1e-300))
        c = c if np.isfinite(c) else 0.0
        return c * total - c * c * bend, c * self.w


def certificate(X, risk, w, alpha, own=None):
    """Return objective and duality gap of any coefficients.

    The bound is that of the best mixture of a few feasible points of the dual: the slopes of the hinge smoothed over
    several widths, and `own`, a point that the solver itself found (its value and w).
    """
    scores, best = X @ w, own or (0.0, np.zeros_like(w))
    for width in (1.0,) if risk.squared else (1.0, 0.1, 0.01):
        value = risk(scores, width)
        v = X.T @ value.pull / alpha
        linear = value.pull[risk.positive].sum()  # c times the slopes has the dual value c * linear - c^2 * bend
        bend = 0.5 * alpha * (v @ v) + (value.loss if risk.squared else 0.0)
        c = linear / (2.0 * bend) if bend > 0 else 1.0
        c = c if risk.squared else min(c, 1.0)
        best = best_dual(best, (c * linear - c * c * bend, c * v), alpha)
    objective = 0.5 * alpha * (w @ w) + value.loss
    return objective, max(objective - max(best[0], 0.0), 0.0)


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
