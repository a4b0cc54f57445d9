"""The encoder's own formulas beside skrub's TableVectorizer, which is what they are the formulas of."""

import warnings

import numpy as np
import pandas as pd
import pytest
from skrub import StringEncoder, TableVectorizer

from fewlabel import TableEncoder

N = 150
WORDS = ("\u00dcn\u00efcode \u00df \u65e5\u672c\u8a9e", "\u0130stanbul", "\ufb01 \u1e9e")


def make_table(seed=0):
    """Text columns of every kind that skrub tells apart, in an order that mixes them."""
    rng = np.random.default_rng(seed)
    numbers = range(N)
    table = pd.DataFrame(
        {
            "city": rng.choice(["Rome", "Oslo", "Lima", "\u4eac\u90fd", "Graz "], N),
            "since": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 400, N), unit="D"),
            "note": [f"order {rng.choice(['late', 'fine'])}, number {k % 71}" for k in numbers],
            "unicode": [f"{WORDS[k % 3]} {k % 61}" for k in numbers],
            "seen": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, N), unit="s"),
            "two and gaps": pd.Series(rng.choice(["a", "b"], N)).where(rng.random(N) < 0.8),
            "binary": rng.choice(["a", "b"], N),
            "one and gaps": pd.Series(["a"] * N).where(rng.random(N) < 0.5),
            "blank": rng.choice(["u", "v", " ", ""], N),
            "codes": [f"a{k % 45}" for k in numbers],
            "long": ["word " * int(n) + str(k % 50) for k, n in enumerate(rng.integers(1, 200, N))],
            "few n-grams": [chr(0x4E00 + k % 41) for k in numbers],
        }
    )
    texts = table.columns.drop(["since", "seen"])
    return table.astype(dict.fromkeys(texts, object))


@pytest.fixture(scope="module")
def fitted():
    table = make_table()
    encoder = TableEncoder(random_state=0).fit(table)
    plain = table.set_axis([f"c{k}" for k in range(table.shape[1])], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Ours reads texts in their own order, so that the order of the rows does not matter.
        ordered = plain.apply(lambda column: column.sort_values(ignore_index=True))
        reference = TableVectorizer(high_cardinality=StringEncoder(30, random_state=0)).fit(ordered)
    return encoder, reference


def expected(reference, table):
    plain = table.set_axis([f"c{k}" for k in range(table.shape[1])], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return reference.transform(plain)


def test_names(fitted):
    encoder, reference = fitted
    columns = list(encoder.columns_)
    sources = [columns[int(name[1:])] for name in reference.output_to_input_.values()]
    assert encoder.sources_ == sources
    outputs = [
        source + output.partition("_")[1] + output.partition("_")[2]
        for source, output in zip(sources, reference.output_to_input_)
    ]
    assert encoder.features_ == outputs


@pytest.mark.parametrize("new", ["the same rows", "other rows", "gaps", "unseen values"])
def test_features(fitted, new):
    encoder, reference = fitted
    table = make_table(seed=1 if new == "other rows" else 0)
    texts = [name for name in table if table[name].dtype == object]
    if new == "gaps":
        table.loc[::3] = None
    if new == "unseen values":
        table.loc[::2, texts] = "Unseen \u03a9"
    np.testing.assert_array_equal(encoder.transform(table), expected(reference, table).to_numpy(dtype=np.float64))


def test_a_column_of_nothing_but_marks_has_no_features():
    """Its features were named, but not there: all others stood one place too far."""
    table = pd.DataFrame({"marks": ["?", "...", "N/A"] * 10, "city": ["Oslo", "Graz", "Rome"] * 10})
    encoder = TableEncoder().fit(table)
    assert encoder.features_ == ["city_Graz", "city_Oslo", "city_Rome"]
    np.testing.assert_array_equal(encoder.transform(table)[:3], [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
