"""Time of a round of Ada-PU beside a round of PNU-AUCBoost. Accuracy is ``make papers SUITE=ada-pu``.

python -m benchmarks.speed.pu
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

import fewlabel


def speed(n_rows=175_000, n_columns=39, rounds=200):
    """A round of Ada-PU and of PNU-AUCBoost on the same rows and columns, in turn; the best of seven of each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns))
    y = (X[:, :5].sum(axis=1) + rng.normal(size=n_rows) > 0).astype(int)
    for n_labeled in (1000, n_rows // 2):
        positives = rng.choice(np.flatnonzero(y == 1), min(n_labeled, (y == 1).sum()), replace=False)
        negatives = rng.choice(np.flatnonzero(y == 0), min(1000, n_labeled), replace=False)
        pnu, pu = np.full(n_rows, -1), np.full(n_rows, -1)
        pnu[positives], pnu[negatives], pu[positives] = 1, 0, 1
        for max_features in (1.0, 0.3):
            shared = dict(max_features=max_features, learning_rate=0.05, n_jobs=1, random_state=0)
            models = {
                "PNU-AUCBoost": (fewlabel.PNUAUCBoostClassifier, dict(shared, gamma=0.95), pnu),  # all rows count
                "Ada-PU": (fewlabel.PUAdaBoostClassifier, dict(shared, prior=0.4, stop_risk=0.0), pu),
            }
            # The least time of a short and of a long fit; the least of their differences would reward a slow short one.
            seconds, rounds_run = {}, {}
            for _ in range(7):
                for name, (model, parameters, labels) in models.items():
                    for n in (2, rounds + 2):
                        taken, rounds_run[name, n] = _fit(model(n, **parameters), X, labels)
                        seconds[name, n] = min(seconds.get((name, n), np.inf), taken)
            best = {
                name: 1000
                * (seconds[name, rounds + 2] - seconds[name, 2])
                / (rounds_run[name, rounds + 2] - rounds_run[name, 2])
                for name in models
            }
            told = ", ".join(f"{name} {ms:.2f} ms" for name, ms in best.items())
            print(f"{n_rows:,} x {n_columns}, {len(positives):,} positives, {max_features:.0%} of the columns: {told}")


def _fit(model, X, y):
    """Seconds of the one thread's processor time, and rounds that were run."""
    with threadpool_limits(1):  # threads that wait for the calibration's linear algebra would count as work
        start = time.process_time()
        model.fit(X, y)
        return time.process_time() - start, model.n_iter_


if __name__ == "__main__":
    speed()
