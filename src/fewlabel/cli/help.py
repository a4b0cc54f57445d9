"""What ``--help`` prints: options in groups, and examples at the end, for terminals from 80 columns on."""

import shutil
from typing import Any

from typer.core import TyperCommand

# In the order in which a reader needs them; an option that is not here stands under "Options".
_GROUPS = {
    "Labels": (
        "--target",
        "--positive",
        "--unlabeled",
        "--negatives-unknown",
        "--merge-spellings",
        "--labels",
        "--class",
        "--labels-drawn",
        "--label-probability",
        "--labeled-because",
        "--label-time",
        "--mature-after",
    ),
    "Data": (
        "--query",
        "--table",
        "--sheet",
        "--drop",
        "--keep",
        "--weights",
        "--monotone",
        "--special",
        "--encoding",
        "--decimal",
        "--day-first",
    ),
    "Validation": ("--groups", "--time", "--scoring", "--interval"),
    "Threshold": ("--review", "--cost-miss", "--cost-alarm", "--at-precision", "--prior"),
    "Options": (),
    "Output": (
        "--out",
        "--out-table",
        "--if-exists",
        "--model-out",
        "--drift",
        "--strict",
        "--reasons",
        "--report-by",
        "--json",
        "--quiet",
        "--debug",
    ),
    "Speed": ("--time-budget", "--jobs", "--engine", "--scheduler"),
}
_GROUP_OF = {option: group for group, options in _GROUPS.items() for option in options}
_WIDEST_NAMES = 32  # columns; longer names have their help on the next line
_WIDEST = 100

EXAMPLES = {
    "demo": ["fewlabel demo", "fewlabel demo --labeled 0.2 --out demo.html"],
    "check": ["fewlabel check rows.csv --target outcome"],
    "fit": [
        "fewlabel fit rows.csv --target outcome --positive bad --out model",
        "fewlabel fit rows.csv --target outcome --review 200 --out model",
        "fewlabel fit rows.csv --target outcome --cost-miss 500 --cost-alarm 5",
        "fewlabel fit rows.csv --target outcome --groups patient --labels ask.csv",
        "fewlabel fit postgresql://me@host/bank --table loans --target outcome",
    ],
    "predict": [
        "fewlabel predict model/model.fewlabel new.csv --out scores.csv",
        "fewlabel predict model/model.fewlabel new.csv --reasons 3 --strict",
        "fewlabel predict model.fewlabel bank.db --out bank.db --out-table scores",
    ],
    "monitor": [
        "fewlabel monitor model/model.fewlabel march.csv --out watch",
        "fewlabel monitor model/model.fewlabel march.csv --labels late.csv --key id",
    ],
    "export": [
        "fewlabel export model/model.fewlabel --out model.onnx",
        "fewlabel export model/model.fewlabel --table payments --out model.sql",
    ],
    "scorecard": [
        "fewlabel fit rows.csv --target outcome --method scorecard --out model",
        "fewlabel scorecard model/model.fewlabel --round --out card.csv",
        "fewlabel scorecard model/model.fewlabel --round --points-only --out card.sql",
    ],
    "prior": ["fewlabel prior claims.csv --target fraud"],
    "select": ["fewlabel select rows.csv --target outcome"],
    "methods": ["fewlabel methods", "fewlabel fit rows.csv --target outcome --method extra-trees"],
    "label": [
        "fewlabel label rows.csv --target outcome",
        "fewlabel label rows.csv --target outcome --class good --class bad --as Ada",
    ],
    "audit": [
        "fewlabel audit rows.csv --target outcome --n 50 --out ask.csv",
        "fewlabel fit rows.csv --target outcome --labels ask.csv --out model",
    ],
    "next": [
        "fewlabel next rows.csv --target outcome --n 50 --out ask.csv",
        "fewlabel fit rows.csv --target outcome --labels ask.csv --out model",
    ],
}


class GroupedCommand(TyperCommand):
    """A command whose help has its options in groups, each name on one line, and examples."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then each group of options."""
        formatter.width = min(shutil.get_terminal_size().columns, _WIDEST) - 2
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        groups.update({name: [] for name in _GROUPS})
        for parameter in self.get_params(ctx):
            if getattr(parameter, "hidden", False):
                continue
            group = _GROUP_OF.get(parameter.opts[0], "Options")
            if parameter.param_type_name == "argument":
                group = "Arguments"
            groups[group].append(_record(parameter))
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records, col_max=_WIDEST_NAMES)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the examples, each on its own line."""
        with formatter.section("Examples"):
            for line in EXAMPLES.get(self.name or "", ()):
                formatter.write(f"  {line}\n")


def _record(parameter) -> tuple[str, str]:
    """Names of a parameter, and what it means; the metavar says what to type."""
    if parameter.param_type_name == "argument":
        return parameter.metavar, parameter.help or ""
    short_first = sorted(parameter.opts, key=len)
    names = ", ".join(short_first)
    if parameter.secondary_opts:
        names += " / " + parameter.secondary_opts[0]
    if not parameter.is_flag and parameter.metavar:
        names += f" {parameter.metavar}"
    text = parameter.help or ""
    if parameter.required:
        return names, f"{text} Required."
    default = parameter.default
    # Flags, empty values and lists have no default that is worth a word.
    if isinstance(default, bool | list) or default is None or str(default) == "" or not parameter.show_default:
        return names, text
    return names, f"{text} Default: {default}"
