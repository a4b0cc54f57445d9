"""Exponentials of many numbers at once, in instructions that take several at a time on every processor."""

import math

import numpy as np

from fewlabel.jit import njit

_CHUNK = 512  # numbers at a time, which stay in the fastest cache
# Exp of less is below the smallest normal number, and counts as 0.
_LEAST = -708.0
_LOG2_E = 1.4426950408889634
# Their sum is ln 2. The first has few digits, so that its products with small integers are exact.
_LN2_HIGH = 0.6931471803691238
_LN2_LOW = 1.9082149292705877e-10
# Added to a small number, it leaves the nearest integer in the last bits.
_ROUNDING = 1.5 * 2.0**52
# Of the series of exp, from the 12th power down: what is left is below 2e-16.
_TAYLOR = tuple(1.0 / math.factorial(power) for power in range(12, -1, -1))
_BIAS = 1023  # of the exponent of a double


@njit(cache=True, nogil=True, fastmath={"contract"})
def exp_in_place(values):
    r"""Replace each number by its exponential, to within 2 units in the last place.

    With :math:`k = \lfloor x / \ln 2 \rceil`, it is :math:`2^k e^r` for :math:`r = x - k \ln 2`, whose exponential is
    a polynomial, :math:`|r| \le \frac12 \ln 2`.

    Parameters
    ----------
    values : ndarray of float64, contiguous
        Numbers of at most 700, or NaN, which stays; changed in place.
    """
    shifted = np.empty(_CHUNK)
    bits = np.empty(_CHUNK, np.int64)
    power = np.empty(_CHUNK)
    # The same memory as numbers of the other type.
    integers = shifted.view(np.int64)
    scale = bits.view(np.float64)
    for start in range(0, len(values), _CHUNK):
        part = values[start : start + _CHUNK]
        for i in range(len(part)):
            x = max(part[i], _LEAST)
            shifted[i] = x * _LOG2_E + _ROUNDING
            n_doublings = shifted[i] - _ROUNDING
            r = (x - n_doublings * _LN2_HIGH) - n_doublings * _LN2_LOW
            p = _TAYLOR[0]
            for k in range(1, len(_TAYLOR)):
                p = p * r + _TAYLOR[k]
            power[i] = p
        # Loops of their own: the compiler makes vector instructions of each.
        for i in range(len(part)):
            bits[i] = (integers[i] + _BIAS) << 52
        for i in range(len(part)):
            if part[i] >= _LEAST:
                part[i] = power[i] * scale[i]
            elif part[i] < _LEAST:  # NaN stays
                part[i] = 0.0
