"""``fewlabel select``: the columns that tell the classes."""

from typing import Annotated

import typer

from fewlabel.cli.options import AsJson, Debug, Drop, Seed, TableFile, Target, print_json, read_labeled
from fewlabel.text import short

_SELECTORS = {
    "fscrf": "SubsetReliefSelector",
    "relieff": "ReliefFSelector",
    "cfs": "CorrelationSubsetSelector",
    "lvf": "ConsistencySubsetSelector",
}


def select(
    table: TableFile,
    target: Target,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help=f"One of {', '.join(_SELECTORS)}.")
    ] = "fscrf",
    drop: Drop = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print the columns to keep, one a line, from the labeled rows."""
    import fewlabel
    from fewlabel.tables import TableClassifier

    if method not in _SELECTORS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(_SELECTORS)}", param_hint="--method")
    X, y, _ = read_labeled(table, target, drop)
    model = TableClassifier(random_state=seed)
    cleaned = model.clean(X, y)
    selector = getattr(fewlabel, _SELECTORS[method])()
    if "random_state" in selector.get_params():
        selector.set_params(random_state=seed)
    chosen = [str(name) for name in cleaned.columns[selector.fit(cleaned, y).get_support()]]
    if as_json:
        print_json({"columns": chosen, "of": list(cleaned.columns), "left_out": model.dropped_})
        return
    for name in chosen:
        print(" ".join(short(name, 200).split()))
