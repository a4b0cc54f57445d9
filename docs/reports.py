"""Write the four example reports of the site: python docs/reports.py docs/_reports/reports

The data ship with scikit-learn or are generated, so that the same pages come out everywhere. `make docs` runs it.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

import fewlabel
from fewlabel import AutoClassifier, TableClassifier, hide_labels
from fewlabel.decisions import Costs
from fewlabel.reporting import summarize, write
from fewlabel.reporting.demo import breast_cancer
from fewlabel.tables import choose_threshold


def credit_default():
    """Loans, generated: 1 default in 20, numbers in correlated blocks, a category, gaps."""
    values, _, y = fewlabel.make_multiview_credit(4000, return_true=True, random_state=0)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(values, columns=[f"measure {j}" for j in range(values.shape[1])])
    risky = np.where(rng.random(len(y)) < 0.5, y, 0) == 1
    X["purpose"] = np.where(risky, "car", rng.choice(["car", "house", "studies", "travel"], len(y)))
    outcome = pd.Series(np.where(y == 1, "default", "repaid"), name="outcome", dtype=object)
    few = hide_labels(outcome, labeled=600, random_state=0)
    return "Credit default", X, few, dict(positive="default"), dict(costs=Costs(miss=500, alarm=50))


def fraud():
    """Payments, generated: 30% of the frauds are known, and nothing is known to be honest."""
    X, y, _ = fewlabel.make_pu(4000, prior=0.05, labeled=0.3, separation=3.0, return_true=True, random_state=0)
    X = pd.DataFrame(X, columns=[f"signal {j}" for j in range(X.shape[1])])
    few = pd.Series(np.where(y == 1, "fraud", None), name="investigation", dtype=object)
    return "Fraud, from known frauds only", X, few, {}, dict(review=100)


def diagnosis():
    """Tumors: 40 of 398 have a diagnosis."""
    table = breast_cancer(labeled=0.1, seed=0)
    return "Diagnosis: 40 labeled tumors of 398", table.X_train, table.y_train, {}, dict(precision=0.9)


def many_classes():
    """Ten digits, 200 labels."""
    data = load_digits(as_frame=True)
    few = pd.Series(hide_labels(data.target.to_numpy(), labeled=200, random_state=0), name="digit")
    return "Ten digits, 200 labels", data.data, few.map(lambda k: None if k < 0 else f"digit {k}"), {}, None


REPORTS = {
    "credit-default": credit_default,
    "fraud": fraud,
    "diagnosis": diagnosis,
    "many-classes": many_classes,
}


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in REPORTS.items():
        title, X, y, options, threshold = make()
        model = TableClassifier(AutoClassifier("small", n_repeats=1, random_state=0), random_state=0, **options)
        table = model.encode(X, y)
        model.fit_encoded(table)
        decision = None if threshold is None else choose_threshold(model, table, **threshold)
        command = "python docs/reports.py docs/_reports/reports"
        write(summarize(model, X, table, title=title, command=command, decision=decision), folder / f"{name}.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
