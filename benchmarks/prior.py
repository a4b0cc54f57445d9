"""Mean absolute error of the class-prior estimators over 30 small tables of known prior.

Five kinds of data (5-D Gaussians 1.5 and 3 standard deviations apart with 200 positives, 3 apart with 50; breast
cancer; digits, even against odd), priors 0.1, 0.3 and 0.6, two draws of each. No file is needed.

    python benchmarks/prior.py
"""

import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_digits

from fewlabel import estimate_class_prior
from fewlabel.exceptions import PriorWarning

GAUSSIANS = {"Gauss 1.5": (1.5, 200), "Gauss 3": (3.0, 200), "Gauss 3, 50 positives": (3.0, 50)}
# Mean absolute errors of an earlier prototype on tables of the same kind, for orientation.
PROTOTYPE = {"bbe": 0.044, "dedpul": 0.044, "km2": 0.077, "en": 0.223}


def gaussians(separation, n_p, prior, seed, n_u=1000, d=5):
    rng = np.random.default_rng([seed, int(prior * 10), int(separation * 10), n_p])
    apart = rng.normal(size=d)
    apart *= separation / np.linalg.norm(apart)
    positive = np.arange(n_u) < round(prior * n_u)
    return rng.normal(size=(n_p, d)) + apart, rng.normal(size=(n_u, d)) + np.outer(positive, apart), prior


def from_table(X, y, n_p, n_u, prior, seed):
    """Positives, and unlabeled rows of the given prior, disjoint; fewer rows where the table has no more."""
    rng = np.random.default_rng([seed, int(prior * 10), len(X)])
    positives, negatives = (rng.permutation(np.flatnonzero(y == k)) for k in (1, 0))
    n_negative = min(n_u - round(prior * n_u), len(negatives))
    n_positive = min(round(n_negative * prior / (1 - prior)), len(positives) - n_p)
    n_negative = min(n_negative, round(n_positive * (1 - prior) / prior))
    U = np.r_[positives[n_p : n_p + n_positive], negatives[:n_negative]]
    return X[positives[:n_p]], X[U], n_positive / len(U)


def tables():
    cancer, digits = load_breast_cancer(), load_digits()
    for seed in range(2):
        for prior in (0.1, 0.3, 0.6):
            for name, (separation, n_p) in GAUSSIANS.items():
                yield name, *gaussians(separation, n_p, prior, seed)
            yield "breast cancer", *from_table(cancer.data, cancer.target, 100, 400, prior, seed)
            yield "digits", *from_table(digits.data, (digits.target % 2 == 0).astype(int), 150, 800, prior, seed)


def main():
    warnings.simplefilter("ignore", PriorWarning)
    rows = []
    for name, P, U, prior in tables():
        X, y = np.vstack([P, U]), np.r_[np.ones(len(P)), np.zeros(len(U))]
        auto = estimate_class_prior(X, y, random_state=0)
        answers = {"auto": auto.prior, **auto.methods, "en": estimate_class_prior(X, y, "en", random_state=0).prior}
        covered = auto.low <= prior <= auto.high
        rows.append({"data": name, **{m: abs(a - prior) for m, a in answers.items()}, "interval covers": covered})
    errors = pd.DataFrame(rows)
    table = errors.groupby("data", sort=False).mean()
    table.loc["mean of 30"] = errors.drop(columns="data").mean()
    print(table.to_markdown(floatfmt=".3f"))
    print("\nprototype:", ", ".join(f"{method} {error:.3f}" for method, error in PROTOTYPE.items()))


if __name__ == "__main__":
    main()
