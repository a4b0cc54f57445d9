"""``fewlabel predict --engine dask``: every file is scored by one worker, in pieces."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from fewlabel.cli.cluster import cluster_client, require_dask
from fewlabel.cli.paths import keep_inputs, writable_folder
from fewlabel.cli.predict import check_table, load_model, score_file
from fewlabel.cli.results import result_writer
from fewlabel.cli.terminal import progress, say
from fewlabel.tables import Drift


def predict_files(
    model: Path,
    tables: list[Path],
    out: Path | None,
    keep: Sequence[str],
    scheduler: str | None,
    *,
    quiet: bool,
    **form: Any,
) -> Drift:
    """Write a Parquet file of scores for each table; return what the columns look like in all of them."""
    require_dask()
    if out is None or out.suffix:
        raise typer.BadParameter("with --engine dask, name a folder for the results", param_hint="--out")
    stems = [path.name.split(".")[0] for path in tables]
    twice = next((stem for stem in stems if stems.count(stem) > 1), None)
    if twice is not None:
        raise typer.BadParameter(f"two tables are called {twice}, and so would be their results: score them apart")
    results = [out / f"{stem}.parquet" for stem in stems]
    keep_inputs(results, tables)
    writable_folder(out)
    fitted = load_model(model)
    check_table(fitted, tables[0], keep, form["encoding"], quiet)
    out.mkdir(exist_ok=True)
    watch, n_rows = Drift(fitted.encoder.profile), 0
    with cluster_client(scheduler) as client, progress(quiet) as report:
        if scheduler is not None:  # the cluster of this machine has no dashboard
            say(f"dashboard: {client.dashboard_link}", quiet)
        places = [(table.resolve(), result.resolve()) for table, result in zip(tables, results)]
        work = functools.partial(_score, model.resolve(), keep=tuple(keep), **form)
        for k, future in enumerate(client.map(work, *zip(*places), pure=False)):
            n, found = future.result()
            n_rows += n
            watch.merge(found)
            report(k + 1, len(tables), tables[k].name)
    say(f"{n_rows} rows: {len(tables)} files in {out}", quiet)
    return watch


@functools.lru_cache(maxsize=1)
def _loaded(path: Path, changed: int) -> Any:
    """The model, once per worker; `changed` tells another file of that name."""
    return load_model(path)


def _score(model: Path, table: Path, out: Path, *, keep: Sequence[str], **form: Any) -> tuple[int, Drift]:
    fitted = _loaded(model, model.stat().st_mtime_ns)
    watch, n_rows = Drift(fitted.encoder.profile), 0
    with result_writer(out) as (render, write):
        for scored in score_file(fitted, table, keep, watch, n_jobs=1, **form):
            write(render(scored))
            n_rows += len(scored)
    return n_rows, watch
