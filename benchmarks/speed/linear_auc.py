"""Linear AUC: how long the solvers take to the same accuracy. The paper's Table 2 is ``make papers SUITE=auc-dcd``.

Columns scaled to unit variance, alpha = 1e-3. "exact" and SDCDperm stop at their own certified relative duality
gap of 1e-3; MSGD has no tight certificate, so it is stopped at the first pass whose objective is within 1e-3 of the
optimum that "exact" found to 1e-6. LinearSVC and LogisticRegression (scikit-learn, defaults) solve their own
objectives on the same rows. Everything is compiled and warmed up before it is timed; the least of some runs counts.

    FEWLABEL_DATA=/path/to/data python -m benchmarks.speed.linear_auc [--part speed|sparse|wide]
    [--sets sonar,dna] [--big 1000000]
"""

import argparse
import os
import sys
import time
import warnings

import numba
import numpy as np
import pandas as pd
import scipy
import sklearn
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from fewlabel import LinearAUCClassifier
from fewlabel.datasets import load_dataset

ROWS = {"letter": 15_000, "pendigits": 7_494}  # the training parts, as in the paper
SPEED_SETS = ("letter", "pendigits", "dna", "german.numer", "sonar")


def load(name):
    found = load_dataset(name)
    n = ROWS.get(name, len(found.target))
    return found.data.to_numpy(dtype=float)[:n], (found.target == found.positive).astype(int).to_numpy()[:n]


def make_big(n_rows, n_columns=50, seed=0):
    """Rows of which 3.9% are positive, by a logistic model with a squared term that no linear score catches."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    weights = rng.standard_normal(n_columns) / np.sqrt(n_columns)
    log_odds = 1.5 * X @ weights + 0.3 * (X[:, 0] ** 2 - 1) - 4.02
    return X, (rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))).astype(int)


def make_sparse(n_rows=20_000, n_columns=50_000, per_row=100, seed=0):
    """Rows of unit length with non-negative entries, like text; a tenth is positive."""
    rng = np.random.default_rng(seed)
    columns = np.concatenate([np.sort(rng.choice(n_columns, per_row, replace=False)) for _ in range(n_rows)])
    indptr = np.arange(0, n_rows * per_row + 1, per_row)
    values = np.abs(rng.standard_normal(n_rows * per_row))
    X = sparse.csr_matrix((values, columns.astype(np.int32), indptr.astype(np.int32)), shape=(n_rows, n_columns))
    score = X @ rng.standard_normal(n_columns)
    y = (score + 3 * rng.standard_normal(n_rows) > np.quantile(score, 0.9)).astype(int)
    return sparse.csr_matrix(X.multiply(1 / sparse.linalg.norm(X, axis=1)[:, None])), y


def seconds(model, X, y, repeats=3):
    """Least time of some fits, and the model."""
    taken = []
    for _ in range(repeats):
        begin = time.perf_counter()
        model.fit(X, y)
        taken.append(time.perf_counter() - begin)
    return min(taken), model


def seconds_to(solver, X, y, alpha, optimum, passes):
    """Seconds and passes until a relative duality gap, or for "msgd" a relative excess, of 1e-3."""
    try:
        model = LinearAUCClassifier(alpha, solver=solver, max_iter=passes, random_state=0, record_history=True)
        history = model.fit(X, y).history_
    except ValueError as error:
        return f"refused ({str(error).split(' pairs')[0].split(' = ')[-1]} pairs)", np.nan
    rest = history["gap"] if solver != "msgd" else history["objective"] - optimum
    reached = np.flatnonzero(rest <= 1e-3 * history["objective"])
    best = rest[-1] / history["objective"][-1]
    if len(reached):
        return f"{history['seconds'][reached[0]]:.2f} ({reached[0] + 1})", history["seconds"][reached[0]]
    return f"> {history['seconds'][-1]:.1f} ({passes}, at {best:.1e})", history["seconds"][-1]


def speed(sets, big_rows):
    rows = []
    tables = [(name, *load(name)) for name in sets] if os.environ.get("FEWLABEL_DATA") else []
    for name, X, y in [*tables, (f"{big_rows:,} x 50", *make_big(big_rows))]:
        X = scale(X)
        n_pairs = int(y.sum()) * int((1 - y).sum())
        large = len(y) > 100_000
        repeats = 3 if large else 7
        exact, model = seconds(LinearAUCClassifier(n_jobs=2, random_state=0), X, y, repeats)
        optimum = LinearAUCClassifier(tol=1e-6, random_state=0).fit(X, y).objective_
        perm, perm_seconds = seconds_to("sdcd-perm", X, y, 1e-3, optimum, 30)
        msgd, _ = seconds_to("msgd", X, y, 1e-3, optimum, 3 if large else 30)
        svc = seconds(LinearSVC(), X, y, repeats)[0]
        logistic = seconds(LogisticRegression(), X, y, repeats)[0]
        rows.append(
            {
                "set": name,
                "pairs": f"{n_pairs:.2g}",
                "exact, s (steps)": f"{exact:.3f} ({model.n_iter_})",
                "its gap": f"{model.dual_gap_ / model.objective_:.1e}",
                "SDCDperm, s (passes)": perm,
                "times exact": f"{perm_seconds / exact:.1f}",
                "MSGD, s (passes)": msgd,
                "LinearSVC, s": f"{svc:.3f}",
                "LogisticRegression, s": f"{logistic:.3f}",
                "exact / faster": f"{exact / min(svc, logistic):.2f}",
            }
        )
        print(rows[-1], file=sys.stderr)
    print(pd.DataFrame(rows).to_markdown(index=False, disable_numparse=True))


def sparse_speed():
    X, y = make_sparse()
    print(
        f"\nSparse, {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz // X.shape[0]} non-zeros a row, {y.mean():.1%} positive:\n"
    )
    rows = [("LinearSVC(dual=True)", *seconds(LinearSVC(dual=True), X, y))]
    for loss in ("hinge", "squared_hinge"):
        for alpha in (1e-2, 1e-3, 1e-4):
            model = LinearAUCClassifier(alpha, loss=loss, n_jobs=2, random_state=0)
            rows.append((f"exact, {loss}, alpha={alpha:g}", *seconds(model, X, y, 1 if alpha < 1e-3 else 3)))
    table = pd.DataFrame(
        [
            {
                "model": name,
                "s": taken,
                "times LinearSVC": taken / rows[0][1],
                "relative gap": getattr(model, "dual_gap_", np.nan) / getattr(model, "objective_", np.nan),
            }
            for name, taken, model in rows
        ]
    )
    print(table.to_markdown(index=False, floatfmt=".4g"))


def wide_speed(n_rows=600, n_columns=5_000):
    """More columns than rows; twenty columns count. CPU seconds of one thread, the least of five fits each."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    y = (X[:, :20].sum(axis=1) + 3 * rng.standard_normal(n_rows) > 1).astype(int)
    models = {"LinearSVC": LinearSVC(), "exact": LinearAUCClassifier()}
    taken = dict.fromkeys(models, np.inf)
    # In turn, so that both meet the same load.
    for _ in range(5):
        for name, model in models.items():
            begin = time.process_time()
            model.fit(X, y)
            taken[name] = min(taken[name], time.process_time() - begin)
    ratio = taken["exact"] / taken["LinearSVC"]
    seconds_each = ", ".join(f"{name} {least:.3f} s" for name, least in taken.items())
    print(f"\nWide, {n_rows:,} x {n_columns:,}: {seconds_each}, ratio {ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["speed", "sparse", "wide"], action="append")
    parser.add_argument("--sets")
    parser.add_argument("--big", type=int, default=1_000_000)
    arguments = parser.parse_args()
    parts = arguments.part or ["speed", "sparse", "wide"]
    chosen = arguments.sets.split(",") if arguments.sets else None
    print(
        f"Python {sys.version.split()[0]}, NumPy {np.__version__}, SciPy {scipy.__version__}, scikit-learn "
        f"{sklearn.__version__}, Numba {numba.__version__}, {os.cpu_count()} cores\n"
    )
    warm = make_sparse(60, 20, 5), make_big(60, 5)
    for X, y in warm:
        for solver in ("exact", "sdcd", "sdcd-perm", "msgd", "oam-inf"):
            with warnings.catch_warnings(action="ignore"):
                LinearAUCClassifier(solver=solver).fit(X, np.arange(len(y)) % 2)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if "speed" in parts:
        speed(chosen or SPEED_SETS, arguments.big)
    if "sparse" in parts:
        sparse_speed()
    if "wide" in parts:
        wide_speed()


if __name__ == "__main__":
    main()
