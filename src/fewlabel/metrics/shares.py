"""Confidence intervals of shares."""

import numpy as np
from scipy.stats import norm

from fewlabel.decisions import Estimate


def wilson(shares, n, confidence=0.95):
    """Wilson's interval of shares of n rows: shape (n_shares, 2)."""
    shares = np.asarray(shares, dtype=float)
    z = norm.isf((1 - confidence) / 2)
    shrink = 1 + z**2 / n
    center = (shares + z**2 / (2 * n)) / shrink
    variance = shares * (1 - shares) / n + z**2 / (4 * n**2)
    half = z / shrink * np.sqrt(variance)
    # Rounding may pass the ends.
    return np.clip(np.column_stack([center - half, center + half]), 0.0, 1.0)


def share_estimate(n_right: float | np.number, n_rows: float | np.number) -> Estimate:
    """A share of rows with its 95% Wilson interval; of no rows, all shares are possible.

    Examples
    --------
    >>> from fewlabel.metrics.shares import share_estimate
    >>> [round(value, 2) for value in share_estimate(9, 10)]
    [0.9, 0.6, 0.98]
    """
    if n_rows == 0:
        return Estimate(0.5, 0.0, 1.0)
    share = float(n_right / n_rows)
    [[low, high]] = wilson([share], n_rows).tolist()
    return Estimate(share, low, high)
