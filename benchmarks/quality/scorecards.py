"""Additive models beside each other: ours with and without directions, optbinning, EBM and FasterRisk.

FEWLABEL_DATA=folder python -m benchmarks.quality.scorecards [--draws 2] [--rivals /path/to/python]

The rivals run in an environment of their own (optbinning, interpret-core, fasterrisk, pyarrow), by
`scorecards_rivals.py`, on the same rows. Test rows are those without a label. Runs in the file are not made again.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from benchmarks.harness.data import binary
from fewlabel import AutoClassifier, TableClassifier

OUT = Path(__file__).with_name("scorecards.csv")
RIVALS = Path(__file__).with_name("scorecards_rivals.py")
# Signs that a person of the field would state beforehand: 1 raises the risk of the positive class.
SIGNS = {
    "default-credit-card": {"LIMIT_BAL": -1, "PAY_0": 1, "PAY_2": 1, "PAY_3": 1, "PAY_AMT1": -1, "PAY_AMT2": -1},
    "give-me-some-credit": {
        "RevolvingUtilizationOfUnsecuredLines": 1,
        "age": -1,
        "NumberOfTime30-59DaysPastDueNotWorse": 1,
        "NumberOfTimes90DaysLate": 1,
        "NumberOfTime60-89DaysPastDueNotWorse": 1,
        "MonthlyIncome": -1,
    },
    "pima": {"Plas": 1, "Mass": 1, "Pedi": 1, "Age": 1, "Preg": 1},
    "heart-statlog": {
        "age": 1,
        "maximum_heart_rate_achieved": -1,
        "oldpeak": 1,
        "number_of_major_vessels": 1,
        "serum_cholestoral": 1,
    },
    "wisconsin": dict.fromkeys(["ClumpThickness", "CellSize", "CellShape", "BareNuclei", "BlandChromatin"], 1),
    "wdbc": dict.fromkeys(["worst radius", "worst area", "worst concave points", "worst texture", "mean radius"], 1),
    "credit-g": {"duration": 1, "credit_amount": 1, "age": -1, "installment_commitment": 1},
    "surgical-deepnet": {"Age": 1, "asa_status": 1, "baseline_charlson": 1, "complication_rsi": 1, "mortality_rsi": 1},
}
N_LABELS = (100, 300, 1000)
N_ROWS = 6000
COLUMNS = ["table", "labels", "draw", "method", "auc", "seconds"]


def load(name):
    """At most 6,000 rows, and 1 for the positive class."""
    data, y = binary(name)
    rows = np.random.default_rng(0).permutation(len(y))[:N_ROWS]
    return data.iloc[rows].reset_index(drop=True), y[rows]


def draw_labels(y, n, seed):
    """Whether each row is labeled, at random with at least five of each class; None if too few rows are left."""
    if n > 0.7 * len(y):
        return None
    rng = np.random.default_rng(seed)
    while True:
        labeled = np.zeros(len(y), dtype=bool)
        labeled[rng.permutation(len(y))[:n]] = True
        if min(np.bincount(y[labeled], minlength=2)) >= 5:
            return labeled


def ours(X, y, labeled, monotone):
    """Scores of the unlabeled rows by the additive method that `fit --method scorecard` chooses."""
    few = pd.Series(np.where(labeled, y, -1)).map({0: "no", 1: "yes"})
    methods = ["additive boosting", "long additive boosting"]
    auto = AutoClassifier(methods, interpretable=True, monotone=monotone, random_state=0)
    model = TableClassifier(auto, positive="yes", random_state=0).fit(X, few)
    return model.decision_function(X[~labeled])


def run_rivals(python, X, y, labeled):
    """Scores of the unlabeled rows and seconds, by method, from the other environment."""
    with tempfile.TemporaryDirectory() as folder:
        task = Path(folder, "task.parquet")
        X.assign(__y=y, __labeled=labeled).to_parquet(task)
        subprocess.run([python, str(RIVALS), str(task), str(Path(folder, "scores.parquet"))], check=True)
        scores = pd.read_parquet(Path(folder, "scores.parquet"))
    return {name: (scores[name].to_numpy(), scores[f"{name} seconds"].iloc[0]) for name in scores.columns[::2]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--rivals", help="the Python of the environment with the rivals")
    options = parser.parse_args()
    done = pd.read_csv(OUT) if OUT.exists() else pd.DataFrame(columns=COLUMNS)
    known = set(map(tuple, done[["table", "labels", "draw", "method"]].to_numpy()))
    for draw in range(options.draws):
        for name, signs in SIGNS.items():
            X, y = load(name)
            for n in N_LABELS:
                labeled = draw_labels(y, n, 1000 * draw + n)
                if labeled is None:
                    continue
                found = {}
                for method, monotone in (("fewlabel", None), ("fewlabel, monotone", signs)):
                    if (name, n, draw, method) not in known:
                        start = time.process_time()
                        scores = ours(X, y, labeled, monotone)
                        found[method] = scores, time.process_time() - start
                if options.rivals and (name, n, draw, "EBM") not in known:
                    found |= run_rivals(options.rivals, X, y, labeled)
                rows = []
                for method, (scores, seconds) in found.items():
                    rows.append([name, n, draw, method, roc_auc_score(y[~labeled], scores), seconds])
                new = pd.DataFrame(rows, columns=COLUMNS).round({"auc": 5, "seconds": 2})
                new.to_csv(OUT, mode="a", header=not OUT.exists(), index=False)
    runs = pd.read_csv(OUT)
    print(runs.pivot_table(index="labels", columns="method", values="auc").round(4).to_string())
    print(runs.pivot_table(index="table", columns="method", values="auc").round(4).to_string())


if __name__ == "__main__":
    main()
