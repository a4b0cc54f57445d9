"""``fewlabel fit --engine dask``: a booster on Parquet files that do not fit into memory."""

import contextlib
import functools
from typing import Any

import typer

from fewlabel import persistence
from fewlabel.cli.fit import METRICS, MODEL, FitOptions
from fewlabel.cli.paths import check_columns, new_set, sha256, write_json
from fewlabel.cli.terminal import print_json, progress, say
from fewlabel.report import notes_of


def fit_dask(options: FitOptions) -> None:
    """Fit a booster on Dask's workers, and write the model and the metrics."""
    try:
        import dask.dataframe as dd

        from fewlabel.dask.tables import METHODS, fit_table
    except ImportError as error:
        raise typer.BadParameter(
            "it needs Dask: run `pip install 'fewlabel[dask]'`", param_hint="--engine dask"
        ) from error
    if options.method not in ("auto", *METHODS):
        raise typer.BadParameter(f"{options.method!r} is not auto, {', '.join(METHODS)}", param_hint="--method")
    if options.cut.given():
        raise typer.BadParameter(
            "it needs out-of-fold scores, which --engine memory makes", param_hint=options.cut.given()[0]
        )
    other = [path for path in options.tables if path.suffix.lower() not in (".parquet", ".pq") and not path.is_dir()]
    if other:
        raise typer.BadParameter(f"{other[0]} is not a Parquet file: --engine dask reads Parquet only")
    if options.reading.answers:
        raise typer.BadParameter("--engine dask does not read them: merge them into the table", param_hint="--labels")
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(_client(options))
        say(f"dashboard: {client.dashboard_link}", options.quiet)
        table = dd.read_parquet([str(path) for path in options.tables])
        reading = options.reading
        check_columns([str(name) for name in table.columns], reading.target, reading.drop)
        options.out.mkdir(exist_ok=True)
        model, found = fit_table(
            table.drop(columns=reading.drop or []),
            reading.target,
            method=options.method,
            read_labels=functools.partial(_read_labels, options),
            dayfirst=reading.day_first,
            random_state=options.seed,
            checkpoint=options.out / "fit.checkpoint",
            callback=stack.enter_context(progress(options.quiet)),
        )
    for note in notes_of(model):
        say(f"note: {note}", options.quiet)
    with new_set(options.out, MODEL, METRICS) as (model_file, metrics_file):
        persistence.save(model, model_file)
        found["model_sha256"] = sha256(model_file)
        write_json(found, metrics_file)
    if options.as_json:
        print_json(found)
    elif not options.quiet:
        _show(found)
        print(f"\nModel:   {options.out / MODEL}\nMetrics: {options.out / METRICS}")


def _read_labels(options: FitOptions, y: Any, repeats: Any) -> Any:
    """Read the distinct labels, and say how."""
    column = options.reading.labels(y, repeats=repeats)
    for note in [column.describe(), *column.notes]:
        say(f"note: {note}", options.quiet)
    return column


@contextlib.contextmanager
def _client(options: FitOptions) -> Any:
    """A client of the given cluster, or of one on the cores of this machine."""
    from distributed import Client, LocalCluster
    from joblib import effective_n_jobs

    if options.scheduler is not None:
        with Client(options.scheduler) as client:
            yield client
        return
    cores = effective_n_jobs(options.jobs)
    with (
        LocalCluster(n_workers=cores, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR") as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        yield client


def _show(found: dict[str, Any]) -> None:
    held = found["held_out"]
    print(
        f"{found['method']}: {found['rows']} rows, {sum(found['labeled_by_class'].values())} labeled, "
        f"{found['rounds']} rounds in {found['seconds']:.0f} s"
    )
    if held is not None:
        print(
            f"AUC {held['auc']:.3f} (95% interval {held['low']:.3f} to {held['high']:.3f}) on {held['rows']} labeled "
            "rows that were held out"
        )
