"""Profiles of columns: what is reported of new rows, and what is not."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import chi2

from fewlabel import TableEncoder
from fewlabel.tables import Drift, compare
from fewlabel.tables.profile import _chi_square_limit


def make_rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(40, 10, n),
            "amount": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(6, 1, n)),
            "children": rng.integers(0, 4, n),
            "member": rng.random(n) < 0.3,
            "city": rng.choice(["Oslo", "Graz", "Lima"], n),
            "note": [f"paid {k} times in {rng.integers(999)} days" for k in rng.integers(9999, size=n)],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 999, n), unit="D"),
        }
    )


@pytest.fixture(scope="module")
def profile():
    return TableEncoder(random_state=0).fit(make_rows()).profile_


def reasons(profile, rows):
    return [(finding.column, finding.reason) for finding in compare(profile, rows)]


def test_rows_of_the_same_kind_give_no_findings(profile):
    found = [reasons(profile, make_rows(n, seed)) for seed in range(1, 21) for n in (1, 5, 40, 150, 1000)]
    assert sum(map(len, found)) <= 1  # 700 columns, one in a thousand by chance


@pytest.mark.parametrize(
    ("change", "expected", "text"),
    [
        ({"amount": lambda t: t["amount"] * 1000}, [("amount", "scale")], "about 1,000 times larger than at fit"),
        ({"amount": lambda t: t["amount"] / 1000}, [("amount", "scale")], "smaller than at fit"),
        ({"age": lambda t: t["age"] + 12}, [("age", "distribution")], "population stability index"),
        ({"children": lambda t: 3}, [("children", "distribution")], "population stability index"),
        ({"member": lambda t: True}, [("member", "distribution")], "population stability index"),
        ({"city": lambda t: "Bern"}, [("city", "unseen categories")], "100.0% of the values are categories"),
        ({"city": lambda t: "Oslo"}, [("city", "distribution")], "population stability index"),
        ({"age": lambda t: np.nan}, [("age", "missing")], "100.0% of the values are missing (none at fit)"),
        ({"age": lambda t: "forty"}, [("age", "unparseable")], "are not numbers, such as 'forty' (none at fit)"),
        ({"member": lambda t: "maybe"}, [("member", "unparseable")], "are not booleans, such as 'maybe'"),
        ({"since": lambda t: "soon"}, [("since", "unparseable")], "are not dates, such as 'soon'"),
        ({"since": lambda t: "1970-01-01"}, [("since", "date range")], "far outside 2020-01-0"),
        ({"since": lambda t: t["since"] + pd.Timedelta(days=600)}, [], ""),  # new rows are later
        ({"note": lambda t: t["note"] * 5}, [("note", "distribution")], "the lengths of the texts"),
    ],
)
def test_each_change_is_found_and_nothing_else(profile, change, expected, text):
    findings = compare(profile, make_rows(seed=1).assign(**change))
    assert [(f.column, f.reason) for f in findings] == expected
    assert all(text in finding.text for finding in findings)


def test_chunks_make_no_difference(profile):
    rows = make_rows(seed=1).astype(object)
    rows.loc[rows.index[200:], "city"] = 12  # an integer in one chunk, text in another
    rows["member"] = ["1", "0", True, "false"] * 100
    rows.loc[rows.index[:100], "age"] = "old"
    rows["since"] = rows["since"].map(str)
    rows["amount"] = rows["amount"].astype(float) * 800
    whole = Drift(profile)
    whole.update(rows)
    assert {finding.column for finding in whole.findings()} >= {"city", "age", "amount"}
    for size in (7, 100, 399):
        parts = Drift(profile)
        for start in range(0, len(rows), size):
            parts.update(rows[start : start + size].infer_objects())
        assert parts.summary() == whole.summary()
    merged = Drift(profile)
    for start in range(0, len(rows), 50):
        part = Drift(profile)
        part.update(rows[start : start + 50].astype({"city": "category", "member": "category"}))
        merged.merge(part)
    assert merged.summary() == whole.summary()
    encoder, merged = TableEncoder(random_state=0).fit(make_rows()), Drift(profile)
    for start in range(0, len(rows), 50):
        part = rows[start : start + 50].astype(dict.fromkeys(["city", "member", "note", "since"], "category"))
        merged.add(encoder.read(part))
    assert merged.summary() == whole.summary()


def test_a_column_that_is_not_there_arrow_and_arrays(profile):
    assert reasons(profile, pa.Table.from_pandas(make_rows(seed=1))) == []
    assert reasons(profile, make_rows(seed=1).drop(columns="city")) == [("city", "missing")]
    X = np.random.default_rng(0).normal(size=(100, 2))
    encoder = TableEncoder().fit(X)
    assert reasons(encoder.profile_, X) == []
    assert reasons(encoder.profile_, X + [0, 9]) == [("x1", "distribution")]


def test_a_profile_is_small_and_plain(profile):
    assert json.loads(json.dumps(profile)) == profile
    assert len(json.dumps(profile)) < 5000
    many = TableEncoder().fit(pd.DataFrame({"word": [f"long word {k % 500}" for k in range(2000)]})).profile_
    assert "categories" not in many["word"]


@pytest.mark.parametrize("degrees", [1, 2, 7, 9, 30, 99])
def test_the_limit_of_the_index_is_a_quantile_of_the_chi_square_distribution(degrees):
    assert _chi_square_limit(degrees) == pytest.approx(chi2.isf(0.001, degrees), rel=0.04)
