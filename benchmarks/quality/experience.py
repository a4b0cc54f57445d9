"""The experience of `AutoClassifier`: what each of its members achieves on the tables of the registry.

Cells are written one by one, so that a run can be continued. From them come the data file of the package, the constants
of its rule, and figures of the choice on tables that neither was learned from.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.harness.data import as_numbers, table
from benchmarks.quality.trials import Trial, learn_experience, observe_members, to_json, weigh_members
from fewlabel.auto import Experience, default_members
from fewlabel.datasets import list_datasets, registry
from fewlabel.files import atomic_write

SHARES = (0.01, 0.05, 0.15)  # of the labels
MOST_ROWS = 3000
LEAST = 5  # labels of each class
# Same rows as another table, too few positives among 3,000 rows, or thousands of columns; kept for one paper's table.
LEFT_OUT = (
    *("ring", "german.numer", "glass", "creditcard-fraud", "ssl-Text", "text1-macwin", "lung-cancer", "iris"),
    *("phoneme", "vehicle2"),
)
# Tables with the same rows, some with other labels or columns: the experience of one knows something of the others.
SAME_ROWS = ({"credit-g", "german.numer"}, {"hypothyroid", "sick"}, {"dna", "splice"}, {"ring", "ringnorm"})
# Positive class where the registry names none and not the rarest: a table of several classes is one against the rest.
POSITIVE = {
    "letter": "U",
    "optdigits": "8",
    "pendigits": "9",
    "shuttle": "High",
    "ssl-COIL": "1",
    "svmguide4": "2",
    "waveform": "1",
}
TRIALS = Path(__file__).with_name("trials.json")
ENSEMBLE = "AutoClassifier"
STEEPNESS, NOISE, MOST = (10, 20, 30), (2.0,), (5,)  # others that were tried change the mean by up to .002


class Cell(NamedTuple):
    """One table and choice of labels; arrays have one row per member."""

    about: dict[str, Any]
    labeled: np.ndarray
    hidden: np.ndarray
    out_of_fold: np.ndarray
    ranks: np.ndarray

    @property
    def trial(self) -> Trial:
        """What is learned from."""
        rarest = int(min(self.labeled.sum(), (~self.labeled).sum()))
        return Trial(self.about["table"], rarest, np.array(self.about["auc"]), np.array(self.about["out_of_fold"]))


def tables(data_home: str | None = None) -> list[str]:
    """Tables of the registry that are on this machine and suit two classes."""
    known = list_datasets(data_home)
    return [name for name in known.index if known["where"][name] not in ("", "OpenML") and name not in LEFT_OUT]


def problem(name: str, data_home: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Columns as numbers, and 1 for the positive class; a stratified sample of large tables."""
    found, known = table(name, data_home), registry()[name]
    enough = {c: n for c, n in known["classes"].items() if n >= 20}
    positive = POSITIVE.get(name) or known.get("positive") or min(enough, key=lambda c: enough[c])
    y = (found.target == positive).to_numpy().astype(np.int64)
    rows = np.arange(len(y))
    if len(y) > MOST_ROWS:
        rows = np.sort(train_test_split(rows, train_size=MOST_ROWS, stratify=y, random_state=0)[0])
    X = as_numbers(found.data.iloc[rows], np.arange(len(rows)), fill=False)
    return X[:, np.nanstd(X, axis=0) > 0], y[rows]


def hide(y: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Keep the labels of a share of each class, at least five; ``-1`` elsewhere."""
    rng = np.random.default_rng(seed)
    few = np.full(len(y), -1)
    for code in (0, 1):
        rows = rng.permutation(np.flatnonzero(y == code))
        few[rows[: max(LEAST, round(share * len(rows)))]] = code
    return few


def run(
    folder: Path,
    n_draws: int,
    data_home: str | None = None,
    names: list[str] | None = None,
    report: Callable[[int, int, str], None] = lambda done, total, name: None,
) -> None:
    """Observe the members on every table; cells that are in the folder already are kept.

    Parameters
    ----------
    folder : Path
    n_draws : int
        Random choices of labels per table and share.
    data_home : str, default=None
        Folder of the datasets.
    names : list of str, default=None
        Members; None means all that are installed.
    report : callable
        ``report(done, total, cell)`` after each cell.
    """
    folder.mkdir(parents=True, exist_ok=True)
    cells = [(name, share, draw) for draw in range(n_draws) for share in SHARES for name in tables(data_home)]
    for number, (name, share, draw) in enumerate(cells, start=1):
        target = folder / f"{name}_{round(100 * share)}_{draw}.npz"
        if not target.exists():
            _observe(target, name, share, draw, problem(name, data_home), names)
        report(number, len(cells), target.stem)


def _observe(target, name, share, draw, of_table, names):
    X, y = of_table
    seed = 1000 * draw + round(100 * share)
    few = hide(y, share, seed)
    found = list(observe_members(X, few, seed, names))
    hidden, labeled = y[few < 0] == 1, y[few >= 0] == 1
    about = {
        "table": name,
        "share": share,
        "draw": draw,
        "n_columns": X.shape[1],
        "members": [one.member for one in found],
        "auc": [roc_auc_score(hidden, one.ranks) for one in found],
        "out_of_fold": [roc_auc_score(labeled, one.out_of_fold) for one in found],
        "seconds": [one.seconds for one in found],
    }
    with atomic_write(target) as file:
        np.savez_compressed(
            file,
            about=json.dumps(about),
            labeled=labeled,
            hidden=hidden,
            out_of_fold=np.array([one.out_of_fold for one in found], dtype=np.float32),
            ranks=np.array([one.ranks for one in found], dtype=np.float32),
        )


def read_cells(folder: Path) -> tuple[list[str], list[Cell]]:
    """The cells of a folder, and the members that all of them have."""
    cells = []
    for path in sorted(folder.glob("*.npz")):
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in Cell._fields[1:]}
            cells.append(Cell(json.loads(str(stored["about"])), **arrays))
    if not cells:
        raise ValueError(f"{folder} has no cells: run `python -m benchmarks experience --out {folder}` first")
    shared = set.intersection(*(set(cell.about["members"]) for cell in cells))
    names = [name for name in cells[0].about["members"] if name in shared]
    return names, [_with_members(cell, names) for cell in cells]


def _with_members(cell, names):
    place = [cell.about["members"].index(name) for name in names]
    lists = {key: [cell.about[key][k] for k in place] for key in ("members", "auc", "out_of_fold", "seconds")}
    return Cell(cell.about | lists, cell.labeled, cell.hidden, cell.out_of_fold[place], cell.ranks[place].astype(float))


def leave_one_table_out(names: list[str], cells: list[Cell]) -> tuple[dict[str, float], pd.DataFrame]:
    """Choose the constants of the rule, and judge the choice on tables that it has not seen.

    Parameters
    ----------
    names : list of str
        Members.
    cells : list of Cell

    Returns
    -------
    rule : dict
        `steepness`, `noise` and `most` with the best mean AUC on tables left out.
    scores : DataFrame
        One row per cell with its `table`, `share` and `draw`, the test AUC of each member, and that of the ensemble,
        whose experience and constants come from the other tables.
    """
    rules = [dict(zip(("steepness", "noise", "most"), r)) for r in itertools.product(STEEPNESS, NOISE, MOST)]
    trials = [cell.trial for cell in cells]
    cells = [cell for cell, trial in zip(cells, trials) if trial.has_evidence]
    of_table = np.array([cell.about["table"] for cell in cells])
    found = np.zeros((len(rules), len(cells)))
    for name in np.unique(of_table):
        others = without(trials, name)
        for r, rule in enumerate(rules):
            learned = learn_experience(others, names, rule)
            for place in np.flatnonzero(of_table == name):
                found[r, place] = _ensemble_auc(cells[place], learned)
    rows = []
    for k, cell in enumerate(cells):
        best = int(np.argmax(found[:, of_table != of_table[k]].mean(axis=1)))
        about = {key: cell.about[key] for key in ("table", "share", "draw")}
        rows.append({**about, **dict(zip(names, cell.about["auc"])), ENSEMBLE: found[best, k]})
    return rules[int(np.argmax(found.mean(axis=1)))], pd.DataFrame(rows)


def without(trials: list[Trial], name: str) -> list[Trial]:
    """The trials that know nothing of a table."""
    related = {name}.union(*(same for same in SAME_ROWS if name in same))
    return [trial for trial in trials if trial.table not in related]


def experience_without(name: str) -> Experience:
    """The experience of the package, as if it had been learned without a table.

    Parameters
    ----------
    name : str
        Of the registry.

    Returns
    -------
    Experience

    Examples
    --------
    >>> from benchmarks.quality.experience import experience_without
    >>> experience_without("sonar").members[:2]
    ['logistic regression', 'linear discriminant']
    """
    stored = json.loads(TRIALS.read_text("utf-8"))
    trials = [
        Trial(one["table"], one["n_rarest"], np.array(one["auc"]), np.array(one["out_of_fold"], dtype=float))
        for one in stored["trials"]
    ]
    return learn_experience(without(trials, name), stored["members"], stored["rule"])


def _stored(names, rule, trials):
    """The trials as text, one per line: AUCs with six digits, null where there is none."""

    def numbers(values):
        return [round(float(value), 6) if np.isfinite(value) else None for value in values]

    lines = [
        json.dumps(trial._asdict() | {"auc": numbers(trial.auc), "out_of_fold": numbers(trial.out_of_fold)})
        for trial in trials
    ]
    head = json.dumps({"members": names, "rule": rule})[:-1]
    return head + ', "trials": [\n' + ",\n".join(lines) + "\n]}\n"


def _ensemble_auc(cell, experience):
    """Test AUC of the members that `AutoClassifier` tries by default, with the weights that it would give them."""
    place = [k for k, name in enumerate(experience.members) if name in default_members()] or slice(None)
    known = experience.of(list(np.array(experience.members)[place]))
    weights = weigh_members(cell.out_of_fold[place].astype(float), cell.labeled.astype(int), known)
    return roc_auc_score(cell.hidden, weights @ cell.ranks[place])


def figures(scores: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC, mean rank and furthest distance below the best, per share and method.

    Parameters
    ----------
    scores : DataFrame
        As made by `leave_one_table_out`.

    Returns
    -------
    DataFrame
        Indexed by `share` and `method`: `auc`; `rank`, the mean over cells; `worst`, the lowest difference to the best
        method with one model on the mean of a table's draws, and `table`, where that is.
    """
    rows = []
    for share, part in scores.groupby("share"):
        methods = part.drop(columns=["share", "draw"]).set_index("table")
        ranks = methods.rank(axis=1, ascending=False).mean()
        means = methods.groupby("table").mean()
        below = means.sub(means.drop(columns=ENSEMBLE).max(axis=1), axis=0)
        for name in methods:
            values = (methods[name].mean(), ranks[name], below[name].min(), below[name].idxmin())
            rows.append((share, name, *values))
    found = pd.DataFrame(rows, columns=["share", "method", "auc", "rank", "worst", "table"])
    return found.sort_values(["share", "auc"], ascending=[True, False]).set_index(["share", "method"])


def write(folder: Path) -> pd.DataFrame:
    """Write the data files of the package and figures.csv into a folder of cells.

    experience.json is for `fewlabel.auto`; trials.json, from which it is learned, is kept beside this file.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    DataFrame
        As made by `figures`.
    """
    names, cells = read_cells(folder)
    rule, scores = leave_one_table_out(names, cells)
    trials = [cell.trial for cell in cells]
    with atomic_write(folder / "experience.json") as file:
        file.write(to_json(learn_experience(trials, names, rule)).encode())
    with atomic_write(folder / "trials.json") as file:
        file.write(_stored(names, rule, trials).encode())
    found = figures(scores)
    scores.to_csv(folder / "scores.csv", index=False)
    found.to_csv(folder / "figures.csv")
    return found
