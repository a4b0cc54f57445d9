"""``fewlabel scorecard``: a saved additive model as points, for a spreadsheet, a database or a reader."""

from pathlib import Path
from typing import Annotated

import typer

from fewlabel.cli.options import ModelFile, Quiet, SQLTable, option, unfold
from fewlabel.cli.paths import file_ending_in
from fewlabel.cli.terminal import say
from fewlabel.cli.wrong_use import WrongUse

_card_file = file_ending_in(".csv", ".sql", ".html")


@unfold()
def scorecard(
    model: ModelFile,
    *,
    out: Annotated[Path, option("FILE", "card.csv, card.sql or card.html.", "--out", "-o", callback=_card_file)],
    whole: Annotated[bool, typer.Option("--round", help="Round the points to whole numbers.")] = False,
    points_only: Annotated[
        bool, typer.Option("--points-only", help="In SQL: the points alone, one readable CASE per column.")
    ] = False,
    points: Annotated[float, option("N", "Number of points that doubles the odds.", min=1e-9)] = 20,
    base: Annotated[float, option("N", "Number of points at even odds.")] = 600,
    table: SQLTable = "rows",
    quiet: Quiet = False,
) -> None:
    """Write an additive model as points for each column.

    The model has to be a stump booster: `fewlabel fit --method scorecard` chooses the best one. The SQL statement gives
    the score, probability and label of `fewlabel predict` on SQLite and DuckDB; with --points-only it is short
    enough to be read and signed.
    """
    from fewlabel.cli.new_rows import load_model
    from fewlabel.files import write_text
    from fewlabel.inspection import round_card, rounding_loss
    from fewlabel.tables import points_sql, scorecard_sql, table_scorecard

    if points_only and out.suffix.lower() != ".sql":
        raise WrongUse("it is for a .sql file: others hold points anyway", "--points-only")
    fitted = load_model(model)
    card = table_scorecard(fitted, points=points, base=base)
    if whole:
        card = round_card(card)
        # None if the file has no rows of the fit to try it on.
        lost = rounding_loss(fitted, points)
        if lost is not None:
            say(f"rounding changes or ties the order of {lost:.1%} of the pairs of 50 rows of the fit", quiet)
    kind = out.suffix.lower()
    if kind == ".sql" and points_only:
        content = points_sql(fitted, table=table, points=points, base=base, whole=whole)
    elif kind == ".sql":
        content = scorecard_sql(fitted, table=table, points=points, base=base, whole=whole)
    elif kind == ".csv":
        import pyarrow as pa

        from fewlabel.cli.results import as_text

        content = b"".join(as_text(pa.Table.from_pandas(card, preserve_index=False), ",")).decode()
    else:
        from fewlabel.reporting import render_scorecard

        positive = str(fitted.classes_[fitted.positive])
        content = render_scorecard(card, title=fitted.target, positive=positive, points=points, base=base)
    write_text(out, content)
    # The first row is the points that every row of the table starts with.
    n_columns = card["column"].nunique() - 1
    say(f"{n_columns} columns: {out}", quiet)
