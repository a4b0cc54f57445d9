"""Numbers on the pages are those of the stored results: each is computed again and looked up in the text of its page.

A page may say it in any words. Tables are compared cell by cell.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from benchmarks.harness import SUITES, get_suite
from benchmarks.quality import (
    audit,
    audit_estimators,
    chosen_labels,
    doubly_robust,
    experience,
    many_classes_beside,
    monitor,
    positives_only,
    prior_belief,
    representations,
    ring,
)
from benchmarks.quality.estimates import learn
from benchmarks.quality.tables import LIST, name_of
from fewlabel.auto.intervals import BELIEFS
from fewlabel.auto.weights import auc, average_precision
from fewlabel.prior._belief import believe_prior

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
QUALITY = ROOT / "benchmarks" / "quality"
CREDIT = ("generator", "give-me-some-credit", "creditcard-fraud", "default-credit-card")


def read(page):
    return (ROOT / page).read_text("utf-8")


def results(suite, experiment):
    """Stored results of an experiment."""
    frame = pd.read_parquet(get_suite(suite).stored)
    return frame[frame["experiment"] == experiment]


def means_by_table(suite, experiment):
    return results(suite, experiment).pivot_table(index="dataset", columns="method", values="score")


def missing(page, numbers):
    """Numbers that a page does not contain as words of their own."""
    words = set(re.findall(r"[+-]?\d*\.?\d[\d,]*", read(page)))
    words |= {word.lstrip("+-") for word in words} | {word.rstrip(",") for word in words}
    return [number for number in numbers if number not in words]


def short(value, digits=3, sign=""):
    """A number below 1 as the pages print it: .854, with `sign` "+" also +.016."""
    return f"{value:{sign}.{digits}f}".replace("0.", ".", 1)


def row_of_page(page, start):
    """Cells of the first table row of a page that starts with a text."""
    line = next(line for line in read(page).splitlines() if line.startswith(f"| {start}"))
    return [cell.strip().strip("*") for cell in line.strip("|").split("|")][1:]


def test_a_number_that_is_not_there_is_found():
    assert missing("README.md", [".123456", "0.98765"]) == [".123456", "0.98765"]


def test_readme():
    rivals = results("few-labels", "All methods")
    ours = results("few-labels", "Present version").replace("AutoClassifier, table left out", "AutoClassifier")
    methods = row_of_page("README.md", "labels |")
    cells = pd.concat([ours, rivals])
    by_draw = cells.pivot_table(index=["setting", "dataset", "repeat"], columns="method", values="score")[methods]
    # All methods on the draws that AutoClassifier has.
    by_draw = by_draw[by_draw["AutoClassifier"].notna()]
    assert by_draw.notna().all(axis=None)
    assert (by_draw.groupby(["setting", "dataset"]).size() == 2).all()
    means = by_draw.groupby(["setting", "dataset"]).mean()
    assert not missing("README.md", ["2", str(means.index.get_level_values("dataset").nunique())])
    for percent in (1, 5, 15):
        scores = means.loc[f"{percent}% labeled"].mean()
        assert row_of_page("README.md", f"{percent}%") == [short(score) for score in scores]
        assert scores.idxmax() == "AutoClassifier"
    apart = means.loc["15% labeled"]["AutoClassifier"] - means.loc["15% labeled"]["CatBoost"]
    assert abs(apart.mean()) < 2 * apart.sem()  # the page calls them level


def cells_of_experience():
    """Cells of AutoClassifier and its members, and the mean AUC of each share of labels and table, over draws."""
    cells = pd.read_csv(QUALITY / "experience.csv")
    return cells, cells.drop(columns=experience.ABOUT).groupby([cells["amount"], cells["table"]]).mean()


def test_auto():
    page = "docs/methods/auto.md"
    cells, means = cells_of_experience()
    compared = experience.compare(cells.drop(columns=experience.WITHOUT))
    by_share = compared["auc"].unstack("amount")
    ranks = compared["rank"].unstack("amount").mean(axis=1)
    first = read(page).partition("## How it chooses")[0]
    listed = [name for name in by_share.index if f"| {name} |" in first]
    assert len(listed) == 12
    for name in listed:
        scores = [*by_share.loc[name], by_share.loc[name].mean()]
        assert row_of_page(page, f"{name} |") == [*(short(score, 4) for score in scores), f"{ranks[name]:.1f}"]
    by_table = means.groupby("table").mean()
    ours = by_table["AutoClassifier"]
    singles = by_table.drop(columns=["AutoClassifier", experience.WITHOUT])
    below = ours - singles.max(axis=1) < -0.02
    has_five = cells.groupby("table")["draw"].max() == 4
    counts = [below.sum(), len(by_table), has_five.sum(), below[has_five].sum()]
    assert f"on {counts[0]} of {counts[1]} it is more" in read(page)
    assert f"of the {counts[2]}\ntables with five draws, it is so on {counts[3]}" in read(page)
    equals = by_table[experience.WITHOUT]
    assert not missing(page, [short(equals.mean(), 4), short((ours - equals).mean(), 4)])
    assert wilcoxon(ours, equals).pvalue < 1e-4
    for other in ("CatBoost", "extra trees + components"):
        assert not missing(page, [f"{100 * (ours > by_table[other]).mean():.0f}"])
        assert wilcoxon(ours, by_table[other]).pvalue < 1e-4
    best = by_share.drop(index="AutoClassifier").max()
    assert not missing(page, [short(apart) for apart in by_share.loc["AutoClassifier"] - best])


def test_other_members():
    page = "docs/methods/auto.md"
    members = pd.read_csv(QUALITY / "members.csv")
    added = members.loc[members["ensemble"] == "with it", "change"]
    portfolios = pd.read_csv(QUALITY / "portfolios.csv")
    aucs = portfolios.pivot_table(index=["split", "half"], columns="portfolio", values="auc")
    change = (aucs["greedy"] - aucs["default"]).mean()
    assert f"{len(added)} configurations" in read(page)
    assert f"among all {len(members)} on" in read(page)
    assert not missing(page, [short(added.min(), 4), short(added.max(), 4), short(change, 4)])


def test_penalty_of_trees():
    page = "docs/methods/boosting.md"
    _, means = cells_of_experience()
    names = ["tree AUC boosting, penalty 5", "tree AUC boosting", "tree AUC boosting, penalty 10", "CatBoost"]
    from_packages = {name_of(entry) for entry in pd.read_csv(LIST).to_dict("records")}
    means = means[names]
    for share in (0.01, 0.05, 0.15):
        assert row_of_page(page, f"{share:.0%} |") == [short(score, 4) for score in means.loc[share].mean()]
    is_from_package = means.loc[0.15].index.isin(from_packages)
    for start, chosen in (("tables of machine learning", ~is_from_package), ("tables of statistics", is_from_package)):
        rows = means.loc[0.15][chosen]
        start = f"15%, {len(rows)} {start}"
        assert row_of_page(page, start) == [short(score, 4) for score in rows.mean()]


def test_positives_only_start_as_equals():
    cells = pd.read_csv(QUALITY / "experience_positives.csv")
    shown = [short(cells[name].mean(), 4) for name in ("AutoClassifier", "AutoClassifier, members start as equals")]
    assert not missing("docs/methods/auto.md", [str(len(cells)), *shown])


def test_other_learners():
    page = "docs/methods/auto.md"
    rivals = ring.beside_ours(pd.read_csv(QUALITY / "ring.csv"))
    own = rivals[rivals["method"] == "CatBoost, own categories"].dropna()
    encoded = rivals[rivals["method"] == "CatBoost, 300 trees"].merge(own, on=["table", "amount"])
    assert not missing(page, [short(encoded["auc_x"].mean()), short(encoded["auc_y"].mean()), str(len(encoded))])
    others = rivals[rivals["method"] != "CatBoost, own categories"]
    for method, of_method in others.groupby("method"):
        wins = (of_method["AutoClassifier"] > of_method["auc"]).sum()
        expected = [short(of_method["auc"].mean()), f"{wins} of {len(of_method)}"]
        assert row_of_page(page, f"{method} |")[:2] == expected
        assert short(of_method["AutoClassifier"].mean()) in read(page)


def test_features_of_all_rows():
    gains = representations.gains(pd.read_csv(QUALITY / "experience.csv"))
    rows = [row for row in read("docs/unlabeled.md").splitlines() if row.count("|") == 11 and " to " in row]
    assert len(rows) == len(gains) + 1  # the heading
    half_a_digit = np.array([0.0, 5e-5, *[5e-4] * 3, 0.5, *[5e-4] * 2, 5e-3]) * 1.01
    for row, (_, found) in zip(rows[1:], gains.iterrows()):
        cells = [cell.strip(" %") for cell in row.split("|")[1:-1]]
        shown = [float(cell) for cell in (*cells[2:4], *cells[4:8], *cells[8].split(" to "), cells[9])]
        expected = found[["cells", "auc", 0.01, 0.05, 0.15, "better", "low", "high", "predicted"]].to_numpy(dtype=float)
        expected[5] *= 100
        assert (np.abs(shown - expected) <= half_a_digit).all()


def test_unlabeled_rows():
    by_table = cells_of_experience()[1].groupby("table").mean()
    gain = by_table["extra trees, leaf 1 + components"] - by_table["extra trees"]
    counts = [len(gain), (gain > 0.01).sum(), (gain < -0.01).sum()]
    assert not missing("docs/unlabeled.md", [str(count) for count in counts])


def test_labeling():
    page = "docs/label.md"
    areas = pd.read_csv(QUALITY / "active.csv").pivot_table(index="table", columns="strategy", values="area")
    others = ["random", "margin", "coreset"]

    def numbers(row):
        return [float(re.search(r"[+-]?\d*\.?\d+", cell)[0]) for cell in row_of_page(page, row) if cell]

    better = areas[others].rsub(areas["batch"], axis=0)
    assert numbers("mean AUC") == pytest.approx(areas[["batch", *others]].mean().tolist(), abs=0.0005)
    assert numbers("`BatchQuery` is higher by") == pytest.approx(better.mean().tolist(), abs=0.0006)
    assert numbers("on tables") == (better > 0).sum().tolist()


@pytest.mark.parametrize("labels", [100, 300, 1000])
def test_decisions(labels):
    runs = pd.read_csv(QUALITY / "decisions.csv")
    found = runs[runs["labels"] == labels]
    rows = [line for line in read("docs/decide.md").splitlines() if line.startswith(f"| {labels:,} |")]
    covers, costs = ([float(text) for text in re.findall(r"([\d.]+)%", row)] for row in rows)
    covered = found.groupby("what")["covers"].mean()
    assert covers == pytest.approx([100 * covered[f"top {n}"] for n in (20, 50, 100, 200, 500)], abs=0.51)
    sums = found.groupby(["what", "table"])[["value", "other"]].mean().groupby("what").sum()
    above = 100 * (sums["value"] / sums["other"] - 1)
    assert costs == pytest.approx([above[f"cost {ratio}:1"] for ratio in (1, 5, 20, 100)], abs=0.051)
    covered_costs = runs.loc[runs["what"].str.startswith("cost"), "covers"].mean()
    assert not missing("docs/decide.md", [f"{100 * covered_costs:.0f}"])


def test_promises():
    runs = pd.read_csv(QUALITY / "promises.csv")
    for labels, own in runs.groupby("labels"):
        promised = own[own["flagged"] > 0]
        kept = (promised["precision"] >= 0.8).mean()
        assert kept >= 0.75
        expected = [f"{len(promised)} of {len(own)}", f"{kept:.0%}"]
        expected += [short(promised[name].mean(), 2) for name in ("claimed", "precision", "recall")]
        assert row_of_page("docs/decide.md", f"{labels} labels") == expected
    worst = runs.loc[runs.loc[runs["labels"] == 40, "precision"].idxmin()]
    assert worst["table"] == "credit-g"
    assert not missing("docs/decide.md", [short(worst["precision"], 2)])


def test_estimates():
    runs = pd.read_csv(QUALITY / "estimates.csv")
    below = runs["truth"] < runs["low"]
    above = runs["truth"] > runs["high"]
    for labels, own in runs.groupby("labels"):
        expected = [str(len(own)), f"{1 - (below | above)[own.index].mean():.1%}"]
        expected += [str(below[own.index].sum()), str(above[own.index].sum())]
        expected += [short((own["high"] - own["low"]).mean(), 2), short(own["former_width"].mean(), 2)]
        assert row_of_page("docs/intervals.md", f"{labels} labels") == expected
    # What the interval is for.
    covered = ~(below | above)
    widths = runs.assign(width=runs["high"] - runs["low"]).groupby("labels")[["width", "former_width"]].mean()
    shorter = 1 - widths["width"] / widths["former_width"]
    assert covered.groupby(runs["labels"]).mean().min() > 0.93
    assert (runs["high"] - runs["low"]).mean() < 0.7 * runs["former_width"].mean()
    assert row_of_page("docs/intervals.md", "this one")[:2] == [str(below.sum()), str(above.sum())]
    is_hard = runs["truth"] < 0.75
    assert not missing("docs/intervals.md", [f"{100 * covered[part].mean():.0f}" for part in (is_hard, ~is_hard)])
    assert not missing("docs/intervals.md", [f"{100 * value:.0f}" for value in (shorter.min(), shorter.max())])
    # The package has the constants of these runs.
    np.testing.assert_allclose(learn(runs), BELIEFS[auc], atol=0.002)
    np.testing.assert_allclose(learn(runs, "precision"), BELIEFS[average_precision], atol=0.005)
    told = runs.dropna(subset=["precision_truth"])
    truth = told["precision_truth"]
    held = (told["precision_low"] <= truth) & (truth <= told["precision_high"])
    assert held.groupby(told["labels"]).mean().min() > 0.93
    assert not missing("docs/intervals.md", [str(len(told)), f"{held.mean():.1%}".rstrip("%")])


def test_log_loss():
    runs = pd.read_csv(QUALITY / "log_loss.csv")
    methods = ["AutoClassifier", "CatBoost", "random forest", "logistic regression"]
    for percent, own in runs.groupby("percent"):
        means = own[methods].mean()
        assert row_of_page("docs/methods/auto.md", f"log-loss, {percent}%") == [short(value) for value in means]
        assert means.idxmin() == "AutoClassifier"
    assert not missing("docs/methods/auto.md", [str(runs["table"].nunique())])


def test_intervals():
    runs = pd.read_csv(QUALITY / "intervals.csv")
    runs["covered"] = (runs["low"] <= runs["truth"]) & (runs["truth"] <= runs["high"])
    names = {("groups", "AUC"): "AUC, new groups", ("time", "AUC"): "AUC, later rows"}
    names |= {("classes", "AUC"): "mean AUC of", ("classes", "accuracy"): "share of", ("classes", "recall"): "recall"}
    names["classes", "balanced accuracy"] = "balanced accuracy"
    for key, own in runs.groupby(["part", "figure"]):
        expected = [str(own["table"].nunique()), str(len(own)), f"{own['covered'].mean():.1%}"]
        expected += [str((own["truth"] < own["low"]).sum()), str((own["truth"] > own["high"]).sum())]
        expected.append(short((own["high"] - own["low"]).mean(), 2))
        assert row_of_page("docs/intervals.md", names[key]) == expected


def test_many_classes():
    runs = pd.read_csv(QUALITY / "many_classes.csv")
    methods = ["AutoClassifier", "CatBoost", "extra trees", "random forest", "logistic regression"]
    for labels, own in runs.groupby("labels"):
        for score, name in (("balanced_accuracy", "balanced accuracy"), ("log_loss", "log-loss")):
            by_table = own.pivot_table(index="table", columns="method", values=score).dropna()
            means = by_table.mean()[methods]
            assert row_of_page("docs/many-classes.md", f"{labels} | {name}")[1:] == [short(value) for value in means]
            ranks = by_table.rank(axis=1, ascending=score == "log_loss").mean()
            assert ranks.idxmin() == "AutoClassifier"
        assert not missing("docs/many-classes.md", [str(len(by_table))])


def test_many_classes_beside_plain_methods():
    runs = pd.read_csv(QUALITY / "many_classes_beside.csv")
    found = many_classes_beside.summarize(runs)
    methods = ["AutoClassifier", "CatBoost", "extra trees", "random forest", "logistic regression"]
    for labels in (3, 10):
        own = found.loc[labels]
        for score, name in (("balanced_accuracy", "balanced accuracy"), ("log_loss", "log-loss")):
            shown = row_of_page("docs/many-classes.md", f"{labels}, plain | {name}")[1:]
            assert shown == [short(value) for value in own[score][methods]]
        assert own["balanced_accuracy"].idxmax() == own["log_loss"].idxmin() == "AutoClassifier"
        assert (own[["rank_of_accuracy", "rank_of_loss"]].idxmin() == "AutoClassifier").all()
        assert not missing("docs/many-classes.md", [str(runs.loc[runs["labels"] == labels, "table"].nunique())])


def test_shares_above_one_half():
    runs = pd.read_csv(QUALITY / "prior_belief.csv").query("draw >= @prior_belief.LEARNED_FROM")
    believed = []
    for run in runs.itertuples():
        seen = (run.auc, run.rise, 0.0, run.positives, run.unlabeled)
        believed.append(believe_prior([run.bbe, run.dedpul], *seen))
    estimates, _, high = np.array(believed).T
    share = runs["share"].to_numpy()
    is_high = estimates > 0.5
    means = [f"{values[is_high].mean():.2f}".lstrip("0") for values in (estimates, share)]
    counts = [is_high.sum(), (share <= high)[share > 0.5].sum(), (share > 0.5).sum()]
    assert not missing("docs/methods/prior.md", [*means, *map(str, counts)])


def test_the_largest_share():
    table = prior_belief.show(pd.read_csv(QUALITY / "prior_belief.csv"))
    assert f"<!-- largest -->\n{table}\n<!-- end of largest -->" in read("docs/methods/prior.md")


def test_chosen_labels():
    runs = pd.read_csv(QUALITY / "chosen_labels.csv")
    kind = runs["way"].str.split(",").str[0]
    runs["kind"] = kind.where(kind.isin(["random", "one side", "class by class"]), "chosen")
    runs["covered"] = (runs["low"] <= runs["truth"]) & (runs["truth"] <= runs["high"])
    runs["error"] = runs["auc"] - runs["truth"]
    truth = runs["precision_truth"]
    runs["held"] = (runs["precision_low"] <= truth) & (truth <= runs["precision_high"])
    named = {"as fewlabel does": "auto", "taken as random": "random", "the share stated": "prior"}
    starts = {"at random": "random", "by a column": "chosen", "one side": "one side", "as many": "class by class"}
    n_rows = 0
    for line in read("docs/chosen.md").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if len(cells) != 10 or cells[2] not in named:
            continue
        way = next(value for start, value in starts.items() if cells[0].startswith(start))
        own = runs[(runs["kind"] == way) & (runs["drawn"] == named[cells[2]])]
        if " to " not in cells[1]:
            own = own[own["labels"] == int(cells[1].replace(",", ""))]
        shares = [own["chosen"].mean(), 1 - own["told"].mean(), own["covered"].mean()]
        errors = [f"{own['error'].mean():+.3f}", f"{(own['error'] ** 2).mean() ** 0.5:.3f}"]
        expected = [str(len(own)), *(f"{share:.0%}" for share in shares), *errors, f"{own['held'].mean():.0%}"]
        assert cells[3:] == expected
        n_rows += 1
    assert n_rows == 11
    chosen = runs[runs["kind"] == "chosen"].assign(squared=lambda own: own["error"] ** 2)
    squared = chosen.groupby(["way", "labels", "drawn"])["squared"].mean().unstack()
    n_smaller = int((squared["auto"] < squared["random"]).sum())
    page = " ".join(read("docs/chosen.md").split())
    assert f"in {n_smaller} of {len(squared)} combinations" in page
    assert (np.sqrt(squared["auto"]) < np.sqrt(squared["random"]) + 0.001).all()
    told = chosen[(chosen["drawn"] == "auto") & chosen["told"]]
    assert f"Of the intervals that are given to the user {told['covered'].mean():.0%} hold" in page
    others = pd.read_csv(QUALITY / "chosen_labels_others.csv")
    for frame, said in ((runs, "least cost holds in {} of {} runs"), (others, "in {} of {} on 13 other tables")):
        stated = frame[frame["drawn"] == "prior"]
        held = stated["cost_truth"].between(stated["cost_low"], stated["cost_high"])
        assert said.format(held.sum(), len(stated)) in page
    assert others["table"].nunique() == 13


def test_estimates_that_are_moved_back():
    runs = pd.read_csv(QUALITY / "chosen_labels.csv")
    n_cells = len(runs[chosen_labels.kinds(runs) == "chosen"].groupby(["way", "labels"]))
    for name, shares in chosen_labels.MOVES.items():
        errors, n_above = chosen_labels.moved_back(runs, shares)
        cells = [f"{error:.4f}"[1:] for error in errors]
        assert f"| {name} | {' | '.join(cells)} | {n_above} of {n_cells} |" in read("docs/chosen.md")


def test_audits():
    runs = pd.read_csv(QUALITY / "audit.csv")
    told = runs.dropna(subset=["auc"])
    covered = (told["low"] <= told["truth"]) & (told["truth"] <= told["high"])
    held = (told["precision_low"] <= told["precision_truth"]) & (told["precision_truth"] <= told["precision_high"])
    width = told["high"] - told["low"]
    expected = {"the 95% interval": [], "the 95% band": [], "mean width": [], "runs that lack": []}
    for kind in ("audit", "random"):
        of_kind = told["rows"] == kind
        n_runs = (runs["rows"] == kind).sum()
        expected["the 95% interval"].append(f"{covered[of_kind].sum()} of {of_kind.sum()}")
        expected["the 95% band"].append(f"{held[of_kind].sum()} of {of_kind.sum()}")
        expected["mean width"].append(short(width[of_kind].mean()))
        expected["runs that lack"].append(f"{n_runs - of_kind.sum()} of {n_runs}")
    for start, cells in expected.items():
        assert row_of_page("docs/audit.md", start) == cells
    assert not missing("docs/audit.md", [f"{audit.equal_widths(told.assign(width=width))['mean']:.2f}"])


def test_other_estimates_after_an_audit():
    runs = pd.read_csv(QUALITY / "audit_estimators.csv")
    found = audit_estimators.summary(runs)
    starts = {
        "plain": "audited rows with",
        "difference": "the same, corrected",
        "model": "probabilities of the unlabeled",
    }
    starts |= {"half": "mean of the first and the third", "curve": "probabilities by ranks", "half of curve": "mean of"}
    starts["half of curve"] += " the first and the fifth"
    for name, start in starts.items():
        by_kind = [found.loc[(name, kind)] for kind in ("audit", "random")]
        cells = [f"{of_kind[figure]:.2f}" for figure in ("squared error", "rows") for of_kind in by_kind]
        assert row_of_page("docs/audit.md", start) == [*cells, f"{by_kind[0]['covered']:.0%}"]
    lacking = runs[runs["truth"].isna()].groupby("rows").size()
    page = read("docs/audit.md")
    assert f"{lacking['random']} draws of random rows lack a class, and {lacking['audit']} audits" in page
    both = runs.dropna(subset=["truth"]).groupby(["table", "way", "draw"])["rows"].nunique()
    assert f"audited in {(both == 2).sum()} pairs of draws" in page


def test_positives_only_beside_other_packages():
    runs = pd.read_csv(QUALITY / "positives_only.csv")
    n_tables, methods, intervals = positives_only.tables_of_page(runs)
    page = read("docs/positives-only.md")
    assert methods in page
    assert intervals in page
    assert f"Mean of {n_tables} tables, one draw each" in page
    first = runs[(runs["draw"] == 0) & runs["way"].isin(positives_only.WAYS)]
    first = first.pivot_table(index="table", columns=["way", "method"], values="auc_new").dropna()
    lbe = runs[(runs["method"] == "pu-toolbox: LBE") & (runs["way"] == "random")]
    per_label = 1 / positives_only.SHARE - 1
    estimated = (lbe["prior"] / lbe["prior_truth"]).median() * per_label
    assert f"{estimated:.1f} unlabeled positives per labeled one, where {per_label:.1f} is true" in page
    for way in positives_only.WAYS:
        means = first[way].mean()
        peers = means[~means.index.str.startswith("AutoClassifier")]
        assert means["AutoClassifier"] > peers.max()


def test_doubly_robust():
    runs = pd.read_csv(QUALITY / "doubly_robust.csv")
    errors, told = doubly_robust.summary(runs)
    starts = ["labels taken", "weights |", "curve of", "as fewlabel does |"]
    starts += [f"doubly robust, probabilities of {model}" for model in ("the curve", "a forest")]
    for start, (_, by_labels) in zip(starts, errors.items()):
        assert row_of_page("docs/chosen.md", start) == [short(error) for error in by_labels]
    page = " ".join(read("docs/chosen.md").split())
    for labels, n_runs in runs["labels"].value_counts().items():
        assert f"{n_runs} runs, {labels:,} labels" in page
    said = f"fewlabel's error was {short(told['error where told'])}, elsewhere {short(told['error elsewhere'])}, and"
    assert f"In {told['runs']} runs" in page
    assert f"{said} {told['in the right direction']:.0%} of these" in page


def test_monitor():
    runs = pd.read_csv(QUALITY / "monitor.csv")
    page = read("docs/monitor.md")
    kinds = {"none": "none", "by a column": "column", "growing, along several columns": "time"}
    kinds |= {"more or fewer positives": "prior", "all": "all"}
    found = {title: (monitor.TABLES, kind) for title, kind in kinds.items()}
    found["8 easier tables, all"] = (monitor.OTHERS, "all")
    for title, (tables, kind) in found.items():
        row = monitor.summarize(runs[runs["table"].isin(tables)]).loc[kind]
        errors = [f"{row[name]:.3f}"[1:] for name in ("fewlabel", "NannyML", "AUC at fit")]
        shares = [f"{row[name]:.0%}" for name in ("AUC covered", "precision covered")]
        assert f"| {' | '.join([title, f'{row.batches:.0f}', *errors, *shares])} |" in page
        if title == "all":
            # Level: the page names both figures.
            assert abs(row["fewlabel"] - row["NannyML"]) < 0.002
            assert f"({errors[1]} against {errors[0]})" in page


def test_scorecards():
    all_runs = pd.read_csv(QUALITY / "scorecards.csv")
    runs = all_runs[all_runs["draw"] == 0]  # the others are not of all packages
    means = runs.pivot_table(index="labels", columns="method", values="auc")
    for labels, row in means.iterrows():
        order = [row[m] for m in ("fewlabel", "fewlabel, monotone", "optbinning", "EBM", "FasterRisk")]
        tables = runs.loc[runs["labels"] == labels, "table"].nunique()
        cells = row_of_page("docs/scorecards.md", f"{labels:,} labels |")
        assert cells == [str(tables), *(short(value) for value in order)]
    assert means.loc[100].idxmax() == "fewlabel, monotone"
    new = all_runs[(all_runs["draw"] > 0) & (all_runs["method"] == "fewlabel")].groupby("labels")["auc"].mean()
    assert not missing("docs/scorecards.md", [short(value) for value in new])
    assert (means.loc[300:].idxmax(axis=1) == "EBM").all()  # the page says so


def test_boosting():
    means = means_by_table("ssmab", "Table 5.2")
    above = [str((means["SSMAB"] > means[rival]).sum()) for rival in ("tree", "random forest")]
    assert not missing("docs/methods/ssmab.md", [*above, str(len(means))])
    gammas = results("pnu-auc", "Gamma")
    assert not missing("docs/methods/boosting.md", [str(gammas["dataset"].nunique())])
    by_gamma = gammas.groupby(["setting", "method"])["score"].mean().unstack()
    assert (by_gamma.idxmax(axis=1) == "gamma 1").all()  # the page says so
    for tables in ("Ranking", "Ranking, other tables"):
        means = means_by_table("ada-pu", tables)
        assert not missing("docs/methods/pu_ada.md", [str(len(means))])
        assert means.mean()["Ada-PU"] > means.mean()["Ada-PU, defaults of version 0.1.0"]
        assert means.mean()["Ada-PU, no correction"] == means.mean().filter(like="Ada-PU").max()


@pytest.mark.parametrize(("n_labeled", "n_better"), [(10, 5), (100, 6)])
def test_label_spreading(n_labeled, n_better):
    page = "docs/methods/label-spreading.md"
    frame = pd.read_csv(QUALITY / "ssl_book.csv")
    frame["chosen"] = [row[row["choice of ours"]] for _, row in frame.iterrows()]
    methods = ["label spreading", "paths", "scikit-learn"]
    means = frame[frame["labeled"] == n_labeled].groupby("set")[["chosen", *methods]].mean()
    regret = means["chosen"] - means[["paths", "label spreading"]].min(axis=1)
    assert (means["chosen"] < means["scikit-learn"]).sum() == n_better
    shown = [f"{means[m].mean():.1f}" for m in methods] if n_labeled == 100 else []
    assert not missing(page, [f"{regret.mean():.1f}", str(n_better), *shown])


def test_selection():
    frame = pd.read_parquet(get_suite("fscrf").stored)
    inside = frame[frame["setting"] == "columns selected on the training rows"]
    means = inside.groupby(["experiment", "method", "dataset"])["score"].mean().groupby(["experiment", "method"]).mean()
    shown = [f"{means[table, m]:.1f}" for table in ("Table 3.3", "Table 3.4") for m in ("all", "CFS", "FSCRF")]
    assert not missing("docs/methods/selection.md", shown)


def test_cross_training():
    page = "docs/methods/cross-training.md"
    frame = pd.read_parquet(get_suite("cross-training").stored)
    means = frame.pivot_table(index=["experiment", "setting"], columns="method", values="score")
    gaps = means.sub(means["labels only"], axis=0)
    trees = gaps.loc["Tables 4.4 and 4.5"]
    unguarded = gaps[["NC-T", "ICT", "Co-T", "Se-T", "tri-training"]]
    assert unguarded.min(axis=1).idxmin() == ("Tables 4.2 and 4.3", "20% labeled")
    assert gaps["NC-T, guard"].abs().max() < 0.2
    whole = [unguarded.min().min(), trees["Co-T"].max(), trees["Co-T"].min()]
    tenths = [f(trees[m]) for m in ("tri-training", "vote of 3") for f in (min, max)]
    shown = [*(f"{-gap:.0f}" for gap in whole), *(f"{gap:.1f}" for gap in tenths)]
    assert not missing(page, [*shown, str(frame["repeat"].nunique()), str(frame["dataset"].nunique())])


def test_multiview():
    page = "docs/methods/multiview.md"
    frame = pd.read_parquet(get_suite("bssel").stored)
    means = frame.groupby(["experiment", "dataset", "setting", "method"])["score"].mean()
    for experiment, method in (("Simulation", "BSSEL-LS"), ("Simulation, as printed", "BSSEL-LS, both")):
        first, last = (means.xs((experiment, f"u/l = {n}", method), level=[0, 2, 3]) for n in (0, 15))
        assert not missing(page, [short(gain).lstrip("-") for gain in (last - first)[list(CREDIT)]])
    of = {name: means[name, "generator", "u/l = 15"] for name in ("Simulation", "Simulation, as printed")}
    assert not missing(page, [short(of[name]["BSSEL-LS"] - of[name]["MVL-LS"]) for name in of])
    last = means.xs(("Simulation", "u/l = 15"), level=[0, 2]).unstack()
    assert ((last["MVL-LS, balanced weights"] - last["BSSEL-LS"]).abs() < 0.012).all()
    assert ((last["silver standard"] - last["BSSEL-LS"]).abs() < 0.002).all()
    above = last["gold standard"] - last["BSSEL-LS"]
    assert not missing(page, [short(above.min(), 2), short(above.max(), 2)])
    control = means["Control", "two-view moons"].xs("BSSEL-LS, between", level="method")
    assert not missing(page, [short(control["u/l = 15"] - control["u/l = 0"])])


@pytest.mark.parametrize("name", SUITES)
def test_stored_results_have_no_gaps(name):
    """A row without a score says why."""
    frame = pd.read_parquet(get_suite(name).stored)
    assert (frame["score"].notna() | frame.get("error", pd.Series(index=frame.index)).notna()).all()
