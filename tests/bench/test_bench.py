import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.semi_supervised import LabelSpreading
from sklearn.utils import Bunch

from fewlabel import LinearAUCClassifier
from fewlabel.bench import SUITES, Suite, collect, get_suite, plan, plots, run_cells, write_pages
from fewlabel.bench.papers import auc_dcd, pnu_auc
from fewlabel.bench.papers.few_labels import FewLabelsSuite, Spreading
from fewlabel.bench.papers.ssmab import NaiveBayes, _kinds
from fewlabel.bench.run import file_name
from fewlabel.bench.suite import Cell, Curve, Problem
from fewlabel.datasets import registry

# The smallest parts of each suite that still take every path through it.
SMALL = {
    "pnu-auc": (
        ["pima", "vehicle0", "simulated-100"],
        ["PNU-AUCBoost, defaults", "RBAUC", "LSAUC", "PNUAB", "PNU-AUCBoost, explicit pairs"],
    ),
    "auc-dcd": (["sonar"], None),
    "fscrf": (["breast-cancer"], None),
    "cross-training": (["iris"], None),
    "ssmab": (["wine", "car"], None),
    "paths": (["ssl-BCI", "ssl-Digit1", "ssl-g241c", "two-moons"], None),
    "bssel": (["generator"], ["BSSEL-LS", "BSSEL-SVM, 10 groups", "LDA"]),
    "ada-pu": (
        ["wdbc"],
        ["Ada-PU", "Ada-PU, paper's form", "Ada-PU, all cuts", "Ada-PU, learning rate 1", "uPU, linear"]
        + ["AdaBoost, P against U", "GBDT, few of both"],
    ),
    "few-labels": (["pima"], ["PNU-AUCBoost", "linear AUC", "path neighbors", "extra trees", "label spreading"]),
}
# Settings between the first and the last that take a path of their own.
MORE = {"fscrf": ["decision tree"], "paths": ["30 labeled rows"]}


def small_table(name):
    """A small stand-in with the classes of a dataset, so that suites run where no data is at hand."""
    known = registry()[name]
    classes = list(known["classes"])
    rng = np.random.default_rng(len(name))
    y = np.arange(150) % len(classes)
    data = pd.DataFrame(rng.normal(size=(150, 4)) + y[:, None], columns=list("abcd"))
    data["kind"] = pd.Categorical(np.array(["x", "y", "z"])[rng.integers(3, size=150)])
    positive = known.get("positive") or min(known["classes"], key=known["classes"].get)
    return Bunch(data=data, target=pd.Series(np.array(classes)[y]), positive=positive)


@pytest.fixture
def stand_ins(monkeypatch, tmp_path):
    def table(name):
        found = small_table(name)
        if name.startswith("ssl-"):
            found.data = found.data.drop(columns="kind")
        return found

    home = tmp_path / "home"
    home.mkdir()
    official = [(name, n) for name in ("BCI", "Digit1", "g241c") for n in (10, 100)]
    splits = {f"{name}_l{n}": np.array([np.arange(n) for _ in range(12)]) for name, n in official}
    np.savez(home / "ssl-splits.npz", **splits)
    monkeypatch.setenv("FEWLABEL_DATA", str(home))
    monkeypatch.setattr("fewlabel.bench.suite.table", table)
    monkeypatch.setattr("fewlabel.bench.papers.ada_pu.table", table)
    monkeypatch.setattr("fewlabel.bench.papers.ada_pu._POSITIVES", {"wdbc": 20})
    monkeypatch.setattr("fewlabel.bench.run._missing", lambda *_: None)


def small_cells(name, repeats=1):
    datasets, methods = SMALL[name]
    suite = get_suite(name)
    cells = plan(suite, datasets=datasets, methods=methods, repeats=repeats)[0]
    own = [[s for s in curve.settings if s not in suite.settings][:1] for curve in suite.curves]
    chosen = {suite.settings[0], suite.settings[-1], *(s for settings in own for s in settings), *MORE.get(name, ())}
    return suite, [cell for cell in cells if cell.setting in chosen]


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_runs_and_makes_its_pages(name, stand_ins, tmp_path):
    suite, cells = small_cells(name)
    folder = tmp_path / "run"
    steps = list(run_cells(suite, cells, folder))
    assert [step.done for step in steps] == list(range(1, len(cells) + 1))
    frame = collect(suite, folder)
    assert frame["error"].isna().all(), frame["error"].dropna().tolist()
    assert frame["score"].notna().all()
    write_pages(suite, folder)
    page = (folder / "index.md").read_text()
    assert suite.title in page
    assert "Protocol" in page
    assert "<table" in (folder / "index.html").read_text()
    assert len(pd.read_parquet(folder / "results.parquet")) == len(cells)


@pytest.mark.parametrize("name", SUITES)
def test_no_hidden_label_reaches_a_fit(name, stand_ins, monkeypatch):
    monkeypatch.setattr(pnu_auc, "_least_time", lambda fit, *data: (fit(*data), 0.0))  # times differ anyway
    suite, cells = small_cells(name)
    of_tables = {c.method: c for c in cells if c.setting in suite.settings and c.setting != "true prior"}
    tables = set(suite.settings) - set(MORE.get(name, ()))
    others = {(c.setting, c.method): c for c in cells if c.setting not in tables}
    for cell in (*of_tables.values(), *others.values()):
        if "silver" in cell.method or "gold" in cell.method:
            continue  # standards that are meant to see true labels
        problem = suite.problem(cell.dataset, cell.setting, 0)
        poisoned = problem.y.copy()
        known, hidden = problem.train[problem.few != -1], problem.train[problem.few == -1]
        unseen = np.setdiff1d(np.r_[hidden, problem.test], known)
        poisoned[unseen] = (poisoned[unseen] + 1) % (problem.y.max() + 1)
        if name == "ada-pu" and cell.setting != "estimated prior":  # it is told the share of the positives: keep that
            hidden = np.setdiff1d(hidden, known)
            poisoned[hidden] = problem.y[hidden][::-1]
        told = suite.outcome(replace(problem, y=poisoned), cell.method, 0)
        np.testing.assert_equal(told, suite.outcome(problem, cell.method, 0))


def test_label_spreading_has_an_answer_where_no_label_reaches():
    X = np.r_[np.arange(20.0), 100 + np.arange(20.0)][:, None]
    y = np.r_[0, 0, 1, np.full(37, -1)]
    ours, theirs = (kind("knn", n_neighbors=3).fit(X, y) for kind in (Spreading, LabelSpreading))
    with np.errstate(invalid="ignore"):
        raw = theirs.predict_proba(X)[:, 1]
    found, lost = ours.predict_proba(X)[:, 1], np.isnan(raw)
    assert lost[20:].all()
    np.testing.assert_array_equal(found[~lost], raw[~lost])
    assert 0 < found[-1] < 1


def test_explicit_pairs_and_the_accelerated_form_are_one_model():
    suite = get_suite("pnu-auc")
    problem = suite.problem("simulated-100", suite.settings[1], 0)
    slow, fast = (suite.outcome(problem, f"PNU-AUCBoost, {form}", 0)[0] for form in ("explicit pairs", "paper's form"))
    np.testing.assert_allclose(slow - slow.mean(), fast - fast.mean(), atol=1e-9)


def test_online_steps_of_the_convergence_figure_are_those_of_the_solver(stand_ins):
    problem = get_suite("auc-dcd").problem("sonar", "", 0)
    X, positive = problem.X[problem.train], problem.few == 1
    model = LinearAUCClassifier(0.01, solver="oam-inf", random_state=0).fit(X, problem.few)
    rng = np.random.default_rng(np.random.RandomState(0).randint(np.iinfo(np.int32).max))  # as the solver's
    steps = auc_dcd._by_step("oam-inf", X, positive, 0.01, rng)  # fewer pairs than steps: a whole pass
    np.testing.assert_allclose(steps[-1], model.coef_[0])
    assert auc_dcd._objective(X, positive, steps[-1]) == pytest.approx(model.objective_)


def test_naive_bayes_for_boosting_agrees_with_those_of_sklearn():
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    weight = rng.integers(1, 4, size=300).astype(float)
    numbers = rng.normal(size=(300, 2)) + y[:, None]
    codes = np.column_stack([(y + rng.integers(2, size=300)) % 3, rng.integers(2, size=300)])
    one_hot = np.column_stack([codes[:, :1] == np.arange(3), codes[:, 1:] == np.arange(2)]).astype(float)
    data = pd.DataFrame({"a": pd.Categorical(codes[:, 0]), "n": numbers[:, 0], "b": codes[:, 1].astype(str)})
    kinds = _kinds(data)
    assert kinds.tolist() == [-1, 0, 0, 0, 1, 1]
    ours = NaiveBayes(np.array([-1, -1])).fit(numbers, y, weight).predict(numbers)
    assert (ours == GaussianNB().fit(numbers, y, weight).predict(numbers)).mean() > 0.98  # priors differ by a row each
    ours = NaiveBayes(kinds[1:]).fit(one_hot, y, weight / weight.mean()).predict(one_hot)
    theirs = CategoricalNB().fit(codes, y, weight / weight.mean()).predict(codes)
    assert (ours == theirs).mean() > 0.98


class Toy(Suite):
    """Two methods, one of which fails, and one dataset of the suite's own."""

    name = "toy"
    title = "Toy <script>"
    datasets = ("made",)
    methods = ("mean", "broken", "slow")
    repeats = 3

    def problem(self, dataset, setting, repeat):
        y = np.arange(20) % 2
        return Problem(np.arange(20.0)[:, None], y, np.arange(10), y[:10], np.arange(10, 20), name=dataset)

    def outcome(self, problem, method, seed):
        if method == "broken":
            raise RuntimeError("no such luck")
        if method == "slow":
            end = time.monotonic() + 30
            while time.monotonic() < end:
                pass
        return seed

    def measure(self, problem, outcome):
        return {"score": 0.5 + 0.1 * outcome}

    def warm_up(self, problem, method):
        pass

    def paper(self, dataset, setting, method):
        return (0.5, 0.1) if method == "mean" else None


class ToyCurves(Toy):
    """A curve by setting, over its own settings, and one that the cells record."""

    methods = ("mean", "other")
    settings = ("table",)
    curves = (
        Curve("Figure 1", "By share.", "share", {"10%": 10, "20%": 20}),
        Curve("Figure 2", "By round.", "round", {"table": 0}, methods=("mean",)),
    )

    def outcome(self, problem, method, seed):
        return seed

    def measure(self, problem, outcome):
        return {"score": 0.5, "curves": {"loss": [[1, 2], [1.0, 0.1 * outcome]], "AUC": [[1, 2], [0.5, 0.7]]}}


def test_curves_become_pictures_of_a_page(tmp_path):
    suite = ToyCurves()
    cells, _ = plan(suite, repeats=2)
    assert {c.setting for c in cells} == {"table", "10%", "20%"}
    list(run_cells(suite, cells, tmp_path))
    summary = write_pages(suite, tmp_path)
    assert [section["setting"] for section in summary["sections"]] == ["table"]  # a curve's own settings have no table
    page = (tmp_path / "index.md").read_text()
    for curve, name in zip(suite.curves, ("figure-1", "figure-2"), strict=True):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"![{curve.name}]({name}.png)" in page
        assert curve.caption in page
    frame = collect(suite, tmp_path)
    by_setting = plots._by_setting(suite, suite.curves[0], frame)
    assert set(by_setting["x"]) == {10, 20}
    recorded = plots._recorded(suite.curves[1], frame)
    assert set(recorded["method"]) == {"mean"}
    assert recorded[(recorded["what"] == "loss") & (recorded["x"] == 2)]["y"].tolist() == [0.0, 0.1]


def test_a_failing_cell_is_recorded_and_the_run_goes_on(tmp_path):
    suite = Toy()
    cells, _ = plan(suite, methods=["mean", "broken"])
    assert len(list(run_cells(suite, cells, tmp_path))) == 6
    frame = collect(suite, tmp_path)
    assert frame.loc[frame.method == "broken", "error"].str.contains("no such luck").all()
    summary = write_pages(suite, tmp_path, {"dataset x": "not here"})
    page = (tmp_path / "index.md").read_text()
    assert "no such luck" in page
    assert "Left out: dataset x" in page
    assert "<script>" not in (tmp_path / "index.html").read_text()
    # ours 0.6 +- 0.1 over 3, the paper's 0.5 +- 0.1 over 10
    expected = 0.1 / np.sqrt(0.01 / 3 + 0.01 / 10)
    assert summary["sections"][0]["paper"].loc["made", "mean"] == f"0.6000 / 0.5000 ({expected:+.1f})"


def test_what_is_there_is_not_run_again_unless_it_failed(tmp_path):
    suite = Toy()
    cells, _ = plan(suite, methods=["mean", "broken"], repeats=1)
    list(run_cells(suite, cells, tmp_path))
    assert list(run_cells(suite, cells, tmp_path)) == []
    again = list(run_cells(suite, cells, tmp_path, retry_failed=True))
    assert [step.name.split()[1] for step in again] == ["broken"]


@pytest.mark.skipif(not hasattr(signal, "SIGALRM"), reason="no alarm signal on this system")
def test_a_cell_has_a_time_limit(tmp_path):
    suite = Toy()
    cells, _ = plan(suite, methods=["slow"], repeats=1)
    list(run_cells(suite, cells, tmp_path, time_limit=0.2))
    assert "longer than 0.2 s" in collect(suite, tmp_path)["error"].iloc[0]


def test_wrong_names_and_missing_things(monkeypatch):
    monkeypatch.delenv("FEWLABEL_DATA", raising=False)
    monkeypatch.setattr("fewlabel.datasets._registry.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match="no dataset of this suite is named 'pimo'"):
        plan(FewLabelsSuite(), datasets=["pimo"])
    with pytest.raises(ValueError, match="no suite is named"):
        get_suite("nothing")
    cells, left_out = plan(FewLabelsSuite(), datasets=["sick", "wdbc"], repeats=1)
    assert {c.dataset for c in cells} == {"wdbc"}
    assert "OpenML" in left_out["dataset sick"]


def test_a_missing_package_is_a_reason(monkeypatch):
    monkeypatch.setattr("fewlabel.bench.suite.util.find_spec", lambda name: None)
    cells, left_out = plan(FewLabelsSuite(), datasets=["wdbc"], repeats=1)
    assert left_out["method XGBoost"] == "xgboost is not installed"
    assert "XGBoost" not in {c.method for c in cells}


def test_names_of_files_are_safe():
    assert file_name(Cell("a/b", "", 'x "y", z', 3)) == "a-b__all__x-y-z__3.json"


def test_a_damaged_cell_is_named(tmp_path):
    (tmp_path / "cells").mkdir()
    (tmp_path / "cells" / "x.json").write_text("{")
    with pytest.raises(ValueError, match=r"x\.json is damaged"):
        collect(Toy(), tmp_path)


KILLED = """
import sys, time
from pathlib import Path
from fewlabel.bench import plan, run_cells
sys.path.insert(0, {tests!r})
from bench.slow_suite import Slow
suite = Slow()
for step in run_cells(suite, plan(suite)[0], Path({folder!r}), jobs=1):
    print(step.done, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no kill -9 here")
def test_kill_9_loses_no_finished_cell(tmp_path):
    tests = str(Path(__file__).parents[1])
    code = KILLED.format(tests=tests, folder=str(tmp_path))
    rng = np.random.default_rng(0)
    seen = {}
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True, text=True
        )
        process.stdout.readline()  # the first cell of this round is done
        time.sleep(rng.uniform(0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        cells = list((tmp_path / "cells").glob("*.json"))
        for path in cells:
            json.loads(path.read_text())  # whole
        times = {path.name: path.stat().st_mtime_ns for path in cells}
        assert all(times[name] == when for name, when in seen.items())  # none lost, none run twice
        seen = times
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    cells = list((tmp_path / "cells").glob("*.json"))
    assert len(cells) == 60
    assert all(path.stat().st_mtime_ns == seen.get(path.name, path.stat().st_mtime_ns) for path in cells)


def test_sparse_rows_go_through_the_paths_suite():
    problem = Problem(csr_matrix(np.eye(4)), np.arange(4) % 2, np.arange(4), np.array([0, 1, -1, -1]), np.array([2, 3]))
    assert len(get_suite("paths").outcome(problem, "SVM, linear", 0)) == 2
