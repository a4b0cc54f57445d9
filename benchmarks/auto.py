"""AutoClassifier beside the methods that one would otherwise pick by hand, on 28 binary tables with few labels.

Protocol: at most 1,500 rows of a table (a stratified draw, the same for all); 15% of the rows of each class, at least
5, are labeled; of the others half are unlabeled training rows and half are test rows. Several classes become one
against the rest. Every method gets the same labeled rows; AutoClassifier and PNU-AUCBoost get the unlabeled ones too.
No test row is looked at before the AUC is taken. Peers have their libraries' settings, forests of 300 trees.

Each finished cell is a file of its own, so that a run can be broken off and taken up again.

    FEWLABEL_DATA=/path/to/data python benchmarks/auto.py [--labels 0.15] [--draws 5] [--cells DIR] [--sets pima,ring]
"""

import argparse
import json
import os
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fewlabel

AUTO, PNU = "AutoClassifier", "PNU-AUCBoost"
MOST_ROWS, LEAST_LABELS = 1500, 5
# The positive class; None is the smaller one.
SETS = {
    **dict.fromkeys(
        [
            "pima",
            "wdbc",
            "wisconsin",
            "vehicle0",
            "sonar",
            "glass1",
            "credit-g",
            "ionosphere",
            "ssl-USPS",
            "tic-tac-toe",
            "monk-2",
            "ring",
            "fourclass",
            "ssl-BCI",
            "ssl-Digit1",
            "ssl-g241c",
            "ssl-g241d",
            "twonorm",
            "kr-vs-kp",
            "heart-statlog",
            "bupa",
        ]
    ),
    "vowel": "1",
    "waveform": "1",
    "ssl-COIL": "1",
    "optdigits": "8",
    "pendigits": "9",
    "svmguide4": "2",
    "letter": "U",
}


def load(name):
    table = pd.read_parquet(Path(os.environ["FEWLABEL_DATA"]) / f"{name}.parquet")
    target = table.pop("target").astype(str)
    y = (target == (SETS[name] or target.value_counts().index[-1])).astype(int).to_numpy()
    if len(y) > MOST_ROWS:
        kept, _ = train_test_split(np.arange(len(y)), train_size=MOST_ROWS, stratify=y, random_state=0)
        table, y = table.iloc[kept], y[kept]
    return pd.get_dummies(table, dtype=float).to_numpy(dtype=float), y


def split(y, share, draw):
    """Labeled, unlabeled and test rows."""
    rng = np.random.RandomState(1000 + draw)
    labeled = []
    for c in (0, 1):
        rows = rng.permutation(np.flatnonzero(y == c))
        labeled.append(rows[: max(LEAST_LABELS, round(share * len(rows)))])
    labeled = np.sort(np.concatenate(labeled))
    rest = np.setdiff1d(np.arange(len(y)), labeled)
    unlabeled, test = train_test_split(rest, test_size=0.5, stratify=y[rest], random_state=draw)
    return labeled, unlabeled, test


def methods(seed):
    def filled(*steps):
        return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), *steps)

    yield AUTO, fewlabel.AutoClassifier(random_state=seed)
    yield "logistic regression", filled(StandardScaler(), LogisticRegression(max_iter=1000))
    yield "random forest", filled(RandomForestClassifier(300, random_state=seed))
    yield "extra trees", filled(ExtraTreesClassifier(300, random_state=seed))
    yield "histogram boosting", HistGradientBoostingClassifier(random_state=seed)
    yield "RBF-SVM", filled(StandardScaler(), SVC(random_state=seed))
    try:
        from xgboost import XGBClassifier

        yield "XGBoost", XGBClassifier(random_state=seed, n_jobs=1)
    except ImportError:
        print("XGBoost is left out: it is not installed", file=sys.stderr)
    yield PNU, fewlabel.PNUAUCBoostClassifier(random_state=seed, n_jobs=1)


def run(name, share, draw, folder):
    """One table, one draw: the test AUC and seconds of every method."""
    path = folder / f"{name}-{share:g}-{draw}.json"
    if path.exists():
        return json.loads(path.read_text())
    warnings.simplefilter("ignore")
    X, y = load(name)
    labeled, unlabeled, test = split(y, share, draw)
    rows = np.concatenate([labeled, unlabeled])
    few = np.concatenate([y[labeled], np.full(len(unlabeled), fewlabel.UNLABELED)])
    cell = {"set": name, "labels": share, "draw": draw, "labeled": len(labeled), "auc": {}, "seconds": {}}
    for method, model in methods(draw):
        start = time.perf_counter()
        if method in (AUTO, PNU):
            model.fit(X[rows], few)
        else:
            model.fit(X[labeled], y[labeled])
        cell["seconds"][method] = time.perf_counter() - start
        scorer = "decision_function" if hasattr(model, "decision_function") else "predict_proba"
        score = getattr(model, scorer)(X[test])
        cell["auc"][method] = roc_auc_score(y[test], score if score.ndim == 1 else score[:, 1])
        if method == AUTO:
            effect = model.unlabeled_effect_
            cell["weights"] = model.ensemble_weights_
            cell["out_of_fold"] = model.score_
            cell["unlabeled_effect"] = [effect.difference, effect.low, effect.high]
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(cell))
    temporary.replace(path)
    print(f"{name}, draw {draw}: " + ", ".join(f"{m} {a:.3f}" for m, a in cell["auc"].items()), file=sys.stderr)
    return cell


def report(cells, share, n_draws):
    table = pd.DataFrame([{"set": cell["set"], **cell["auc"]} for cell in cells]).groupby("set", sort=False).mean()
    ranks = table.rank(axis=1, ascending=False).mean()
    peers = table.drop(columns=AUTO)
    best, means = peers.mean().idxmax(), table.mean()
    behind = (peers.max(axis=1) - table[AUTO]).sort_values(ascending=False)
    shown = table.copy()
    shown["best peer - Auto"] = peers.max(axis=1) - table[AUTO]
    shown.loc["mean"] = shown.mean()
    shown.loc["mean rank"] = ranks
    print(f"## {share:.0%} of the labels, {len(table)} tables, {n_draws} draws: test AUC\n")
    print(shown.to_markdown(floatfmt=".4f"))
    gap = peers.max(axis=1).mean() - means[best]
    print(
        f"\n- Best single method: {best}, mean {means[best]:.4f}; AutoClassifier {means[AUTO]:.4f}, "
        f"{means[AUTO] - means[best]:+.4f} (bar: +0.0050)."
    )
    print(
        f"- Best peer of each table in hindsight: {peers.max(axis=1).mean():.4f}; AutoClassifier closes "
        f"{(means[AUTO] - means[best]) / gap:.0%} of the gap from the best single method to it."
    )
    print(
        f"- Mean rank: AutoClassifier {ranks[AUTO]:.2f}, the best other {ranks.drop(AUTO).idxmin()} "
        f"{ranks.drop(AUTO).min():.2f} (bar: better than all)."
    )
    print(
        f"- Furthest below a table's best: {behind.iloc[0]:.4f} on {behind.index[0]} (bar: 0.0200); "
        f"tables more than 0.02 below: {', '.join(behind.index[behind > 0.02]) or 'none'}."
    )
    seconds = pd.DataFrame([cell["seconds"] for cell in cells]).mean()
    print("- Mean seconds of a fit on one core: " + ", ".join(f"{m} {s:.2f}" for m, s in seconds.items()) + ".\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=float, default=0.15)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--cells", type=Path, default=Path("auto_cells"), help="folder of the finished cells")
    arguments = parser.parse_args()
    if not os.environ.get("FEWLABEL_DATA"):
        sys.exit("skipped: set FEWLABEL_DATA to a folder with pima.parquet, ring.parquet, ...")
    arguments.cells.mkdir(parents=True, exist_ok=True)
    cells = Parallel(arguments.jobs)(
        delayed(run)(name, arguments.labels, draw, arguments.cells)
        for draw in range(arguments.draws)
        for name in arguments.sets.split(",")
    )
    packages = ("fewlabel", "scikit-learn", "xgboost-cpu", "numpy")
    print("Versions: " + ", ".join(f"{p} {version(p)}" for p in packages if _has(p)) + ".\n")
    report(cells, arguments.labels, arguments.draws)


def _has(package):
    try:
        return bool(version(package))
    except ImportError:
        return False


if __name__ == "__main__":
    main()
