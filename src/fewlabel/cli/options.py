"""Options that several commands share."""

import functools
import inspect
from collections.abc import Callable, Container, Iterator
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**32 - 1, help="Random seed.", metavar="SEED")]
TableFile = Annotated[
    Path,
    typer.Argument(
        exists=True, dir_okay=False, metavar="TABLE", help="A .csv, .tsv (also .gz), .parquet, .feather or .arrow file."
    ),
]
TableFiles = Annotated[
    list[Path],
    typer.Argument(
        exists=True,
        metavar="TABLE",
        help="A .csv, .tsv (also .gz), .parquet, .feather or .arrow file; with --engine dask several files, or a "
        "folder of them.",
    ),
]
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="The label column, mostly empty.")]
Positive = Annotated[
    str | None,
    typer.Option("--positive", "-p", metavar="VALUE", help="The class to find; by default the rarer of two."),
]
Drop = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Ignore this column; can be repeated.")
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="The patient, customer or device of each row: scores are then those of new ones. Not a feature.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="When each row was recorded: scores are then those of later rows than learned from. Not a feature.",
    ),
]
Unlabeled = Annotated[
    list[str] | None,
    typer.Option(
        "--unlabeled",
        metavar="VALUE",
        help="A label that marks unlabeled rows, as empty cells do; can be repeated. All others are then classes; '' "
        "for none.",
    ),
]
NegativesUnknown = Annotated[
    bool,
    typer.Option(
        "--negatives-unknown", help="Only the positive class is certain: rows of other classes count as unlabeled."
    ),
]
MergeSpellings = Annotated[
    bool | None,
    typer.Option(
        "--merge-spellings/--keep-spellings", help="Whether labels such as 'Yes' and 'yes ' are one class or several."
    ),
]
AnswerFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "--labels",
        exists=True,
        dir_okay=False,
        metavar="FILE",
        help="Answers: the columns row and label, as `fewlabel next` and `fewlabel label` write them; can be repeated.",
    ),
]
Encoding = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Encoding of a text file; by default utf-8.")
]
Decimal = Annotated[
    str, typer.Option("--decimal", metavar="CHARACTER", help="Decimal separator of a text file, . or ,")
]
DayFirst = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="Whether 03/04/2024 is the third of April or March the fourth."),
]


def unfold(omit: Container[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Offer the fields of the dataclasses that a command takes as options of its own.

    Parameters
    ----------
    omit : container of str
        Fields that are no options of this command: they keep their defaults.

    Examples
    --------
    >>> import inspect
    >>> from dataclasses import dataclass
    >>> from fewlabel.cli.options import unfold
    >>> @dataclass
    ... class Size:
    ...     width: int
    ...     height: int = 1
    >>> @unfold()
    ... def draw(size: Size, *, color: str) -> None:
    ...     print(size, color)
    >>> list(inspect.signature(draw).parameters)
    ['width', 'height', 'color']
    >>> draw(width=2, color="red")
    Size(width=2, height=1) red
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        folded = {name: p.annotation for name, p in own.items() if is_dataclass(p.annotation)}
        shown: list[inspect.Parameter] = []
        for name, parameter in own.items():
            inner = _parameters(folded[name]) if name in folded else [parameter]
            shown += [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in inner if p.name not in omit]

        @functools.wraps(command)
        def unfolded(**values: Any) -> None:
            command(**{name: _take(cls, values) for name, cls in folded.items()}, **values)

        # Typer reads the options from both.
        unfolded.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        unfolded.__annotations__ = {p.name: p.annotation for p in shown}
        return unfolded

    return decorate


def _parameters(cls: Any) -> Iterator[inspect.Parameter]:
    """The fields of a dataclass, and of the dataclasses in it, as parameters of a function."""
    hints = get_type_hints(cls, include_extras=True)
    for field in fields(cls):
        if is_dataclass(hints[field.name]):
            yield from _parameters(hints[field.name])
        else:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield inspect.Parameter(
                field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[field.name]
            )


def _take(cls: Any, values: dict[str, Any]) -> Any:
    """An instance of the dataclass; its fields are taken out of `values`."""
    hints = get_type_hints(cls)
    found = {}
    for field in fields(cls):
        if is_dataclass(hints[field.name]):
            found[field.name] = _take(hints[field.name], values)
        elif field.name in values:
            found[field.name] = values.pop(field.name)
    return cls(**found)
