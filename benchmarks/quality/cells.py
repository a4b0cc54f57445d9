"""What each member of AutoClassifier, and candidates for it, achieve on tables whose labels are known.

    FEWLABEL_DATA=folder python -m benchmarks.quality.cells TASK CELLS --tables FOLDER [--group present] [--draws 5]

TASK is "binary" (1%, 5% and 15% of the labels, at least five per class), "multiclass" (3 and 10 labels per class) or
"positive-unlabeled" (30% of the positives). Tables are those of the registry and of `benchmarks.quality.tables`, at
most 2,000 rows of each; unlabeled rows are the test rows. One file per table, amount of labels and draw holds the
out-of-fold and test scores of each member; members that are in the file are not run again.
`benchmarks.quality.experience` compares portfolios and weights by these files.
"""

import argparse
import itertools
import json
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import log_softmax
from sklearn.neighbors import NearestNeighbors

from benchmarks.harness.data import table
from benchmarks.quality.candidates import CANDIDATES
from fewlabel import TableEncoder
from fewlabel.auto.attempts import attempt
from fewlabel.auto.crossfit import Training, crossfit, refit, usual_repeats
from fewlabel.auto.members import BINARY, MULTICLASS, POSITIVE_UNLABELED, portfolio
from fewlabel.auto.views import learn_scale
from fewlabel.datasets import list_datasets, registry
from fewlabel.files import atomic_write
from fewlabel.rows import Rows

SHARES = (0.01, 0.05, 0.15)  # of the labels
LEAST = 5  # labels of each class
LABELS = (3, 10)  # of each of many classes
POSITIVE_SHARE = 0.3
AMOUNTS = {BINARY: SHARES, MULTICLASS: LABELS, POSITIVE_UNLABELED: (POSITIVE_SHARE,)}
MOST_ROWS = 2000
MOST_COLUMNS = 120  # after encoding; wider tables cost as much as all others
LEAST_OF_CLASS = 20
# Same rows as another table, too few positives, or thousands of columns; kept for one paper's table.
LEFT_OUT = (
    *("ring", "german.numer", "glass", "creditcard-fraud", "ssl-Text", "text1-macwin", "lung-cancer", "iris"),
    *("phoneme", "vehicle2"),
)
# Every method ranks these nearly perfectly: nothing is learned from them.
EASY = (
    *("anneal", "audiology", "dermatology", "hypothyroid", "mushroom", "shuttle"),
    *("shuttle-c0-vs-c4", "vote", "wine", "wisconsin"),
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
MANY_CLASSES = (
    *("wine", "iris", "dermatology", "vowel", "svmguide4", "glass", "autos", "car", "anneal", "waveform"),
    *("pendigits", "dna", "shuttle", "optdigits", "ssl-COIL", "soybean", "letter"),
)
# Dear, and no default members.
SKIPPED = {
    BINARY: (
        *("TabICL", "TabPFN", "XGBoost", "LightGBM", "histogram boosting", "SAMULT", "PNU-AUCBoost", "RankBoost"),
        *("random forest", "label spreading", "additive boosting", "long additive boosting"),
    ),
    MULTICLASS: ("TabICL", "TabPFN", "XGBoost", "LightGBM", "histogram boosting", "quadratic SVM", "label spreading"),
    POSITIVE_UNLABELED: (),
}


def names_of(task, tables):
    """Tables for a task: of the registry, then those in the folder."""
    if task == MULTICLASS:
        own = list(MANY_CLASSES)
    else:
        known = list_datasets()
        own = [
            name for name in known.index if known["where"][name] not in ("", "OpenML") and name not in LEFT_OUT + EASY
        ]
    others = sorted(path.stem for path in tables.glob("*.parquet"))
    if task == MULTICLASS:
        others = [name for name in others if _has_many_classes(tables, name)]
    others = list(np.random.default_rng(0).permutation(others))
    # In turn, so that a run that is cut short has tables of both kinds.
    mixed = [name for four in itertools.zip_longest(own, others[::3], others[1::3], others[2::3]) for name in four]
    return [str(name) for name in mixed if name is not None]


def _has_many_classes(tables, name):
    target = pd.read_parquet(tables / f"{name}.parquet", columns=["target"])["target"]
    return not pd.api.types.is_numeric_dtype(target)


def read_table(name, tables):
    """Columns as they are, the classes, and the positive class."""
    path = tables / f"{name}.parquet"
    if path.exists():
        found = pd.read_parquet(path)
        y = found.pop("target")
        if pd.api.types.is_numeric_dtype(y):
            return found, y.to_numpy(), 1
        # One class against the rest: the rarest with a twentieth of the rows, or the largest.
        shares = y.value_counts(normalize=True)
        return found, y.to_numpy(), shares[shares >= min(0.05, shares.max())].index[-1]
    found = table(name)
    known = registry()[name]
    enough = {c: n for c, n in known["classes"].items() if n >= LEAST_OF_CLASS}
    positive = POSITIVE.get(name) or known.get("positive") or min(enough, key=lambda c: enough[c])
    return found.data, found.target.to_numpy(), positive


def encode(data):
    """Columns as numbers, as `TableClassifier` sees them."""
    X = TableEncoder(dayfirst=False, random_state=0).fit_transform(data)
    X = np.asarray(X, dtype=float)
    return X[:, np.nanstd(X, axis=0) > 0]


def structure(X):
    """How much of the scaled columns 10 principal components hold, and how well the 10 nearest rows predict them.

    The latter is 1 where rows lie in tight clusters or on a smooth surface, 0 or less where neighbors tell nothing.
    """
    rows = learn_scale(X)(X)[:1000]
    rows = rows - rows.mean(axis=0)
    variances = np.linalg.svd(rows, compute_uv=False) ** 2
    _, neighbors = NearestNeighbors(n_neighbors=min(11, len(rows))).fit(rows).kneighbors(rows)
    left = rows - rows[neighbors[:, 1:]].mean(axis=1)
    return variances[:10].sum() / variances.sum(), 1 - (left**2).sum() / (rows**2).sum()


def problem(task, name, amount, draw, tables):
    """Columns as numbers, codes with ``-1`` where the label is hidden, and the codes of all rows."""
    data, few, codes = sample(task, name, amount, draw, tables)
    return encode(data), few, codes


def sample(task, name, amount, draw, tables):
    """The same with columns as they are."""
    data, y, positive = read_table(name, tables)
    rng = np.random.default_rng([draw, round(100 * amount), zlib.crc32(name.encode())])
    if task == MULTICLASS:
        counts = pd.Series(y).map(pd.Series(y).value_counts()).to_numpy()
        rows = np.flatnonzero(counts >= LEAST_OF_CLASS)
        codes = np.unique(y[rows].astype(str), return_inverse=True)[1]
    else:
        rows = np.arange(len(y))
        codes = (y == positive).astype(int)
    order = rng.permutation(len(rows))[:MOST_ROWS]
    rows = rows[order]
    codes = np.unique(codes[order], return_inverse=True)[1]
    few = np.full(len(rows), -1)
    for code in np.unique(codes):
        of_class = np.flatnonzero(codes == code)
        few[of_class[: _n_labels(task, amount, code, len(of_class))]] = code
    return data.iloc[rows].reset_index(drop=True), few, codes


def _n_labels(task, amount, code, n_rows):
    if task == MULTICLASS:
        return int(amount)
    if task == POSITIVE_UNLABELED and code == 0:
        return 0
    return max(LEAST, round(amount * n_rows))


def members_of(task, group):
    """The members of a group: "present" ones of the portfolio, "candidates", or "all"."""
    present = [m for m in portfolio() if task in m.tasks and m.installed and m.name not in SKIPPED[task]]
    candidates = [m for m in CANDIDATES if task in m.tasks]
    return {"present": present, "candidates": candidates, "all": present + candidates}[group]


def observe(task, X, few, members, seed, n_repeats=1):
    """Out-of-fold scores, scores of all rows and CPU seconds of each member; one that fails is left out."""
    training = _training(task, X, few, members, seed)
    for member in members:
        outcome = attempt(_observe, training, member, n_repeats)
        if not isinstance(outcome, Exception):
            yield member.name, *outcome


def _training(task, X, few, members, seed):
    if task != POSITIVE_UNLABELED:
        return Training(Rows(X, few, np.arange(few.max() + 1)), task, members, seed)
    from fewlabel.prior import estimate_class_prior

    prior = estimate_class_prior(X, few, random_state=seed)
    return Training(Rows(X, (few == 1).astype(int), np.array([0, 1])), task, members, seed, prior)


def _observe(training, member, n_repeats):
    start = time.process_time()
    evidence = crossfit(training, member, n_repeats)
    found = refit(training, member, evidence).formula(training.rows.X)
    if found.shape[1] > 1:
        found = log_softmax(found, axis=1)
    return evidence.ranks, found, time.process_time() - start


def read_cell(path):
    """What a file holds: `about`, `codes`, `few`, and the scores of members, out of fold and on the unlabeled rows."""
    with np.load(path, allow_pickle=False) as arrays:
        cell = {name: arrays[name] for name in arrays.files}
    cell["about"] = json.loads(str(cell["about"]))
    return cell


def run(task, folder, tables, members, minutes, names=None, n_draws=1):
    """Add the members that are missing to each cell, until the time is up."""
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.process_time() + 60 * minutes
    amounts = AMOUNTS[task]
    # One amount of labels of each table, by its name, before the next; all amounts before the next draw.
    for draw, turn in itertools.product(range(n_draws), range(len(amounts))):
        for name in names or names_of(task, tables):
            if time.process_time() > deadline:
                return
            amount = amounts[(turn + zlib.crc32(name.encode())) % len(amounts)]
            path = folder / f"{name}_{round(100 * amount)}_{draw}.npz"
            _complete(path, task, name, amount, draw, tables, members)


def _complete(path, task, name, amount, draw, tables, members):
    cell = read_cell(path) if path.exists() else {"about": {"members": []}}
    missing = [m for m in members if m.name not in cell["about"].get("tried", [])]
    if not missing or cell["about"].get("too_wide"):
        return
    X, few, codes = problem(task, name, amount, draw, tables)
    about = cell["about"] | {"table": name, "amount": amount, "draw": draw, "n_columns": X.shape[1]}
    if "structure" not in about:
        about["structure"] = [round(value, 4) for value in structure(X)]
    about["tried"] = about.get("tried", []) + [m.name for m in missing]
    about["too_wide"] = X.shape[1] > MOST_COLUMNS
    about.setdefault("seconds", [])
    about["members"] = list(about["members"])
    out_of_fold = list(cell.get("out_of_fold", []))
    test = list(cell.get("test", []))
    if not about["too_wide"]:
        n_repeats = usual_repeats((few >= 0).sum())
        seed = round(100 * amount) + 1000 * draw
        for member, seen, found, seconds in observe(task, X, few, missing, seed, n_repeats):
            about["members"].append(member)
            about["seconds"].append(round(seconds, 3))
            out_of_fold.append(_compact(seen))
            test.append(_compact(found[few < 0]))
    with atomic_write(path) as file:
        np.savez_compressed(
            file,
            about=json.dumps(about),
            codes=codes.astype(np.int16),
            few=few.astype(np.int16),
            out_of_fold=np.array(out_of_fold),
            test=np.array(test),
        )
    print(path.stem, X.shape, round(sum(about["seconds"]), 1), flush=True)


def _compact(scores):
    """Ranks as 16-bit numbers; their ties stay apart by less than one row in two thousand."""
    return scores[:, 0].astype(np.float32) if scores.shape[1] == 1 else scores.astype(np.float16)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", choices=[BINARY, MULTICLASS, POSITIVE_UNLABELED])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", type=Path, required=True)
    parser.add_argument("--group", choices=["present", "candidates", "all"], default="all")
    parser.add_argument("--minutes", type=float, default=25.0)
    parser.add_argument("--members", nargs="*", help="of the group, only these")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    members = [m for m in members_of(options.task, options.group) if m.name in (options.members or [m.name])]
    run(options.task, options.folder, options.tables, members, options.minutes, options.names, options.draws)


if __name__ == "__main__":
    main()
