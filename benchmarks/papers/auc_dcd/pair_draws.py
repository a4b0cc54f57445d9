"""Why the paper's SDCD and MSGD are poor on the larger sets: pairs drawn with a 15-bit generator.

Jiang et al. (2014) print AUCs of .957 to .964 for SDCD and MSGD on dna, pendigits and letter, where SDCDperm, which
takes the pairs in a random order instead of drawing them, has .985 to .989. On their platform `rand()` returns 0 to
32,767. A pair drawn as ``rand() % k`` is then one of the first 32,768 of k pairs, which have only the first
32,768 / n_- positives. This script runs one pass of each solver with such draws and with draws from all pairs, on the
same folds: 5 folds, raw columns (letter scaled to [-1, 1], as the paper's file is), the best of five penalties by mean
test AUC, as in the paper.

    FEWLABEL_DATA=/path/to/data python -m benchmarks.papers.auc_dcd.pair_draws [--sets dna,pendigits] [--folds 5]
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import MinMaxScaler

from benchmarks.harness import get_suite
from benchmarks.harness.tables import markdown_table
from fewlabel.kernels.linear_auc import Averages, PairRows, coordinate_steps, stochastic_steps

PENALTIES = (1e-7, 1e-5, 1e-3, 1e-1, 10.0)
LARGEST = 1 << 15  # RAND_MAX + 1 of Microsoft's C library
SETS = ("dna", "pendigits", "letter")


def coefficients(solver, rows, positive, alpha, draws, seed):
    """One pass: as many steps as there are pairs."""
    rng = np.random.default_rng(seed)
    of_pairs = PairRows(np.ascontiguousarray(rows), np.flatnonzero(positive), np.flatnonzero(~positive))
    k = len(of_pairs.positives) * len(of_pairs.negatives)
    if draws == "permuted":
        pairs = rng.permutation(k)
    else:
        pairs = rng.integers(k if draws == "all pairs" else min(k, LARGEST), size=k)
    w = np.zeros(rows.shape[1])
    if solver == "msgd":
        stochastic_steps(of_pairs, pairs, w, 0, alpha, False, np.zeros(0))
        return w / k
    none = Averages(np.zeros(0), np.zeros(2))
    coordinate_steps(of_pairs, pairs, np.zeros(k), w, 1 / (alpha * k), False, none, 0.0)
    return w


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--folds", type=int, default=5)
    arguments = parser.parse_args()
    experiment = get_suite("auc-dcd")["Table 2"]
    forms = [
        ("sdcd", "15 bits"),
        ("sdcd", "all pairs"),
        ("msgd", "15 bits"),
        ("msgd", "all pairs"),
        ("sdcd", "permuted"),
    ]
    found = []
    for name in arguments.sets.split(","):
        row = {"set": name}
        aucs = np.zeros((len(forms), len(PENALTIES), arguments.folds))
        for fold in range(arguments.folds):
            problem = experiment.problem(name, experiment.settings[0], fold)
            rows, tests, positive = problem.X[problem.train], problem.X[problem.test], problem.few == 1
            if name == "letter":
                scaler = MinMaxScaler((-1, 1)).fit(rows)
                rows, tests = scaler.transform(rows), scaler.transform(tests)
            row["positives reached of"] = f"{min(LARGEST // (~positive).sum() + 1, positive.sum())} / {positive.sum()}"
            for f, form in enumerate(forms):
                for a, alpha in enumerate(PENALTIES):
                    w = coefficients(form[0], rows, positive, alpha, form[1], fold)
                    aucs[f, a, fold] = roc_auc_score(problem.y[problem.test], tests @ w)
        for f, (solver, draws) in enumerate(forms):
            title = "SDCDperm" if draws == "permuted" else f"{solver.upper()}, {draws}"
            row[title] = f"{aucs[f].mean(axis=1).max():.4f}"
            paper = {"15 bits": solver, "permuted": "sdcd-perm"}.get(draws)
            if paper:
                row[f"{title}, paper"] = f"{experiment.paper(name, experiment.settings[0], paper)[0]:.4f}"
        found.append(row)
        print(markdown_table(pd.DataFrame(found).set_index("set")), flush=True)


if __name__ == "__main__":
    main()
