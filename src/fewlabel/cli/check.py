"""``fewlabel check``: how a table is read, before any fit."""

from fewlabel.cli.options import AsJson, Tables, unfold
from fewlabel.cli.reading import Reading, read_labeled
from fewlabel.cli.terminal import one_line, print_json, print_table
from fewlabel.text import short


@unfold()
def check(
    tables: Tables,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show how a table is read: its labels, columns and leaks.

    Repeated rows, contradicting labels and groups are named, too. The label column stops here, as in `fewlabel fit`,
    if it can be read in two ways.
    """
    read, column, notes = read_labeled(tables, reading)
    from fewlabel.tables import check as check_table

    checked = check_table(read.table, column, dayfirst=reading.day_first)
    # How the labels are read has a line of its own, and the check repeats some of the notes of reading.
    said = (column.describe(), *checked.notes)
    notes = [note for note in notes if note not in said]
    notes += checked.notes
    if as_json:
        print_json({**checked.to_dict(), "notes": notes})
        return
    rows = []
    for about in checked.columns:
        name = short(one_line(about["name"]), 40)
        missing = f"{about['missing']:.0%}" if about["missing"] else ""
        rows.append([name, about["kind"], missing, str(about["distinct"]), one_line(about["remark"])])
    title = f"{short(one_line(read.source.name))}: {checked.n_rows} rows, {len(checked.columns)} columns"
    print_table(title, ["column", "kind", "missing", "distinct", "remark"], rows, left=2)
    print(one_line(column.describe()))
    if checked.selection:
        print(one_line(checked.selection))
    for note in notes:
        print(one_line(f"note: {note}"))
