"""``fewlabel fit --engine dask``: tables larger than memory, by a sample of the unlabeled rows or by all rows."""

import contextlib
import functools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import typer

from fewlabel import persistence
from fewlabel.cli.cluster import cluster_client, gathering, require_dask
from fewlabel.cli.fit import METRICS, MODEL, FitOptions
from fewlabel.cli.fit_memory import check_options, fit_rows, split_by
from fewlabel.cli.paths import check_columns, new_set, require_column, sha256, write_json
from fewlabel.cli.reading import TableRows, label_rows, read_rows
from fewlabel.cli.terminal import print_json, progress, say
from fewlabel.report import notes_of
from fewlabel.tables import TableClassifier

if TYPE_CHECKING:
    from fewlabel.dask.sources import Source
    from fewlabel.labels import LabelColumn

_FIRST = 10_000  # unlabeled rows of the first sample


def fit_sample(options: FitOptions) -> None:
    """Gather the labeled rows and a sample of the others, fit to them as in memory, and check it on other samples."""
    require_dask()
    check_options(options)
    _refuse(options)
    if options.cut.review is not None:
        raise typer.BadParameter(
            "it counts rows of the table, of which --engine dask keeps a sample: choose the cut with --at-precision or "
            "by costs",
            param_hint="--review",
        )
    with gathering(options.scheduler, options.jobs) as client:
        if client is not None:
            say(f"dashboard: {client.dashboard_link}", options.quiet)
        sample, _ = _gather(options)

    n = _FIRST
    while not fit_rows(options, sample.rows(0, n), _title(options), functools.partial(sample.check, n)):
        n *= 2
        say(f"other samples give another ranking: now with {n} unlabeled rows", options.quiet)


def _gather(options: FitOptions) -> "tuple[_Sample, list[Source]]":
    """The rows to learn from, in one pass over the files, and the parts of these."""
    from fewlabel.dask.sources import Weights, find_sources, gather_files
    from fewlabel.files import is_text_file
    from fewlabel.tables.pieces import table_columns

    sources = find_sources(options.tables)
    reading, first = options.reading, sources[0].path
    check_columns(table_columns(first), reading.target, reading.drop)
    names = [name for name in table_columns(first) if name not in (reading.drop or ())]
    for option, name in (("--groups", options.groups), ("--time", options.time), ("--weights", options.weights)):
        if name is not None:
            require_column(name, names, option)
    weights = None if options.weights is None else Weights(options.weights, reading.decimal)
    pool = gather_files(sources, reading.target, names, weights=weights, seed=options.seed)
    is_text = is_text_file(first)
    values = pd.Series(list(pool.counts), dtype=object, name=reading.target)
    column = reading.labels(values, repeats=pd.Series(list(pool.counts.values())), text_file=is_text)
    known = column.labels.codes >= 0
    return _Sample(options, pool, column, values[known].tolist(), values[~known].tolist(), is_text), sources


def _title(options: FitOptions) -> str:
    first, *others = options.tables
    return first.name + (f" and {len(others)} more" if others else "")


class _Sample(NamedTuple):
    """Rows of a pool, and what they say about the rows that are not in it."""

    options: FitOptions
    pool: Any
    column: "LabelColumn"  # of the distinct labels, in the order of the pool
    labeled: list[Any]
    unlabeled: list[Any]
    is_text: bool

    @property
    def n_unlabeled(self) -> int:
        return sum(self.pool.counts[value] for value in self.unlabeled)

    def rows(self, start: int, stop: int) -> TableRows:
        """The labeled rows and some unlabeled ones, as read from a file that holds nothing else."""
        parts = self.pool.sample(self.labeled, self.unlabeled, start, stop)
        found = self.read(parts)
        return found._replace(notes=[*found.notes, *self._notes(*map(len, parts))])

    def read(self, parts: Sequence[Any]) -> TableRows:
        """Rows of the pool, as read from a file; the weights are those of the pool."""
        import pyarrow as pa
        from pyarrow import csv, parquet

        table = pa.concat_tables(parts, promote_options="permissive")
        weights = None if self.pool.weight is None else table[self.pool.weight].to_numpy()
        if weights is not None:
            table = table.drop_columns([self.pool.weight])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv" if self.is_text else "rows.parquet")
            (csv.write_csv if self.is_text else parquet.write_table)(table, path)
            found = read_rows(path, replace(self.options.reading, drop=None), new_target=False, with_keys=True)
        return found._replace(weights=weights)

    def _notes(self, n_labeled: int, n_unlabeled: int) -> Iterator[str]:
        n_all = sum(self.pool.counts[value] for value in self.labeled)
        by = "at random" if self.pool.weight is None else "in proportion to their weights"
        if n_labeled < n_all:
            yield f"{n_labeled} of {n_all} labeled rows were drawn {by}: more than that are not gathered"
        if n_unlabeled < self.n_unlabeled:
            yield f"{n_unlabeled} of {self.n_unlabeled} unlabeled rows were drawn {by}; figures are of this sample"

    def check(self, n: int, model: TableClassifier) -> str | None:
        """Whether the same methods with other unlabeled rows rank a third sample alike; None to take more rows."""
        from fewlabel.dask import other_samples

        if self.n_unlabeled <= n:
            return f"all {self.n_unlabeled} unlabeled rows were used"
        further = self.pool.rows(self.unlabeled, 2 * n, 2 * n + other_samples.JUDGED)
        if len(further) < other_samples.LEAST_JUDGED:
            return "too few other unlabeled rows to check that the sample is large enough"
        judged = self.read([further]).table
        rows = self.rows(n, 2 * n)
        _, column, _ = label_rows(rows, self.options.reading)
        X, sampled_by = split_by(self.options, rows)
        again = TableClassifier(
            other_samples.same_methods(model.estimator_),
            positive=column.positive,
            dayfirst=self.options.reading.day_first,
            random_state=self.options.seed,
        )
        again.fit(X, column.labels, **sampled_by)
        agreement = other_samples.rank_agreement(model.decision_function(judged), again.decision_function(judged))
        is_same = agreement >= other_samples.AGREE
        if not is_same and 2 * n <= min(other_samples.LARGEST, self.n_unlabeled):
            return None
        return (
            f"the same methods with {n} other unlabeled rows rank {len(judged)} further rows alike: Spearman "
            f"correlation {agreement:.3f}" + ("" if is_same else ", so more unlabeled rows could change the ranking")
        )


def _refuse(options: FitOptions) -> None:
    """Wrong use: options that this engine cannot obey."""
    if options.reading.answers:
        raise typer.BadParameter("--engine dask does not read them: merge them into the table", param_hint="--labels")
    if any(path.is_dir() and path.resolve() == options.out.resolve() for path in options.tables):
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

    if options.groups or options.time:
        raise typer.BadParameter("is not for --all-rows", param_hint="--groups" if options.groups else "--time")
    if options.method not in ("auto", *METHODS):
        raise typer.BadParameter(
            f"with --all-rows, {options.method!r} is not auto, {', '.join(METHODS)}", param_hint="--method"
        )
    if options.cut.given():
        raise typer.BadParameter("it needs out-of-fold scores: leave out --all-rows", param_hint=options.cut.given()[0])
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(cluster_client(options.scheduler, options.jobs))
        if options.scheduler is not None:  # the cluster of this machine has no dashboard
            say(f"dashboard: {client.dashboard_link}", options.quiet)
        sample, sources = _gather(options)
        for note in [sample.column.describe(), *sample.column.notes]:
            say(f"note: {note}", options.quiet)
        options.out.mkdir(exist_ok=True)
        model, found = fit_table(
            sources,
            **_read_sample(sample),
            target=options.reading.target,
            decimal=options.reading.decimal,
            method=options.method,
            dayfirst=options.reading.day_first,
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


def _read_sample(sample: _Sample) -> dict[str, Any]:
    """What a sample says about the table, as arguments of `fit_table`."""
    from fewlabel.dask.sources import Weights
    from fewlabel.dask.tables import CLASSES, SAMPLE, read_codes
    from fewlabel.files import MISSING
    from fewlabel.labels import read_positive
    from fewlabel.rows import Rows

    options, pool, column = sample.options, sample.pool, sample.column
    labels = read_positive(column.labels, column.positive)
    codes = dict(zip(pool.counts, labels.codes.tolist()))
    known = {value: code for value, code in codes.items() if code >= 0}
    lost = [value for value in known if sample.is_text and value in MISSING]
    if lost:
        raise typer.BadParameter(
            f"with --all-rows, cells of text files that read {lost[0]!r} count as empty: rename this class",
            param_hint="--target",
        )
    rows = sample.read(pool.sample(sample.labeled, sample.unlabeled, 0, SAMPLE, SAMPLE))
    X, _ = split_by(options, rows)
    return {
        "sample": Rows(X, read_codes(rows.target, known), CLASSES, weight=rows.weights),
        "labels": labels,
        "known": known,
        "counts": [sum(n for value, n in pool.counts.items() if codes[value] == code) for code in (0, 1, -1)],
        "weights": None if options.weights is None else Weights(options.weights, options.reading.decimal),
    }


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
