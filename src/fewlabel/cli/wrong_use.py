"""Wrong use of a command: exit code 2, and a message that names the option."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from fewlabel.exceptions import TableError


class WrongUse(typer.BadParameter):
    """An error of whoever typed the command; in a callback of an option, Typer names the option itself."""

    def __init__(self, message: str, option: str | None = None) -> None:
        super().__init__(message, param_hint=option)


@contextmanager
def as_wrong_use(option: str | None = None, errors: type[Exception] = TableError) -> Iterator[None]:
    """Make wrong use of the errors that the value of an option causes."""
    try:
        yield
    except errors as error:
        raise WrongUse(str(error), option) from error
