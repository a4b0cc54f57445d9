import json
import re
import shutil

import pandas as pd
import pytest

import fewlabel
from bench.toy import CHANGED, CURVES, TOY
from benchmarks.harness import (
    SUITES,
    add_results,
    get_suite,
    plan,
    plots,
    read_run,
    read_stored,
    run_cells,
    write_all_pages,
    write_run_page,
)
from benchmarks.harness.pages import Page
from benchmarks.harness.tables import ResultTable


def results(experiment, scores, setting="", **columns):
    """Rows of a results file: ``scores[method][dataset]`` is a list over the draws."""
    rows = [
        {"dataset": dataset, "method": method, "repeat": repeat, "score": score}
        for method, sets in scores.items()
        for dataset, values in sets.items()
        for repeat, score in enumerate(values)
    ]
    parameters = experiment.parameters(experiment.setting(setting))
    constant = {"suite": "toy", "experiment": experiment.name, "setting": setting, "fewlabel": "0.1.0"}
    return pd.DataFrame(rows).assign(**constant, parameters=[parameters] * len(rows), error=None, **columns)


def test_the_page_of_a_few_results():
    experiment = CURVES.experiments[0]
    scores = {"mean": {"made": [0.7, 0.9]}, "other": {"made": [0.5]}}
    rows = [results(experiment, scores, s, commit="abc1234", date="2026-01-02") for s in ("10%", "20%")]
    made = Page(CURVES, pd.concat(rows, ignore_index=True))
    page = made.render({}, {})
    assert "6 cells of fewlabel 0.1.0, commit abc1234, 2026-01-02" in page
    assert "| made | 0.8000 ± 0.1414 | 0.5000 | 1 to 2 |" in page
    # Ours 0.8 ± 0.1414 over 2 draws, published 0.5 ± 0.1 over 10.
    assert "0.8000 / 0.5000 (+2.9)" in page
    assert "mean: within two standard errors of the paper or better on 1 of 1 sets." in page
    # The second draw of "mean" has no counterpart and does not count.
    assert "mean compared with other: +0.2000" in page
    assert "Table 2" not in page.replace("## Table 2\n\nNo results here.", "")
    assert made.tables[0].gap("mean", "other") == "+0.2000"


@pytest.fixture(scope="module")
def curves(tmp_path_factory):
    """A run of two experiments."""
    folder = tmp_path_factory.mktemp("curves")
    run_cells(CURVES, plan(CURVES, repeats=2)[0], folder)
    return folder


def test_pages_name_failures_and_what_was_left_out(tmp_path):
    run_cells(TOY, plan(TOY, methods=["mean", "broken"])[0], tmp_path)
    write_run_page(TOY, tmp_path, {"dataset x": "not here"})
    page = (tmp_path / "index.md").read_text()
    assert "3 times: RuntimeError: no such luck" in page
    assert "Left out: dataset x" in page
    assert "Not run: broken on all sets" in page
    stored = tmp_path / "results.parquet"
    add_results(TOY, tmp_path, stored)
    assert "Traceback" not in pd.read_parquet(stored).to_csv()
    # Stored results of other settings are not counted.
    frame, refused = read_stored(CHANGED, stored)
    assert frame.empty
    assert refused == {"with other settings": 6}
    assert len(read_stored(TOY, stored)[0]) == 6


def test_a_cell_carries_version_commit_and_parameters(curves):
    for path in (curves / "cells").glob("Table-1*.json"):
        record = json.loads(path.read_text())
        assert record["fewlabel"] == fewlabel.__version__
        assert record["parameters"] in ({"percent": 10}, {"percent": 20})
        assert {"commit", "date", "versions"} <= set(record)


def test_figures_become_pictures_and_parameters_are_chosen_over_the_repeats(curves, tmp_path):
    cells = plan(CURVES, repeats=2)[0]
    assert {c.setting for c in cells} == {"10%", "20%", ""}
    shutil.copytree(curves / "cells", tmp_path / "cells")
    write_run_page(CURVES, tmp_path)
    page = (tmp_path / "index.md").read_text()
    for number in (1, 2):
        assert (tmp_path / f"figure-{number}.png").read_bytes().startswith(b"\x89PNG")
        assert re.search(rf"!\[[^]]+\]\(figure-{number}\.png\)", page)
    frame = read_run(CURVES, tmp_path)[0]
    tuned = frame[frame["method"] == "tuned"]
    assert tuned["chosen"].unique().tolist() == ["b"]
    assert tuned["score"].tolist() == [0.7, 0.7]
    assert len(frame) == len(cells)
    assert "grid" not in frame


def test_an_experiment_of_a_run_replaces_the_stored_one_as_a_whole(curves, tmp_path):
    second, stored = tmp_path / "second", tmp_path / "results.parquet"
    run_cells(CURVES, plan(CURVES, experiments=["Table 2"], repeats=3)[0], second)
    add_results(CURVES, curves, stored)
    add_results(CURVES, second, stored)
    counts = read_stored(CURVES, stored)[0].groupby("experiment").size()
    assert counts.to_dict() == {"Table 1": 8, "Table 2": 3}


def test_more_repeats_are_added_where_nothing_is_chosen_over_them(curves, tmp_path):
    more, stored = tmp_path / "more", tmp_path / "results.parquet"
    cells = [cell for cell in plan(CURVES, experiments=["Table 1"], repeats=3)[0] if cell.repeat > 0]
    run_cells(CURVES, cells, more)
    add_results(CURVES, curves, stored)
    before = read_stored(CURVES, stored)[0]
    add_results(CURVES, more, stored)
    after = read_stored(CURVES, stored)[0]
    assert not after.duplicated(["experiment", "dataset", "setting", "method", "repeat"]).any()
    repeats = after[after["experiment"] == "Table 1"].groupby("repeat").size()
    assert repeats.to_dict() == {0: 4, 1: 4, 2: 4}
    assert (after["experiment"] == "Table 2").sum() == (before["experiment"] == "Table 2").sum()


@pytest.mark.parametrize("name", SUITES)
def test_stored_parameters_are_chosen_once_for_all_draws(name):
    """Draws of several runs, each with a choice of its own, would not be what the page says."""
    stored = pd.read_parquet(get_suite(name).stored)
    keys = ["experiment", "dataset", "setting", "method"]
    assert "chosen" not in stored or stored.groupby(keys)["chosen"].nunique().max() <= 1


def test_numbers_of_a_table():
    experiment = get_suite("paths")["Tables 6.2 to 6.6"]  # errors: lower is better
    scores = {"NMSNN": {"ssl-USPS": [1.0, 3.0], "ssl-COIL": [4.0]}, "1-NN": {"ssl-USPS": [5.0, 5.0], "ssl-COIL": [2.0]}}
    table = ResultTable(experiment, experiment.settings[0], results(experiment, scores, "10 labeled rows"))
    assert table.mean("NMSNN") == "3.0"
    assert table.mean("NMSNN", "ssl-USPS") == "2.0"
    assert table.gap("NMSNN", "1-NN") == "-0.5"
    assert table.wins("NMSNN", "1-NN") == "1 of 2"
    assert table.best() == "NMSNN"
    assert table.draws == "1 to 2 draws"
    assert table.mean("LLGC") == table.wins("NMSNN", "LLGC") == "(not run)"
    assert table.near("NMSNN") == "1 of 1"  # far better than printed; one draw of COIL has no deviation


def test_chosen_values_at_an_end_of_the_grid_are_named():
    experiment = get_suite("pnu-auc")["Table 2"]
    grid = {
        f"gamma {gamma}, rounds {n}": [0.5 + 0.1 * gamma + n / 1e4, 0.6 + n / 1e4] for gamma in (0, 1) for n in (5, 9)
    }
    rows = results(experiment, {"PNU-AUCBoost": {"pima": [0.0, 0.0]}}).drop(columns="score").assign(grid=[grid, grid])
    found = experiment.settle(rows)
    assert found["chosen"].tolist() == ["gamma 1, rounds 9"] * 2
    assert found["at_end"].tolist() == ["rounds 9"] * 2  # a gamma of 1 is a natural end
    assert found["hindsight"].tolist() == [0.6009] * 2
    table = ResultTable(experiment, experiment.settings[0], found)
    assert "Chosen at an end of the grid" in " ".join(table.sentences())
    assert "PNU-AUCBoost on pima (rounds 9)" in " ".join(table.sentences())
    assert table.hindsight("PNU-AUCBoost", "pima") == pytest.approx(0.6009)


def test_marks_and_wins_ties_and_losses():
    """Six draws that all favor one side have a p-value of 1/32; five cannot be significant."""
    experiment = get_suite("pnu-auc")["Table 2"]
    up = [0.7, 0.71, 0.72, 0.73, 0.74, 0.75]
    lower, higher = ([s + d for s, d in zip(up, (0.01 * sign * k for k in range(1, 7)))] for sign in (-1, 1))
    scores = {
        "PNU-AUCBoost": {"pima": up, "ring": up[:5], "sonar": up},
        "RBAUC": {"pima": lower, "ring": lower[:5], "sonar": higher},
        "LSAUC": {"pima": up, "ring": up[:5], "sonar": up},
    }
    table = ResultTable(experiment, experiment.settings[0], results(experiment, scores))
    assert table.marks()["RBAUC"].to_dict() == {"pima": " *", "ring": "", "sonar": " o"}
    assert (table.marks()["LSAUC"] == "").all()
    page = table.markdown()
    assert "| PNU-AUCBoost: win/tie/lose |  | 1/1/1 | 0/3/0 |" in page
    assert "With fewer than 6 draws nothing can be marked: ring." in page


def test_equal_scores_are_ties_whatever_the_order_of_their_sums():
    experiment = get_suite("paths")["Tables 6.2 to 6.6"]
    scores = {"NMSNN": {"ssl-USPS": [0.1, 0.2, 0.3]}, "1-NN": {"ssl-USPS": [0.3, 0.2, 0.1]}}
    table = ResultTable(experiment, experiment.settings[0], results(experiment, scores, "10 labeled rows"))
    assert "better on 0, worse on 0 of 1 sets" in " ".join(table.sentences())


def test_stored_results_of_all_suites_make_their_pages(pytestconfig, tmp_path, monkeypatch):
    """Every suite's text can be filled, and says nothing that its results file does not have."""
    for name in ("_png", "_draw_lines", "plot_critical_difference"):  # 61 figures would take longer than all the rest
        monkeypatch.setattr(plots, name, lambda *args, **options: b"")
    stored = pytestconfig.rootpath / "docs" / "results"
    write_all_pages([get_suite(name) for name in SUITES], tmp_path)
    for page in ("index.md", "coverage.md", "provenance.md", *(f"{name}/index.md" for name in SUITES)):
        made = (tmp_path / page).read_text()
        assert made == (stored / page).read_text(), f"{page} is not what the stored results give"
        assert "(not run)" not in made
        assert "No results here" not in made
        assert "Not supported by these results" not in made


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_has_its_reference_and_its_numbers(name):
    suite = get_suite(name)
    assert len({experiment.name for experiment in suite.experiments}) == len(suite.experiments)
    for experiment in suite.experiments:
        assert len({str(setting) for setting in experiment.settings}) == len(experiment.settings)
        assert all(set(pair) <= set(experiment.methods) for pair in experiment.compared)
    if any(experiment.covers for experiment in suite.experiments):
        assert suite.published["paper"]["reference"].count(".") >= 3
