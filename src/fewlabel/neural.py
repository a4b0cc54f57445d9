"""uPU and nnPU with a multilayer perceptron. Fitting needs PyTorch; a fitted model predicts with NumPy."""

import numbers
from itertools import pairwise
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state

from fewlabel.base import Interval, RankingClassifier, StrOptions
from fewlabel.positive_unlabeled import PositiveUnlabeled
from fewlabel.types import Seed

__all__ = ["NeuralPUClassifier"]

_ACTIVATIONS = {"relu": lambda z: np.maximum(z, 0.0), "softsign": lambda z: z / (1.0 + np.abs(z))}


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
    gamma : float, default=1.0
        Size of the reversed step, relative to an ordinary one.
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

    _parameter_constraints: dict = {
        **PositiveUnlabeled._prior_constraints,
        "risk": [StrOptions({"upu", "nnpu"})],
        "loss": [StrOptions({"sigmoid", "logistic", "squared"})],
        "hidden_layer_sizes": ["array-like"],
        "activation": [StrOptions(set(_ACTIVATIONS))],
        "batch_norm": ["boolean"],
        "alpha": [Interval(numbers.Real, 0, None, closed="left")],
        "beta": [Interval(numbers.Real, 0, None, closed="left")],
        "gamma": [Interval(numbers.Real, 0, 1, closed="both")],
        "learning_rate": [Interval(numbers.Real, 0, None, closed="neither")],
        "batch_size": [Interval(numbers.Integral, 1, None, closed="left")],
        "max_iter": [Interval(numbers.Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        risk: Literal["nnpu", "upu"] = "nnpu",
        *,
        loss: Literal["sigmoid", "logistic", "squared"] = "sigmoid",
        prior: float | None = None,
        hidden_layer_sizes: tuple[int, ...] = (100,),
        activation: Literal["relu", "softsign"] = "relu",
        batch_norm: bool = False,
        alpha: float = 0.005,
        beta: float = 0.0,
        gamma: float = 1.0,
        learning_rate: float = 0.001,
        batch_size: int = 1000,
        max_iter: int = 100,
        threshold: Literal["prior", "zero"] = "prior",
        random_state: Seed = None,
    ) -> None:
        self.risk = risk
        self.loss = loss
        self.prior = prior
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.batch_norm = batch_norm
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.threshold = threshold
        self.random_state = random_state

    def _fit(self, X, signs, weight):
        torch = _import_torch()
        self.prior_ = self._find_prior(X, signs, weight)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        self.shift_, spread = X.mean(axis=0, dtype=np.float64), X.std(axis=0, dtype=np.float64)
        self.scale_ = np.where(spread > np.finfo(float).tiny, spread, 1.0)
        rows = torch.tensor((X - self.shift_) / self.scale_, dtype=torch.float32)
        positive = torch.tensor(signs > 0)
        weight = torch.ones(len(rows)) if weight is None else torch.tensor(weight, dtype=torch.float32)
        layers = _first_layers([X.shape[1], *self.hidden_layer_sizes, 1], rng, torch)
        optimizer = torch.optim.Adam(
            [part for layer in layers for part in layer], lr=self.learning_rate, weight_decay=self.alpha
        )
        curve = []
        for _ in range(self.max_iter):
            risks = [
                self._batch_step(rows[batch], positive[batch], weight[batch], layers, optimizer, torch)
                for batch in _batches(signs > 0, self.batch_size, rng)
            ]
            curve.append(float(np.mean(risks)))
        if self.batch_norm:
            layers = _fold_norms(rows, layers, self.activation, torch)
        self.coefs_ = [w.detach().numpy().astype(np.float64) for w, _ in layers]
        self.intercepts_ = [b.detach().numpy().astype(np.float64) for _, b in layers]
        self.loss_curve_ = np.array(curve)
        self.n_iter_ = len(curve)

    def _batch_step(self, rows, positive, weight, layers, optimizer, torch):
        """Take one step on a batch, and return its risk."""
        g = _forward(rows, layers, self.activation, torch, self.batch_norm)
        as_positive, as_negative = _loss(g, self.loss, torch), _loss(-g, self.loss, torch)
        on_p, on_u = weight * positive, weight * ~positive
        per_p, per_u = self.prior_ / on_p.sum().clamp(min=1e-12), 1.0 / on_u.sum().clamp(min=1e-12)
        positives = per_p * (on_p @ as_positive)
        negatives = per_u * (on_u @ as_negative) - per_p * (on_p @ as_negative)
        step_back = self.risk == "nnpu" and float(negatives.detach()) < -self.beta
        optimizer.zero_grad()
        (-self.gamma * negatives if step_back else positives + negatives).backward()
        optimizer.step()
        return float((positives + (negatives.clamp(min=0.0) if self.risk == "nnpu" else negatives)).detach())

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
        w = rng.normal(scale=np.sqrt(2.0 / n_in), size=(n_in, n_out))
        layers.append(
            (
                torch.tensor(w, dtype=torch.float32, requires_grad=True),
                torch.zeros(n_out, dtype=torch.float32, requires_grad=True),
            )
        )
    return layers


def _batches(positive, batch_size, rng):
    """Rows of each batch of a pass: every row is in one, and every batch holds positives and unlabeled rows."""
    groups = [rng.permutation(np.flatnonzero(group)) for group in (positive, ~positive)]
    n_batches = -(-len(positive) // batch_size)
    parts = [np.array_split(np.resize(group, max(len(group), n_batches)), n_batches) for group in groups]
    return [np.concatenate(batch) for batch in zip(*parts)]


def _forward(rows, layers, activation, torch, batch_norm=False):
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
    return torch.sqrt(rows.var(dim=0, unbiased=False) + 1e-5)


def _fold_norms(rows, layers, activation, torch):
    """Layers without normalization that do on all rows what those with it do."""
    folded = []
    with torch.no_grad():
        for w, b in layers[:-1]:
            before = rows @ w
            spread = _deviation(before, torch)
            folded.append((w / spread, b - before.mean(dim=0) / spread))
            rows = _activate(before / spread + folded[-1][1], activation, torch)
    return [*folded, layers[-1]]


def _loss(z, name, torch):
    if name == "sigmoid":
        return torch.sigmoid(-z)
    return torch.nn.functional.softplus(-z) if name == "logistic" else 0.25 * (1 - z) ** 2
