"""Texts and names: shortened, safe for a terminal or a spreadsheet, suggested, made distinct."""

import difflib
import itertools
import re
from collections.abc import Iterable

# Control characters (a terminal obeys them) and marks that reverse the direction of the text around them.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What a spreadsheet runs as a formula; a signed number is none.
_FORMULA = re.compile(r"\s*[=@]|[\t\r]|\s*[-+](?![\d\s.,]*([eE][-+]?\d+)?\s*$)")


def printable(text: object) -> str:
    """Replace characters that would control the terminal by their escapes; line breaks and tabs become spaces.

    Examples
    --------
    >>> from fewlabel.text import printable
    >>> print(printable("a\\x1b[31mb"))
    a\\x1b[31mb
    """
    joined = re.sub(r"[\t\n\r]", " ", str(text))
    return _UNPRINTABLE.sub(lambda match: ascii(match.group())[1:-1], joined)


def without_formula(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    Examples
    --------
    >>> from fewlabel.text import without_formula
    >>> [without_formula(t) for t in ("=1+1", "-2.5", "-x", "a=b")]
    ["'=1+1", '-2.5', "'-x", 'a=b']
    """
    return "'" + text if _FORMULA.match(text) else text


def short(text: object, most: int = 60) -> str:
    """Cut a text to at most `most` characters, without control characters.

    Examples
    --------
    >>> from fewlabel.text import short
    >>> short("a rather long name", 10)
    'a rathe...'
    """
    text = printable(text)
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
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[near[0]] if near else None


def listed(texts: Iterable[str], most: int = 6) -> str:
    """The first texts, and ... if there are more of them.

    Examples
    --------
    >>> from fewlabel.text import listed
    >>> listed("abcd", 3)
    'a, b, c, ...'
    """
    first = list(itertools.islice(texts, most + 1))
    if len(first) > most:
        first[most] = "..."
    return ", ".join(first)


def suggest(name: str, names: Iterable[str], otherwise: str) -> str:
    """A hint for a name that is not there: the one that was probably meant, or the text that is given.

    Examples
    --------
    >>> from fewlabel.text import suggest
    >>> suggest("outcom", ["income", "outcome"], "there are two columns"), suggest("x", [], "there is none")
    ("did you mean 'outcome'?", 'there is none')
    """
    near = did_you_mean(name, names)
    return otherwise if near is None else f"did you mean {short(near)!r}?"


def distinct(names: Iterable[str]) -> list[str]:
    """Append a number to a name that occurs again, as pandas does for the columns of text files.

    Examples
    --------
    >>> from fewlabel.text import distinct
    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a.1']
    """
    names = list(names)
    taken = set(names)
    result = []
    counts: dict[str, int] = {}
    for name in names:
        count = counts.get(name, 0)
        counts[name] = count + 1
        unique = name
        while count and unique in taken:
            unique = f"{name}.{count}"
            count += 1
        taken.add(unique)
        result.append(unique)
    return result
