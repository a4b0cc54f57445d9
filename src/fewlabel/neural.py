"""uPU and nnPU with a multilayer perceptron. Fitting needs PyTorch; a fitted model predicts with NumPy."""

from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Literal

import numpy as np

from fewlabel.base import Count, NonNegative, Positive, RankingClassifier, UnitInterval, Values, parametrized
from fewlabel.positive_unlabeled import PositiveUnlabeled
from fewlabel.random_streams import draw_seed
from fewlabel.types import Seed

__all__ = ["NeuralPUClassifier"]

_ACTIVATIONS = {"relu": lambda z: np.maximum(z, 0.0), "softsign": lambda z: z / (1.0 + np.abs(z))}


@parametrized
class NeuralPUClassifier(PositiveUnlabeled, RankingClassifier):
    r"""Multilayer perceptron for positive and unlabeled rows (uPU, nnPU); needs PyTorch.

    Minimizes, for a network :math:`g`, with Adam on mini-batches,

    .. math::

        \pi\, \overline{\ell(g)}_P + \Big[ \overline{\ell(-g)}_U - \pi\, \overline{\ell(-g)}_P \Big] .

    The bracket estimates the risk of the negatives. A network that memorizes the labeled positives can drive it far
    below zero. ``risk="nnpu"`` takes a step in the opposite direction whenever that happens in a batch.

    Parameters
    ----------
    risk : {"nnpu", "upu"}, default="nnpu"
        Non-negative or unbiased risk.
    loss : {"sigmoid", "logistic", "squared"}, default="sigmoid"
        The loss :math:`\ell`.
    prior : float, default=None
        P(y = positive) among the unlabeled rows, :math:`\pi`. None means that it is estimated as by
        `estimate_class_prior`.
    hidden_layer_sizes : tuple of int, default=(100,)
        Width of each hidden layer. The paper uses (100,) for small datasets and four layers of 300 for large ones.
    activation : {"relu", "softsign"}, default="relu"
        Activation of the hidden layers.
    batch_norm : bool, default=False
        Whether to scale the inputs of the activations to mean 0 and variance 1, in a batch by the batch, and in the
        fitted model by all training rows.
    alpha : float, default=0.005
        Weight decay.
    beta : float, default=0.0
        nnPU reverses the step if the risk of the negatives in a batch is below ``-beta``.
    reverse_step : float, default=1.0
        Size of the reversed step, relative to an ordinary one; at most 1. The paper's :math:`\gamma`.
    learning_rate : float, default=0.001
        Learning rate of Adam.
    batch_size : int, default=1000
        Rows per mini-batch, positives and unlabeled rows together. Every batch holds both, in the proportion of all
        rows; positives are repeated if there are fewer of them than batches.
    max_iter : int, default=100
        Number of passes over the rows.
    threshold : {"prior", "zero"}, default="prior"
        "prior": predict the prior's share of the unlabeled training rows as positive. "zero": use the sign of
        :math:`g`.
    random_state : int, RandomState instance or None, default=None
        Draws the initial weights, the batches, and the folds for the estimate of the prior. Batches count rows, so that
        a row of weight 2 is not the same as a repeated row.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes, sorted.
    positive_ : int
        Position of the positive class.
    prior_ : float
        The prior that was used.
    coefs_, intercepts_ : list of ndarray
        Weights of each layer.
    shift_, scale_ : ndarray of shape (n_features,)
        Mean and divisor of the columns.
    loss_curve_ : ndarray of shape (n_iter,)
        Mean risk of the batches of each pass.
    n_iter_ : int
        Number of passes.
    offset_ : float
        Added to the score, so that 0 is the threshold of `predict`.
    calibration_ : ndarray of shape (2,)
        Slope and intercept of the log-odds of the positive class in its score.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    LinearPUClassifier : The same risks with a linear model; does not need PyTorch.

    References
    ----------
    .. [1] Kiryo, R., Niu, G., du Plessis, M. C. and Sugiyama, M. "Positive-unlabeled learning with non-negative risk
       estimator." Advances in Neural Information Processing Systems 30, 2017, algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fewlabel import NeuralPUClassifier, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y_pu = hide_labels(y, labeled=100, mechanism="positives-only", random_state=0)
    >>> model = NeuralPUClassifier(prior=0.55, random_state=0)
    >>> model.fit(X, y_pu).predict(X[:1])  # doctest: +SKIP
    array([0])
    """

    risk: Literal["nnpu", "upu"] = "nnpu"
    _: KW_ONLY
    loss: Literal["sigmoid", "logistic", "squared"] = "sigmoid"
    hidden_layer_sizes: Values = (100,)
    activation: Literal["relu", "softsign"] = "relu"
    batch_norm: bool = False
    alpha: NonNegative = 0.005
    beta: NonNegative = 0.0
    reverse_step: UnitInterval = 1.0
    learning_rate: Positive = 0.001
    batch_size: Count = 1000
    max_iter: Count = 100
    random_state: Seed = None

    def _fit(self, X, signs, weight):
        torch = _import_torch()
        self.prior_ = self._find_prior(X, signs, weight)
        seed = draw_seed(self.random_state)
        rng = np.random.default_rng(seed)
        spread = X.std(axis=0, dtype=np.float64)
        is_flat = spread <= np.finfo(float).tiny
        self.shift_ = X.mean(axis=0, dtype=np.float64)
        self.scale_ = np.where(is_flat, 1.0, spread)
        rows = torch.tensor((X - self.shift_) / self.scale_, dtype=torch.float32)
        weight = np.ones(len(X)) if weight is None else weight
        weight = torch.tensor(weight, dtype=torch.float32)
        layers = _first_layers([X.shape[1], *self.hidden_layer_sizes, 1], rng, torch)
        self._train(layers, rows, weight, signs > 0, rng, torch)
        if self.batch_norm:
            layers = _fold_norms(rows, layers, self.activation, torch)
        self.coefs_ = [w.detach().numpy().astype(np.float64) for w, _ in layers]
        self.intercepts_ = [b.detach().numpy().astype(np.float64) for _, b in layers]
        self.n_iter_ = self.max_iter

    def _train(self, layers, rows, weight, positive, rng, torch):
        """Run Adam on the layers, and set `loss_curve_`."""
        # The weights of positives, and of unlabeled rows: each is 0 for the others.
        positive_weight = weight * torch.tensor(positive)
        unlabeled_weight = weight * torch.tensor(~positive)
        parameters = [parameter for layer in layers for parameter in layer]
        optimizer = torch.optim.Adam(parameters, lr=self.learning_rate, weight_decay=self.alpha)
        self.loss_curve_ = np.zeros(self.max_iter)
        for iteration in range(self.max_iter):
            risks = []
            for batch in _batches(positive, self.batch_size, rng):
                g = _forward(rows[batch], layers, self.activation, torch, self.batch_norm)
                risk = self._batch_step(g, positive_weight[batch], unlabeled_weight[batch], optimizer, torch)
                risks.append(risk)
            self.loss_curve_[iteration] = np.mean(risks)

    def _batch_step(self, g, positive_weight, unlabeled_weight, optimizer, torch):
        """Take one step on a batch with the outputs `g`, and return its risk."""
        as_negative = _loss(-g, self.loss, torch)
        positive_share = self.prior_ * positive_weight / positive_weight.sum().clamp(min=1e-12)
        unlabeled_share = unlabeled_weight / unlabeled_weight.sum().clamp(min=1e-12)
        positives = positive_share @ _loss(g, self.loss, torch)
        negatives = unlabeled_share @ as_negative - positive_share @ as_negative
        risk = positives + negatives
        objective = risk
        if self.risk == "nnpu":
            risk = positives + negatives.clamp(min=0.0)
            # A negative estimate shows that the network has learned the labeled positives by heart: undo a part of it.
            if float(negatives.detach()) < -self.beta:
                objective = -self.reverse_step * negatives
        optimizer.zero_grad()
        objective.backward()
        optimizer.step()
        return float(risk.detach())

    def _score(self, X):
        values = (X - self.shift_) / self.scale_
        activation = _ACTIVATIONS[self.activation]
        for w, b in zip(self.coefs_[:-1], self.intercepts_[:-1]):
            values = activation(values @ w + b)
        return (values @ self.coefs_[-1] + self.intercepts_[-1]).ravel()


def _import_torch():
    try:
        import torch
    except ImportError as error:
        raise ImportError(
            "NeuralPUClassifier needs PyTorch to fit: pip install 'fewlabel[torch]', or use LinearPUClassifier, which "
            "has the same risks and does not need it"
        ) from error
    return torch


def _first_layers(sizes, rng, torch):
    """Initial weights by the method of He et al. (2015), and zero intercepts."""
    layers = []
    for n_in, n_out in pairwise(sizes):
        normal = rng.normal(scale=np.sqrt(2.0 / n_in), size=(n_in, n_out))
        w = torch.tensor(normal, dtype=torch.float32, requires_grad=True)
        b = torch.zeros(n_out, dtype=torch.float32, requires_grad=True)
        layers.append((w, b))
    return layers


def _batches(positive, batch_size, rng):
    """Rows of each batch of a pass: every row is in one, and every batch holds positives and unlabeled rows."""
    n_batches = -(-len(positive) // batch_size)
    parts = []
    for group in (positive, ~positive):
        rows = rng.permutation(np.flatnonzero(group))
        # Rows are repeated where there are fewer than batches.
        repeated = np.resize(rows, max(len(rows), n_batches))
        parts.append(np.array_split(repeated, n_batches))
    return [np.concatenate(batch) for batch in zip(*parts)]


def _forward(rows, layers, activation, torch, batch_norm):
    """Output of the network for each row."""
    for w, b in layers[:-1]:
        rows = rows @ w
        if batch_norm:
            rows = (rows - rows.mean(dim=0)) / _deviation(rows, torch)
        rows = _activate(rows + b, activation, torch)
    w, b = layers[-1]
    return (rows @ w + b).ravel()


def _activate(values, activation, torch):
    return torch.relu(values) if activation == "relu" else torch.nn.functional.softsign(values)


def _deviation(rows, torch):
    variance = rows.var(dim=0, unbiased=False)
    # A unit that is the same for all rows of a batch must not be divided by 0.
    return torch.sqrt(variance + 1e-5)


def _fold_norms(rows, layers, activation, torch):
    """Layers without normalization that do on all rows what those with it do."""
    folded = []
    with torch.no_grad():
        for w, b in layers[:-1]:
            product = rows @ w
            spread = _deviation(product, torch)
            shift = b - product.mean(dim=0) / spread
            folded.append((w / spread, shift))
            rows = _activate(product / spread + shift, activation, torch)
    return [*folded, layers[-1]]


def _loss(z, name, torch):
    if name == "sigmoid":
        return torch.sigmoid(-z)
    return torch.nn.functional.softplus(-z) if name == "logistic" else 0.25 * (1 - z) ** 2
