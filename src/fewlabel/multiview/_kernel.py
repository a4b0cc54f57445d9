"""MVL-LS and MVL-SVM: one function per view, similar between views and smooth within each."""

from dataclasses import KW_ONLY
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.class_weight import compute_class_weight

from fewlabel.base import Count, Positive, fit_context, parametrized
from fewlabel.multiview._model import (
    MultiviewClassifier,
    mean_auc,
)
from fewlabel.multiview._system import LabeledRows
from fewlabel.types import MatrixLike


@parametrized
class MultiviewKernelClassifier(MultiviewClassifier):
    r"""Kernel machine with one function per view, which learns from unlabeled rows too (MVL-LS, MVL-SVM).

    Columns are grouped into m views. Each view has a function :math:`f^v` in the space of its kernel, and the output is
    their weighted sum :math:`h(x) = \sum_v c_v f^v(x)`. Over l labeled rows out of N,

    .. math::

        \min_f \ \frac1l \sum_{i \le l} V(y_i, h(x_i)) + \gamma_A \sum_v |f^v|^2
        + \frac{\gamma_B}{N} \sum_{i \le N} \sum_{v < w} |f^v(x_i) - f^w(x_i)|^2
        + \frac{\gamma_W}{N} \sum_v \sum_{i, j \le N} L^v_{ij} \langle f^v(x_i), f^v(x_j) \rangle .

    The third term makes the views agree on all rows; the fourth, with the Laplacian :math:`L^v` of a graph over the
    rows in a view, makes each function smooth where rows are dense. The loss V is :math:`|r_y - h|^2` with
    :math:`r_y` of +1 for the class and -1 for the others, or the hinge
    :math:`\sum_{k \ne y} \max(0, \frac{1}{K-1} + \langle s_k, h \rangle)` around the corners :math:`s_k` of a simplex,
    which for two classes is the usual hinge.

    With one view it is LapRLS ("squared") or LapSVM ("hinge"). With :math:`\gamma_B = \gamma_W = 0` unlabeled rows
    have no effect.

    It helps if each view alone would be sufficient to predict the class, given enough labels. If only one view is
    informative, agreement with the others reduces the accuracy: compare with :math:`\gamma_B = 0` on held-out labels.

    Parameters
    ----------
    loss : {"squared", "hinge"}, default="squared"
        MVL-LS or MVL-SVM.
    views : list of lists, VariableClusterer or None, default=None
        The columns of each view, by name or position; they may overlap. A `VariableClusterer`, or None for one with
        default settings, clusters the columns into views.
    gamma_A : float or "auto", default=1e-2
        Penalty on the norm of the functions. "auto" chooses it from 0.001 to 1 by the AUC of held-out labeled rows.
    gamma_B : float or "auto", default=0.1
        Penalty on disagreement between views; "auto" chooses it from 0 to 1.
    gamma_W : float or "auto", default=0.1
        Penalty on roughness within views; "auto" chooses it from 0 to 1. With all three at "auto" ten models are
        fitted, one penalty after the other.
    view_weights : "uniform" or array-like of shape (n_views,), default="uniform"
        The weights :math:`c`.
    class_weight : "balanced", dict or None, default=None
        Weight of each class in the loss. "balanced" gives all classes the same total weight.
    length_scale : float, or "median", default="median"
        :math:`\sigma` of the Gaussian kernel; "median" means the median distance between rows in each view.
    n_neighbors : int, default=10
        Number of neighbors of a row in the graph of a view, which connects them in both directions, with
        :math:`L = D - A`; all other rows if there are fewer.
    approximation : {"auto", "nystroem"} or None, default="auto"
        None is exact, with kernel functions at all rows. "nystroem" uses kernel functions at `n_components` rows.
        "auto" is exact up to 2,000 rows times views.
    n_components : int, default=500
        Number of rows that "nystroem" draws, the same in all views; up to half of them labeled, evenly by class.
    scale : bool, default=True
        Whether to scale all columns to mean 0 and standard deviation 1 over the rows that are used.
    tol : float, default=1e-6
        Duality gap at which "hinge" stops; the objective is at most 1 at the start.
    max_iter : int, default=2000
        Largest number of passes of "hinge" over the labeled rows.
    random_state : int, RandomState instance or None, default=None
        Draws rows for "nystroem", for the median distance among more than 1,000 rows, and for clustering the columns.
        These rows, and the folds for `slope_`, depend on the order of the rows.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    views_ : list of ndarray
        Columns of each view; views with constant columns only are dropped.
    view_weights_ : ndarray of shape (n_views,)
        The weights :math:`c`.
    gamma_A_, gamma_B_, gamma_W_ : float
        The penalties that were used.
    clusterer_ : VariableClusterer or None
        The fitted clusterer, if the views were not passed.
    length_scales_ : ndarray of shape (n_views,)
        :math:`\sigma` of each view.
    landmarks_ : list of ndarray of shape (n_landmarks, n_columns_of_view)
        Scaled rows at which the kernel functions of each view are centered.
    dual_coef_ : list of ndarray of shape (n_landmarks, n_outputs)
        Their coefficients, times the weight of the view.
    held_out_decision_ : ndarray of shape (n_labeled,) or (n_labeled, n_classes)
        Decision for each labeled row, in the order of the table, by a model fitted to four fifths of the labels without
        its own: an unbiased score at little cost, because the penalties do not change.
    slope_ : float
        Slope of the log-odds in the outputs.
    class_weight_ : ndarray of shape (n_classes,)
        Weights of the classes, relative to their mean.
    n_iter_ : int
        Number of passes of "hinge"; 1 for "squared".
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    BalancedMultiviewClassifier : An ensemble on balanced groups of imbalanced data.
    VariableClusterer : Clusters columns into views.

    Notes
    -----
    The penalties are means over the rows, whereas [1]_ uses sums, which grow with every unlabeled row. The
    values of [1]_ correspond to :math:`\gamma_B / N` and :math:`\gamma_W / N` here.

    Two corrections to [1]_: equation 5 lacks a factor l before :math:`\gamma_B`, without which the gradient of the
    objective does not vanish, and the dual of the hinge lacks the bounds :math:`0 \le \alpha_{ik} \le 1/l`, without
    which it has no minimum.

    In coordinates where the norm of a function equals that of its coefficients, the penalties form one positive
    definite matrix H. Its Cholesky factor reduces the problem to a linear one of the size of the labeled rows, for both
    losses. H has one row per landmark and view: an exact fit takes time cubic in the rows, "nystroem" linear time.

    References
    ----------
    .. [1] Cui, W., Chen, W. and Cheng, H. "A multi-view based semi-supervised classifier with co-regularization for
       imbalanced data." Journal of University of Science and Technology of China 50(5), 596-604, 2020 (in Chinese),
       equations 1 to 6.
    .. [2] Minh, H. Q., Bazzani, L. and Murino, V. "A unifying framework in vector-valued reproducing kernel Hilbert
       spaces for manifold regularization and co-regularized multi-view learning." Journal of Machine Learning Research
       17, 2016.
    .. [3] Belkin, M., Niyogi, P. and Sindhwani, V. "Manifold regularization: a geometric framework for learning from
       labeled and unlabeled examples." Journal of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from fewlabel import MultiviewKernelClassifier, hide_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> few = hide_labels(y, labeled=0.2, random_state=0)
    >>> model = MultiviewKernelClassifier(random_state=0).fit(X, few)
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    >>> [view.tolist() for view in model.views_]
    [[0, 4, 9, 12], [1, 5, 6, 7, 8, 10, 11], [2, 3]]
    """

    _: KW_ONLY
    class_weight: Literal["balanced"] | dict | None = None
    tol: Positive = 1e-6
    max_iter: Count = 2000

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: MatrixLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Labeled and unlabeled rows.
        y : array-like of shape (n_samples,)
            The class of each row; ``-1`` (in a numeric `y`), ``NaN`` or ``None`` for unlabeled rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the labeled rows in the loss. Rows of weight 0, labeled or not, are ignored. A row of weight 2 is
            not the same as a repeated row, which also counts twice in the penalties.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._fit(*self._read_rows(X, y, sample_weight))
        return self

    def _fit(self, X, codes, sample_weight):
        space, codes, origin = self._prepare(X, codes)
        positions = np.flatnonzero(codes >= 0)
        codes = codes[positions]
        class_weight = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_[codes])
        weight = class_weight[codes]
        if sample_weight is not None:
            weight = weight * sample_weight[origin[positions]]
        labeled = LabeledRows(positions, codes, weight / weight.sum())
        loss = self._make_loss(tol=self.tol, max_iter=self.max_iter)

        def learn(penalties):
            return space.learn(np.arange(space.n_rows), labeled, loss, penalties, self.view_weights_)

        def score_of(penalties):
            _, held_out = learn(penalties)
            return mean_auc(held_out @ self._readout, codes, labeled.weight)

        penalties = self._choose_penalties(score_of)
        coefficients, held_out = learn(penalties)
        self._keep(space, coefficients, held_out, codes, class_weight)
        outputs = held_out @ self._readout
        self.held_out_decision_ = outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs
        self.n_iter_ = loss.n_iter
