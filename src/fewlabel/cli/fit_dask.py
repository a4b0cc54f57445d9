"""``fewlabel fit --engine dask``: tables larger than memory, by a sample of the unlabeled rows or by all rows."""

import contextlib
import functools
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import typer

from fewlabel import persistence
from fewlabel.cli.cluster import cluster_client, gathering, require_dask
from fewlabel.cli.fit import METRICS, MODEL, FitOptions
from fewlabel.cli.fit_memory import check_options, fit_rows
from fewlabel.cli.paths import check_columns, new_set, sha256, write_json
from fewlabel.cli.reading import TableRows, label_rows, read_rows
from fewlabel.cli.terminal import print_json, progress, say
from fewlabel.report import notes_of
from fewlabel.tables import TableClassifier

_FIRST = 10_000  # unlabeled rows of the first sample


def fit_sample(options: FitOptions) -> None:
    """Gather the labeled rows and a sample of the others, fit to them as in memory, and check it on other samples."""
    require_dask()
    check_options(options)
    _refuse(options, sampled=True)
    from fewlabel.dask.gather import find_sources, gather_files
    from fewlabel.files import is_text_file
    from fewlabel.tables.pieces import table_columns

    sources = find_sources(options.tables)
    first = sources[0].path
    names = table_columns(first)
    target, drop = options.reading.target, set(options.reading.drop or ())
    check_columns(names, target, options.reading.drop)
    with gathering(options.scheduler, options.jobs) as client:
        if client is not None:
            say(f"dashboard: {client.dashboard_link}", options.quiet)
        pool = gather_files(sources, target, [name for name in names if name not in drop], seed=options.seed)

    sample = _Sample(options, pool, *_labeled_values(options, pool, is_text_file(first)), is_text_file(first))
    n = _FIRST
    while not fit_rows(options, sample.rows(0, n), _title(options), functools.partial(sample.check, n)):
        n *= 2
        say(f"other samples give another ranking: now with {n} unlabeled rows", options.quiet)


def _title(options: FitOptions) -> str:
    first, *others = options.tables
    return first.name + (f" and {len(others)} more" if others else "")


def _labeled_values(options: FitOptions, pool: Any, is_text: bool) -> tuple[list[Any], list[Any]]:
    """The values of the label column that are classes, and those that mark unlabeled rows."""
    values = pd.Series(list(pool.counts), dtype=object, name=options.reading.target)
    column = options.reading.labels(values, repeats=pd.Series(list(pool.counts.values())), text_file=is_text)
    known = column.labels.codes >= 0
    return values[known].tolist(), values[~known].tolist()


class _Sample(NamedTuple):
    """Rows of a pool, and what they say about the rows that are not in it."""

    options: FitOptions
    pool: Any
    labeled: list[Any]
    unlabeled: list[Any]
    is_text: bool

    @property
    def n_unlabeled(self) -> int:
        return sum(self.pool.counts[value] for value in self.unlabeled)

    def rows(self, start: int, stop: int) -> TableRows:
        """The labeled rows and some unlabeled ones, as read from a file that holds nothing else."""
        import pyarrow as pa

        parts = [self.pool.rows(self.labeled), self.pool.rows(self.unlabeled, start, stop)]
        found = self._read(pa.concat_tables(parts, promote_options="permissive"))
        return found._replace(notes=[*found.notes, *self._notes(len(parts[0]), len(parts[1]))])

    def _read(self, table: Any) -> TableRows:
        from pyarrow import csv, parquet

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv" if self.is_text else "rows.parquet")
            (csv.write_csv if self.is_text else parquet.write_table)(table, path)
            return read_rows(path, replace(self.options.reading, drop=None), new_target=False, with_keys=True)

    def _notes(self, n_labeled: int, n_unlabeled: int) -> Iterator[str]:
        n_all = sum(self.pool.counts[value] for value in self.labeled)
        if n_labeled < n_all:
            yield f"{n_labeled} of {n_all} labeled rows were drawn at random: more than that are not gathered"
        if n_unlabeled < self.n_unlabeled:
            yield f"{n_unlabeled} of {self.n_unlabeled} unlabeled rows were drawn at random; figures are of this sample"

    def check(self, n: int, model: TableClassifier) -> str | None:
        """Whether the same methods with other unlabeled rows rank a third sample alike; None to take more rows."""
        from fewlabel.dask import other_samples

        if self.n_unlabeled <= n:
            return f"all {self.n_unlabeled} unlabeled rows were used"
        further = self.pool.rows(self.unlabeled, 2 * n, 2 * n + other_samples.JUDGED)
        if len(further) < other_samples.LEAST_JUDGED:
            return "too few other unlabeled rows to check that the sample is large enough"
        judged = self._read(further).table
        X, column, _ = label_rows(self.rows(n, 2 * n), self.options.reading)
        names = {self.options.groups, self.options.time} - set(self.options.keep or ())
        again = TableClassifier(
            other_samples.same_methods(model.estimator_),
            positive=column.positive,
            dayfirst=self.options.reading.day_first,
            random_state=self.options.seed,
        )
        again.fit(X.drop(columns=[name for name in names if name in X]), column.labels)
        agreement = other_samples.rank_agreement(model.decision_function(judged), again.decision_function(judged))
        is_same = agreement >= other_samples.AGREE
        if not is_same and 2 * n <= min(other_samples.LARGEST, self.n_unlabeled):
            return None
        return (
            f"the same methods with {n} other unlabeled rows rank {len(judged)} further rows alike: Spearman "
            f"correlation {agreement:.3f}" + ("" if is_same else ", so more unlabeled rows could change the ranking")
        )


def _refuse(options: FitOptions, *, sampled: bool) -> None:
    """Wrong use: options that this engine cannot obey."""
    if options.reading.answers:
        raise typer.BadParameter("--engine dask does not read them: merge them into the table", param_hint="--labels")
    if sampled and options.cut.review is not None:
        raise typer.BadParameter(
            "it counts rows of the table, of which --engine dask keeps a sample: choose the cut with --at-precision or "
            "by costs",
            param_hint="--review",
        )
    if sampled and options.reading.encoding is not None:
        raise typer.BadParameter("--engine dask reads UTF-8: convert the files", param_hint="--encoding")


def fit_all_rows(options: FitOptions) -> None:
    """Fit a booster on Dask's workers, and write the model and the metrics."""
    require_dask()
    _refuse(options, sampled=False)
    import dask.dataframe as dd

    from fewlabel.dask.tables import METHODS, fit_table

    if options.groups or options.time:
        raise typer.BadParameter("is not for --all-rows", param_hint="--groups" if options.groups else "--time")
    if options.method not in ("auto", *METHODS):
        raise typer.BadParameter(
            f"with --all-rows, {options.method!r} is not auto, {', '.join(METHODS)}", param_hint="--method"
        )
    if options.cut.given():
        raise typer.BadParameter("it needs out-of-fold scores: leave out --all-rows", param_hint=options.cut.given()[0])
    other = [path for path in options.tables if path.suffix.lower() not in (".parquet", ".pq") and not path.is_dir()]
    if other:
        raise typer.BadParameter(f"{other[0]} is not a Parquet file: --all-rows reads Parquet only")
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(cluster_client(options.scheduler, options.jobs))
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
