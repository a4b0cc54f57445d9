"""Parts of a table that is spread over text or Parquet files."""

import itertools
import math
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from fewlabel import files
from fewlabel.checks import check_non_negative
from fewlabel.dask.gather import MOST, Pool, gather, unused_name
from fewlabel.exceptions import TableError
from fewlabel.text import short

_BATCH_ROWS = 2**16  # rows of a Parquet file that a task holds at a time
_GROUPS = 8  # row groups of a Parquet file that one task reads


class Weights(NamedTuple):
    """A column of weights in the files, and its decimal separator there."""

    column: str
    decimal: str = "."

    def read(self, rows: pa.Table, path: Path) -> np.ndarray:
        """The weights as floats; an error if they are not."""
        column = rows[self.column]
        written = column.to_pandas()
        try:
            if self.decimal != "." and pa.types.is_string(column.type):
                column = pa.compute.replace_substring(column, self.decimal, ".")
            weights = column.cast(pa.float64()).to_numpy()
        except pa.ArrowInvalid:  # not numbers
            weights = pd.to_numeric(written, errors="coerce")
        return check_non_negative(f"{path}: column {short(self.column)!r}", weights, written.to_numpy())


class Source(NamedTuple):
    """A part of a table that one task reads: a text file, or some row groups of a Parquet file."""

    path: Path
    groups: tuple[int, ...] | None

    def batches(self, names: list[str]) -> Iterator[pa.Table]:
        """The rows, batch by batch; the cells of a text file as they are written."""
        if self.groups is None:
            yield from _text_batches(self.path, names)
            return
        import pyarrow.parquet as pq

        with files.readable_errors(self.path), pq.ParquetFile(self.path, pre_buffer=False) as file:
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=list(self.groups), columns=names):
                yield pa.Table.from_batches([batch])

    def weighted(self, names: list[str], weights: Weights, name: str) -> Iterator[pa.Table]:
        """The same, with the weights as a further column of that name."""
        for rows in self.batches(names):
            yield rows.append_column(name, pa.array(weights.read(rows, self.path)))


def _text_batches(path: Path, names: list[str]) -> Iterator[pa.Table]:
    from pyarrow import csv

    with files.readable_errors(path):
        reader = csv.open_csv(
            path,
            # Bytes. Arrow fails if a row does not fit into a block, so it is larger than rows with long texts.
            csv.ReadOptions(block_size=2**23),
            csv.ParseOptions(delimiter=files.separator_of(path), newlines_in_values=True),
            csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), include_columns=names),
        )
        with reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])


def find_sources(paths: Iterable[Path]) -> list[Source]:
    """The parts of text or Parquet files; a folder stands for the files in it, by name.

    Raises
    ------
    TableError
        If a folder has no such file, a file is of another kind, or there are both kinds.
    """
    import pyarrow.parquet as pq

    sources = []
    for path in itertools.chain.from_iterable(map(files.files_of, paths)):
        if files.is_text_file(path):
            sources.append(Source(path, None))
            continue
        with files.readable_errors(path):
            groups = range(pq.read_metadata(path).num_row_groups)
        for start in range(0, len(groups), _GROUPS):
            sources.append(Source(path, tuple(groups[start : start + _GROUPS])))
    texts = [source.path for source in sources if source.groups is None]
    others = [source.path for source in sources if source.groups is not None]
    if texts and others:
        raise TableError(
            f"{texts[-1]} is a text file and {others[-1]} is not: name files of one kind, as the types of columns "
            "are read from text, and stored in Parquet files"
        )
    return sources


def gather_files(
    sources: list[Source],
    target: str,
    names: list[str],
    *,
    weights: Weights | None = None,
    most: int = MOST,
    seed: int = 0,
) -> Pool:
    """The pool of the given columns of text or Parquet files, see `find_sources`; with weights it has them, too."""
    if weights is None:
        share = _share_to_keep(sources, target, most)
        return gather(sources, partial(Source.batches, names=names), target, most=most, share=share, seed=seed)
    name = unused_name("weight", names)
    read = partial(Source.weighted, names=names, weights=weights, name=name)
    return gather(sources, read, target, most=most, weight=name, seed=seed)


def _share_to_keep(sources: list[Source], target: str, most: int) -> float:
    """The share of rows without a label that leaves at least `most` of them, by the statistics of Parquet files."""
    import pyarrow.parquet as pq

    n_missing = 0
    for path in {source.path for source in sources}:
        if files.is_text_file(path):
            return math.inf
        with files.readable_errors(path):
            metadata = pq.read_metadata(path)
        if target not in metadata.schema.names:
            return math.inf
        place = metadata.schema.names.index(target)
        for group in range(metadata.num_row_groups):
            statistics = metadata.row_group(group).column(place).statistics
            if statistics is not None and statistics.has_null_count:
                n_missing += statistics.null_count
    # The number of keys below the share varies by chance: it is five standard deviations larger than needed.
    n_safe = most + 5 * most**0.5
    return min(1.0, n_safe / max(n_missing, 1))
