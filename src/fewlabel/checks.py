"""Checks of arguments that several functions share; estimators declare `_parameter_constraints` instead."""

import numbers

import numpy as np

from fewlabel.exceptions import TableError


def is_number(value):
    """Whether `value` is a real number; bools are not.

    Examples
    --------
    >>> from fewlabel.checks import is_number
    >>> is_number(1.5), is_number(True), is_number("1")
    (True, False, False)
    """
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_choice(name, value, choices):
    """Raise an error if `value` is none of the choices.

    Examples
    --------
    >>> from fewlabel.checks import check_choice
    >>> check_choice("method", "exact", ("fast", "slow"))
    Traceback (most recent call last):
    ...
    ValueError: method='exact' is not known: use one of 'fast', 'slow'
    """
    if value not in choices:
        listed = ", ".join(map(repr, choices))
        raise ValueError(f"{name}={value!r} is not known: use one of {listed}")


def check_share(name, value, meaning=""):
    """Return `value` as a float; it should lie between 0 and 1, both excluded.

    Examples
    --------
    >>> from fewlabel.checks import check_share
    >>> check_share("confidence", 95)
    Traceback (most recent call last):
    ...
    ValueError: confidence=95 should be a number between 0 and 1 (both excluded); for 95% write 0.95
    """
    if is_number(value) and 0 < value < 1:
        return float(value)
    # Whoever writes 95 for a share means percent.
    hint = f"; for {value:g}% write {value / 100:g}" if is_number(value) and value > 1 else ""
    raise ValueError(f"{name}={value!r} should be a number between 0 and 1 (both excluded){meaning}{hint}")


def check_non_negative(name, values, written=None):
    """Return a column, such as weights, as floats; an error if one is negative, infinite or missing.

    Parameters
    ----------
    name : str
    values : array-like of float
    written : sequence, default=None
        The values as the user wrote them, one of which the message shows.

    Examples
    --------
    >>> from fewlabel.checks import check_non_negative
    >>> check_non_negative("column 'weight'", [1, -2])
    Traceback (most recent call last):
    ...
    fewlabel.exceptions.TableError: column 'weight' has 1 values that are not numbers from 0 on, such as '-2.0': ...
    """
    values = np.asarray(values, dtype=np.float64)
    is_wrong = ~(np.isfinite(values) & (values >= 0))
    if is_wrong.any():
        example = str((values if written is None else written)[is_wrong.argmax()])[:60]
        wrong = f"{is_wrong.sum()} values that are not numbers from 0 on, such as {example!r}"
        raise TableError(f"{name} has {wrong}: replace them")
    return values
