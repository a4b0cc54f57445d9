"""ClustOfVar: clustering of correlated columns."""

from dataclasses import KW_ONLY
from itertools import combinations
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.linalg import eigh
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fewlabel.base import AtLeastTwo, Count, Values, fit_context, parametrized
from fewlabel.columns import as_table
from fewlabel.multiview import _coding as coding
from fewlabel.types import MatrixLike, Seed

# Mean Rand indices that differ by less count as equal: noise columns make many numbers nearly as stable.
_AS_STABLE = 0.02
_MOST_ROWS = 10_000  # more of them hardly change a correlation


@parametrized
class VariableClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""Cluster numeric and categorical columns around their first principal components (ClustOfVar, k-means).

    The center of a cluster :math:`g` is the first principal component :math:`f_g` of its columns, and its homogeneity
    is the largest eigenvalue :math:`\lambda_g`. The partition maximizes

    .. math::

        \sum_g \lambda_g = \sum_g \sum_{j \in g} s(x_j, f_g), \qquad s(x_j, f) = r^2(x_j, f)
        \ \text{or}\ \eta^2(f \mid x_j),

    the squared correlation of a numeric column and the correlation ratio of a categorical one. Columns are
    assigned to the most similar center, and the centers are recomputed, until no column moves.

    Once the correlations are computed, the time does not depend on the number of rows.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters. None chooses the number whose partition is most stable between bootstrap samples of the
        rows; among those within 0.02 of the best, the smallest.
    max_clusters : int, default=10
        Largest number that is tried if `n_clusters` is None; never more than half of the columns, because partitions
        into almost single columns are always similar. With fewer than four columns there is one cluster.
    categorical_features : "auto" or array-like, default="auto"
        Categorical columns, as names, positions or a mask. "auto" means the columns of a data frame that hold text,
        categories or booleans, and those of an array that do not hold numbers.
    n_init : int, default=10
        Number of starts, of which the one with the largest :math:`\sum \lambda` is kept. The first is a cut of an
        average-linkage tree of the columns, the others start from random columns.
    max_iter : int, default=150
        Largest number of passes per start.
    n_bootstraps : int, default=50
        Number of bootstrap samples, each clustered from its own tree.
    random_state : int, RandomState instance or None, default=None
        Draws rows (10,000 if there are more), starts and bootstrap samples, by position, so that the order of the rows
        matters.

    Attributes
    ----------
    labels_ : ndarray of shape (n_features,)
        Cluster of each column, numbered in the order of the columns; -1 for a constant column, which is in none.
    n_clusters_ : int
        Number of clusters.
    similarities_ : ndarray of shape (n_features,)
        Similarity of each column to the center of its cluster; 0 for a constant column.
    homogeneities_ : ndarray of shape (n_clusters,)
        The eigenvalues :math:`\lambda_g`.
    explained_ : float
        :math:`(\sum_g \lambda_g - \lambda) / (p - \lambda)`, where :math:`\lambda` is the eigenvalue of one cluster of
        all p columns: 0 for one cluster, 1 if every column equals its center.
    stability_ : ndarray of shape (n_tried, 2)
        Number of clusters, and mean adjusted Rand index between the partition on all rows and those on bootstrap
        samples; empty if `n_clusters` is set.
    n_iter_ : int
        Number of passes of the best start.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Notes
    -----
    Missing numbers are replaced by the mean, and a missing category belongs to no level. `transform` returns the
    component of each cluster, whose variance is :math:`\lambda_g`; levels that were not seen in `fit` count as missing.

    The R package [1]_ chooses the number of clusters with its own hierarchical method. Here each bootstrap sample is
    clustered by k-means from an average-linkage tree, which takes seconds instead of hours. An empty cluster gets the
    column that is least similar to its own center.

    References
    ----------
    .. [1] Chavent, M., Kuentz-Simonet, V., Liquet, B. and Saracco, J. "ClustOfVar: an R package for the clustering of
       variables." Journal of Statistical Software 50(13), 2012.
    .. [2] Cui, W., Chen, W. and Cheng, H. "A multi-view based semi-supervised classifier with co-regularization for
       imbalanced data." Journal of University of Science and Technology of China 50(5), 596-604, 2020 (in Chinese),
       remark 2 of section 1.1.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabel import VariableClusterer
    >>> rng = np.random.default_rng(0)
    >>> income, age = rng.normal(size=(2, 300, 1))
    >>> X = np.hstack([income, age, -income, age]) + 0.3 * rng.normal(size=(300, 4))
    >>> VariableClusterer(random_state=0).fit(X).labels_
    array([0, 1, 0, 1])
    """

    n_clusters: Count | None = None
    _: KW_ONLY
    max_clusters: AtLeastTwo = 10
    categorical_features: Values | Literal["auto"] = "auto"
    n_init: Count = 10
    max_iter: Count = 150
    n_bootstraps: Count = 50
    random_state: Seed = None

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Cluster the columns.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows. Missing values are allowed.
        y : object, default=None
            Ignored.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rng = check_random_state(self.random_state)
        table = as_table(self, X, reset=True)
        self._codings = coding.learn_coding(table, self.categorical_features)
        Z = coding.code(table, self._codings)
        varying, owner = np.unique(coding.owners(self._codings), return_inverse=True)
        self._check_number(len(varying))
        if len(Z) > _MOST_ROWS:
            Z = Z[rng.choice(len(Z), _MOST_ROWS, replace=False)]
        C = coding.correlations_of_sample(Z, np.ones(len(Z)), self._codings)
        self.stability_ = np.empty((0, 2))
        n_clusters = self.n_clusters or self._choose_number(Z, C, owner, rng)
        best = self._best_partition(C, owner, n_clusters, rng)
        self._keep(best, C, varying)
        return self

    def transform(self, X: MatrixLike) -> np.ndarray:
        """Compute the first component of each cluster.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_clusters)
            The components.
        """
        check_is_fitted(self)
        return coding.code(as_table(self, X, reset=False), self._codings) @ self._loadings

    def _check_number(self, n_columns):
        if n_columns == 0:
            raise ValueError("every column of X is constant, so there is nothing to cluster: check the table")
        if self.n_clusters is not None and self.n_clusters > n_columns:
            raise ValueError(
                f"n_clusters={self.n_clusters} is more than the {n_columns} non-constant column(s): lower it"
            )

    def _choose_number(self, Z, C, owner, rng):
        n_columns = owner.max() + 1
        tried = np.arange(2, min(self.max_clusters, n_columns // 2) + 1)
        if len(tried) == 0:
            return 1
        on_all_rows = self._partitions_from_tree(C, owner, tried)
        n_rows = len(Z)
        scores = np.zeros((self.n_bootstraps, len(tried)))
        for b in range(self.n_bootstraps):
            drawn = rng.randint(n_rows, size=n_rows)
            counts = np.bincount(drawn, minlength=n_rows)
            C_drawn = coding.correlations_of_sample(Z, counts, self._codings)
            on_sample = self._partitions_from_tree(C_drawn, owner, tried)
            for i, (whole, sample) in enumerate(zip(on_all_rows, on_sample)):
                scores[b, i] = adjusted_rand_score(whole.labels, sample.labels)
        means = scores.mean(axis=0)
        self.stability_ = np.column_stack([tried, means])
        return int(tried[means >= means.max() - _AS_STABLE][0])

    def _partitions_from_tree(self, C, owner, numbers_of_clusters):
        return [_improve(C, owner, cut, self.max_iter) for cut in _cuts(C, owner, numbers_of_clusters)]

    def _best_partition(self, C, owner, n_clusters, rng):
        best = self._partitions_from_tree(C, owner, [n_clusters])[0]
        n_columns = owner.max() + 1
        if n_clusters in (1, n_columns):
            return best
        alike = _similarities(C, owner)
        for _ in range(self.n_init - 1):
            centers = rng.choice(n_columns, n_clusters, replace=False)
            start = alike[:, centers].argmax(axis=1)
            start[centers] = np.arange(n_clusters)
            partition = _improve(C, owner, start, self.max_iter)
            # The same partition from another start may be larger by rounding.
            if partition.values.sum() > best.values.sum() * (1 + 1e-9):
                best = partition
        return best

    def _keep(self, partition, C, varying):
        _, first_columns = np.unique(partition.labels, return_index=True)
        # Clusters in the order of their first column.
        order = np.argsort(first_columns)
        rank = np.argsort(order)
        self.n_clusters_ = len(order)
        self.labels_ = np.full(self.n_features_in_, -1)
        self.labels_[varying] = rank[partition.labels]
        self.similarities_ = np.zeros(self.n_features_in_)
        self.similarities_[varying] = partition.similarity_to(partition.labels)
        self.homogeneities_ = partition.values[order]
        whole, _ = _top(C)
        spread = len(varying) - whole
        self.explained_ = float((partition.values.sum() - whole) / spread) if spread > 1e-9 else 1.0
        self._loadings = partition.vectors[:, order]
        self._n_features_out = self.n_clusters_
        self.n_iter_ = partition.n_iter

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class _Partition(NamedTuple):
    """Clusters of columns with their centers.

    Attributes
    ----------
    labels : ndarray of shape (n_columns,)
        Cluster of each column.
    values : ndarray of shape (n_clusters,)
        Largest eigenvalue of each cluster.
    vectors : ndarray of shape (n_coded_columns, n_clusters)
        Their eigenvectors.
    alike : ndarray of shape (n_columns, n_clusters)
        Similarity of each column to each center.
    n_iter : int
        Passes that it took.
    """

    labels: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    alike: np.ndarray
    n_iter: int

    def similarity_to(self, labels):
        """Similarity of each column to the center of a cluster."""
        return self.alike[np.arange(len(labels)), labels]


def _partition(C, owner, labels, n_iter):
    """Compute the centers of clusters."""
    n_clusters = labels.max() + 1
    values = np.empty(n_clusters)
    vectors = np.zeros((len(C), n_clusters))
    for g in range(n_clusters):
        own = np.flatnonzero(labels[owner] == g)
        values[g], vector = _top(C[np.ix_(own, own)])
        # An eigenvector has no sign: the largest entry is made positive.
        vectors[own, g] = vector * np.sign(vector[np.abs(vector).argmax()])
    coded_alike = (C @ vectors) ** 2 / values
    alike = np.array([np.bincount(owner, weights=column) for column in coded_alike.T]).T
    return _Partition(labels, values, vectors, alike, n_iter)


def _improve(C, owner, labels, max_iter):
    """Assign columns to the most similar center until none moves."""
    current = _partition(C, owner, labels, 0)
    for n_iter in range(1, max_iter + 1):
        nearest = current.alike.argmax(axis=1)
        # Rounding errors alone must not send a column back and forth between two centers.
        is_better = current.similarity_to(nearest) > current.similarity_to(current.labels) * (1 + 1e-12)
        moved = np.where(is_better, nearest, current.labels)
        _fill_empty(moved, current)
        if (moved == current.labels).all():
            return current._replace(n_iter=n_iter)
        current = _partition(C, owner, moved, n_iter)
    return current


def _fill_empty(labels, partition):
    """Give each empty cluster the column that fits worst among those not alone in their cluster."""
    n_clusters = len(partition.values)
    for g in range(n_clusters):
        sizes = np.bincount(labels, minlength=n_clusters)
        if sizes[g] == 0:
            movable = np.where(sizes[labels] > 1, partition.similarity_to(labels), np.inf)
            labels[movable.argmin()] = g


def _top(C):
    """Largest eigenvalue and its eigenvector."""
    last = len(C) - 1
    values, vectors = eigh(C, subset_by_index=[last, last], check_finite=False)
    return values[0], vectors[:, 0]


def _similarities(C, owner):
    """Squared correlation, correlation ratio, or squared first canonical correlation of all pairs of columns."""
    n_columns = owner.max() + 1
    owns = np.zeros((n_columns, len(C)))
    owns[owner, np.arange(len(C))] = 1.0
    # Correct if one of the pair is numeric, with one column in C.
    alike = owns @ C**2 @ owns.T
    categorical = np.flatnonzero(np.bincount(owner) > 1)
    for i, j in combinations(categorical, 2):
        largest_singular_value = np.linalg.norm(C[np.ix_(owner == i, owner == j)], 2)
        alike[i, j] = alike[j, i] = largest_singular_value**2
    alike[np.diag_indices(n_columns)] = 1.0
    return np.clip(alike, 0.0, 1.0)


def _cuts(C, owner, numbers_of_clusters):
    """Cuts of an average-linkage tree of the columns into each of the numbers of clusters."""
    alike = _similarities(C, owner)
    if len(alike) == 1:
        return [np.zeros(1, dtype=np.int64)]
    tree = linkage(squareform(1.0 - alike, checks=False), "average")
    return list(cut_tree(tree, numbers_of_clusters).T.astype(np.int64))
