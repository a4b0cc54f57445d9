"""``fewlabel fit --engine dask``: files in pieces give the model of the whole table, or of a sample of its rows."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fewlabel
from fewlabel.cli.fit import FILES
from fewlabel.cli.main import run
from fewlabel.files import read_file

pytest.importorskip("distributed", reason="Dask is not installed: pip install 'fewlabel[dask]'")


@pytest.fixture(scope="module")
def scheduler():
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Three files of unequal size, the last without a label."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 900
    city = rng.choice(["Paris", "Oslo", "Graz"], n)
    table = pd.DataFrame(
        {
            "id": np.arange(n),
            "age": np.round(rng.normal(40, 10, n)),
            "income": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "city": city,
        }
    )
    bad = table["age"] / 10 + 2 * (city == "Oslo") + rng.normal(size=n) > 4.5
    table["outcome"] = np.where(rng.random(n) < 0.4, np.where(bad, "bad", "good"), None)
    table.loc[700:, "outcome"] = None
    for k, part in enumerate((table[:100], table[100:700], table[700:])):
        part.to_parquet(f"part{k}.parquet")
    return table


def fit(*options, scheduler):
    return run(["fit", *options, "--target", "outcome", "--engine", "dask", "--scheduler", scheduler, "--out", "here"])


QUICK = ["--method", "logistic-regression"]


def test_few_labels_are_gathered_with_a_sample_of_the_others(rows, scheduler, capsys, monkeypatch):
    monkeypatch.setattr("fewlabel.cli.fit_dask._FIRST", 150)
    monkeypatch.setattr("fewlabel.dask.other_samples.LEAST_JUDGED", 20)
    files = [f"part{k}.parquet" for k in range(3)]
    n_labeled = int(rows["outcome"].notna().sum())
    n = 900 - n_labeled
    assert fit(*files, *QUICK, "--drop", "id", scheduler=scheduler) == 0
    told = capsys.readouterr()
    assert f"150 of {n} unlabeled rows were drawn at random" in told.err
    assert "the same methods with 150 other unlabeled rows rank" in told.err
    assert set(FILES) <= {path.name for path in Path("here").iterdir()}
    model = fewlabel.load("here/model.fewlabel")
    assert list(model.encoder.kinds) == ["age", "income", "city"]
    with open("here/metrics.json") as file:
        found = json.load(file)
    assert (found["data"]["labeled"], found["data"]["unlabeled"]) == (n_labeled, 150)
    first = Path("here/metrics.json").read_text()
    assert fit(*files, *QUICK, "--drop", "id", scheduler=scheduler) == 0
    assert [c["score"] for c in json.loads(first)["leaderboard"]] == [c["score"] for c in found["leaderboard"]]


def test_more_rows_are_taken_until_other_samples_agree(rows, scheduler, capsys, monkeypatch):
    monkeypatch.setattr("fewlabel.cli.fit_dask._FIRST", 100)
    monkeypatch.setattr("fewlabel.dask.other_samples.LARGEST", 200)
    monkeypatch.setattr("fewlabel.dask.other_samples.LEAST_JUDGED", 20)
    agreements = iter([0.5, 0.6])
    monkeypatch.setattr("fewlabel.dask.other_samples.rank_agreement", lambda one, other: next(agreements))
    assert fit("part1.parquet", "part2.parquet", *QUICK, scheduler=scheduler) == 0
    told = capsys.readouterr().err
    assert "other samples give another ranking: now with 200 unlabeled rows" in told
    assert "Spearman correlation 0.600, so more unlabeled rows could change the ranking" in told


def test_a_folder_of_text_files_is_the_same_table(rows, capsys):
    """Without a cluster: in threads of this process."""
    Path("texts").mkdir()
    for k, part in enumerate((rows[:300], rows[300:])):
        part.to_csv(f"texts/part{k}.csv", index=False, sep=";")
    command = ["fit", "texts", "--target", "outcome", "--positive", "bad", "--engine", "dask", "--out", "here"]
    assert run([*command, *QUICK]) == 0
    assert f"all {int(rows['outcome'].isna().sum())} unlabeled rows were used" in capsys.readouterr().err
    sampled = fewlabel.load("here/model.fewlabel")
    rows.to_csv("whole.csv", index=False)
    assert run(["fit", "whole.csv", "--target", "outcome", "--positive", "bad", "--out", "memory", *QUICK]) == 0
    whole = fewlabel.load("memory/model.fewlabel")
    assert sampled.encoder.kinds == whole.encoder.kinds
    # The rows are the same, in another order: so is the model, but for its folds.
    table = read_file("whole.csv")
    np.testing.assert_allclose(
        sampled.decision_function(table).argsort().argsort(), whole.decision_function(table).argsort().argsort(), atol=9
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["part0.parquet", "--engine", "spark"], "'spark' is not one of 'memory', 'dask'"),
        (["rows.csv", "part0.parquet", "--engine", "dask", "--jobs", "1"], "rows.csv is a text file and part0.parquet"),
        (["part0.parquet", "--engine", "dask", "--review", "5"], "of which --engine dask keeps a sample"),
        (["rows.csv", "--engine", "dask", "--encoding", "latin-1"], "reads UTF-8"),
        (["part0.parquet", "--engine", "dask", "--drop", "agee", "--jobs", "1"], "did you mean 'age'?"),
        ([".", "--engine", "dask"], "label_next.csv would be one of the tables"),
        (["part0.parquet", "--engine", "dask", "--weights", "agee", "--jobs", "1"], "did you mean 'age'?"),
        (["rows.csv", "--engine", "dask", "--weights", "income", "--jobs", "1"], "column 'income' has"),
        (["part0.parquet", "--engine", "dask", "--weights", "city", "--jobs", "1"], "column 'city' has 100 values"),
        (
            ["rows.csv", "--weights", "city"],
            "column 'city' has 900 values that are not numbers from 0 on, such as 'Graz'",
        ),
        (["rows.csv", "--keep", "age"], "'age' is not the column of --groups, --time or --weights"),
    ],
)
def test_wrong_use_is_one_line(rows, capsys, options, told):
    rows.to_csv("rows.csv", index=False)
    assert run(["fit", *options, "--target", "outcome"]) in (1, 2)
    assert told in capsys.readouterr().err


def test_labels_pass_the_same_gate(rows, scheduler, capsys):
    command = ["fit", "part.parquet", "--target", "outcome", "--engine", "dask", "--scheduler", scheduler, *QUICK]
    rows["outcome"] = np.where(rows["outcome"] == "bad", 1, -1)
    rows.to_parquet("part.parquet")
    assert run(command) == 2
    err = capsys.readouterr().err
    assert "column 'outcome' holds only -1 and 1. If -1 is a class: --unlabeled ''; if it marks unlabeled rows" in err
    assert run([*command, "--unlabeled", ""]) == 0
    n = int((rows["outcome"] == 1).sum())
    assert f"labels: -1 ({900 - n} rows), 1 ({n} rows); positive: 1, by its name" in capsys.readouterr().err
    assert fewlabel.load("model.fewlabel").classes_.tolist() == [-1, 1]


def write_folders(rows):
    """The same rows as text and as Parquet files, three of each."""
    for folder in ("texts", "parquets"):
        Path(folder).mkdir()
    for k, part in enumerate((rows[:100], rows[100:700], rows[700:])):
        part.to_csv(f"texts/part{k}.csv", index=False, sep=";")
        part.to_parquet(f"parquets/part{k}.parquet", row_group_size=50, index=False)


@pytest.fixture
def weighted(rows):
    rng = np.random.default_rng(1)
    rows["weight"] = np.round(rng.exponential(size=900) ** 2, 3)
    rows.loc[::9, "weight"] = 0.0
    write_folders(rows)
    return rows


def test_weights_count_in_a_sample_as_they_do_in_memory(weighted, capsys, monkeypatch):
    """All unlabeled rows are drawn, so that the weights are those of the table."""
    weighted.to_csv("whole.csv", index=False)
    command = ["--target", "outcome", "--positive", "bad", "--weights", "weight", *QUICK]
    assert run(["fit", "whole.csv", *command, "--out", "memory"]) == 0
    assert "rows count by column 'weight'" in capsys.readouterr().err
    for folder in ("texts", "parquets"):
        assert run(["fit", folder, *command, "--engine", "dask", "--out", f"from_{folder}"]) == 0
    assert "--weights weight" in json.loads(Path("from_texts/metrics.json").read_text())["command"]
    sheet = pd.read_csv("from_texts/label_next.csv")
    assert sheet["weight"].isin(weighted["weight"]).all()
    X = weighted.drop(columns=["outcome", "weight"])
    assert run(["fit", "whole.csv", *command[:4], "--drop", "weight", *QUICK, "--out", "plain", "--quiet"]) == 0
    folders = {"memory": "memory", "texts": "from_texts", "parquets": "from_parquets", "plain": "plain"}
    scores = {name: fewlabel.load(f"{folder}/model.fewlabel") for name, folder in folders.items()}
    scores = {name: model.decision_function(X).argsort().argsort() for name, model in scores.items()}
    np.testing.assert_allclose(scores["texts"], scores["memory"], atol=9)
    np.testing.assert_array_equal(scores["texts"], scores["parquets"])
    assert np.abs(scores["plain"] - scores["memory"]).max() > 30
    capsys.readouterr()
    monkeypatch.setattr("fewlabel.cli.fit_dask._FIRST", 100)
    monkeypatch.setattr("fewlabel.dask.other_samples.LEAST_JUDGED", 20)
    assert run(["fit", "parquets", *command, "--engine", "dask", "--out", "drawn"]) == 0
    told = capsys.readouterr().err
    assert f"100 of {weighted['outcome'].isna().sum()} unlabeled rows were drawn at random" in told
    assert "the same methods with 100 other unlabeled rows rank" in told
