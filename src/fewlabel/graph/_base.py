"""What the graph classifiers share: rows as points, copies as one vertex, a graph of nearest neighbors."""

import warnings
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from fewlabel.base import Count, LabeledClassifier, ScoresClasses, Values, parametrized
from fewlabel.columns import choose_columns
from fewlabel.graph._space import learn_space, place
from fewlabel.graph._vertices import merge_copies
from fewlabel.neighbors import RowSearch
from fewlabel.parts.nearest import with_lead
from fewlabel.types import MatrixLike, Seed
from fewlabel.warning_filters import caller_level

_FEW = 0.5  # a warning follows if a smaller share of the rows is reached


@parametrized
class GraphClassifier(ScoresClasses, LabeledClassifier):
    """Base of classifiers on the graph of nearest neighbors of all rows.

    Subclasses implement

    - ``_label_vertices(votes, mass)``: learn from the graph of ``self._search``; the weight of the labeled rows of
      each class, and that of all rows, in each vertex. Returns the logarithms of the weights of the classes for each
      vertex, and the code of its class, -1 if no path leads to a label;
    - ``_extend(neighbors, lengths)``: the same for new rows with these neighbors.
    """

    _accept_sparse = True
    _allow_nan = True
    _dtypes = (np.float64,)

    n_neighbors: Count | Literal["auto"] = "auto"
    _: KW_ONLY
    scale: bool | Literal["range"] = True
    metric: Literal["euclidean", "cosine"] = "euclidean"
    categorical_features: Values | None = None
    algorithm: Literal["auto", "exact", "approximate"] = "auto"
    n_jobs: int | None = None
    random_state: Seed = None

    def _fit(self, X, codes, weight):
        names = getattr(self, "feature_names_in_", None)
        chosen = [] if self.categorical_features is None else self.categorical_features
        nominal = choose_columns(chosen, X.shape[1], names, parameter="categorical_features")
        self._space = learn_space(X, self.metric, self.scale, nominal)
        vertices, vertex = merge_copies(place(X, self._space, self.metric))
        # Sparse rows are stored as plain arrays, which can be saved.
        self._rows = (vertices.data, vertices.indices, vertices.indptr) if issparse(vertices) else vertices
        self._search = self._make_search()
        self.recall_ = self._search.recall
        # Copies are one vertex, which weighs as much as they do together.
        mass = np.bincount(vertex, weight)
        labeled = codes >= 0
        votes = np.zeros((len(mass), len(self.classes_)))
        label_weight = 1.0 if weight is None else weight[labeled]
        np.add.at(votes, (vertex[labeled], codes[labeled]), label_weight)
        # The vertices with a label, and their class: that of most of the labeled rows.
        self._sources = np.flatnonzero(votes.any(axis=1))
        self._source_codes = votes[self._sources].argmax(axis=1)
        logs, vertex_codes = self._label_vertices(votes, mass.astype(np.float64))
        self._describe_rows(codes, vertex, logs, vertex_codes)

    def _describe_rows(self, codes, vertex, logs, vertex_codes):
        """Set the attributes of the training rows."""
        labeled = codes >= 0
        self.reached_ = vertex_codes[vertex] >= 0
        logs, vertex_codes = self._complete(logs, vertex_codes, self._search.rows)
        row_codes = np.where(labeled, codes, vertex_codes[vertex])
        self.transduction_ = self.classes_[row_codes]
        self.label_distributions_ = np.exp(logs[vertex])
        self.label_distributions_[labeled] = np.eye(len(self.classes_))[codes[labeled]]
        reached = self.reached_[~labeled]
        if reached.size and reached.mean() < _FEW:
            warnings.warn(
                f"only {reached.mean():.0%} of the unlabeled rows are connected with a labeled row; the others get the "
                "class of the nearest labeled row. Increase n_neighbors, or label rows in more regions",
                UserWarning,
                stacklevel=caller_level(),
            )

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Compute the weight of each class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            The weights; they sum to 1. Equal for all classes if a row has no connection with a labeled row.
        """
        return np.exp(self._scores(X))

    def _class_scores(self, X):
        """Logarithms of the weights of the classes: they rank rows even if the weights are rounded to 0 or 1."""
        rows = place(X, self._space, self.metric)
        # A loaded model has no search yet.
        if not hasattr(self, "_search"):
            self._search = self._make_search()
        neighbors, lengths = self._search.query(rows)
        logs, _ = self._complete(*self._extend(neighbors, lengths), rows)
        # The difference of two stays finite.
        return np.maximum(logs, -np.finfo(np.float64).max / 4)

    def _complete(self, logs, codes, rows):
        """Rows that are not reached: the class of the nearest labeled row, with as little certainty as there can be."""
        codes = codes.copy()
        far = np.flatnonzero(codes < 0)
        if far.size:
            codes[far] = self._source_codes[self._nearest_source(rows[far])]
        return with_lead(logs, codes, far), codes

    def _nearest_source(self, rows):
        """Position in `_sources` of the labeled vertex nearest to each row."""
        sources = self._search.rows[self._sources]
        nearest, _ = RowSearch(sources, self.metric, "auto", 1).query(rows)
        return nearest[:, 0]

    def _make_search(self):
        rows = self._rows
        if isinstance(rows, tuple):
            rows = csr_array(rows, shape=(len(rows[2]) - 1, self.n_features_in_))
            # They may come from a file, and compiled code does not check them.
            rows.check_format(full_check=True)
        k = self._n_searched(rows.shape[0])
        return RowSearch(rows, self.metric, self.algorithm, k, self.n_jobs, self.random_state)

    def _check_loaded(self):
        """Raise a ValueError if the rows are not of the type that the kernels are compiled for."""
        if self._make_search().rows.dtype != np.float64:
            raise ValueError("the rows of the graph are not float64: the model is damaged, fit it again")

    def _n_searched(self, n_vertices):
        """Number of neighbors to search for."""
        return self.n_neighbors

    def __getstate__(self):
        state = dict(super().__getstate__())
        # Search trees are compiled objects: they are rebuilt from the rows.
        state.pop("_search", None)
        return state
