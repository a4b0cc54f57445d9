"""How often the 90% interval of `estimate_class_prior` contains the true share of positives among the unlabeled rows.

python benchmarks/prior_intervals.py [draws]
"""

import sys
import warnings
from itertools import product

import numpy as np

from fewlabel import estimate_class_prior, make_pu
from fewlabel.exceptions import PriorWarning


def coverage(n_draws, method, separation, prior, sizes):
    """Share of the intervals that contain the truth, and their mean width."""
    n_positives, n_unlabeled = sizes
    hits, widths = [], []
    for seed in range(n_draws):
        X, y, true = make_pu(
            n_unlabeled,
            prior=prior,
            labeled=n_positives,
            separation=separation,
            setting="case-control",
            return_true=True,
            random_state=seed,
        )
        if method == "energy":  # a tenth of the unlabeled rows gets a label
            y = np.where((y == -1) & (np.random.default_rng(seed).random(len(y)) < 0.1), true, y)
        found = estimate_class_prior(X, y, method, random_state=seed)
        hits.append(found.low <= true[y == -1].mean() <= found.high)
        widths.append(found.high - found.low)
    return np.mean(hits), np.mean(widths)


def main(n_draws):
    settings = [
        *product(["auto"], (1.0, 2.0, 3.0, 4.5), (0.1, 0.3, 0.6), ((20, 150), (100, 600))),
        *product(["energy"], (1.5, 3.0), (0.1, 0.5), ((100, 400),)),
    ]
    print("| method | separation | prior | positives | unlabeled | coverage | mean width |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    warnings.simplefilter("ignore", PriorWarning)
    for method, separation, prior, sizes in settings:
        share, width = coverage(n_draws, method, separation, prior, sizes)
        row = [method, separation, prior, *sizes, f"{share:.2f}", f"{width:.2f}"]
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
