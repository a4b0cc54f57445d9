"""``fewlabel methods``: the values of `--method`."""

import re

from fewlabel.cli.options import AsJson, unfold
from fewlabel.cli.terminal import print_json, print_table
from fewlabel.cli.wrong_use import WrongUse
from fewlabel.text import suggest

SCORECARD = "scorecard"
_KINDS = {"binary": "two classes", "multiclass": "many classes", "positive-unlabeled": "positives only"}


def _slug(name: str) -> str:
    words = re.findall(r"[^\W_]+", name.lower())
    return "-".join(words)


def find_method(name: str) -> str | list[str]:
    """Portfolio for a value of --method; wrong use if there is none."""
    from fewlabel.auto import portfolio

    if name in ("auto", "small"):
        return name
    if name == SCORECARD:
        # All of them: the others are compared with it, to say what being additive costs.
        return "auto"
    slugs = {_slug(m.name): m for m in portfolio()}
    wanted = _slug(name)
    if wanted not in slugs:
        hint = suggest(wanted, [*slugs, "auto", "small", SCORECARD], "see `fewlabel methods`")
        raise WrongUse(f"there is no method {name!r}; {hint}", "--method")
    member = slugs[wanted]
    if not member.installed:
        message = f"{member.name} needs a package that is not installed; type: pip install {member.package}"
        raise WrongUse(message, "--method")
    return [member.name]


@unfold()
def methods(as_json: AsJson = False) -> None:
    """List the methods for `fewlabel fit --method`."""
    from fewlabel.auto import portfolio

    listed = []
    rows = []
    for member in portfolio():
        labels = [_KINDS[task] for task in member.tasks]
        uses_unlabeled = member.learns == "all"
        about = {"name": _slug(member.name), "method": member.name, "family": member.family}
        listed.append({**about, "uses_unlabeled": uses_unlabeled, "labels": labels, "installed": member.installed})
        learns_from = "all rows" if uses_unlabeled else "labeled rows"
        installed = "yes" if member.installed else "no"
        rows.append([about["name"], member.family, learns_from, ", ".join(labels), installed])
    if as_json:
        print_json(listed)
        return
    title = "auto tries all of these that are installed and suit the labels; small tries a few quick ones."
    print_table(title, ["--method", "family", "learns from", "for labels of", "installed"], rows, left=5)
