"""Options that several commands share."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from fewlabel.addresses import Address
from fewlabel.cli.paths import writable_folder
from fewlabel.cli.wrong_use import WrongUse, as_wrong_use

if TYPE_CHECKING:
    from fewlabel.decisions import Costs
    from fewlabel.tables import TableSource


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option of Typer that takes a value; it is called as its parameter unless names are given."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


# Read by `main.run`, as an error may come before a command has its options.
_Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]
Seed = Annotated[int, option("SEED", "Random seed.", min=0, max=2**32 - 1)]
ModelFile = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, metavar="MODEL", help="A model.fewlabel file of `fewlabel fit`.")
]
SQLTable = Annotated[str, option("NAME", "In SQL, the table to score.")]
OutFolder = Annotated[Path, option("DIR", "Folder for the files.", "--out", "-o", callback=writable_folder)]


def as_address(text: str) -> Address:
    """An address as a user writes it; wrong use, without the password in it, if it is none."""
    with as_wrong_use():
        return Address.parse(text)


Tables = Annotated[
    list[Address],
    typer.Argument(
        parser=as_address,
        metavar="TABLE",
        help="A .csv, .tsv (also .gz), .parquet, .feather or .arrow file; several, a folder or a pattern; an Excel "
        "workbook; - for standard input; or a database, such as sqlite:///bank.db or postgresql://user@host/bank.",
    ),
]
AnswerFiles = Annotated[
    list[Path] | None,
    option(
        "FILE",
        "Answers: the columns row and label, as `fewlabel next` and `fewlabel label` write them; can be repeated.",
        "--labels",
        exists=True,
        dir_okay=False,
    ),
]
DayFirst = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="Whether 03/04/2024 is the third of April or March the fourth."),
]


@dataclass(frozen=True)
class Place:
    """The options on where the rows of a table are, and how a text file is written."""

    query: Annotated[str | None, option("SQL", "The rows of a database: a SELECT query.")] = None
    table: Annotated[str | None, option("NAME", "The rows of a database: a table or a view.")] = None
    sheet: Annotated[str | None, option("NAME", "The sheet of a workbook; by default the first.")] = None
    encoding: Annotated[str | None, option("NAME", "Encoding of a text file; by default utf-8.")] = None
    decimal: Annotated[str, option("CHARACTER", "Decimal separator of a text file, . or ,")] = "."

    @contextlib.contextmanager
    def open(self, tables: Any) -> "Iterator[TableSource]":
        """As :func:`fewlabel.tables.open_table`; wrong use if an option does not go with the table."""
        from fewlabel.tables import check_source, open_table

        if len(self.decimal) != 1:
            raise WrongUse(f"{self.decimal!r} is not one character, such as , or .", "--decimal")
        form = asdict(self)
        with as_wrong_use("TABLE"):
            addresses = check_source(tables, **form)
        with open_table(addresses, **form) as source:
            yield source


@dataclass(frozen=True)
class CostOptions:
    """The options on what wrong decisions cost."""

    cost_miss: Annotated[
        float | None,
        option("X", "Cost of a missed positive, for the least cost.", min=1e-9),
    ] = None
    cost_alarm: Annotated[
        float | None,
        option("Y", "With --cost-miss: cost of a false alarm.", min=1e-9),
    ] = None

    # Here rather than in callbacks of Typer, which see one option at a time.
    def __post_init__(self) -> None:
        if (self.cost_miss is None) != (self.cost_alarm is None):
            raise WrongUse("--cost-miss and --cost-alarm go together: give both, in the same unit")

    def read(self) -> "Costs | None":
        """Both costs, if they are given."""
        from fewlabel.decisions import Costs

        if self.cost_miss is None or self.cost_alarm is None:
            return None
        return Costs(self.cost_miss, self.cost_alarm)


def unfold(omit: Container[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Offer the fields of the dataclasses that a command takes as options of its own, and --debug.

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
    ['width', 'height', 'color', 'debug']
    >>> draw(width=2, color="red")
    Size(width=2, height=1) red
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        folded: dict[str, Any] = {}
        shown: list[inspect.Parameter] = []
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
            options: Iterable[inspect.Parameter] = [parameter]
            if is_dataclass(parameter.annotation):
                folded[name] = parameter.annotation
                options = _parameters(parameter.annotation)
            for option in options:
                if option.name not in omit:
                    # A field with a default may stand before one without: only keywords allow that.
                    shown.append(option.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        shown.append(inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_Debug))

        @functools.wraps(command)
        def unfolded(debug: bool = False, **values: Any) -> None:
            instances = {name: _take(cls, values) for name, cls in folded.items()}
            command(**instances, **values)

        # Typer reads the options from both.
        unfolded.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        unfolded.__annotations__ = {p.name: p.annotation for p in shown}
        return unfolded

    return decorate


def _parameters(cls) -> Iterator[inspect.Parameter]:
    """The fields of a dataclass, and of the dataclasses in it, as parameters of a function."""
    hints = get_type_hints(cls, include_extras=True)
    for field in fields(cls):
        hint = hints[field.name]
        if is_dataclass(hint):
            yield from _parameters(hint)
            continue
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _take(cls, values: dict[str, Any]) -> Any:
    """An instance of the dataclass; its fields are taken out of `values`."""
    hints = get_type_hints(cls)
    arguments = {}
    for field in fields(cls):
        if is_dataclass(hints[field.name]):
            arguments[field.name] = _take(hints[field.name], values)
        # Those that the command omits keep their defaults.
        elif field.name in values:
            arguments[field.name] = values.pop(field.name)
    return cls(**arguments)


def command_words(options: Any, omit: Container[str] = ()) -> list[str]:
    """Arguments of a command line that give these values; options with their defaults are left out.

    Parameters
    ----------
    options : dataclass
        As a command takes it that is decorated with `unfold`.
    omit : container of str
        Fields to leave out.

    Examples
    --------
    >>> from fewlabel.cli.options import command_words
    >>> from fewlabel.cli.reading import Reading
    >>> command_words(Reading("y", positive="bad", unlabeled=["-1"], day_first=False))
    ['--target', 'y', '--positive', 'bad', '--unlabeled=-1', '--month-first']
    """
    words: list[str] = []
    for name, value, declared in _given(options, omit):
        if isinstance(declared, typer.models.ArgumentInfo):
            words += map(str, value)
        else:
            # In an annotation, Typer takes the first name of an option for its default.
            named = f"--{name.replace('_', '-')}" if declared.default is ... else declared.default
            words += _option_words(named, value)
    return words


def _given(options, omit: Container[str]) -> Iterator[tuple[str, Any, Any]]:
    """Field, value and declaration of each option that differs from its default."""
    hints = get_type_hints(type(options), include_extras=True)
    for one in fields(options):
        value = getattr(options, one.name)
        if one.name in omit or value == one.default:
            continue
        if is_dataclass(value):
            yield from _given(value, omit)
        else:
            yield one.name, value, hints[one.name].__metadata__[0]


def given_options(options: Any, omit: Container[str] = ()) -> dict[str, Any]:
    """The options that differ from their defaults, by field, as JSON can hold them.

    Examples
    --------
    >>> from fewlabel.cli.options import given_options
    >>> from fewlabel.cli.reading import Reading
    >>> given_options(Reading("y", unlabeled=["-1"], day_first=False))
    {'target': 'y', 'unlabeled': ['-1'], 'day_first': False}
    """
    given: dict[str, Any] = {}
    for name, value, _ in _given(options, omit):
        if isinstance(value, list):
            given[name] = [str(item) for item in value]
        else:
            given[name] = str(value) if isinstance(value, Path) else value
    return given


def _option_words(name: str, value) -> list[str]:
    if isinstance(value, bool):
        yes, _, no = name.partition("/")
        return [yes if value else no]
    words = []
    for text in map(str, value if isinstance(value, list) else [value]):
        # A value that starts with a hyphen would look like another option.
        words += [f"{name}={text}"] if text.startswith("-") else [name, text]
    return words
