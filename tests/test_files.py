"""Tables read in chunks, and names of columns and messages."""

import numpy as np
import pandas as pd
import pytest

from fewlabel.files import read_chunks, read_table
from fewlabel.text import did_you_mean, distinct


@pytest.mark.parametrize("suffix", ["csv", "parquet", "feather"])
def test_chunks_have_the_size_that_was_asked_for(suffix, tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"z": rng.normal(size=120), "city": rng.choice(["Oslo", "Graz"], 120)})
    path = tmp_path / f"t.{suffix}"
    getattr(table, f"to_{suffix}")(path, **({"index": False} if suffix == "csv" else {}))
    chunks = list(read_chunks(path, 50))
    assert [len(chunk) for chunk in chunks] == [50, 50, 20]
    pd.testing.assert_frame_equal(
        pd.concat(chunks, ignore_index=True), read_table(path), check_dtype=False, check_index_type=False
    )


def test_nearest_names():
    assert did_you_mean("Outcom", ["income", "outcome"]) == "outcome"
    assert did_you_mean("zzz", ["income"]) is None


def test_names_are_made_distinct():
    assert distinct(["a", "a", "a.1", "a", "b"]) == ["a", "a.2", "a.1", "a.3", "b"]
