import pickle
import sys
import warnings
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.semi_supervised import LabelSpreading
from threadpoolctl import threadpool_limits

from benchmarks.harness import SUITES, Problem, get_suite, plan, read_run, run_cells, write_run_page
from benchmarks.papers.ada_pu import experiment as ada_pu
from benchmarks.papers.auc_dcd import experiment as auc_dcd
from benchmarks.papers.bssel import experiment as bssel
from benchmarks.papers.pnu_auc import experiment as pnu_auc
from benchmarks.papers.pnu_auc import methods as pnu_auc_methods
from benchmarks.quality.few_labels.experiment import AutoGluon, BesideAutoGluon, Spreading
from benchmarks.quality.prior import experiment as prior
from fewlabel import LinearAUCClassifier, make_multiview_credit
from fewlabel.datasets import registry

# The smallest parts of each suite that still take every path through it.
SMALL = {
    "pnu-auc": (
        ["pima", "wdbc", "insurance-30pct", "simulated-100"],
        ["PNU-AUCBoost, defaults", "RBAUC", "PNUAUC", "PNUAB", "PNU-AUCBoost, explicit pairs", "gamma 0.9"]
        + ["histogram boosting", "PNUAB, as printed", *pnu_auc_methods.READINGS, *pnu_auc_methods.LEAST_SQUARES],
    ),
    "auc-dcd": (["sonar", "svmguide4"], None),
    "fscrf": (["breast-cancer", "dermatology"], None),
    "cross-training": (["iris"], None),
    "ssmab": (["wine", "car", "dermatology"], None),
    "paths": (["ssl-BCI", "ssl-Digit1", "ssl-g241c", "two-moons"], None),
    "bssel": (
        ["generator", "two-view moons"],
        [
            "BSSEL-LS",
            "BSSEL-LS, none",
            "BSSEL-LS, between",
            "BSSEL-LS, within",
            "BSSEL-LS, both",
            "BSSEL-SVM, 10 groups",
            "LDA",
        ],
    ),
    "ada-pu": (
        ["wdbc", "bupa"],
        ["Ada-PU", "Ada-PU, as published", "Ada-PU, all cuts", "Ada-PU, learning rate 1", "uPU, linear"]
        + ["Ada-PU, learning rate 1, normalized separately"]
        + ["AdaBoost, P against U", "GBDT, few of both"],
    ),
    "prior": (["Gauss 3, 50 positives"], ["auto", "Elkan-Noto"]),
    "few-labels": (
        ["pima"],
        ["PNU-AUCBoost", "linear AUC", "path neighbors", "extra trees", "label spreading", "extra trees + components"],
    ),
}
# Settings between the first and the last of an experiment that take a path of their own; and suites where the last
# setting takes the path of the first.
TOLD_PRIOR = ("ada-pu", "pnu-auc")  # the papers feed the true share of positives among the unlabeled rows
MORE = {"Tables 6.2 to 6.6": ["30 labeled rows"], "Control": ["u/l = 5"]}
ONE_SETTING = ("cross-training", "prior")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data home of small stand-ins with the classes of the datasets, so that suites run where no data is at hand."""
    folder = tmp_path_factory.mktemp("home")
    for name in {name for datasets, _ in SMALL.values() for name in datasets} & set(registry()):
        known = registry()[name]
        classes, n = list(known["classes"]), 150
        rng = np.random.default_rng(len(name))
        y = np.arange(n) % len(classes)
        data = pd.DataFrame(rng.normal(size=(n, 4)) + y[:, None], columns=list("abcd"))
        if not name.startswith("ssl-"):
            data["kind"] = pd.Categorical(np.array(["x", "y", "z"])[rng.integers(3, size=n)])
        data["target"] = np.array(classes)[y]
        data.to_parquet(folder / known["file"])
    official = [(name, n) for name in ("BCI", "Digit1", "g241c") for n in (10, 100)]
    splits = {f"{name}_l{n}": np.array([np.arange(n) for _ in range(12)]) for name, n in official}
    np.savez(folder / "ssl-splits.npz", **splits)
    return str(folder)


def small_cells(name, home):
    datasets, methods = SMALL[name]
    suite = get_suite(name)
    cells = plan(suite, datasets=datasets, methods=methods, repeats=1, data_home=home)[0]
    chosen = {
        (e.name, setting)
        for e in suite.experiments
        for setting in (str(e.settings[0]), str(e.settings[-(name not in ONE_SETTING)]), *MORE.get(e.name, ()))
    }
    return suite, [cell for cell in cells if (cell.experiment, cell.setting) in chosen]


def shrink(suite, patch):
    """Fewer rows and rounds where a suite makes its own data, or needs many rows."""
    patch.setattr(pnu_auc, "_least_time", lambda fit, *data: (fit(*data), 0.0))  # times differ anyway
    few_rounds = {method: (make, (3, 10), grid) for method, (make, _, grid) in pnu_auc_methods.BOOSTERS.items()}
    patch.setattr(pnu_auc_methods, "BOOSTERS", few_rounds)
    patch.setattr(ada_pu, "_POSITIVES", {"wdbc": 30})
    patch.setattr(ada_pu, "_ROUNDS", 10)
    patch.setattr(ada_pu, "_LATE_ROUNDS", (1, 3))
    patch.setattr(prior, "_gaussians", partial(prior._gaussians, n_u=200))
    patch.setattr(bssel, "_load", lambda dataset, data_home: credit())
    patch.setattr(bssel, "_MOST_TESTED", 20)
    for experiment in suite.experiments if suite.name == "bssel" else ():
        patch.setattr(experiment, "labeled", (40, 8))


@cache
def credit():
    X, _, y = make_multiview_credit(6000, return_true=True, random_state=0)
    return pd.DataFrame(X), y


@pytest.fixture(scope="module", params=SUITES)
def played(request, home, tmp_path_factory):
    """A suite whose cells were run in this process: the cells, the folder of the results, and the outcomes."""
    suite, cells = small_cells(request.param, home)
    folder, outcomes = tmp_path_factory.mktemp("run"), {}

    def here(work, tasks, **_):
        for number, (name, experiment, cell, *rest) in enumerate(tasks):
            with pytest.MonkeyPatch.context() as recorder:

                def outcome(*arguments, original=experiment.outcome, cell=cell):
                    outcomes[cell] = original(*arguments)  # the last one stays, not that of the warm-up
                    return outcomes[cell]

                recorder.setattr(experiment, "outcome", outcome)
                yield number, work(name, experiment, cell, *rest)

    with pytest.MonkeyPatch.context() as patch:
        shrink(suite, patch)
        patch.setattr("benchmarks.harness.run.run_tasks", here)
        with warnings.catch_warnings(), threadpool_limits():  # which a cell sets for its process
            run_cells(suite, cells, folder, data_home=home)
        yield suite, cells, folder, outcomes


def test_every_suite_runs_and_makes_its_pages(played):
    suite, cells, folder, _ = played
    methods = {cell.method for cell in cells}  # AutoClassifier takes too long, and is all that an experiment runs
    wanted = {e.name for e in suite.experiments if e.name[:6] != "Figure" and methods & set(e.methods)}
    assert {cell.experiment for cell in cells} >= wanted
    frame, refused = read_run(suite, folder)
    assert frame["error"].isna().all(), frame["error"].dropna().tolist()
    assert frame["score"].notna().all()
    assert not refused
    write_run_page(suite, folder)
    assert suite.title in (folder / "index.md").read_text()
    assert len(frame) == len(cells)


def test_no_hidden_label_reaches_a_fit(played, home):
    suite, cells, _, outcomes = played
    of_method = {(c.experiment, c.method): c for c in cells}
    for cell in of_method.values():
        experiment = suite[cell.experiment]
        setting = experiment.setting(cell.setting)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # stand-ins are not the files of the registry
            problem = experiment.problem(cell.dataset, setting, 0, home)
            poisoned = poison(problem, keep_prior=suite.name in TOLD_PRIOR and "estimated" not in cell.setting)
            told = experiment.outcome(replace(problem, y=poisoned), setting, cell.method, 0)
            np.testing.assert_equal(told, outcomes[cell])


@pytest.mark.parametrize("name", SUITES)
def test_experiments_reach_another_process(name):
    for experiment in get_suite(name).experiments:
        assert pickle.loads(pickle.dumps(experiment)).parameters(experiment.settings[0]) == experiment.parameters(
            experiment.settings[0]
        )


def poison(problem, keep_prior):
    """Other classes for all rows whose label is hidden; the share of the positives may be kept."""
    poisoned = problem.y.copy()
    known, hidden = problem.train[problem.few != -1], problem.train[problem.few == -1]
    unseen = np.setdiff1d(np.r_[hidden, problem.test], known)
    poisoned[unseen] = (poisoned[unseen] + 1) % (problem.y.max() + 1)
    if keep_prior:
        hidden = np.setdiff1d(hidden, known)
        poisoned[hidden] = problem.y[hidden][::-1]
    return poisoned


def test_the_poison_is_not_harmless(home, monkeypatch):
    """A method that reads hidden labels, such as the ceiling of Ada-PU, gives another outcome."""
    monkeypatch.setattr(ada_pu, "_POSITIVES", {"wdbc": 30})
    experiment = get_suite("ada-pu")["Accuracy"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = experiment.problem("wdbc", experiment.settings[0], 0, home)
    told = replace(problem, y=poison(problem, keep_prior=True))
    outcomes = [experiment.outcome(p, experiment.settings[0], "supervised (ceiling)", 0) for p in (problem, told)]
    assert not np.array_equal(*outcomes)


def test_the_data_home_is_an_argument(home, monkeypatch, tmp_path):
    monkeypatch.setenv("FEWLABEL_DATA", str(tmp_path))  # empty: the argument wins
    experiment = get_suite("ssmab").experiments[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(experiment.problem("car", experiment.settings[0], 0, home).y) == 150


def test_label_spreading_has_a_score_where_no_label_reaches():
    X = np.r_[np.arange(20.0), 100 + np.arange(20.0)][:, None]
    y = np.r_[0, 0, 1, np.full(37, -1)]
    ours, theirs = (kind("knn", n_neighbors=3).fit(X, y) for kind in (Spreading, LabelSpreading))
    with np.errstate(invalid="ignore"):
        raw = theirs.predict_proba(X)[:, 1]
    found, lost = ours.predict_proba(X)[:, 1], np.isnan(raw)
    assert lost[20:].all()
    np.testing.assert_array_equal(found[~lost], raw[~lost])
    assert 0 < found[-1] < 1


def test_explicit_pairs_and_sums_are_one_model():
    experiment = get_suite("pnu-auc")["Table 3"]
    problem = experiment.problem("simulated-100", experiment.settings[0], 0)
    slow, fast = (experiment.outcome(problem, experiment.settings[0], m, 0)[0] for m in experiment.methods)
    np.testing.assert_allclose(slow - slow.mean(), fast - fast.mean(), atol=1e-9)


def test_online_steps_of_the_convergence_figure_are_those_of_the_solver():
    rng = np.random.default_rng(0)
    y = (np.arange(120) % 3 == 0).astype(int)
    X = rng.normal(size=(120, 4)) + y[:, None]
    model = LinearAUCClassifier(0.01, solver="oam-inf", random_state=0).fit(X, y)
    rng = np.random.default_rng(np.random.RandomState(0).randint(np.iinfo(np.int32).max))  # as the solver's
    steps = auc_dcd._by_step("oam-inf", X, y == 1, 0.01, rng)  # fewer pairs than steps: a whole pass
    np.testing.assert_allclose(steps[-1], model.coef_[0])
    assert auc_dcd._objective(X, y == 1, steps[-1]) == pytest.approx(model.objective_)


def test_sparse_rows_go_through_the_paths_suite():
    problem = Problem(csr_matrix(np.eye(4)), np.arange(4) % 2, np.arange(4), np.array([0, 1, -1, -1]), np.array([2, 3]))
    experiment = get_suite("paths").experiments[0]
    assert len(experiment.outcome(problem, experiment.settings[0], "SVM, linear", 0)) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="the stand-in is a shell script")
def test_autogluon_runs_in_its_own_environment(tmp_path, monkeypatch):
    """Its interpreter gets the program, the folder of the rows and the time limit."""
    monkeypatch.delenv("FEWLABEL_AUTOGLUON", raising=False)
    assert "FEWLABEL_AUTOGLUON" in BesideAutoGluon().why_not("AutoGluon")
    code = "import sys, numpy as np; f = sys.argv[1]; np.save(f + '/scores.npy', np.load(f + '/rows.npz')['new'][:, 0])"
    stand_in = tmp_path / "python"
    stand_in.write_text(f'#!/bin/sh\ntest "$4" = 60 || exit 1\nexec "{sys.executable}" -c "{code}" "$3"\n')
    stand_in.chmod(0o755)
    monkeypatch.setenv("FEWLABEL_AUTOGLUON", str(stand_in))
    assert BesideAutoGluon().why_not("AutoGluon") is None
    X = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_array_equal(AutoGluon().fit(X[:4], [0, 1, 0, 1]).decision_function(X[4:]), X[4:, 0])


def test_gaps_are_columns_in_the_reduced_protocol_of_bssel_only(monkeypatch):
    """Indicators of gaps would be half of the generator's columns, and ruin naive Bayes."""
    monkeypatch.setattr(bssel, "_load", lambda dataset, data_home: credit())
    bssel._draw.cache_clear()
    drawn = [get_suite("bssel")[name].problem for name in ("Simulation, as printed", "Simulation")]
    n_columns = [make("generator", bssel.Ratio(0), 0).X.shape[1] for make in drawn]
    bssel._draw.cache_clear()
    bssel._bagging.cache_clear()
    assert n_columns == [40, 80]
