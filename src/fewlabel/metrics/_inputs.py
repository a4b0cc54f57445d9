"""Validation of the arguments that the metrics share."""

import numpy as np
from scipy import stats

from fewlabel.checks import check_share

PRIOR_MEANING = ": the share of positives among the unlabeled rows"


def read_score(score, n_samples, name):
    """Return scores as a numeric 1d array without NaN, one per row of `y`."""
    values = np.asarray(score)
    if values.dtype.kind not in "biuf":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} should hold numbers, got dtype {values.dtype}") from None
    # The usual mistake: predict_proba has a column per class.
    if values.ndim == 2 and values.shape[1] == 2:
        raise ValueError(f"{name} has two columns: pass that of the positive class, e.g. predict_proba(X)[:, 1]")
    if values.ndim != 1:
        raise ValueError(f"{name} should be a 1d array with one score per row, got shape {values.shape}")
    if len(values) != n_samples:
        raise ValueError(
            f"y_true has {n_samples} rows and {name} has {len(values)}: pass labels and scores of the same rows"
        )
    n_missing = int(np.isnan(values).sum())
    if n_missing:
        raise ValueError(
            f"{name} holds NaN in {n_missing} of {n_samples} rows, which cannot be ranked: drop these rows, or give "
            "them the score with which they will be treated"
        )
    return values


def read_weight(weight, n_samples):
    """Return weights as floats, finite and not below 0, one per row of `y`."""
    values = np.asarray(weight, dtype=np.float64)
    if values.shape != (n_samples,):
        raise ValueError(f"sample_weight should have one weight per row, shape ({n_samples},), got {values.shape}")
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise ValueError(f"sample_weight should hold finite numbers >= 0, got {values[bad][0]:g}: drop such rows")
    return values


def normal_quantile(confidence):
    """Return z with P(|Z| < z) = `confidence` for a standard normal Z."""
    tail = (1 - check_share("confidence", confidence)) / 2
    return float(stats.norm.isf(tail))
