"""Columns drawn at random, by the generator and in the order of NumPy, without the cost of its objects.

``numpy.random.default_rng([seed, t])`` and a draw from it take about 50 microseconds, more than the rest of a round of
boosting on a small table.
"""

import numpy as np

from fewlabel.jit import njit

_FIRST_HASH, _HASH_FACTOR = np.uint32(0x43B0D7E5), np.uint32(0x931E8875)
_FIRST_STATE_HASH, _STATE_HASH_FACTOR = np.uint32(0x8B51F9DD), np.uint32(0x58F38DED)
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_FACTOR_HIGH, _FACTOR_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF, _LOW_HALF, _ONE = np.uint64(32), np.uint64(0xFFFFFFFF), np.uint64(1)
MOST_COLUMNS = 10_000  # NumPy draws from more in another way


@njit(cache=True, nogil=True)
def draw_columns(seed, rounds, n_columns, n_drawn):
    """The sorted ``default_rng([seed, t]).choice(n_columns, n_drawn, replace=False)`` of NumPy, for each round t.

    A permuted congruential generator of 128 bits (O'Neill, HMC-CS-2014-0905), started from a hash of seed and round,
    and Floyd's algorithm (Bentley, Communications of the ACM 30, 1987): no number is drawn twice.

    Parameters
    ----------
    seed : int
        From 0 to 2**32 - 1.
    rounds : (int, int)
        The first round, and the one after the last.
    n_columns, n_drawn : int
        At most `MOST_COLUMNS`.

    Returns
    -------
    ndarray of shape (n_rounds, n_drawn), int64
    """
    drawn = np.empty((rounds[1] - rounds[0], n_drawn), dtype=np.int64)
    for r in range(len(drawn)):
        drawn[r] = _draw(seed, rounds[0] + r, n_columns, n_drawn)
    return drawn


@njit(cache=True, nogil=True)
def _draw(seed, t, n_columns, n_drawn):
    state = _start(seed, t)
    is_drawn = np.zeros(n_columns, dtype=np.bool_)
    word, has_word = np.uint64(0), False
    for last in range(n_columns - n_drawn, n_columns):
        size = np.uint64(last + 1)
        while True:  # Lemire's method: the upper half of a product, redrawn if that would favor some numbers
            if has_word:  # a number of 64 bits serves for two draws
                half, has_word = word >> _HALF, False
            elif last > 0:
                word, has_word = _next(state), True
                half = word & _LOW_HALF
            else:
                half = np.uint64(0)
            product = half * size
            left = product & _LOW_HALF
            if left >= size or left >= (_LOW_HALF - size + _ONE) % size:
                break
        drawn = np.int64(product >> _HALF)
        is_drawn[last if is_drawn[drawn] else drawn] = True
    return np.flatnonzero(is_drawn)


@njit(cache=True, nogil=True)
def _start(seed, t):
    """State and increment of the generator, as high and low halves of 128 bits, from a hash of two numbers."""
    pool, constant = np.zeros(4, dtype=np.uint32), _FIRST_HASH
    pool[0], pool[1] = seed, t
    for i in range(4):
        pool[i], constant = _hash(pool[i], constant, _HASH_FACTOR)
    for source in range(4):
        for target in range(4):
            if source != target:
                hashed, constant = _hash(pool[source], constant, _HASH_FACTOR)
                mixed = np.uint32(_MIX_LEFT * pool[target] - _MIX_RIGHT * hashed)
                pool[target] = mixed ^ (mixed >> np.uint32(16))
    words, constant = np.empty(8, dtype=np.uint64), _FIRST_STATE_HASH
    for i in range(8):
        word, constant = _hash(pool[i % 4], constant, _STATE_HASH_FACTOR)
        words[i] = np.uint64(word)
    numbers = words[0::2] | (words[1::2] << _HALF)
    high, low = (numbers[2] << _ONE) | (numbers[3] >> np.uint64(63)), (numbers[3] << _ONE) | _ONE
    state = np.array([high, low, high, low])  # the first step, from zero, is the increment
    state[1] += numbers[1]
    state[0] += numbers[0] + np.uint64(state[1] < numbers[1])
    _step(state)
    return state


@njit(cache=True, nogil=True, inline="always")
def _hash(value, constant, factor):
    value = np.uint32(value ^ constant)
    constant = np.uint32(constant * factor)
    value = np.uint32(value * constant)
    return np.uint32(value ^ (value >> np.uint32(16))), constant


@njit(cache=True, nogil=True)
def _next(state):
    """The next number of 64 bits."""
    _step(state)
    mixed, turn = state[0] ^ state[1], state[0] >> np.uint64(58)
    return (mixed >> turn) | (mixed << ((np.uint64(64) - turn) & np.uint64(63)))


@njit(cache=True, nogil=True)
def _step(state):
    """Multiply the state by a constant and add the increment, modulo 2**128."""
    high, low = state[0], state[1]
    low_0, low_1, factor_0, factor_1 = low & _LOW_HALF, low >> _HALF, _FACTOR_LOW & _LOW_HALF, _FACTOR_LOW >> _HALF
    first, second, third = low_0 * factor_0, low_0 * factor_1, low_1 * factor_0
    middle = (first >> _HALF) + (second & _LOW_HALF) + (third & _LOW_HALF)
    carried = low_1 * factor_1 + (second >> _HALF) + (third >> _HALF) + (middle >> _HALF)
    product = low * _FACTOR_LOW
    state[1] = product + state[3]
    state[0] = carried + high * _FACTOR_LOW + low * _FACTOR_HIGH + state[2] + np.uint64(state[1] < product)
