"""The experience of AutoClassifier: cells that are kept, a data file, and figures on tables left out."""

import json
from importlib import resources

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.__main__ import main
from benchmarks.harness import get_suite
from benchmarks.quality import experience
from benchmarks.quality.few_labels import experiment as few_labels
from benchmarks.quality.trials import Trial, learn_experience
from fewlabel.auto import Experience

NAMES = ["logistic regression", "naive Bayes"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run of two members on three tables of scikit-learn."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experience, "tables", lambda data_home: ["wine", "wdbc", "iris"])
        patch.setattr(experience, "STEEPNESS", (20,))
        assert main(["experience", "--out", str(folder), "--repeats", "1", "--methods", *NAMES]) == 0
        stamps = {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
        experience.run(folder, 1, None, NAMES)
        assert stamps == {path: path.stat().st_mtime_ns for path in folder.glob("*.npz")}
    return folder


def test_cells_hold_what_the_figures_need(folder):
    names, cells = experience.read_cells(folder)
    assert names == NAMES
    assert len(cells) == 3 * len(experience.SHARES)
    for cell in cells:
        assert cell.ranks.shape == (2, len(cell.hidden))
        assert cell.out_of_fold.shape == (2, len(cell.labeled))
        assert cell.trial.n_rarest >= experience.LEAST


def test_the_data_file_can_be_read_by_the_package(folder):
    found = Experience(json.loads((folder / "experience.json").read_text()))
    assert found.members == NAMES
    assert found.weights(np.array([2.0, 2.0]), 20).sum() == pytest.approx(1)


def test_the_figures_are_those_of_the_cells(folder):
    names, cells = experience.read_cells(folder)
    rule, scores = experience.leave_one_table_out(names, cells)
    assert set(rule) == {"steepness", "noise", "most"}
    found = experience.figures(scores)
    for share in experience.SHARES:
        part = [cell for cell in cells if cell.about["share"] == share]
        expected = np.mean([cell.about["auc"][0] for cell in part])
        assert found.loc[(share, NAMES[0]), "auc"] == pytest.approx(expected)
        assert found.loc[(share, experience.ENSEMBLE), "worst"] <= 0.05


def test_the_labels_of_a_table_do_not_reach_its_own_experience(folder, monkeypatch):
    """The ensemble of a table stays the same whatever the test scores of that table."""
    names, cells = experience.read_cells(folder)
    _, before = experience.leave_one_table_out(names, cells)
    changed = [
        cell._replace(about=cell.about | {"auc": [0.5, 0.99]}) if cell.about["table"] == "wine" else cell
        for cell in cells
    ]
    monkeypatch.setattr(experience, "NOISE", (1.0,))
    monkeypatch.setattr(experience, "MOST", (5,))
    monkeypatch.setattr(experience, "STEEPNESS", (20,))
    _, before = experience.leave_one_table_out(names, cells)
    _, after = experience.leave_one_table_out(names, changed)
    of_wine = before["table"] == "wine"
    np.testing.assert_array_equal(before[of_wine]["AutoClassifier"], after[of_wine]["AutoClassifier"])


def test_a_folder_without_cells_is_named(tmp_path):
    with pytest.raises(ValueError, match="has no cells"):
        experience.read_cells(tmp_path)


def test_the_experience_of_the_package_comes_from_its_trials():
    shipped = json.loads(resources.files("fewlabel.auto").joinpath("experience.json").read_text())
    learned = experience.experience_without("no table").state
    assert learned["members"] == shipped["members"]
    assert learned["rule"] == shipped["rule"]
    for name in ("mean", "slope", "bias", "covariance", "noise"):
        np.testing.assert_allclose(learned[name], shipped[name], atol=1e-4)


def test_a_table_left_out_takes_those_with_its_rows_along():
    trials = [Trial(name, 9, np.ones(2), np.ones(2)) for name in ("dna", "splice", "sonar", "sick")]
    assert [trial.table for trial in experience.without(trials, "splice")] == ["sonar", "sick"]
    assert [trial.table for trial in experience.without(trials, "hypothyroid")] == ["dna", "splice", "sonar"]
    assert experience.without(trials, "wine") == trials


def test_a_written_trial_is_read_again(folder, monkeypatch):
    names, cells = experience.read_cells(folder)
    rule = json.loads((folder / "experience.json").read_text())["rule"]
    monkeypatch.setattr(experience, "TRIALS", folder / "trials.json")
    expected = learn_experience([cell.trial for cell in cells if cell.about["table"] != "wine"], names, rule)
    np.testing.assert_allclose(experience.experience_without("wine").mean, expected.mean, atol=1e-5)


def test_few_labels_leaves_the_table_out_of_the_experience(monkeypatch):
    suite, asked, used = get_suite("few-labels"), [], []
    ranking = next(one for one in suite.experiments if one.name == "All methods")

    class Spy(LogisticRegression):
        def set_params(self, *, experience):
            used.append(experience)
            return self

    def ask(name):
        asked.append(name)
        return found

    found = experience.experience_without("wdbc")
    monkeypatch.setattr(few_labels, "experience_without", ask)
    monkeypatch.setattr(few_labels.fewlabel, "AutoClassifier", lambda random_state: Spy())
    problem = ranking.problem("wdbc", ranking.settings[2], 0)
    for method in ("AutoClassifier, table left out", "AutoClassifier"):
        ranking.outcome(problem, ranking.settings[2], method, 0)
    assert asked == ["wdbc"]
    assert used == [found]
