"""Parts of a table that is spread over text or Parquet files."""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from fewlabel import files
from fewlabel.exceptions import TableError

_BATCH_ROWS = 2**16  # rows of a Parquet file that a task holds at a time
_GROUPS = 8  # row groups of a Parquet file that one task reads


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
