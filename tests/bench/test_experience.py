"""The experience of AutoClassifier: cells that are kept, a data file, and figures on tables left out."""

import json
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.harness import get_suite
from benchmarks.quality import cells, experience
from benchmarks.quality.experience import Trial, learn_experience
from benchmarks.quality.few_labels import experiment as few_labels
from fewlabel.auto import Experience, portfolio

NAMES = ["logistic regression", "naive Bayes"]
TABLES = ["wine", "wdbc", "iris"]
RULE = {"steepness": 20, "noise": 1.0, "most": 5}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of two members on three tables of scikit-learn."""
    folder = tmp_path_factory.mktemp("run")
    members = [member for member in portfolio() if member.name in NAMES]
    cells.run("binary", folder, folder, members, 5, TABLES)
    stamps = {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    cells.run("binary", folder, folder, members, 5, TABLES)
    assert stamps == {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    return folder


@pytest.fixture(scope="module")
def found(folder):
    return experience.read_cells(folder)


def test_cells_hold_what_the_figures_need(found):
    names, of_tables = found
    assert names == NAMES
    assert len(of_tables) == 3 * len(cells.SHARES)
    for cell in of_tables:
        assert cell.ranks.shape == (2, len(cell.hidden))
        assert cell.trial.n_rarest >= cells.LEAST


def test_members_that_are_missing_are_added_to_a_cell(folder, tmp_path, monkeypatch):
    path = next(folder.glob("iris*.npz"))
    (tmp_path / path.name).write_bytes(path.read_bytes())
    amount = int(path.stem.split("_")[1]) / 100
    added = [member for member in portfolio() if member.name == "nearest neighbors"]
    monkeypatch.setattr(cells, "AMOUNTS", {"binary": (amount,)})
    cells.run("binary", tmp_path, tmp_path, added, 5, ["iris"])
    before, after = cells.read_cell(path), cells.read_cell(tmp_path / path.name)
    assert after["about"]["members"] == [*NAMES, "nearest neighbors"]
    np.testing.assert_array_equal(after["test"][:2], before["test"])


def test_each_draw_keeps_other_labels(tmp_path, monkeypatch):
    members = [member for member in portfolio() if member.name in NAMES]
    monkeypatch.setattr(cells, "AMOUNTS", {"binary": (0.05,)})
    cells.run("binary", tmp_path, tmp_path, members, 5, ["wdbc", "wine"], n_draws=2)
    names, of_draws = experience.read_cells(tmp_path)
    assert [cell.trial.table for cell in of_draws] == ["wdbc", "wdbc", "wine", "wine"]
    assert [cell.trial.draw for cell in of_draws] == [0, 1, 0, 1]
    first = cells.read_cell(tmp_path / "wdbc_5_0.npz")["few"]
    second = cells.read_cell(tmp_path / "wdbc_5_1.npz")["few"]
    assert (first != second).any()
    # Draws of one table are compared as one.
    compared = experience.compare(experience.table_of(names, of_draws, "binary"))
    expected = np.mean([cell.trial.auc[0] for cell in of_draws])
    assert compared.loc[(0.05, names[0]), "auc"] == pytest.approx(expected)
    assert compared.loc[(0.05, names[0]), "tables"] == 2


def test_members_are_judged_by_what_the_ensemble_gains_with_them(found, monkeypatch):
    names, of_tables = found
    monkeypatch.setattr(experience, "usual_members", lambda names, task: NAMES)
    judged = experience.judge_members(names, of_tables, "binary").set_index("member")
    assert set(judged["ensemble"]) == {"without it"}
    learned = experience.learn_without_each(names, of_tables)
    both = experience.leave_one_table_out(names, of_tables, names, learned)
    alone = experience.leave_one_table_out(names, of_tables, names[:1], learned)
    # Every table has as many cells.
    assert judged.loc["naive Bayes", "change"] == pytest.approx((alone - both).mean())


@pytest.mark.parametrize("task", ["multiclass", "positive-unlabeled"])
def test_labels_are_hidden_by_the_task(task, tmp_path):
    X, few, codes = cells.problem(task, "wine", cells.AMOUNTS[task][-1], 0, tmp_path)
    assert len(X) == len(few) == len(codes)
    assert (few[few >= 0] == codes[few >= 0]).all()
    if task == "multiclass":
        assert np.bincount(few[few >= 0]).tolist() == [10, 10, 10]
    else:
        assert set(few) == {-1, 1}


def test_a_prepared_table_names_its_target(tmp_path):
    rows = pd.DataFrame({"x": np.arange(40.0), "place": list("ab") * 20, "target": np.arange(40) % 4 == 0})
    rows["target"] = rows["target"].astype(float)
    rows.to_parquet(tmp_path / "own.parquet")
    X, few, codes = cells.problem("binary", "own", 0.15, 0, tmp_path)
    assert codes.sum() == 10
    assert (few >= 0).sum() == 10
    assert X.shape[0] == 40


def test_tight_clusters_have_more_structure_than_noise():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(300, 20))
    clusters = rng.normal(size=(5, 20))[rng.integers(5, size=300)] + 0.1 * noise
    for clustered, loose in zip(cells.structure(clusters), cells.structure(noise)):
        assert clustered > 0.9 > loose


def test_the_figures_are_those_of_the_cells(found):
    names, of_tables = found
    compared = experience.compare(experience.table_of(names, of_tables, "binary"))
    for share in cells.SHARES:
        expected = np.mean([cell.trial.auc[0] for cell in of_tables if cell.about["amount"] == share])
        assert compared.loc[(share, NAMES[0]), "auc"] == pytest.approx(expected)


def test_the_data_file_can_be_read_by_the_package(found):
    names, of_tables = found
    learned = learn_experience([cell.trial for cell in of_tables], names, RULE)
    again = Experience(json.loads(experience.lines_of(experience.rounded(learned))))
    assert again.members == NAMES
    assert again.weights(np.array([2.0, 2.0]), 20).sum() == pytest.approx(1)


def test_the_labels_of_a_table_do_not_reach_its_own_experience(found):
    """The ensemble of a table stays the same whatever the test scores of that table."""
    names, of_tables = found
    changed = []
    for cell in of_tables:
        trial = cell.trial
        is_wine = trial.table == "wine"
        changed.append(cell._replace(trial=trial._replace(auc=np.array([0.5, 0.99]))) if is_wine else cell)
    before, after = (
        experience.leave_one_table_out(names, some, names, experience.learn_without_each(names, some))
        for some in (of_tables, changed)
    )
    of_wine = [cell.trial.table == "wine" for cell in of_tables]
    np.testing.assert_array_equal(before[of_wine], after[of_wine])


def test_greedy_search_adds_what_gains_within_its_time(found):
    names, of_tables = found
    learned = experience.learn_without_each(names, of_tables)
    assert experience.grow_portfolio(names, of_tables, learned, 0.0) == []
    chosen = experience.grow_portfolio(names, of_tables, learned, np.inf)
    alone = {name: experience.leave_one_table_out(names, of_tables, [name], learned).mean() for name in names}
    assert chosen[0] == max(alone, key=alone.get)


def test_a_folder_without_cells_is_named(tmp_path):
    with pytest.raises(ValueError, match="has no cells"):
        experience.read_cells(tmp_path)


def test_the_experience_of_the_package_comes_from_its_trials():
    shipped = json.loads(resources.files("fewlabel.auto").joinpath("experience.json").read_text())
    learned = experience.experience_without("no table").state
    assert learned["many"] == shipped["many"]
    assert learned["members"] == shipped["members"]
    assert learned["rule"] == shipped["rule"]
    for name in ("mean", "slope", "bias", "covariance", "noise"):
        np.testing.assert_allclose(learned[name], shipped[name], atol=1e-3)


def test_cells_replace_the_stored_trials_of_the_same_labels():
    members, stored = experience.stored_trials()
    last = stored[-1]
    names = members[::-1]
    again = experience.Cell(last._replace(auc=np.full(len(names), 0.7)), {}, None, None)
    merged = experience.all_trials(names, [again])
    assert len(merged) == len(stored)
    replaced = [trial for trial in merged if (trial.table, trial.amount) == (last.table, last.amount)]
    assert replaced == [again.trial]
    np.testing.assert_array_equal(merged[0].auc, stored[0].auc[::-1])
    assert experience.all_trials(NAMES, [again]) == [again.trial]


def test_a_table_left_out_takes_those_with_its_rows_along():
    trials = [Trial(name, 0.05, 9, np.ones(2), np.ones(2)) for name in ("dna", "splice", "sonar", "sick")]
    assert [trial.table for trial in experience.without(trials, "splice")] == ["sonar", "sick"]
    assert [trial.table for trial in experience.without(trials, "hypothyroid")] == ["dna", "splice", "sonar"]
    assert experience.without(trials, "wine") == trials


def test_few_labels_leaves_the_table_out_of_the_experience(monkeypatch):
    suite, asked, used = get_suite("few-labels"), [], []
    ranking = next(one for one in suite.experiments if one.name == "All methods")

    class Spy(LogisticRegression):
        def set_params(self, *, experience):
            used.append(experience)
            return self

    def ask(name):
        asked.append(name)
        return known

    known = experience.experience_without("wdbc")
    monkeypatch.setattr(few_labels, "experience_without", ask)
    monkeypatch.setattr(few_labels.fewlabel, "AutoClassifier", lambda random_state: Spy())
    problem = ranking.problem("wdbc", ranking.settings[2], 0)
    for method in ("AutoClassifier, table left out", "AutoClassifier"):
        ranking.outcome(problem, ranking.settings[2], method, 0)
    assert asked == ["wdbc"]
    assert used == [known]
