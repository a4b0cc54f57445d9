"""Views of a table: missing values filled, columns scaled, and features learned from the rows without their labels.

A view is a formula (`fewlabel.parts`): what is learned here is what a fitted model keeps.
"""

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_random_state
from sklearn.utils.extmath import randomized_svd

from fewlabel.auto.attempts import attempt
from fewlabel.auto.members import ALL, LABELED
from fewlabel.neighbors import RowSearch
from fewlabel.parts import Beside, Chain, Components, FillAndScale, Select, Smooth
from fewlabel.parts.views import compress, fill_gaps

_PASSES = 5  # of the search for the scale
_N_COMPONENTS = 10
_N_SPECTRAL = 12
_WIDE = 500  # columns beyond which the eigenvectors of the covariance would take most of the time of a fit
_N_ITERATIONS = 6  # of the search for components of a wide table
_N_NEIGHBORS = 10
_LARGEST_GRAPH = 3000  # rows of the neighborhood graph; more make it slower but its eigenvectors no better
_TINY = 1e-12


def learn_scale(X):
    """Learn medians for missing values, and scales: mean 0, variance 1, outliers compressed.

    Mean and variance are those of the compressed column: with those of the column itself, a few huge values would
    leave no differences between the others.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows to learn from; NaN marks a missing value.

    Returns
    -------
    FillAndScale
    """
    gaps = np.isnan(X)
    fill = np.array([0.0 if gap.all() else np.median(x[~gap]) for x, gap in zip(X.T, gaps.T)])
    flagged = np.flatnonzero(gaps.any(axis=0))
    filled = fill_gaps(X, fill, flagged)
    mean = filled.mean(axis=0)
    deviation = filled.std(axis=0)
    varies = np.isfinite(deviation) & (deviation > _TINY * np.maximum(np.abs(mean), 1.0))
    spread = np.where(varies, deviation, np.inf)
    # The sum of a column may overflow; an infinite spread makes it 0 anyway.
    mean[~np.isfinite(mean)] = 0.0
    for _ in range(_PASSES):
        z = compress(filled[:, varies], mean[varies], spread[varies])
        mean[varies] += z.mean(axis=0) * spread[varies]
        spread[varies] *= z.std(axis=0)
    return FillAndScale(fill, flagged, mean, spread)


def learn_components(rows):
    """Learn the leading principal components of scaled rows.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)

    Returns
    -------
    Components
    """
    center = rows.mean(axis=0)
    find = _axes_of_wide if rows.shape[1] > _WIDE else _axes
    values, vectors = find(rows - center)
    kept = values > 1e-9 * max(values.max(), 1e-300)
    return Components(center, _with_positive_peak(vectors[:, kept]))


def _axes(centered):
    """Variances and directions of the components: the leading eigenvectors of the covariance, which are exact."""
    n_columns = centered.shape[1]
    covariance = np.cov(centered, rowvar=False).reshape(n_columns, n_columns)
    values, vectors = np.linalg.eigh(covariance)
    largest = np.argsort(-values)[:_N_COMPONENTS]
    return values[largest], vectors[:, largest]


def _axes_of_wide(centered):
    """The same by random projections, whose time grows linearly with the columns; nearly exact."""
    n_components = min(_N_COMPONENTS, len(centered))
    _, lengths, axes = randomized_svd(centered, n_components, n_iter=_N_ITERATIONS, random_state=0)
    return lengths**2, axes.T


def _with_positive_peak(vectors):
    """The sign of an eigenvector is arbitrary: its largest entry is made positive, on every machine."""
    peak = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.sign(peak)


def learn_smooth(rows, rng):
    r"""Learn the smoothest functions on the neighborhood graph of scaled rows.

    With :math:`W` the symmetric graph of nearest neighbors and :math:`D` its degrees, the leading eigenvectors of
    :math:`D^{-1/2} W D^{-1/2}` vary least between neighbors. Where classes form clusters or manifolds, a few of them
    nearly determine the class. A new row takes the weighted mean over its neighbors.

    Parameters
    ----------
    rows : ndarray of shape (n_samples, n_columns)
    rng : RandomState
        Samples the rows of the graph if there are too many, and starts the eigensolver.

    Returns
    -------
    Smooth

    References
    ----------
    .. [1] M. Belkin, P. Niyogi. Semi-supervised learning on Riemannian manifolds. Machine Learning 56, 2004.
    """
    if len(rows) > _LARGEST_GRAPH:
        rows = rows[np.sort(rng.permutation(len(rows))[:_LARGEST_GRAPH])]
    rows = np.ascontiguousarray(rows)
    n = len(rows)
    k = min(_N_NEIGHBORS, n - 1)
    neighbor, length = RowSearch(rows, "euclidean", "exact", k).graph()
    width = np.maximum(length[:, -1], _TINY)
    weight = np.exp(-((length / width[:, None]) ** 2))
    edges = (np.repeat(np.arange(n), k), neighbor.ravel())
    graph = csr_array(coo_array((weight.ravel(), edges), shape=(n, n)))
    graph = (graph + graph.T) / 2
    root = 1.0 / np.sqrt(np.maximum(graph.sum(axis=0), _TINY))
    graph = graph.multiply(root[:, None]).multiply(root[None, :]).tocsr()
    n_functions = min(_N_SPECTRAL + 1, n - 1)
    start = rng.uniform(-1, 1, n)
    values, vectors = eigsh(graph, k=n_functions, which="LA", v0=start, tol=1e-6, maxiter=20 * n)
    # The first one is constant.
    order = np.argsort(-values)[1:]
    functions = vectors[:, order] * root[:, None]
    functions /= np.maximum(functions.std(axis=0), _TINY)
    # One neighbor more than in the graph: a row of the graph does not count as its own.
    return Smooth(rows, width, _with_positive_peak(functions), min(_N_NEIGHBORS + 1, n))


class Views:
    """The views of a table that members ask for, each learned once.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labeled : ndarray of int
        Positions of the labeled rows.
    seed : int
    """

    def __init__(self, X, labeled, seed):
        self._X = X
        self._labeled = labeled
        self._seed = seed
        self._learned = {}
        self._scaled = {}
        self._formulas = {("raw", LABELED): None, ("raw", ALL): None}
        self._tables = {("raw", LABELED): X, ("raw", ALL): X}

    def learn(self, members):
        """Learn the views of members; one that cannot be learned is an error for its members only."""
        for key in sorted({(m.view, m.learns) for m in members} - set(self._tables)):
            formula = attempt(self._formula, *key)
            self._formulas[key] = formula
            self._tables[key] = formula if isinstance(formula, Exception) else attempt(self._table, *key)
        # The tables of the views are all that is needed from here on.
        self._scaled.clear()

    def formula(self, member):
        """The view of a member; None stands for the table itself."""
        return self._formulas[member.view, member.learns]

    def table(self, member):
        """All rows, as a member sees them; the error that its view raised if it could not be learned."""
        table = self._tables[member.view, member.learns]
        if isinstance(table, Exception):
            raise table
        return table

    def _formula(self, name, source):
        scaled = self._part("scale", source)
        if name == "scaled":
            return scaled
        same = Select(np.arange(scaled.n_outputs), scaled.n_outputs)
        return Chain([scaled, Beside([same, *self._added(name, source)])])

    def _table(self, name, source):
        """What the formula of a view gives for all rows, with columns scaled once for all views."""
        scaled = self._scaled_rows(source)
        if name == "scaled":
            return scaled
        return np.hstack([scaled, *(block(scaled) for block in self._added(name, source))])

    def _added(self, name, source):
        """What a view has beside the scaled columns."""
        blocks = [self._part("components", source)]
        if name == "spectral":
            blocks.append(self._part("smooth", source))
        return blocks

    def _scaled_rows(self, source):
        """All rows, scaled by the rows of a source."""
        if source not in self._scaled:
            self._scaled[source] = self._part("scale", source)(self._X)
        return self._scaled[source]

    def _part(self, name, source):
        if (name, source) not in self._learned:
            self._learned[name, source] = self._learn_part(name, source)
        return self._learned[name, source]

    def _learn_part(self, name, source):
        rows = slice(None) if source == ALL else self._labeled
        if name == "scale":
            return learn_scale(self._X[rows])
        scaled = self._scaled_rows(source)[rows]
        if name == "components":
            return learn_components(scaled)
        return learn_smooth(scaled, check_random_state(self._seed))
