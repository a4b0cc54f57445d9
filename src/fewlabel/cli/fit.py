"""``fewlabel fit``: a table in; a model, a report and the numbers out."""

import contextlib
import os
import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from fewlabel.cli.options import (
    AsJson,
    Debug,
    Drop,
    Positive,
    Quiet,
    Seed,
    Target,
    check_columns,
    print_json,
    print_table,
    progress,
    read_labeled,
    say,
)
from fewlabel.text import short

_FILES = ("model.skops", "report.html", "metrics.json")


def _folder(path: Path) -> Path:
    """Check, before any work, that files can be written to a folder, which may not be there yet."""
    if path.exists() and not path.is_dir():
        raise typer.BadParameter(f"{path} is a file: name a folder")
    nearest = path if path.exists() else path.absolute().parent
    if not nearest.is_dir():
        raise typer.BadParameter(f"there is no folder {nearest}: make it first, or name another")
    if not os.access(nearest, os.W_OK):
        raise typer.BadParameter(f"{nearest} cannot be written: choose another place")
    return path


def fit(
    tables: Annotated[
        list[Path],
        typer.Argument(
            exists=True,
            metavar="TABLE",
            help="A .csv, .tsv (also .gz), .parquet, .feather or .arrow file; with --engine dask many Parquet files.",
        ),
    ],
    target: Target,
    positive: Positive = None,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help="auto, or a method of `fewlabel methods`.")
    ] = "auto",
    out: Annotated[
        Path, typer.Option("--out", "-o", callback=_folder, metavar="DIR", help="Where the three files go.")
    ] = Path("."),
    drop: Drop = None,
    scoring: Annotated[str, typer.Option("--scoring", help="roc_auc or average_precision.")] = "roc_auc",
    time_budget: Annotated[
        float | None, typer.Option("--time-budget", min=1, metavar="SECONDS", help="Try no further method after this.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", metavar="N", help="Methods at the same time; -1: all cores.")
    ] = -1,
    engine: Annotated[
        str, typer.Option("--engine", help="memory, or dask: Parquet files that do not fit into memory.")
    ] = "memory",
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A Dask cluster; by default the cores of this machine."),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Learn from a table whose label column is mostly empty; write model.skops, report.html and metrics.json.

    Unlabeled rows have an empty label (or -1 in a column of numbers). If only one class is labeled, it is taken for
    the positive one, and every other row may be either.

    With --engine dask, one booster (pnu-aucboost, rankboost or ada-pu) learns from Parquet files block by block, and
    model.skops and metrics.json are written. A fit that was stopped goes on when the same command is given again.
    """
    if engine == "dask":
        _fit_spread(tables, target, positive, method, out, drop, jobs, scheduler, seed, as_json, quiet)
        return
    if engine != "memory":
        raise typer.BadParameter(f"{engine!r} is not memory or dask", param_hint="--engine")
    if len(tables) > 1 or tables[0].is_dir():
        raise typer.BadParameter(f"{tables[len(tables) > 1]}: several files are read with --engine dask only")
    table = tables[0]
    from fewlabel import persistence, report
    from fewlabel.auto import AutoClassifier
    from fewlabel.cli.methods import find_method
    from fewlabel.tables import TableClassifier

    if scoring not in ("roc_auc", "average_precision"):
        raise typer.BadParameter(f"{scoring!r} is not roc_auc or average_precision", param_hint="--scoring")
    portfolio = find_method(method)
    X, y, notes = read_labeled(table, target, drop)
    estimator = AutoClassifier(portfolio, scoring=scoring, time_budget=time_budget, n_jobs=jobs, random_state=seed)
    model = TableClassifier(estimator, positive=positive, random_state=seed)
    with progress(quiet) as tell:
        model.fit(X, y, callback=tell)
    for note in [*notes, *report.notes_of(model)]:
        say(f"note: {note}", quiet)
    command = _command(table, target, positive, method, out, drop, scoring, time_budget, seed)
    say("writing the report", quiet)
    summary = report.summarize(
        model, X, y, title=table.name, command=command, seed=seed, notes=notes, model_file=str(out / _FILES[0])
    )
    _write_all(out, model, summary, persistence, report)
    if as_json:
        print_json(report.metrics(summary))
    elif not quiet:
        show(summary)
        print(
            "\n" + "\n".join(f"{kind} {out / name}" for kind, name in zip(("Model:  ", "Report: ", "Metrics:"), _FILES))
        )


def _fit_spread(
    tables: list[Path],
    target: str,
    positive: str | None,
    method: str,
    out: Path,
    drop: list[str] | None,
    jobs: int,
    scheduler: str | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn from Parquet files on Dask's workers."""
    import json

    from fewlabel import persistence
    from fewlabel.files import atomic_write
    from fewlabel.report import notes_of

    try:
        import dask.dataframe as dd
        from distributed import Client, LocalCluster

        from fewlabel.dask._tables import METHODS, fit_table
    except ImportError as error:
        raise typer.BadParameter(
            "it needs Dask: run `pip install 'fewlabel[dask]'`", param_hint="--engine dask"
        ) from error
    if method not in ("auto", *METHODS):
        raise typer.BadParameter(f"{method!r} is not auto, {', '.join(METHODS)}", param_hint="--method")
    other = [path for path in tables if path.suffix.lower() not in (".parquet", ".pq") and not path.is_dir()]
    if other:
        raise typer.BadParameter(f"{other[0]} is no Parquet file: --engine dask reads Parquet only")
    with contextlib.ExitStack() as stack:
        address = scheduler
        if scheduler is None:
            from joblib import effective_n_jobs

            cores = effective_n_jobs(jobs)
            address = stack.enter_context(
                LocalCluster(n_workers=cores, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR")
            )
        client = stack.enter_context(Client(address, direct_to_workers=scheduler is None))
        say(f"dashboard: {client.dashboard_link}", quiet)
        table = dd.read_parquet([str(path) for path in tables])
        check_columns([str(name) for name in table.columns], target, drop)
        tell = stack.enter_context(progress(quiet))
        out.mkdir(exist_ok=True)
        model, found = fit_table(
            table.drop(columns=list(drop or ())),
            target,
            method=method,
            positive=positive,
            random_state=seed,
            checkpoint=out / "fit.checkpoint",
            callback=lambda done, total, name: tell(done, total, name) if done % max(total // 20, 1) == 0 else None,
        )
    for note in notes_of(model):
        say(f"note: {note}", quiet)
    persistence.save(model, out / _FILES[0])
    with atomic_write(out / _FILES[2]) as file:
        file.write((json.dumps(found, indent=2, allow_nan=False) + "\n").encode())
    if as_json:
        print_json(found)
    elif not quiet:
        held = found["held_out"]
        print(
            f"{found['method']}: {found['rows']} rows, {sum(found['labeled_by_class'].values())} labeled, "
            f"{found['rounds']} rounds in {found['seconds']:.0f} s"
        )
        if held is not None:
            print(
                f"AUC {held['auc']:.3f} (95% interval {held['low']:.3f} to {held['high']:.3f}) on {held['rows']} "
                "labeled rows held out of a fit of its own"
            )
        print(f"\nModel:   {out / _FILES[0]}\nMetrics: {out / _FILES[2]}")


def _command(table, target, positive, method, out, drop, scoring, time_budget, seed) -> str:
    parts = ["fewlabel", "fit", str(table), "--target", target]
    for option, value, default in (
        ("--positive", positive, None),
        ("--method", method, "auto"),
        ("--scoring", scoring, "roc_auc"),
        ("--time-budget", time_budget, None),
        ("--seed", seed, 0),
        ("--out", str(out), "."),
    ):
        if value != default:
            parts += [option, f"{value:g}" if isinstance(value, float) else str(value)]
    for name in drop or ():
        parts += ["--drop", name]
    return shlex.join(parts)


def _write_all(out: Path, model: Any, summary: dict[str, Any], persistence: Any, report: Any) -> None:
    """The three files, each whole or not at all; a folder that was made for them goes with them."""
    import json

    from fewlabel.files import atomic_write

    made = not out.exists()
    out.mkdir(exist_ok=True)
    try:
        report.write(summary, out / _FILES[1])
        with atomic_write(out / _FILES[2]) as file:
            file.write((json.dumps(report.metrics(summary), indent=2, allow_nan=False) + "\n").encode())
        persistence.save(model, out / _FILES[0])
    except BaseException:
        if made:
            for name in _FILES:
                (out / name).unlink(missing_ok=True)
            out.rmdir()
        raise


def show(summary: dict[str, Any]) -> None:
    """The leaderboard and the verdict, on the terminal."""
    data, score = summary["data"], summary["score_name"]
    rows = [
        [
            short(row["method"], 40),
            "all rows" if row["uses_unlabeled"] else "labeled",
            f"{row['score']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
            f"{row['weight']:.2f}" if row["weight"] and row["family"] != "ensemble" else "",
            f"{row['fit_seconds']:.2f}",
        ]
        for row in summary["leaderboard"]
    ]
    title = f"{short(summary['title'])}: {data['labeled']} labeled and {data['unlabeled']} unlabeled rows"
    print_table(title, ["method", "learns from", score, "95% interval", "weight", "seconds"], rows, left=2)
    print(summary["verdict"]["text"].replace("\N{MINUS SIGN}", "-"))  # not every terminal has the sign
