"""What the members achieved on other tables, and what their out-of-fold scores add to it on this one."""

import functools
import json
from importlib import resources

import numpy as np

from fewlabel.auto.members import BINARY, MULTICLASS, POSITIVE_UNLABELED

FEWEST, MOST = 5, 300  # labels of the rarer class: experience does not reach beyond
MIDDLE = 20  # labels of the rarer class at which the slope of a member is 0
_LEVEL = 10.0  # variance of a table's difficulty: so large that nothing is assumed about it
_LEAST_WEIGHT = 0.1  # relative to the largest; smaller ones are not worth a fit
_LOST = 2  # labels of the rarer class that out-of-fold scores seem to lose: with 5 their variance is that of 3


# Of an experience without tables of many classes: members are weighed by their out-of-fold losses.
_NO_POOL = {"members": [], "loss": [], "bias": [], "rule": {"steepness": 6, "labels": 0, "most": 5}}


class PoolExperience:
    r"""Log-losses of the members on other tables of three classes or more, relative to their mean on each table.

    On a table with :math:`n` labels the log-loss to expect of a member, relative to the others, is

    .. math:: t (\ell_m - b_m) + (1 - t) \mu_m, \qquad t = \frac{n}{n + n_0} ,

    with its out-of-fold loss :math:`\ell_m`, the bias :math:`b_m` of such losses, and its mean :math:`\mu_m` on other
    tables. Weights of the pool are proportional to :math:`e^{-k \cdot \mathrm{loss}}`.

    Parameters
    ----------
    state : dict
        `members` (names), `loss`, `bias` (one number per member), and `rule` with `steepness` :math:`k`, `labels`
        :math:`n_0`, and `most`, the number of members with a weight.
    """

    def __init__(self, state):
        self.members = list(state["members"])
        self.loss = np.array(state["loss"], dtype=float)
        self.bias = np.array(state["bias"], dtype=float)
        self.rule = state["rule"]

    def of(self, names):
        """The experience with these members only; one without experience starts as an average member."""
        known = dict(zip(self.members, zip(self.loss, self.bias)))
        loss = [known.get(name, (0.0, 0.0))[0] for name in names]
        bias = [known.get(name, (0.0, 0.0))[1] for name in names]
        return PoolExperience({"members": list(names), "loss": loss, "bias": bias, "rule": self.rule})

    def posterior(self, losses, n_labels):
        """Log-loss to expect of each member, before and after its out-of-fold loss is known.

        Parameters
        ----------
        losses : ndarray of shape (n_members,)
        n_labels : int

        Returns
        -------
        prior, posterior : ndarray of shape (n_members,)
        """
        seen = losses - self.bias
        prior = seen.mean() + self.loss - self.loss.mean()
        trust = n_labels / (n_labels + self.rule["labels"])
        return prior, trust * seen + (1 - trust) * prior

    def weights(self, losses, n_labels, among=None):
        """Weights of the members in the pool, which sum to one; there are no additive members to choose `among`."""
        _, posterior = self.posterior(losses, n_labels)
        return _weights(-self.rule["steepness"] * posterior, self.rule["most"])


class Experience:
    r"""Gaussian model of the members' scores, learned from other tables.

    Scores are on the scale :math:`2 \arcsin \sqrt{\mathrm{AUC}}`, on which the sampling variance of an AUC hardly
    depends on its value. On a table with :math:`n` labels of the rarer class the members' scores are :math:`\ell +
    \mu_n + \delta`, with the difficulty :math:`\ell` of the table, of which nothing is assumed, the mean :math:`\mu_n`
    of each member, linear in :math:`\log n`, and :math:`\delta \sim N(0, \Sigma)`. Out-of-fold scores have a bias and
    the covariance :math:`N / (n - 2)`.

    Parameters
    ----------
    state : dict
        `members` (names), `mean`, `slope`, `bias` (one number per member), `covariance`, `noise` (matrices), and `rule`
        with the numbers `steepness` and `most`, the number of members with a weight; `many`, the state of a
        `PoolExperience`, for three classes or more.
    """

    def __init__(self, state):
        self.state = state
        self.members = list(state["members"])
        self.mean = np.array(state["mean"], dtype=float)
        self.slope = np.array(state["slope"], dtype=float)
        self.bias = np.array(state["bias"], dtype=float)
        self.covariance = np.array(state["covariance"], dtype=float)
        self.noise = np.array(state["noise"], dtype=float)
        self.rule = state["rule"]

    def of(self, names, task=BINARY):
        """The experience with these members only.

        One without experience starts as an average member, with the mean of the others' variances. There is no
        experience with positive-unlabeled data.

        Parameters
        ----------
        names : list of str
        task : str, default="binary"

        Returns
        -------
        Experience or PoolExperience
        """
        if task == MULTICLASS:
            return PoolExperience(self.state.get("many", _NO_POOL)).of(names)
        known = () if task == POSITIVE_UNLABELED else self.members
        place = np.array([self.members.index(name) if name in known else -1 for name in names])
        new = place < 0

        def vector(values, default):
            return np.where(new, default, values[place])

        def matrix(values):
            part = values[np.ix_(place, place)]
            part[new] = 0.0
            part[:, new] = 0.0
            part[new, new] = np.diag(values).mean()
            return part

        state = {
            "members": list(names),
            "mean": vector(self.mean, self.mean.mean()),
            "slope": vector(self.slope, 0.0),
            "bias": vector(self.bias, 0.0),
            "covariance": matrix(self.covariance),
            "noise": matrix(self.noise),
            "rule": self.rule,
        }
        return Experience(state)

    def posterior(self, scores, n_rarest):
        """What to expect of each member, before and after its out-of-fold score is known.

        Parameters
        ----------
        scores : ndarray of shape (n_members,)
            Angles of the out-of-fold scores.
        n_rarest : int
            Labels of the rarer class.

        Returns
        -------
        prior, posterior : ndarray of shape (n_members,)
            Angles.
        """
        expected = self.mean + self.slope * label_count(n_rarest)
        # Evidence and experience are weighed by their precision, jointly: what one member shows, its relatives share.
        precision = np.linalg.inv(self.covariance + self.noise / effective_labels(n_rarest))
        surprise = scores - self.bias - expected
        # How hard the table is, by all members together; its wide prior keeps a single member from dividing by zero.
        level = (precision @ surprise).sum() / (precision.sum() + 1 / _LEVEL)
        prior = level + expected
        return prior, prior + self.covariance @ precision @ (surprise - level)

    def weights(self, scores, n_rarest, among=None):
        """Weights of the members, which sum to one: larger for a better posterior, 0 for a poor one.

        They are the mean of those with what other tables say of the members, and of those by the scores alone.

        Parameters
        ----------
        scores, n_rarest
            As in `posterior`.
        among : tuple of str, default=None
            Give all of the weight to the best of these members.

        Returns
        -------
        ndarray of shape (n_members,)
        """
        _, posterior = self.posterior(scores, n_rarest)
        if among is not None:
            best = np.where(np.isin(self.members, among), posterior, -np.inf).argmax()
            return (np.arange(len(posterior)) == best).astype(float)
        # Half of the weight without what other tables say: this one may be unlike them.
        _, alone = self.as_equals().posterior(scores, n_rarest)
        steepness = self.rule["steepness"]
        most = self.rule["most"]
        weights = _weights(steepness * posterior, most) + _weights(steepness * alone, most)
        weights[np.lexsort([-posterior, -weights])[most:]] = 0.0
        return weights / weights.sum()

    def as_equals(self):
        """The same members without what other tables say of each."""
        return self.of(self.members, POSITIVE_UNLABELED)


def _weights(exponents, most):
    """Weights proportional to the exponentials of numbers; small ones, and all but the largest, are 0."""
    weights = np.exp(exponents - exponents.max())
    weights[weights < _LEAST_WEIGHT] = 0.0
    weights[np.argsort(-exponents, kind="stable")[most:]] = 0.0
    return weights / weights.sum()


@functools.cache
def package_experience():
    """The experience that comes with the package."""
    return Experience(json.loads(resources.files("fewlabel.auto").joinpath("experience.json").read_text("utf-8")))


def label_count(n_rarest):
    """Logarithm of the labels of the rarer class, 0 at `MIDDLE`, constant beyond `FEWEST` and `MOST`."""
    return np.log(np.clip(n_rarest, FEWEST, MOST) / MIDDLE)


def effective_labels(n_rarest):
    """Labels of the rarer class that count for the variance of out-of-fold scores."""
    return max(n_rarest - _LOST, 1)
