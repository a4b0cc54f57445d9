"""Names and values in messages: short enough for a line, and the one that was probably meant."""

import difflib


def short(text, most=60):
    """A text of at most `most` characters.

    Examples
    --------
    >>> from fewlabel.text import short
    >>> short("a rather long name", 10)
    'a rathe...'
    """
    text = str(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def did_you_mean(name, names):
    """The name that was probably meant, or None.

    Examples
    --------
    >>> from fewlabel.text import did_you_mean
    >>> did_you_mean("Outcom", ["income", "outcome"])
    'outcome'
    """
    by_lower = {other.lower(): other for other in names}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None
