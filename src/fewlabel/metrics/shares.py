"""Confidence intervals of shares."""

import numpy as np
from scipy.stats import norm


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
