"""``fewlabel fit --engine dask``: tables larger than memory, by a sample of the unlabeled rows or by all rows."""

import functools
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import typer

from fewlabel import persistence
from fewlabel.cli.cluster import cluster_client, gathering, require_dask
from fewlabel.cli.fit import METRICS, MODEL, FitOptions
from fewlabel.cli.fit_memory import check_options, fit_rows, role_columns, split_by
from fewlabel.cli.options import require_choice
from fewlabel.cli.paths import check_columns, new_set, sha256, write_json
from fewlabel.cli.reading import TableRows, label_rows, read_rows
from fewlabel.cli.terminal import print_json, progress, say, say_notes
from fewlabel.exceptions import TableError
from fewlabel.reporting import notes_of
from fewlabel.tables import TableClassifier, TableSource, local_files

if TYPE_CHECKING:
    from fewlabel.dask.sources import Source, Weights
    from fewlabel.labels import LabelColumn

# Unlabeled rows of the first sample: more than that seldom change a model, and other samples check whether they would.
_FIRST = 10_000


def fit_sample(options: FitOptions) -> None:
    """Gather the labeled rows and a sample of the others, fit to them as in memory, and check it on other samples."""
    require_dask()
    check_options(options)
    _refuse(options)
    if options.threshold.review is not None:
        raise typer.BadParameter(
            "it counts rows of the table, of which --engine dask keeps a sample: choose the threshold with "
            "--at-precision or by costs",
            param_hint="--review",
        )
    # The cluster is only needed to gather: the sample is fitted in this process.
    with gathering(options.scheduler, options.jobs) as client:
        if client is not None:
            say(f"dashboard: {client.dashboard_link}", options.quiet)
        sample, _ = _gather(options)

    n = _FIRST
    while not fit_rows(options, sample.rows(0, n), _title(options), check=functools.partial(sample.check, n)):
        n *= 2
        say(f"other samples give another ranking: now with {n} unlabeled rows", options.quiet)


def _gather(options: FitOptions) -> "tuple[_Sample, list[Source]]":
    """The rows to learn from, in one pass over the files, and the parts of these."""
    from fewlabel.dask.sources import find_sources, gather_files
    from fewlabel.files import is_text_file
    from fewlabel.tables.pieces import table_columns

    sources = find_sources(_files(options))
    reading = options.reading
    first = sources[0].path
    columns = table_columns(first)
    check_columns(columns, reading.target, reading.drop)
    names = [name for name in columns if name not in (reading.drop or ())]
    role_columns(options, names)
    pool = gather_files(sources, reading.target, names, weights=_weights(options), seed=options.seed)
    is_text = is_text_file(first)
    # The labels are read from the distinct values, each of which stands for as many rows as were counted.
    values = pd.Series(list(pool.counts), dtype=object, name=reading.target)
    repeats = pd.Series(list(pool.counts.values()))
    column = reading.labels(values, repeats=repeats, text_file=is_text)
    is_known = column.labels.codes >= 0
    labeled = values[is_known].tolist()
    unlabeled = values[~is_known].tolist()
    return _Sample(options, pool, column, labeled, unlabeled, is_text), sources


def _weights(options: FitOptions) -> "Weights | None":
    from fewlabel.dask.sources import Weights

    return None if options.weights is None else Weights(options.weights, options.reading.decimal)


def _files(options: FitOptions) -> list[Path]:
    """The files of the table; wrong use if it is somewhere else."""
    try:
        return local_files(options.tables)
    except TableError as error:
        raise typer.BadParameter(str(error), param_hint="TABLE") from error


def _title(options: FitOptions) -> str:
    first, *others = _files(options)
    return f"{first.name} and {len(others)} more" if others else first.name


class _Sample(NamedTuple):
    """Rows of a pool, and what they say about the rows that are not in it."""

    options: FitOptions
    pool: Any
    column: "LabelColumn"  # of the distinct labels, in the order of the pool
    labeled: list[Any]
    unlabeled: list[Any]
    is_text: bool

    def count(self, values: list[Any]) -> int:
        """Number of rows of the table with one of these labels."""
        return sum(self.pool.counts[value] for value in values)

    def rows(self, start: int, stop: int) -> TableRows:
        """The labeled rows and some unlabeled ones, as read from a file that holds nothing else."""
        labeled, unlabeled = self.pool.sample(self.labeled, self.unlabeled, start, stop)
        rows = self.read([labeled, unlabeled])
        notes = [*rows.notes, *self._notes(len(labeled), len(unlabeled))]
        return rows._replace(notes=notes)

    def read(self, parts: Sequence[Any]) -> TableRows:
        """Rows of the pool, as read from a file; the weights are those of the pool."""
        import pyarrow as pa
        from pyarrow import csv, parquet

        table = pa.concat_tables(parts, promote_options="permissive")
        weights = None
        if self.pool.weight is not None:
            weights = table[self.pool.weight].to_numpy()
            table = table.drop_columns([self.pool.weight])
        # The pool holds no column of --drop.
        reading = replace(self.options.reading, drop=None)
        # By a file, so that types, dates and gaps are read by the same code as without Dask.
        with tempfile.TemporaryDirectory() as folder:
            if self.is_text:
                path = Path(folder, "rows.csv")
                csv.write_csv(table, path)
            else:
                path = Path(folder, "rows.parquet")
                parquet.write_table(table, path)
            rows = read_rows(path, reading, new_target=False, with_keys=True)
        files = _files(self.options)
        source = TableSource(files[0], _title(self.options), ", ".join(map(str, files)), files=tuple(files))
        return rows._replace(source=source, weights=weights)

    def _notes(self, n_labeled: int, n_unlabeled: int) -> Iterator[str]:
        by = "at random" if self.pool.weight is None else "in proportion to their weights"
        all_labeled = self.count(self.labeled)
        if n_labeled < all_labeled:
            yield f"{n_labeled} of {all_labeled} labeled rows were drawn {by}: more than that are not gathered"
        all_unlabeled = self.count(self.unlabeled)
        if n_unlabeled < all_unlabeled:
            yield f"{n_unlabeled} of {all_unlabeled} unlabeled rows were drawn {by}; figures are of this sample"

    def check(self, n: int, model: TableClassifier) -> str | None:
        """Whether the same methods with other unlabeled rows rank a third sample alike; None to take more rows."""
        from fewlabel.dask import other_samples

        n_unlabeled = self.count(self.unlabeled)
        if n_unlabeled <= n:
            return f"all {n_unlabeled} unlabeled rows were used"
        # The first n rows were used by the model, the second n are for the other one, and these judge both.
        further = self.pool.rows(self.unlabeled, 2 * n, 2 * n + other_samples.JUDGED)
        if len(further) < other_samples.LEAST_JUDGED:
            return "too few other unlabeled rows to check that the sample is large enough"
        judged = self.read([further]).table
        rows = self.rows(n, 2 * n)
        column, _ = label_rows(rows, self.options.reading)
        X, sampled_by = split_by(self.options, rows)
        agreement = other_samples.agreement(model, X, column.labels, judged, **sampled_by)
        if other_samples.take_more(agreement, n, n_unlabeled):
            return None
        note = (
            f"the same methods with {n} other unlabeled rows rank {len(judged)} further rows alike: Spearman "
            f"correlation {agreement:.3f}"
        )
        if agreement < other_samples.AGREE:
            note += ", so more unlabeled rows could change the ranking"
        return note


def _refuse(options: FitOptions) -> None:
    """Wrong use: options that this engine cannot obey."""
    if options.reading.answers:
        raise typer.BadParameter("--engine dask does not read them: merge them into the table", param_hint="--labels")
    if options.reading.label_time is not None:
        raise typer.BadParameter("--engine dask does not know it: empty the labels first", param_hint="--label-time")
    folders = [path.resolve() for address in options.tables for path in address.paths() if path.is_dir()]
    if options.out.resolve() in folders:
        raise typer.BadParameter(
            f"{options.out} holds the tables, and label_next.csv would be one of the tables of the next fit: name "
            "another folder",
            param_hint="--out",
        )
    if options.reading.encoding is not None:
        raise typer.BadParameter("--engine dask reads UTF-8: convert the files", param_hint="--encoding")


def fit_all_rows(options: FitOptions) -> None:
    """Fit a booster on Dask's workers, and write the model and the metrics."""
    require_dask()
    _refuse(options)
    from fewlabel.dask.tables import METHODS, fit_table

    if options.special:
        raise typer.BadParameter("is not for --all-rows", param_hint="--special")
    if options.groups or options.time:
        raise typer.BadParameter("is not for --all-rows", param_hint="--groups" if options.groups else "--time")
    require_choice(options.method, ("auto", *METHODS), "--method with --all-rows")
    if options.threshold.given():
        raise typer.BadParameter(
            "it needs out-of-fold scores: leave out --all-rows", param_hint=options.threshold.given()[0]
        )
    with cluster_client(options.scheduler, options.jobs) as client:
        if options.scheduler is not None:  # the cluster of this machine has no dashboard
            say(f"dashboard: {client.dashboard_link}", options.quiet)
        sample, sources = _gather(options)
        say_notes([sample.column.describe(), *sample.column.notes], options.quiet)
        # Now, as checkpoints are written while the booster learns.
        options.out.mkdir(exist_ok=True)
        with progress(options.quiet) as tell:
            model, metrics = fit_table(
                sources,
                **_read_sample(sample),
                target=options.reading.target,
                decimal=options.reading.decimal,
                method=options.method,
                dayfirst=options.reading.day_first,
                random_state=options.seed,
                checkpoint=options.out / "fit.checkpoint",
                callback=tell,
            )
    say_notes(notes_of(model), options.quiet)
    with new_set(options.out, MODEL, METRICS) as (model_file, metrics_file):
        persistence.save(model, model_file)
        metrics["model_sha256"] = sha256(model_file)
        write_json(metrics, metrics_file)
    if options.as_json:
        print_json(metrics)
    elif not options.quiet:
        _show(metrics)
        print(f"\nModel:   {options.out / MODEL}\nMetrics: {options.out / METRICS}")


def _read_sample(sample: _Sample) -> dict[str, Any]:
    """What a sample says about the table, as arguments of `fit_table`."""
    from fewlabel.dask.tables import CLASSES, SAMPLE, read_codes
    from fewlabel.files import MISSING
    from fewlabel.labels import read_positive
    from fewlabel.rows import Rows

    pool = sample.pool
    labels = read_positive(sample.column.labels, sample.column.positive)
    known = {}
    counts: Counter[int] = Counter()
    for (value, n_rows), code in zip(pool.counts.items(), labels.codes.tolist()):
        counts[code] += n_rows
        if code < 0:
            continue
        known[value] = code
        # Workers read text files as tables, where such a cell has no value.
        if sample.is_text and value in MISSING:
            raise typer.BadParameter(
                f"with --all-rows, cells of text files that read {value!r} count as empty: rename this class",
                param_hint="--target",
            )
    rows = sample.read(pool.sample(sample.labeled, sample.unlabeled, 0, SAMPLE, SAMPLE))
    X, _ = split_by(sample.options, rows)
    return {
        "sample": Rows(X, read_codes(rows.target, known), CLASSES, weight=rows.weights),
        "labels": labels,
        "known": known,
        "counts": [counts[0], counts[1], counts[-1]],
        "weights": _weights(sample.options),
    }


def _show(metrics: dict[str, Any]) -> None:
    n_labeled = sum(metrics["labeled_by_class"].values())
    print(
        f"{metrics['method']}: {metrics['rows']} rows, {n_labeled} labeled, {metrics['rounds']} rounds in "
        f"{metrics['seconds']:.0f} s"
    )
    held_out = metrics["held_out"]
    if held_out is not None:
        print(
            f"AUC {held_out['auc']:.3f} (95% interval {held_out['low']:.3f} to {held_out['high']:.3f}) on "
            f"{held_out['rows']} labeled rows that were held out"
        )
