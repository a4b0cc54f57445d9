"""Random numbers of functions that users give the same seed."""

import numbers
import zlib

import numpy as np
from sklearn.utils import check_random_state

_LARGEST_SEED = 2**31 - 1


def own_stream(random_state, name):
    """Return the generator of one function: another stream for each name, even if the seed is the same.

    Without a name in the seed, ``hide_labels(y, random_state=0)`` would draw the permutation by which
    ``make_multiview_credit(random_state=0)`` placed the positives, and label too many of them.

    Parameters
    ----------
    random_state : int, RandomState instance or None
        A generator is used as it is: its state moves on from function to function.
    name : str
        Of the function.

    Returns
    -------
    RandomState

    Examples
    --------
    >>> from fewlabel.random_streams import own_stream
    >>> own_stream(0, "make_pu").randint(1000) == own_stream(0, "hide_labels").randint(1000)
    False
    """
    if isinstance(random_state, numbers.Integral):
        return np.random.RandomState([random_state, zlib.crc32(name.encode())])
    return check_random_state(random_state)


def draw_seed(random_state, size=None):
    """Draw a seed, or several, for what is to draw by itself.

    Parameters
    ----------
    random_state : int, RandomState instance or None
    size : int, default=None
        Number of seeds; None draws one.

    Returns
    -------
    int, or ndarray of shape (size,)
    """
    return check_random_state(random_state).randint(_LARGEST_SEED, size=size)
