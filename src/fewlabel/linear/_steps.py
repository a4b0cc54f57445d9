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
from fewlabel.linear._exact import DualPoint, Solution, best_dual
from fewlabel.linear._pairs import PairRisk

# The dual variables and a permutation of them then take 0.6 GB.
MAX_PAIRS = 50_000_000
_CHUNK = 1 << 16  # random pairs at a time
# Length of a pass of "msgd" if there are more than MAX_PAIRS pairs.
_STEPS_PER_ROW = 20


def sdcd(X, positive, alpha, *, squared, permuted, tol, max_iter, rng, average=False, init="zero", after=None):
    r"""Run dual coordinate ascent over pairs drawn at random, or in a new random order in each pass.

    With `average`, the result is the mean :math:`\bar w` of the iterates since half of ``max_iter`` passes, as in
    Lemma 1 of Jiang et al. (2014). The mean of the dual variables is feasible and :math:`w(\bar\alpha) = \bar w`, so
    the gap is certified for the mean; `squared`: by a lower bound of its dual value, which is concave. ``init="msgd"``
    starts from the dual variables of a pass of AUC-MSGD over a permutation of all pairs. Other parameters and the
    result are those of `fewlabel.linear._exact.solve`.
    """
    rows, n_pairs = _pairs_of(X, positive)
    if n_pairs > MAX_PAIRS:
        raise ValueError(
            f"this solver keeps a dual variable for each of the {len(rows.positives)} x {len(rows.negatives)} = "
            f"{n_pairs} pairs, but at most {MAX_PAIRS} are allowed: use solver='exact', which needs no pairs, or 'msgd'"
        )
    risk = PairRisk(positive, None, squared)
    scale = 1.0 / (alpha * n_pairs)
    w = np.zeros(X.shape[1])
    duals = np.zeros(n_pairs)
    if init == "msgd":
        for pairs in _permuted(n_pairs, rng):
            stochastic_steps(rows, pairs, w, 0, alpha, squared, duals)
        w /= n_pairs
    dual_sum = float(np.sum(duals - 0.25 * duals**2 if squared else duals))
    no_means = Averages(np.zeros(0), np.zeros(2))
    means = Averages(np.zeros(X.shape[1]), np.zeros(2)) if average else no_means
    # T_0 of the lemma is half of the steps.
    first_kept = max_iter * n_pairs // 2
    n_steps = 0
    for n_iter in range(1, max_iter + 1):  # noqa: B007
        for pairs in _permuted(n_pairs, rng) if permuted else _drawn(n_pairs, n_pairs, rng):
            n_early = min(max(first_kept - n_steps, 0), len(pairs))
            dual_sum = coordinate_steps(rows, pairs[:n_early], duals, w, scale, squared, no_means, dual_sum)
            dual_sum = coordinate_steps(rows, pairs[n_early:], duals, w, scale, squared, means, dual_sum)
            n_steps += len(pairs)
        coef = w
        mean_dual_sum = dual_sum
        n_kept = means.sums[0]
        if n_kept:
            coef = w - means.drift / n_kept
            mean_dual_sum = means.sums[1] / n_kept
        shrinkage = 0.5 * alpha * (coef @ coef)
        objective = shrinkage + risk(X @ coef, 1.0).loss
        gap = max(objective - (mean_dual_sum / n_pairs - shrinkage), 0.0)
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
    seed : int
        Draws pairs and buffers.
    """

    def __init__(self, solver, alpha, squared, buffer_size, n_features, n_pairs, seed):
        self.solver = solver
        self.alpha = alpha
        self.squared = squared
        self.buffer_size = buffer_size
        self.scale = 1.0 / (alpha * n_pairs)
        self.seed = seed
        # With "msgd" times the number of steps, so that it need not be scaled in each.
        self.w = np.zeros(n_features)
        self.n_steps = 0  # of "msgd"
        # Sum, sum of squares and largest of the dual variables of all passes.
        self.tally = np.zeros(3)
        self.n_calls = 0
        self.n_passes = 0
        self.forget_rows()

    def state(self):
        """Return the attributes as plain data, sparse rows as the arrays of a CSR matrix."""
        buffered = self.buffered
        if sparse.issparse(buffered):
            names = ("data", "indices", "indptr", "shape")
            buffered = {name: np.asarray(getattr(buffered, name)) for name in names}
        return {**vars(self), "buffered": buffered}

    @classmethod
    def resume(cls, state, n_features):
        """Make a stream that goes on where another one was."""
        stream = cls.__new__(cls)
        for name, value in state.items():
            # The kernels change arrays in place, and those of the model must not change if a step fails.
            setattr(stream, name, value.copy() if isinstance(value, np.ndarray) else value)
        rows = stream.buffered
        if isinstance(rows, dict):
            arrays = (rows["data"], rows["indices"], rows["indptr"])
            stream.buffered = sparse.csr_array(arrays, shape=tuple(rows["shape"]))
        # Of other types the kernels would be compiled again.
        stream.alpha = float(stream.alpha)
        stream.scale = float(stream.scale)
        stream.squared = bool(stream.squared)
        stream.check(n_features)
        return stream

    def check(self, n_features):
        """Raise a ValueError if the state, which may come from a file, would lead a kernel out of its arrays."""
        counts = [self.seen, self.n_buffered]
        n_buffered = int(self.n_buffered.sum())
        rows = np.empty((0, n_features)) if self.buffered is None else self.buffered
        is_counted = all(count.dtype == np.int64 and count.shape == (2,) and (count >= 0).all() for count in counts)
        are_rows = rows.shape == (n_buffered, n_features) and rows.dtype in (np.float32, np.float64)
        fits = self.solver == "oam-inf" or self.n_buffered.max() <= self.buffer_size
        has_types = self.w.dtype == self.tally.dtype == np.float64
        has_shapes = self.w.shape == (n_features,) and self.tally.shape == (3,)
        if not (is_counted and are_rows and fits and has_types and has_shapes):
            raise ValueError("the state of the stream is damaged: fit the model again")
        if sparse.issparse(rows):
            rows.check_format(full_check=True)

    def forget_rows(self):
        """Empty the buffers before a new pass."""
        self.seen = np.zeros(2, dtype=np.int64)  # negatives, positives
        self.buffered = None  # rows, negatives first
        self.n_buffered = np.zeros(2, dtype=np.int64)
        self.n_passes += 1

    def next_generator(self):
        """Make the generator of the next call, a new one each time: a saved stream needs no state of a generator."""
        rng = np.random.default_rng([self.seed, self.n_calls])
        self.n_calls += 1
        return rng

    def at_hand(self, X, positive):
        """Return the buffered rows and their class; before there are any, the rows of the last batch."""
        if self.buffered is None:
            return X, positive
        return self.buffered, self._buffered_positive()

    @property
    def coef(self):
        """The coefficients."""
        return self.w / max(self.n_steps, 1) if self.solver == "msgd" else self.w

    def feed(self, X, positive, rng, *, keep=True):
        """Update the coefficients with labeled rows, in their order; `keep` says whether more rows will follow."""
        n_buffered = int(self.n_buffered.sum())
        n_rows = n_buffered + len(positive)
        rows = X if n_buffered == 0 else _stack(self.buffered, X)
        if self.solver == "msgd":
            all_positive = np.concatenate([self._buffered_positive(), positive])
            self._descend(rows, all_positive, n_buffered, rng)
            if not keep:
                self.seen += np.bincount(positive, minlength=2)
                return
        capacity = n_rows if self.solver == "oam-inf" else min(self.buffer_size, n_rows)
        buffers = np.zeros((2, capacity), dtype=np.int64)
        n_negatives, n_positives = self.n_buffered
        buffers[0, :n_negatives] = np.arange(n_negatives)
        buffers[1, :n_positives] = np.arange(n_negatives, n_buffered)
        signs = np.where(positive, np.int8(1), np.int8(-1))
        new_rows = np.arange(n_buffered, n_rows)
        arrivals = Arrivals(new_rows, signs, rng.random(len(positive)))
        reservoirs = Reservoirs(buffers, self.n_buffered, self.seen)
        if self.solver == "msgd":
            fill_reservoirs(arrivals, reservoirs)
        else:
            # Tallies of the passes are added, the largest dual variables too: see `dual_point`.
            tally = np.zeros(3)
            gradual = self.solver == "oam-gra"
            online_steps(as_rows(rows), arrivals, reservoirs, self.w, self.scale, gradual, self.squared, tally)
            self.tally += tally
        filled = [buffer[:n_filled] for buffer, n_filled in zip(buffers, self.n_buffered)]
        self.buffered = rows[np.concatenate(filled)]

    def _buffered_positive(self):
        """Which of the buffered rows are positive."""
        return np.repeat([False, True], self.n_buffered)

    def _descend(self, X, positive, n_old, rng):
        """Step over random pairs of all rows at hand, as many as have a new row.

        Steps over the pairs of one new row after another would each be smaller, as the one before has moved the
        coefficients towards the same row: their mean would hardly know rows that are difficult.
        """
        rows, n_pairs = _pairs_of(X, positive)
        n_new_pairs = n_pairs - int(np.prod(np.bincount(positive[:n_old], minlength=2)))
        many = n_new_pairs > MAX_PAIRS
        n_steps = min(n_new_pairs, _STEPS_PER_ROW * (len(positive) - n_old)) if many else n_new_pairs
        for pairs in _drawn(n_pairs, n_steps, rng):
            stochastic_steps(rows, pairs, self.w, self.n_steps, self.alpha, self.squared, np.zeros(0))
            self.n_steps += len(pairs)

    def dual_point(self, n_pairs):
        """Return the best multiple of the dual variables of OAM's own steps, as a `DualPoint`.

        They belong to the objective over the `n_pairs` pairs of the rows that were fed, each once in each pass. The
        variables of a pair add up over the passes, so that the largest is at most the sum of the largest of the passes,
        and the sum of squares at most the number of passes times the sum over them.
        """
        # From the expected number of pairs to that of the objective.
        ratio = self.scale * self.alpha * n_pairs
        total, squares, largest = self.tally
        linear = ratio * total / n_pairs
        bend = 0.5 * self.alpha * (self.w @ self.w)
        if self.squared:
            bend += 0.25 * ratio**2 * self.n_passes * squares / n_pairs
        most = np.inf if self.squared else 1.0 / max(ratio * largest, 1e-300)
        unbounded = linear / (2.0 * bend) if bend > 0 else np.inf
        multiple = min(unbounded, most)
        if not np.isfinite(multiple):
            multiple = 0.0
        return DualPoint(multiple * linear - multiple**2 * bend, multiple * self.w)


def certificate(X, risk, w, alpha, own=None):
    """Return objective and duality gap of any coefficients.

    The bound is that of the best mixture of a few feasible points of the dual: the slopes of the hinge smoothed over
    several widths, and `own`, a `DualPoint` that the solver itself found.
    """
    scores = X @ w
    best = own or DualPoint(0.0, np.zeros_like(w))
    for width in (1.0,) if risk.squared else (1.0, 0.1, 0.01):
        value = risk(scores, width)
        v = X.T @ value.pull / alpha
        # The slopes times c have the dual value c * linear - c^2 * bend.
        linear = value.pull[risk.positive].sum()
        bend = 0.5 * alpha * (v @ v)
        if risk.squared:
            bend += value.loss
        multiple = linear / (2.0 * bend) if bend > 0 else 1.0
        if not risk.squared:
            multiple = min(multiple, 1.0)
        dual_value = multiple * linear - multiple**2 * bend
        best = best_dual(best, DualPoint(dual_value, multiple * v), alpha)
    objective = 0.5 * alpha * (w @ w) + value.loss
    return objective, max(objective - max(best.value, 0.0), 0.0)


def as_rows(X):
    """Return the rows as the kernels take them."""
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if not X.has_sorted_indices:
        X = X.sorted_indices()
    return X.data, X.indices, X.indptr


def _pairs_of(X, positive):
    """The rows of both classes, and the number of their pairs."""
    rows = PairRows(as_rows(X), np.flatnonzero(positive), np.flatnonzero(~positive))
    return rows, len(rows.positives) * len(rows.negatives)


def _drawn(n_pairs, n_steps, rng):
    """Pairs drawn at random, in chunks; 64-bit draws, so that every pair can be drawn."""
    for begin in range(0, n_steps, _CHUNK):
        yield rng.integers(n_pairs, size=min(_CHUNK, n_steps - begin))


def _permuted(n_pairs, rng):
    """All pairs in a random order, in one chunk."""
    order = np.arange(n_pairs, dtype=np.int32)
    rng.shuffle(order)
    yield order


def _stack(one, other):
    return sparse.vstack([one, other], format="csr") if sparse.issparse(other) else np.concatenate([one, other])
