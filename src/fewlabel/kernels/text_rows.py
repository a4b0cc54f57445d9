"""Where the rows of a text table end, if quoted fields hold line breaks."""

import numpy as np

from fewlabel.jit import njit

_QUOTE = np.uint8(ord('"'))
_NEWLINE = np.uint8(ord("\n"))
_RETURN = np.uint8(ord("\r"))


@njit(cache=True, nogil=True)
def end_of_rows(text, separator):
    """Position after the last line break that ends a row; 0 if no row ends.

    A field is quoted if it starts with a double quote, and a doubled quote in it stands for one.

    Parameters
    ----------
    text : ndarray of uint8
        Starts with a row.
    separator : uint8

    Returns
    -------
    int
    """
    end = 0
    quoted = False
    may_open = True
    for i in range(text.size):
        c = text[i]
        if quoted:
            quoted = c != _QUOTE
            # The second of two quotes opens the field again.
            may_open = not quoted
        elif c == _QUOTE and may_open:
            quoted = True
        else:
            may_open = c in (separator, _NEWLINE, _RETURN)
            if c == _NEWLINE:
                end = i + 1
    return end
