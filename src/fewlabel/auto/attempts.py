"""Work that may fail without ending the fit."""

import warnings

from sklearn.exceptions import FitFailedWarning

from fewlabel.text import short
from fewlabel.warning_filters import caller_level


def attempt(work, *args):
    """``work(*args)``, or the error that it raised.

    Examples
    --------
    >>> from fewlabel.auto.attempts import attempt
    >>> attempt(int, "7"), type(attempt(int, "seven"))
    (7, <class 'ValueError'>)
    """
    try:
        return work(*args)
    except Exception as error:  # of any kind: a member may be another library's
        return error


def status_of(reason):
    """What the leaderboard says about a member that is left out, because of an error or of what a text says.

    Examples
    --------
    >>> from fewlabel.auto.attempts import status_of
    >>> status_of(ValueError("no row"))
    'failed: ValueError: no row'
    >>> status_of("not installed: xgboost")
    'not installed: xgboost'
    """
    if isinstance(reason, str):
        return reason
    text = " ".join(str(reason).split())
    return f"failed: {type(reason).__name__}" + (f": {short(text, 200)}" if text else "")


def reasons(left_out):
    """One text of the reasons why members are left out, those with the same reason together.

    Parameters
    ----------
    left_out : dict
        Reason of each member: an error or a text.
    """
    names: dict[str, list[str]] = {}
    for member, reason in left_out.items():
        names.setdefault(status_of(reason), []).append(member.name)
    return "; ".join(f"{', '.join(of_reason)} ({why})" for why, of_reason in names.items())


def warn_failed(left_out):
    """Warn of the members that failed; other reasons are the user's choice."""
    failed = {m: why for m, why in left_out.items() if isinstance(why, Exception)}
    if failed:
        warnings.warn(f"left out of the ensemble: {reasons(failed)}", FitFailedWarning, stacklevel=caller_level())
