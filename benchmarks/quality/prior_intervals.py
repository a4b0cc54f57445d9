"""How often the 90% interval of `estimate_class_prior` contains the true share of positives among the unlabeled rows.

python -m benchmarks.quality.prior_intervals [draws]
python -m benchmarks.quality.prior_intervals shapes [draws]
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
            random_state=np.random.RandomState(seed),
        )
        if method == "energy":  # a tenth of the unlabeled rows gets a label
            y = np.where((y == -1) & (np.random.default_rng(seed).random(len(y)) < 0.1), true, y)
        found = estimate_class_prior(X, y, method, random_state=seed)
        hits.append(found.low <= true[y == -1].mean() <= found.high)
        widths.append(found.high - found.low)
    return np.mean(hits), np.mean(widths)


SHAPES = {
    "skewed": lambda rng, n, positive, shift: rng.exponential(size=(n, 5)) + shift,
    "heavy tails": lambda rng, n, positive, shift: rng.standard_t(2.5, size=(n, 5)) + shift,
    "wide positives": lambda rng, n, positive, shift: rng.normal(size=(n, 5)) * (2 if positive else 1) + shift,
    "wide negatives": lambda rng, n, positive, shift: rng.normal(size=(n, 5)) * (1 if positive else 2) + shift,
    "ties": lambda rng, n, positive, shift: np.round(rng.normal(size=(n, 5)) + shift),
    "two groups": lambda rng, n, positive, shift: (
        shift * np.where(rng.random(n) < 1 / 3, -1, 1)[:, None] + rng.normal(size=(n, 5))
    ),
}


def coverage_of_shape(n_draws, shape, prior, n_positives=100, n_unlabeled=600, separation=2.0):
    """As `coverage`, for classes of other shapes, `separation` apart."""
    hits, widths = [], []
    for seed in range(n_draws):
        rng = np.random.default_rng(seed)
        n_hidden = rng.binomial(n_unlabeled, prior)
        groups = (n_positives, True), (n_hidden, True), (n_unlabeled - n_hidden, False)
        shift = separation / np.sqrt(5)
        X = np.concatenate([SHAPES[shape](rng, n, positive, shift * positive) for n, positive in groups])
        y = np.repeat([1, -1], [n_positives, n_unlabeled])
        found = estimate_class_prior(X, y, random_state=seed)
        hits.append(found.low <= n_hidden / n_unlabeled <= found.high)
        widths.append(found.high - found.low)
    return np.mean(hits), np.mean(widths)


def show_shapes(n_draws):
    warnings.simplefilter("ignore", PriorWarning)
    print("| shape | prior | coverage | mean width |")
    print("| --- | --- | --- | --- |")
    for shape, prior in product(SHAPES, (0.1, 0.6)):
        share, width = coverage_of_shape(n_draws, shape, prior)
        print(f"| {shape} | {prior} | {share:.2f} | {width:.2f} |", flush=True)


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
    if sys.argv[1:2] == ["shapes"]:
        show_shapes(int(sys.argv[2]) if len(sys.argv) > 2 else 15)
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
