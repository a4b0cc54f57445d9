"""Views of a table: missing values filled, columns scaled, and features learned from the rows without their labels."""

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import eigsh
from sklearn.utils import check_random_state

from fewlabel.auto.attempts import attempt
from fewlabel.auto.members import ALL, LABELED
from fewlabel.neighbors import RowSearch

_SOFT_LIMIT = 4.0  # standard deviations; larger values are compressed, so that outliers have little leverage
_PASSES = 5  # of the search for the scale
_N_COMPONENTS = 10
_N_SPECTRAL = 12
_N_NEIGHBORS = 10
_LARGEST_GRAPH = 3000  # rows of the neighborhood graph; more make it slower but its eigenvectors no better


class ScaledView:
    """Missing values replaced by the median and flagged in extra columns; then mean 0, variance 1, outliers compressed.

    Mean and variance are those of the compressed column: with those of the column itself, a few huge values would
    leave no differences between the others.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows to learn medians and scales from; NaN marks a missing value.
    """

    def __init__(self, X):
        gaps = np.isnan(X)
        self.fill = np.array([0.0 if gap.all() else np.median(x[~gap]) for x, gap in zip(X.T, gaps.T)])
        self.gappy = np.flatnonzero(gaps.any(axis=0))
        filled = self._filled(X)
        self.mean = filled.mean(axis=0)
        spread = filled.std(axis=0)
        varies = np.isfinite(spread) & (spread > 1e-12 * np.maximum(np.abs(self.mean), 1.0))
        self.spread = np.where(varies, spread, np.inf)
        for _ in range(_PASSES):
            z = self._compressed(filled[:, varies], varies)
            self.mean[varies] += z.mean(axis=0) * self.spread[varies]
            self.spread[varies] *= z.std(axis=0)

    def transform(self, X):
        """The rows, scaled."""
        return self._compressed(self._filled(X))

    def _compressed(self, filled, columns=slice(None)):
        z = filled - self.mean[columns]
        z /= self.spread[columns]
        size = z / _SOFT_LIMIT
        size *= size
        size += 1.0
        z /= np.sqrt(size, out=size)
        return z

    def _filled(self, X):
        gaps = np.isnan(X)
        filled = np.where(gaps, self.fill, X) if gaps.any() else X
        return np.hstack([filled, gaps[:, self.gappy]]) if len(self.gappy) else filled


class ComponentsView:
    """The scaled columns and the leading principal components of the rows.

    Parameters
    ----------
    scaled : ScaledView
    rows : ndarray
        Scaled rows to learn the components from.
    """

    def __init__(self, scaled, rows):
        self.scaled = scaled
        self.center = rows.mean(axis=0)
        # Eigenvectors of the covariance: exact, and cheap for the number of columns that tables have.
        covariance = np.cov(rows - self.center, rowvar=False).reshape(rows.shape[1], rows.shape[1])
        values, vectors = np.linalg.eigh(covariance)
        kept = [k for k in np.argsort(-values)[:_N_COMPONENTS] if values[k] > 1e-9 * max(values.max(), 1e-300)]
        vectors = vectors[:, kept]
        # The sign of an eigenvector is arbitrary: the largest entry is made positive, on every machine.
        self.axes = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(kept))])

    def transform(self, X):
        """The rows: scaled columns, then components."""
        return self._extend(self.scaled.transform(X))

    def _extend(self, z):
        return np.hstack([z, (z - self.center) @ self.axes])


class SpectralView:
    r"""Scaled columns, principal components, and the smoothest functions on the neighborhood graph of the rows.

    With :math:`W` the symmetric graph of nearest neighbors and :math:`D` its degrees, the leading eigenvectors of
    :math:`D^{-1/2} W D^{-1/2}` vary least between neighbors. Where classes form clusters or manifolds, a few of them
    nearly determine the class. A new row takes the weighted mean over its neighbors.

    Parameters
    ----------
    components : ComponentsView
    rows : ndarray
        Scaled rows to learn from.
    rng : RandomState
        Samples the rows of the graph if there are too many, and starts the eigensolver.

    References
    ----------
    .. [1] M. Belkin, P. Niyogi. Semi-supervised learning on Riemannian manifolds. Machine Learning 56, 2004.
    """

    def __init__(self, components, rows, rng):
        self.components = components
        if len(rows) > _LARGEST_GRAPH:
            rows = rows[np.sort(rng.permutation(len(rows))[:_LARGEST_GRAPH])]
        self.rows = np.ascontiguousarray(rows)
        k = min(_N_NEIGHBORS, len(rows) - 1)
        found, lengths = RowSearch(self.rows, "euclidean", "brute", k).graph()
        self.width = np.maximum(lengths[:, -1], 1e-12)
        weight = np.exp(-((lengths / self.width[:, None]) ** 2))
        n = len(rows)
        graph = csr_array(coo_array((weight.ravel(), (np.repeat(np.arange(n), k), found.ravel())), shape=(n, n)))
        graph = (graph + graph.T) / 2
        root = 1.0 / np.sqrt(np.maximum(graph.sum(axis=0), 1e-12))
        graph = graph.multiply(root[:, None]).multiply(root[None, :]).tocsr()
        n_functions = min(_N_SPECTRAL + 1, n - 1)
        values, vectors = eigsh(graph, k=n_functions, which="LA", v0=rng.uniform(-1, 1, n), tol=1e-6, maxiter=20 * n)
        order = np.argsort(-values)[1:]  # the first one is constant
        functions = vectors[:, order] * root[:, None]
        functions /= np.maximum(functions.std(axis=0), 1e-12)
        self.functions = functions * np.sign(functions[np.abs(functions).argmax(axis=0), np.arange(len(order))])

    def transform(self, X):
        """The rows: scaled columns, components, smooth functions."""
        z = self.components.scaled.transform(X)
        return np.hstack([self.components._extend(z), self.smooth(z)])

    def smooth(self, z):
        """The smooth functions at scaled rows; a row of the graph does not count as its own neighbor."""
        k = min(_N_NEIGHBORS + 1, len(self.rows))
        found, lengths = RowSearch(self.rows, "euclidean", "brute", k).query(z)
        weight = np.exp(-((lengths / self.width[found]) ** 2)) + 1e-12
        weight[lengths == 0] = 1e-12
        weight /= weight.sum(axis=1, keepdims=True)
        return (weight[:, :, None] * self.functions[found]).sum(axis=1)


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
        self._learned = {("raw", LABELED): None, ("raw", ALL): None}
        self._tables = {("raw", LABELED): X, ("raw", ALL): X}

    def learn(self, members):
        """Learn the views of members; one that cannot be learned is an error for its members only."""
        for key in sorted({(m.view, m.learns) for m in members} - set(self._tables)):
            view = attempt(self._learn, *key)
            self._tables[key] = view if isinstance(view, Exception) else attempt(view.transform, self._X)

    def of(self, member):
        """The view of a member; None stands for the table itself."""
        return self._learned[member.view, member.learns]

    def table(self, member):
        """All rows, as a member sees them; the error that its view raised if it could not be learned."""
        table = self._tables[member.view, member.learns]
        if isinstance(table, Exception):
            raise table
        return table

    def _learn(self, name, source):
        if (name, source) not in self._learned:
            self._learned[name, source] = self._new(name, source)
        return self._learned[name, source]

    def _new(self, name, source):
        rows = self._X if source == ALL else self._X[self._labeled]
        if name == "scaled":
            return ScaledView(rows)
        if name == "components":
            scaled = self._learn("scaled", source)
            return ComponentsView(scaled, scaled.transform(rows))
        components = self._learn("components", source)
        return SpectralView(components, components.scaled.transform(rows), check_random_state(self._seed))
