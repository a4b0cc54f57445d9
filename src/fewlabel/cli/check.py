"""``fewlabel check``: how a table is read, before any fit."""

from fewlabel.cli.options import AsJson, Debug, TableFile, unfold
from fewlabel.cli.reading import Reading, read_labeled
from fewlabel.cli.terminal import one_line, print_json, print_table
from fewlabel.text import short


@unfold()
def check(
    table: TableFile,
    *,
    reading: Reading,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show how a table is read: labels, columns, repeated rows, suspected leaks and groups.

    The label column stops here, as in `fewlabel fit`, if it can be read in two ways.
    """
    X, column, notes = read_labeled(table, reading)
    from fewlabel.tables import check as check_table

    found = check_table(X, column, dayfirst=reading.day_first)
    notes = [note for note in notes if note not in (column.describe(), *found.notes)]
    if as_json:
        print_json({**found.to_dict(), "notes": [*notes, *found.notes]})
        return
    print_table(
        f"{short(one_line(table.name))}: {found.n_rows} rows, {len(found.columns)} columns",
        ["column", "kind", "missing", "distinct", "remark"],
        [
            [
                short(one_line(c["name"]), 40),
                c["kind"],
                f"{c['missing']:.0%}" if c["missing"] else "",
                str(c["distinct"]),
                one_line(c["remark"]),
            ]
            for c in found.columns
        ],
        left=2,
    )
    for line in [
        column.describe(),
        *filter(None, [found.selection]),
        *(f"note: {note}" for note in [*notes, *found.notes]),
    ]:
        print(one_line(line))
