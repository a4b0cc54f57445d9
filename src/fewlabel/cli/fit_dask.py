"""``fewlabel fit --engine dask``: tables larger than memory, by a sample of the unlabeled rows."""

import contextlib
import functools
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from fewlabel.cli.fit import FitOptions
from fewlabel.cli.fit_memory import check_options, fit_rows, role_columns, split_by
from fewlabel.cli.options import Place
from fewlabel.cli.paths import check_columns
from fewlabel.cli.reading import TableRows, label_rows, read_rows
from fewlabel.cli.terminal import say
from fewlabel.cli.wrong_use import WrongUse, as_wrong_use
from fewlabel.tables import TableClassifier, TableSource, local_files

if TYPE_CHECKING:
    from fewlabel.labels import LabelColumn

# Unlabeled rows of the first sample: more than that seldom change a model, and other samples check whether they would.
_FIRST = 10_000


def fit_sample(options: FitOptions) -> None:
    """Gather the labeled rows and a sample of the others, fit to them as in memory, and check it on other samples."""
    check_options(options)
    _refuse(options)
    with as_wrong_use("TABLE"):
        files = local_files(options.tables)
    with _workers(options):
        sample = _gather(options, files)
    n = _FIRST
    while not fit_rows(options, sample.rows(0, n), check=functools.partial(sample.check, n)):
        n *= 2
        say(f"other samples give another ranking: now with {n} unlabeled rows", options.quiet)


def _refuse(options: FitOptions) -> None:
    """Wrong use: options that this engine cannot obey."""
    # Not imported, which takes a second or two.
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise WrongUse("it needs Dask: run `pip install 'fewlabel[dask]'`", "--engine dask")
    if options.threshold.review is not None:
        raise WrongUse(
            "it counts rows of the table, of which --engine dask keeps a sample: choose the threshold with "
            "--at-precision or by costs",
            "--review",
        )
    if options.reading.answers:
        raise WrongUse("--engine dask does not read them: merge them into the table", "--labels")
    if options.reading.label_time is not None:
        raise WrongUse("--engine dask does not know it: empty the labels first", "--label-time")
    if options.reading.place.encoding is not None:
        raise WrongUse("--engine dask reads UTF-8: convert the files", "--encoding")
    folders = [path.resolve() for address in options.tables for path in address.paths() if path.is_dir()]
    if options.out.resolve() in folders:
        raise WrongUse(
            f"{options.out} holds the tables, and label_next.csv would be one of the tables of the next fit: name "
            "another folder",
            "--out",
        )


@contextlib.contextmanager
def _workers(options: FitOptions) -> Iterator[None]:
    """Where rows are gathered: on the given cluster, or in threads of this process, as Arrow reads without a lock."""
    if options.scheduler is not None:
        from distributed import Client

        with Client(options.scheduler) as client:
            say(f"dashboard: {client.dashboard_link}", options.quiet)
            yield
        return
    import dask
    from joblib import effective_n_jobs

    with dask.config.set(scheduler="threads", num_workers=effective_n_jobs(options.jobs)):
        yield


def _gather(options: FitOptions, files: list[Path]) -> "_Sample":
    """The rows to learn from, in one pass over the files."""
    from fewlabel.dask.gather import gather
    from fewlabel.dask.sources import Source, find_sources
    from fewlabel.files import is_text_file
    from fewlabel.tables.pieces import table_columns

    sources = find_sources(files)
    reading = options.reading
    first = sources[0].path
    columns = table_columns(first)
    check_columns(columns, reading.target, reading.drop)
    names = [name for name in columns if name not in (reading.drop or ())]
    role_columns(options, names)
    pool = gather(sources, functools.partial(Source.batches, names=names), reading.target, seed=options.seed)
    is_text = is_text_file(first)
    # The labels are read from the distinct values, each of which stands for as many rows as were counted.
    values = pd.Series(list(pool.counts), dtype=object, name=reading.target)
    repeats = pd.Series(list(pool.counts.values()))
    column: LabelColumn = reading.labels(values, repeats=repeats, text_file=is_text)
    is_known = column.labels.codes >= 0
    title = first.name if len(files) == 1 else f"{first.name} and {len(files) - 1} more"
    source = TableSource(first, title, ", ".join(map(str, files)), files=tuple(files))
    return _Sample(options, source, pool, values[is_known].tolist(), values[~is_known].tolist(), is_text)


class _Sample(NamedTuple):
    """Rows of a pool, and what they say about the rows that are not in it."""

    options: FitOptions
    source: TableSource
    pool: Any
    labeled: list[Any]
    unlabeled: list[Any]
    is_text: bool

    def rows(self, start: int, stop: int) -> TableRows:
        """The labeled rows and some unlabeled ones, as read from a file that holds nothing else."""
        parts = {"labeled": self.pool.rows(self.labeled), "unlabeled": self.pool.rows(self.unlabeled, start, stop)}
        counts = {"labeled": self.pool.count(self.labeled), "unlabeled": self.pool.count(self.unlabeled)}
        rows = self.read(*parts.values())
        notes = list(rows.notes)
        for name, part in parts.items():
            if len(part) < counts[name]:
                drawn = f"{len(part)} of {counts[name]} {name} rows were drawn at random"
                notes.append(f"{drawn}; figures are of this sample")
        return rows._replace(notes=notes)

    def read(self, *parts: Any) -> TableRows:
        """Rows of the pool, as read from a file."""
        import pyarrow as pa
        from pyarrow import csv, parquet

        table = pa.concat_tables(parts, promote_options="permissive")
        # The pool holds no column of --drop, and its rows are in a file, whatever the table is in.
        given = self.options.reading
        reading = replace(given, drop=None, place=Place(decimal=given.place.decimal))
        # By a file, so that types, dates and gaps are read by the same code as without Dask.
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "rows.csv" if self.is_text else "rows.parquet")
            write: Any = csv.write_csv if self.is_text else parquet.write_table
            write(table, path)
            rows = read_rows(path, reading, new_target=False, with_keys=True)
        return rows._replace(source=self.source)

    def check(self, n: int, model: TableClassifier) -> str | None:
        """Whether the same methods with other unlabeled rows rank a third sample alike; None to take more rows."""
        from fewlabel.dask import other_samples

        n_unlabeled = self.pool.count(self.unlabeled)
        if n_unlabeled <= n:
            return f"all {n_unlabeled} unlabeled rows were used"
        # The first n rows were used by the model, the second n are for the other one, and these judge both.
        further = self.pool.rows(self.unlabeled, 2 * n, 2 * n + other_samples.JUDGED)
        if len(further) < other_samples.LEAST_JUDGED:
            return "too few other unlabeled rows to check that the sample is large enough"
        judged = self.read(further).table
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
