"""The experience of `AutoClassifier`: what is learned from the cells of `benchmarks.quality.cells`, and what it gains.

    python -m benchmarks.quality.experience CELLS           # compares, and writes experience.csv beside this file
    python -m benchmarks.quality.experience CELLS --write   # and trials.json, and the experience of the package
    python -m benchmarks.quality.experience CELLS --portfolio   # of two classes, members.csv and portfolios.csv

CELLS has a folder for each task. Every figure leaves one table out: the weights of its members come from what was
learned on the other tables, those of CELLS and those of trials.json, which holds what earlier runs found. Rows of
experience.csv that CELLS does not have stay, without the ensemble, whose ranks are not kept. `--portfolio`
searches a list of members on one half of the tables, and judges it on the other, beside the default members.
"""

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.quality.cells import SAME_ROWS, read_cell
from fewlabel.auto import Experience
from fewlabel.auto.experience import MIDDLE, effective_labels, label_count, package_experience
from fewlabel.auto.members import BINARY, POSITIVE_UNLABELED, select_members
from fewlabel.kernels.ranks import area
from fewlabel.metrics.angles import to_angle

ENSEMBLE = "AutoClassifier"
WITHOUT = "AutoClassifier, members start as equals"
ABOUT = [
    "table",
    "amount",
    "draw",
    "n_rarest",
    "n_columns",
    "components",
    "neighbors",
]  # columns of experience.csv before scores
FILES = {
    BINARY: Path(__file__).with_name("experience.csv"),
    POSITIVE_UNLABELED: Path(__file__).with_name("experience_positives.csv"),
}
PORTFOLIOS = Path(__file__).with_name("portfolios.csv")
MEMBERS = Path(__file__).with_name("members.csv")
TRIALS = Path(__file__).with_name("trials.json")
PACKAGE = Path(__file__).parents[2] / "src" / "fewlabel" / "auto" / "experience.json"
# Steepness 10 to 120, noise .5 to 4 and 3 to 12 members were tried: the mean changes by .002 around this rule.
RULE = {"steepness": 30, "noise": 2.0, "most": 5}
_RIDGE = 5.0  # slopes are shrunken as by this many tables without one
# Share of a covariance that is taken from its diagonal alone: there are few tables.
_OWN = 0.3
_OWN_NOISE = 0.5
_N_SPLITS = 4  # of the tables into halves


class Trial(NamedTuple):
    """One table, one choice of labels.

    Attributes
    ----------
    table : str
    amount : float
        Labels that were kept, as in `benchmarks.quality.cells`.
    n_rarest : int
        Labels of the rarer class; of the positives, if only they are labeled.
    auc : ndarray of shape (n_members,)
        On rows whose labels were hidden.
    out_of_fold : ndarray of shape (n_members,)
        Out-of-fold AUC of the labeled rows.
    draw : int
        Of the labels that were kept.
    """

    table: str
    amount: float
    n_rarest: int
    auc: np.ndarray
    out_of_fold: np.ndarray
    draw: int = 0


class Cell(NamedTuple):
    """One table and choice of labels, with the ranks of its hidden rows, one row per member."""

    trial: Trial
    about: dict
    hidden: np.ndarray
    ranks: np.ndarray


def learn_experience(trials, members, rule):
    """Estimate the model; every table counts the same, whatever its number of trials.

    Parameters
    ----------
    trials : list of Trial
    members : list of str
    rule : dict
        `steepness` and `most` of the weights, and `noise`, by which the variance of out-of-fold scores is multiplied.

    Returns
    -------
    Experience
    """
    tables = [trial.table for trial in trials]
    weight = 1.0 / np.array([tables.count(name) for name in tables])
    design = np.c_[np.ones(len(trials)), [label_count(trial.n_rarest) for trial in trials]]
    truth = np.array([_centered(to_angle(trial.auc)) for trial in trials])
    weighted = design * weight[:, None]
    lines = np.linalg.solve(design.T @ weighted + np.diag([0.0, _RIDGE]), weighted.T @ truth)
    seen = np.array([_centered(to_angle(trial.out_of_fold)) for trial in trials])
    counts = np.array([effective_labels(trial.n_rarest) for trial in trials])
    errors = seen - truth
    trust = counts / (counts + MIDDLE)
    bias = trust @ errors / (trust.sum() + _RIDGE)
    state = {
        "members": list(members),
        "mean": lines[0],
        "slope": lines[1],
        "bias": bias,
        "covariance": _shrunken(truth - design @ lines, weight, _OWN),
        "noise": rule["noise"] * _shrunken(errors - bias, counts, _OWN_NOISE) * counts.mean(),
        "rule": rule,
    }
    return Experience(state)


def _centered(angles):
    return angles - angles.mean()


def _shrunken(residuals, weight, share):
    """Weighted covariance; a share of it from the diagonal alone."""
    full = (residuals * weight[:, None]).T @ residuals / weight.sum()
    return (1 - share) * full + share * np.diag(np.diag(full))


def rounded(experience):
    """The state as plain lists; numbers with five digits."""
    return {
        name: values if isinstance(values, (list, dict)) else np.round(values, 5).tolist()
        for name, values in experience.state.items()
    }


def without(trials, name):
    """The trials that know nothing of a table."""
    related = {name}.union(*(same for same in SAME_ROWS if name in same))
    return [trial for trial in trials if trial.table not in related]


def experience_without(name):
    """The experience of the package, as if it had been learned without a table.

    Parameters
    ----------
    name : str

    Returns
    -------
    Experience

    Examples
    --------
    >>> from benchmarks.quality.experience import experience_without
    >>> experience_without("sonar").members[:2]
    ['logistic regression', 'linear discriminant']
    """
    members, trials = stored_trials()
    learned = learn_experience(without(trials, name), members, RULE)
    return Experience(json.loads(PACKAGE.read_text("utf-8")) | learned.state)


def stored_trials():
    """The members of trials.json, and its trials."""
    stored = json.loads(TRIALS.read_text("utf-8"))
    trials = []
    for table, amount, n_rarest, auc, seen, draw in stored["trials"]:
        trials.append(Trial(table, amount, n_rarest, np.array(auc), np.array(seen), draw))
    return stored["members"], trials


def all_trials(names, cells):
    """The trials of cells, and those of trials.json that the cells do not replace.

    Parameters
    ----------
    names : list of str
        Members of the cells. With others than those of trials.json, nothing is taken from there.
    cells : list of Cell

    Returns
    -------
    list of Trial
    """
    trials = [cell.trial for cell in cells]
    members, stored = stored_trials()
    if set(members) != set(names):
        return trials
    place = [members.index(name) for name in names]
    replaced = {_key(trial) for trial in trials}
    for trial in stored:
        if _key(trial) not in replaced:
            trials.append(trial._replace(auc=trial.auc[place], out_of_fold=trial.out_of_fold[place]))
    return sorted(trials, key=_key)


def _key(trial):
    return trial.table, trial.amount, trial.draw


def read_cells(folder):
    """The cells of a folder, and the members that all of them have.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    names : list of str
    cells : list of Cell
    """
    found = [read_cell(path) for path in sorted(folder.glob("*.npz"))]
    found = [cell for cell in found if cell["about"]["members"]]
    if not found:
        raise ValueError(f"{folder} has no cells: run `python -m benchmarks.quality.cells` first")
    shared = set.intersection(*(set(cell["about"]["members"]) for cell in found))
    names = [name for name in found[0]["about"]["members"] if name in shared]
    return names, [_with_members(cell, names) for cell in found]


def _with_members(cell, names):
    about = cell["about"]
    place = [about["members"].index(name) for name in names]
    is_hidden = cell["few"] < 0
    hidden = cell["codes"][is_hidden] == 1
    # With positives only, all rows are tested: positives against unlabeled ones.
    only_positives = cell["few"].max() == cell["few"][~is_hidden].min()
    labeled = cell["few"] == 1 if only_positives else cell["codes"][~is_hidden] == 1
    ranks = cell["test"][place].astype(float)
    auc = np.array([area(hidden, scores) for scores in ranks])
    seen = np.array([area(labeled, scores) for scores in cell["out_of_fold"][place].astype(float)])
    n_rarest = int(min(labeled.sum(), (~labeled).sum()))
    trial = Trial(about["table"], about["amount"], n_rarest, auc, seen, about["draw"])
    return Cell(trial, about, hidden, ranks)


def blend(cell, names, experience, members):
    """Test AUC of members, with the weights that `AutoClassifier` would give them."""
    place = [names.index(name) for name in members]
    weights = experience.weights(to_angle(cell.trial.out_of_fold[place]), cell.trial.n_rarest)
    return area(cell.hidden, weights @ cell.ranks[place])


def learn_without_each(names, cells):
    """The experience without each table, by the name of the table."""
    trials = all_trials(names, cells)
    tables = {cell.trial.table for cell in cells}
    return {name: learn_experience(without(trials, name), names, RULE) for name in tables}


def leave_one_table_out(names, cells, members, learned):
    """Test AUC of the ensemble of each cell, with what was learned on the other tables.

    Parameters
    ----------
    names : list of str
        Members of the cells.
    cells : list of Cell
    members : list of str
        Members of the ensemble.
    learned : dict
        As made by `learn_without_each`.

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    return np.array([blend(cell, names, learned[cell.trial.table].of(members), members) for cell in cells])


def grow_portfolio(names, cells, learned, most_seconds):
    """The members that greedy search adds to an empty list, as long as the mean AUC grows.

    Parameters
    ----------
    names, cells, learned
        As in `leave_one_table_out`.
    most_seconds : float
        Mean CPU time of all members on a cell.

    Returns
    -------
    list of str
    """
    seconds = seconds_of(names, cells)
    chosen = []
    reached = 0.0
    while True:
        left = most_seconds - sum(seconds[name] for name in chosen)
        aucs = {}
        for name in names:
            if name not in chosen and seconds[name] <= left:
                aucs[name] = leave_one_table_out(names, cells, [*chosen, name], learned).mean()
        if not aucs or max(aucs.values()) <= reached:
            return chosen
        chosen.append(max(aucs, key=aucs.get))
        reached = aucs[chosen[-1]]


def compare(scores):
    """Mean AUC, mean rank and furthest distance below the best single method, over tables, per amount and method.

    Parameters
    ----------
    scores : DataFrame
        As in experience.csv: a row per cell, a column per method.

    Returns
    -------
    DataFrame
        Indexed by `amount` and `method`: `auc`, `rank`, `worst` (the lowest difference to the best single method of a
        table), and `p`, of a Wilcoxon test of the ensemble against the method.
    """
    rows = []
    for amount, part in scores.groupby("amount"):
        # Draws of one table are no tables of their own.
        methods = part.drop(columns=ABOUT).groupby(part["table"]).mean()
        ranks = methods.rank(axis=1, ascending=False).mean()
        singles = methods.drop(columns=[name for name in methods if name.startswith(ENSEMBLE)])
        for name in methods:
            apart = methods[ENSEMBLE] - methods[name]
            p = wilcoxon(apart).pvalue if (apart != 0).any() else 1.0
            worst = (methods[name] - singles.max(axis=1)).min()
            rows.append((amount, name, len(methods), methods[name].mean(), ranks[name], worst, p))
    found = pd.DataFrame(rows, columns=["amount", "method", "tables", "auc", "rank", "worst", "p"])
    return found.sort_values(["amount", "auc"], ascending=[True, False]).set_index(["amount", "method"])


def usual_members(names, task):
    """The members that `AutoClassifier` tries by default."""
    return [member.name for member in select_members("auto", task, True)[0] if member.name in names]


def table_of(names, cells, task):
    """The test AUC of each method, and of the ensemble with each table left out, a row per cell."""
    usual = usual_members(names, task)
    ensemble = leave_one_table_out(names, cells, usual, learn_without_each(names, cells))
    # Members start as equals: so they do with positives only, where other tables did not help.
    unknown = Experience(package_experience().state).of(usual, POSITIVE_UNLABELED)
    rows = []
    for cell, auc in zip(cells, ensemble):
        components, neighbors = cell.about["structure"]
        row = {"table": cell.trial.table, "amount": cell.trial.amount, "draw": cell.trial.draw}
        row |= {"n_rarest": cell.trial.n_rarest}
        row |= {"n_columns": cell.about["n_columns"], "components": components, "neighbors": neighbors}
        row |= dict(zip(names, cell.trial.auc))
        rows.append(row | {ENSEMBLE: auc, WITHOUT: blend(cell, names, unknown, usual)})
    return pd.DataFrame(rows)


def with_earlier(scores, path):
    """The rows, and those of a file that they do not replace, without the scores of an ensemble.

    Parameters
    ----------
    scores : DataFrame
        As made by `table_of`.
    path : Path
        Written by an earlier run, or not there.

    Returns
    -------
    DataFrame
    """
    if not path.exists():
        return scores
    earlier = pd.read_csv(path)
    earlier = earlier.drop(columns=[name for name in earlier if name.startswith(ENSEMBLE)])
    both = pd.concat([scores, earlier]).drop_duplicates(["table", "amount", "draw"])
    both = both.dropna(axis="columns", how="all")
    return both.sort_values(["table", "amount", "draw"], ignore_index=True)


def judge_portfolios(names, cells, task):
    """Mean AUC of lists that greedy search finds on half of the tables, and of the default one, on the other half."""
    usual = usual_members(names, task)
    learned = learn_without_each(names, cells)
    tables = sorted(learned)
    rows = []
    for split in range(_N_SPLITS):
        is_first = np.random.default_rng(split).random(len(tables)) < 0.5
        first = {name for name, chosen in zip(tables, is_first) if chosen}
        for half in (0, 1):
            own = [cell for cell in cells if (cell.trial.table in first) == (half == 0)]
            others = [cell for cell in cells if (cell.trial.table in first) == (half == 1)]
            found = grow_portfolio(names, own, learned, sum(seconds_of(usual, own).values()))
            for label, members in (("greedy", found), ("default", usual)):
                auc = leave_one_table_out(names, others, members, learned).mean()
                seconds = sum(seconds_of(members, others).values())
                rows.append((split, half, label, len(others), auc, seconds, ", ".join(members)))
    return pd.DataFrame(rows, columns=["split", "half", "portfolio", "cells", "auc", "seconds", "members"])


def judge_members(names, cells, task):
    """What the mean AUC gains if one member is added to the default ones, or loses if it is taken from them."""
    usual = usual_members(names, task)
    tables = [cell.trial.table for cell in cells]
    learned = learn_without_each(names, cells)
    default = leave_one_table_out(names, cells, usual, learned)
    seconds = seconds_of(names, cells)
    rows = []
    for k, name in enumerate(names):
        is_usual = name in usual
        members = [other for other in usual if other != name] if is_usual else [*usual, name]
        change = leave_one_table_out(names, cells, members, learned) - default
        by_table = pd.Series(change).groupby(tables).mean()
        alone = np.mean([cell.trial.auc[k] for cell in cells])
        what = "without it" if is_usual else "with it"
        rows.append((name, alone, seconds[name], what, by_table.mean(), wilcoxon(by_table).pvalue))
    found = pd.DataFrame(rows, columns=["member", "auc", "seconds", "ensemble", "change", "p"])
    return found.sort_values("auc", ascending=False, ignore_index=True)


def seconds_of(names, cells):
    """Mean CPU time of each member on a cell."""
    found = {}
    for name in names:
        found[name] = np.mean([cell.about["seconds"][cell.about["members"].index(name)] for cell in cells])
    return found


def lines_of(state):
    """JSON with one line per key, and one per row of a list of lists: a change of one shows as one line."""
    lines = []
    for key, value in state.items():
        text = json.dumps(value)
        if isinstance(value, list) and isinstance(value[0], list):
            text = "[\n" + ",\n".join(json.dumps(row) for row in value) + "\n]"
        lines.append(f"{json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write(names, cells):
    """Write what the package knows of two classes; candidates are not in the package."""
    known = [name for name in stored_trials()[0] if name in names]
    place = [names.index(name) for name in known]
    own = []
    for cell in cells:
        trial = cell.trial
        own.append(cell._replace(trial=trial._replace(auc=trial.auc[place], out_of_fold=trial.out_of_fold[place])))
    trials = all_trials(known, own)
    rows = []
    for trial in trials:
        rows.append([trial.table, trial.amount, trial.n_rarest])
        rows[-1] += [trial.auc.round(5).tolist(), trial.out_of_fold.round(5).tolist(), trial.draw]
    TRIALS.write_text(lines_of({"members": known, "trials": rows}), "utf-8")
    state = json.loads(PACKAGE.read_text("utf-8")) | rounded(learn_experience(trials, known, RULE))
    PACKAGE.write_text(lines_of(state), "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", type=Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--portfolio", action="store_true")
    options = parser.parse_args()
    for task in (BINARY,) if options.portfolio else FILES:
        if not (options.cells / task).is_dir():
            continue
        names, cells = read_cells(options.cells / task)
        print(f"{task}: {len(cells)} cells of {len({cell.trial.table for cell in cells})} tables")
        if options.portfolio:
            _judge(names, cells, task)
            continue
        scores = table_of(names, cells, task)
        with_earlier(scores, FILES[task]).round(4).to_csv(FILES[task], index=False)
        print(compare(scores).round(4).to_string())
        if options.write and task == BINARY:
            write(names, cells)


def _judge(names, cells, task):
    """Write and print what becomes of the ensemble with other members, and with other lists of them."""
    for file, judge in ((PORTFOLIOS, judge_portfolios), (MEMBERS, judge_members)):
        found = judge(names, cells, task).round(4)
        found.to_csv(file, index=False)
        print(found.to_string())


if __name__ == "__main__":
    main()
