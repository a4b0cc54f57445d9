"""manifest.json: what a model was made from, and whether a second fit gives the same bits."""

import datetime
import hashlib
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fewlabel.cli.fit import FILES, MANIFEST
from fewlabel.cli.main import run
from fewlabel.tables import digest_table

QUICK = ["--method", "logistic-regression", "--quiet"]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def make_table(n=100, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = np.where(x + rng.normal(size=n) > 0, "bad", "good")
    when = pd.Timestamp("2024-01-05") + pd.to_timedelta(rng.integers(0, 80, n), unit="D")
    table = pd.DataFrame({"x": x.round(4), "city": rng.choice(["Oslo", "Graz"], n), "when": when.strftime("%Y-%m-%d")})
    return table.assign(y=np.where(rng.random(n) < 0.6, y, ""))


@pytest.fixture
def first():
    """A fit, whose manifest is returned."""
    make_table().to_csv("rows.csv", index=False)
    assert run(["fit", "rows.csv", "--target", "y", "--time", "when", "--out", "model", *QUICK]) == 0
    return json.loads(Path("model/manifest.json").read_text())


def again(*options):
    return run(["fit", "--from", "model/manifest.json", "--out", "again", *options])


def test_the_manifest_says_who_what_when_and_from_which_rows(first):
    table = first["table"]
    labels = first["labels"]
    assert MANIFEST in FILES
    assert first["options"] == {"tables": ["rows.csv"], "target": "y", "time": "when", "method": "logistic-regression"}
    assert datetime.datetime.fromisoformat(first["created"]).tzinfo is not None
    assert table["files"][0]["sha256"] == hashlib.sha256(Path("rows.csv").read_bytes()).hexdigest()
    assert first["model"]["sha256"] == hashlib.sha256(Path("model/model.fewlabel").read_bytes()).hexdigest()
    assert (table["rows"], table["columns"], table["query"]) == (100, 3, None)
    written = pd.read_csv("rows.csv")
    assert labels["by_class"] == written["y"].value_counts().to_dict()
    months = written[written["y"].notna()]["when"].str[:7].value_counts()
    assert labels["by_month"] == months.to_dict()
    assert {"python", "numpy", "scikit-learn", "fewlabel"} <= first["versions"].keys()
    assert list(first["decisions"]["methods"]) == ["logistic regression"]
    assert all(check["outcome"] for check in first["checks"])


def test_a_second_fit_gives_the_same_bits(first, capsys):
    assert again() == 0
    assert Path("again/model.fewlabel").read_bytes() == Path("model/model.fewlabel").read_bytes()
    assert "the model is that of model/manifest.json, bit for bit\n" in capsys.readouterr().err
    # This method draws no random numbers.
    assert again("--seed", "3") == 0
    assert "bit for bit, although seed is 3, before the default\n" in capsys.readouterr().err
    assert again() == 0
    # The manifest of the second fit repeats it, too, and is the same but for the moment.
    second = json.loads(Path("again/manifest.json").read_text())
    assert {**second, "created": "", "command": ""} == {**first, "created": "", "command": ""}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "naive-bayes"], "method is naive-bayes, before logistic-regression"),
        (["other.csv"], "the table has other rows, columns or labels (100 rows, before 100)"),
        (["back.csv"], "the rows come in another order"),
    ],
)
def test_what_differs_is_said(options, said, first, capsys):
    make_table(seed=1).to_csv("other.csv", index=False)
    make_table()[::-1].to_csv("back.csv", index=False)
    assert again(*options) == 1
    error = capsys.readouterr().err.splitlines()[-1]
    assert said in error
    assert ";" not in error  # nothing else differs


def test_another_version_is_named(first, capsys):
    first["versions"]["numpy"] = "1.0"
    first["model"]["sha256"] = "0"
    Path("model/manifest.json").write_text(json.dumps(first))
    assert again() == 1
    assert f"numpy is {np.__version__}, before 1.0" in capsys.readouterr().err


def test_the_same_rows_from_another_place_are_the_same(first, capsys):
    pd.read_csv("rows.csv", parse_dates=["when"]).to_parquet("rows.parquet")
    assert again("rows.parquet") == 0
    second = json.loads(Path("again/manifest.json").read_text())
    for name in ("content_sha256", "order_sha256"):
        assert second["table"][name] == first["table"][name]


def test_labels_have_their_source_and_date(first, capsys):
    shutil.copy("model/label_next.csv", "ask.csv")
    sheet = pd.read_csv("ask.csv", dtype=str)
    sheet.loc[:3, "label"] = ["bad", "good", "bad", "good"]
    sheet.to_csv("ask.csv", index=False)
    log = sheet[["row"]].iloc[4:6].assign(label="bad", action="answer", time=["2026-01-02T10:00", "2026-01-03T10:00"])
    log.to_csv("labels.csv", index=False)
    words = ["fit", "rows.csv", "--target", "y", "--labels", "ask.csv", "--labels", "labels.csv", *QUICK]
    assert run([*words, "--out", "model"]) == 0
    manifest = json.loads(Path("model/manifest.json").read_text())
    table, asked, logged = manifest["labels"]["sources"]
    assert table["labels"] == sum(first["labels"]["by_class"].values())
    assert (asked["labels"], asked["first"]) == (4, None)
    assert (logged["labels"], logged["first"], logged["last"]) == (2, "2026-01-02T10:00", "2026-01-03T10:00")
    assert asked["sha256"] == hashlib.sha256(Path("ask.csv").read_bytes()).hexdigest()
    card = Path("model/model_card.md").read_text()
    assert "| labels from labels.csv | 2, 2026-01-02T10:00 to 2026-01-03T10:00 |" in card
    assert again() == 0
    log.iloc[:1].to_csv("labels.csv", index=False)
    assert again() == 1
    assert "other answers in --labels" in capsys.readouterr().err


def test_the_card_is_made_from_the_manifest(first):
    card = Path("model/model_card.md").read_text()
    assert first["table"]["content_sha256"] in card
    assert first["model"]["sha256"] in card
    assert f"made | {first['created']} by {first['user']} on {first['machine']}" in card
    assert "&#39;" not in card


def test_wrong_use(first, capsys):
    assert run(["fit", "--from", "model/manifest.json", "--out", "model"]) == 2
    assert "model/manifest.json is read by this command" in capsys.readouterr().err
    assert run(["fit", "--from", "model/metrics.json"]) == 2
    assert "is no manifest.json" in capsys.readouterr().err
    Path("rows.csv").unlink()
    assert again() == 2
    assert "there is no file rows.csv" in capsys.readouterr().err


# Digests ----------------------------------------------------------------------------------------------------

VALUES = st.one_of(st.none(), st.floats(-9, 9, width=32), st.integers(-3, 3))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(VALUES, st.sampled_from([None, "a", "b c", "é"])), min_size=2, max_size=8), st.randoms())
def test_a_digest_depends_on_what_cells_say(rows, random):
    table = pd.DataFrame(rows, columns=["number", "text"]).astype({"number": float})
    digest = digest_table(table)
    shuffled = rows.copy()
    random.shuffle(shuffled)
    other_order = pd.DataFrame(shuffled, columns=["number", "text"]).astype({"number": float})
    assert digest_table(other_order[["text", "number"]]).content == digest.content
    same_order = all(table.iloc[k].equals(other_order.iloc[k]) for k in range(len(rows)))
    assert (digest_table(other_order).order == digest.order) == same_order
    changed = table.copy()
    changed.loc[0, "number"] = 11.0
    assert digest_table(changed).content != digest.content
    assert digest_table(table.rename(columns={"text": "texts"})).content != digest.content


def test_gaps_zeros_and_signs():
    def content(values):
        return digest_table(pd.DataFrame({"x": values, "y": [1.0, 2.0]})).content

    assert content([0.0, 1.0]) == content([-0.0, 1.0]) == content([0, 1])
    assert content([np.nan, 1.0]) != content([0.0, 1.0])
    assert content([None, "a"]) != content(["", "a"])
