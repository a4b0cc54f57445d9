"""Newcombe's confidence interval of an AUC, from the AUC and the two sample sizes alone."""

from scipy import optimize


def newcombe_interval(auc, n_high, n_low, z):
    """Return both ends of the interval (method 5 of Newcombe 2006)."""
    low = newcombe_low(auc, n_high, n_low, z)
    # The equation does not change when t and the AUC are both reflected about 1/2.
    high = 1 - newcombe_low(1 - auc, n_high, n_low, z)
    return low, high


def newcombe_low(auc, n_high, n_low, z):
    """Return the root of Newcombe's equation in [0, auc].

    There is only one: (A-t)^2 / (t(1-t)[...]) decreases in t.
    """
    if auc == 0:
        return 0.0
    size = (n_high + n_low) / 2 - 1

    def slope(t):
        inner = 1 + size * (1 - t) / (2 - t) + size * t / (1 + t)
        return z**2 * t * inner / (n_high * n_low)

    if auc == 1:
        # t = 1 solves the equation but is not the bound: divide its factor 1 - t out.
        return optimize.brentq(lambda t: (1 - t) - slope(t), 0, 1)

    def equation(t):
        return (auc - t) ** 2 - (1 - t) * slope(t)

    return optimize.brentq(equation, 0, auc)
