"""SAR-EM straight from the equations of Bekker, Robberechts and Davis (2019): slow, by a general solver."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit


def logistic(X, target, weight):
    """Coefficients and intercept of ridge-penalized weighted logistic regression with targets between 0 and 1."""

    def loss(parameters):
        z = X @ parameters[:-1] + parameters[-1]
        likelihood = target * np.logaddexp(0, -z) + (1 - target) * np.logaddexp(0, z)
        return weight @ likelihood + 0.5 * parameters[:-1] @ parameters[:-1]

    def gradient(parameters):
        residual = weight * (expit(X @ parameters[:-1] + parameters[-1]) - target)
        return np.append(X.T @ residual + parameters[:-1], residual.sum())

    start = np.zeros(X.shape[1] + 1)
    return minimize(loss, start, jac=gradient, method="BFGS", options={"gtol": 1e-7}).x


def sar_em(X, labeled, columns, prior, n_steps):
    """Probability of being labeled, given a positive, after some steps; and the observed likelihood of each step."""
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    believed = np.where(labeled, 1.0, prior)
    likelihoods = []
    for _ in range(n_steps):
        of_f = logistic(X, believed, np.ones(len(X)))
        of_e = logistic(X[:, columns], labeled.astype(float), believed)
        f = expit(X @ of_f[:-1] + of_f[-1])
        e = expit(X[:, columns] @ of_e[:-1] + of_e[-1])
        penalty = 0.5 * (of_f[:-1] @ of_f[:-1] + of_e[:-1] @ of_e[:-1])
        likelihoods.append(np.log(np.where(labeled, f * e, 1 - f * e)).sum() - penalty)
        believed = np.where(labeled, 1.0, f * (1 - e) / (1 - f * e))
    return e, likelihoods
