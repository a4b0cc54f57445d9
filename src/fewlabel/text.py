"""Texts and names: shortening, suggestions for a misspelled name, names made distinct."""

import difflib
from collections.abc import Iterable


def short(text: object, most: int = 60) -> str:
    """Cut a text to at most `most` characters.

    Examples
    --------
    >>> from fewlabel.text import short
    >>> short("a rather long name", 10)
    'a rathe...'
    """
    text = str(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def did_you_mean(name: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant, or None.

    Examples
    --------
    >>> from fewlabel.text import did_you_mean
    >>> did_you_mean("Outcom", ["income", "outcome"])
    'outcome'
    """
    by_lower = {other.lower(): other for other in names}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def distinct(names: Iterable[str]) -> list[str]:
    """Append a number to a name that occurs again, as pandas does for the columns of text files.

    Examples
    --------
    >>> from fewlabel.text import distinct
    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a.1']
    """
    names = list(names)
    taken, found = set(names), []
    counts: dict[str, int] = {}
    for name in names:
        count = counts.get(name, 0)
        counts[name] = count + 1
        unique = name
        while count and unique in taken:
            unique = f"{name}.{count}"
            count += 1
        taken.add(unique)
        found.append(unique)
    return found
