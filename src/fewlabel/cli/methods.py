"""``fewlabel methods``: the values of `--method`."""

import difflib

import typer

from fewlabel.cli.options import AsJson, Debug
from fewlabel.cli.terminal import print_json, print_table

SCORECARD = "scorecard"
_KINDS = {"binary": "two classes", "multiclass": "many classes", "positive-unlabeled": "positives only"}


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in name.lower()).split())


def find_method(name: str) -> str | list[str]:
    """Portfolio for a value of --method; wrong use if there is none."""
    from fewlabel.auto import portfolio

    if name in ("auto", "small"):
        return name
    if name == SCORECARD:  # others are compared with it, to say what being additive costs
        return "auto"
    slugs = {_slug(m.name): m for m in portfolio()}
    wanted = _slug(name)
    if wanted in slugs:
        member = slugs[wanted]
        if not member.installed:
            message = f"{member.name} needs a package that is not installed; type: pip install {member.package}"
            raise typer.BadParameter(message, param_hint="--method")
        return [member.name]
    near = difflib.get_close_matches(wanted, [*slugs, "auto", "small", SCORECARD], n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "see `fewlabel methods`"
    raise typer.BadParameter(f"there is no method {name!r}; {hint}", param_hint="--method")


def methods(as_json: AsJson = False, debug: Debug = False) -> None:
    """List the methods for `fewlabel fit --method`."""
    from fewlabel.auto import portfolio

    rows = [
        {
            "name": _slug(m.name),
            "method": m.name,
            "family": m.family,
            "uses_unlabeled": m.learns == "all",
            "labels": [_KINDS[task] for task in m.tasks],
            "installed": m.installed,
        }
        for m in portfolio()
    ]
    if as_json:
        print_json(rows)
        return
    print_table(
        "auto tries all of these that are installed and suit the labels; small tries a few quick ones.",
        ["--method", "family", "learns from", "for labels of", "installed"],
        [
            [
                str(r["name"]),
                str(r["family"]),
                "all rows" if r["uses_unlabeled"] else "labeled rows",
                ", ".join(r["labels"]),  # type: ignore[arg-type]
                "yes" if r["installed"] else "no",
            ]
            for r in rows
        ],
        left=5,
    )
