"""``fewlabel select``: the columns that are worth keeping."""

from typing import Annotated, Literal

from fewlabel.cli.options import AsJson, Quiet, Seed, Tables, option, unfold
from fewlabel.cli.reading import Reading, read_labeled
from fewlabel.cli.terminal import one_line, print_json, say_notes
from fewlabel.text import short

_SELECTORS = {
    "cfs": "CorrelationSubsetSelector",
    "fscrf": "SubsetReliefSelector",
    "relieff": "ReliefFSelector",
    "lvf": "ConsistencySubsetSelector",
    "pseudo-labels": "PseudoLabelSelector",
    "lsdf": "GraphScoreSelector",
}


@unfold(omit=("positive", "negatives_unknown"))
def select(
    tables: Tables,
    *,
    reading: Reading,
    method: Annotated[
        Literal["cfs", "fscrf", "relieff", "lvf", "pseudo-labels", "lsdf"],
        option("NAME", f"One of {', '.join(_SELECTORS)}.", "--method", "-m"),
    ] = "cfs",
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Print the columns to keep, one per line.

    The methods pseudo-labels and lsdf also use the rows without a label.
    """
    import fewlabel
    from fewlabel.tables import read_columns

    rows, column, notes = read_labeled(tables, reading)
    say_notes(notes, quiet)
    columns = read_columns(rows.table, dayfirst=reading.day_first)
    selector = getattr(fewlabel, _SELECTORS[method])()
    # Not all of them draw random numbers.
    if "random_state" in selector.get_params():
        selector.set_params(random_state=seed)
    selector.fit(columns.table, column.labels.codes)
    chosen = columns.table.columns[selector.get_support()].map(str).tolist()
    if as_json:
        print_json({"columns": chosen, "of": list(columns.kinds), "left_out": columns.dropped})
        return
    for name in chosen:
        print(one_line(short(name, 200)))
