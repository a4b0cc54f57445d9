"""``fewlabel select``: the columns that are worth keeping."""

from typing import Annotated

import typer

from fewlabel.cli.options import AsJson, Debug, Drop, Seed, TableFile, Target
from fewlabel.cli.paths import read_labeled
from fewlabel.cli.terminal import one_line, print_json
from fewlabel.text import short

_SELECTORS = {
    "fscrf": "SubsetReliefSelector",
    "relieff": "ReliefFSelector",
    "cfs": "CorrelationSubsetSelector",
    "lvf": "ConsistencySubsetSelector",
}


def select(
    table: TableFile,
    *,
    target: Target,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help=f"One of {', '.join(_SELECTORS)}.")
    ] = "fscrf",
    drop: Drop = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Print the columns to keep, one per line, as chosen on the labeled rows."""
    if method not in _SELECTORS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(_SELECTORS)}", param_hint="--method")
    import fewlabel
    from fewlabel.tables import read_columns

    X, y, _ = read_labeled(table, target, drop)
    columns = read_columns(X)
    selector = getattr(fewlabel, _SELECTORS[method])()
    if "random_state" in selector.get_params():
        selector.set_params(random_state=seed)
    chosen = [str(name) for name in columns.table.columns[selector.fit(columns.table, y).get_support()]]
    if as_json:
        print_json({"columns": chosen, "of": list(columns.kinds), "left_out": columns.dropped})
        return
    for name in chosen:
        print(one_line(short(name, 200)))
