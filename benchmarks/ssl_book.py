"""Paths or label spreading, chosen by labels alone, beside scikit-learn's LabelSpreading tuned on the same labels.

FEWLABEL_DATA=folder python benchmarks/ssl_book.py [--out FILE.csv]

Seven sets of the semi-supervised benchmark, 12 official splits with 10 and with 100 labeled rows; error on the
unlabeled rows, in percent. Every choice is by the accuracy in five folds of the labeled rows, hidden in
turn. On Text, counts of words, all methods use the cosine distance. The file is resumed.
"""

import argparse
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

import fewlabel
from fewlabel.bench.papers.paths import SUITE, Labeled

SETS = ("Digit1", "USPS", "COIL", "BCI", "g241c", "g241d", "Text")
N_FOLDS = 5


class SharedGraph:
    """Mixin: the graph depends on the rows alone, so that it is built once for all splits and folds of a set."""

    searches: dict = {}

    def _make_search(self):
        key = self.metric
        if key not in self.searches:
            search = super()._make_search()
            found = search.graph()
            search.graph = lambda: found
            self.searches[key] = search
        return self.searches[key]


class Paths(SharedGraph, fewlabel.PathNeighborsClassifier):
    pass


class Spreading(SharedGraph, fewlabel.LabelSpreadingClassifier):
    pass


def transduce(model, X, few):
    return model.fit(X, few).transduction_


def folds(few, seed):
    """The fold of each labeled row, stratified; -1 for the others."""
    known = np.random.default_rng(seed).permutation(np.flatnonzero(few >= 0))
    known = known[np.argsort(few[known], kind="stable")]
    fold = np.full(len(few), -1)
    fold[known] = np.arange(len(known)) % N_FOLDS
    return fold


def out_of_fold(fit, few, fold):
    """Share of the labeled rows that `fit(few)`, the classes of all rows, gets right without their labels."""
    right = 0
    for f in range(N_FOLDS):
        rest = np.where(fold == f, -1, few)
        if len(np.unique(rest[rest >= 0])) > 1:
            right += np.count_nonzero((fit(rest) == few)[fold == f])
    return right / np.count_nonzero(few >= 0)


def scikit_learns(X):
    """scikit-learn's label spreading: graphs of 5, 10, 20 neighbors, kernels of three widths; two values of alpha."""
    lengths, _ = NearestNeighbors(n_neighbors=10).fit(X).kneighbors()
    matrices = {f"knn {k}": NearestNeighbors(n_neighbors=k).fit(X).kneighbors_graph() for k in (5, 10, 20)}
    products = X @ X.T
    products = products.toarray() if hasattr(products, "toarray") else products
    squares = products.diagonal()
    distances = np.maximum(squares[:, None] + squares - 2 * products, 0)
    for width in (0.25, 0.5, 1.0):
        matrices[f"rbf {width}"] = np.exp(-distances / (2 * (width * np.median(lengths)) ** 2))
    rows = np.arange(X.shape[0])[:, None]

    def fitting(matrix, alpha):
        return lambda few: LabelSpreading(lambda A, B: matrix, alpha=alpha).fit(rows, few).transduction_

    return {f"{name}, alpha {alpha}": fitting(m, alpha) for name, m in matrices.items() for alpha in (0.2, 0.99)}


def run(name, n_labeled, done, n_splits):
    experiment = SUITE.experiments[0]
    metric = "cosine" if name == "Text" else "euclidean"
    theirs = None
    SharedGraph.searches.clear()
    for split in range(n_splits):
        if (name, n_labeled, split) in done:
            continue
        problem = experiment.problem(f"ssl-{name}", Labeled(n_labeled), split)
        X, few = problem.X, problem.few
        theirs = theirs or scikit_learns(normalize(X) if metric == "cosine" else X)
        fold = folds(few, split)
        ours = {
            "paths": partial(transduce, Paths(metric=metric), X),
            "label spreading": partial(transduce, Spreading(metric=metric), X),
        }
        row = {"set": name, "labeled": n_labeled, "split": split}
        for side, methods in (("ours", ours), ("scikit-learn", theirs)):
            evidence = {m: out_of_fold(fit, few, fold) for m, fit in methods.items()}
            chosen = max(reversed(list(evidence)), key=evidence.__getitem__)  # of equal ones the last: label spreading
            for m in ours if side == "ours" else [chosen]:
                wrong = methods[m](few)[problem.test] != problem.y[problem.test]
                row[m if side == "ours" else side] = 100 * wrong.mean()
            row[f"choice of {side}"] = chosen
        yield row


def summary(frame):
    frame = frame.assign(
        chosen=[row[row["choice of ours"]] for _, row in frame.iterrows()],
        hindsight=lambda f: f[["paths", "label spreading"]].min(axis=1),
    )
    columns = ["paths", "label spreading", "chosen", "hindsight", "scikit-learn"]
    for n_labeled, part in frame.groupby("labeled"):
        means = part.groupby("set")[columns].mean().reindex([s for s in SETS if s in set(part["set"])])
        spread = part.assign(d=part["chosen"] - part["scikit-learn"]).groupby("set")["d"]
        error = (spread.std() / np.sqrt(spread.count())).reindex(means.index)
        print(f"\n{n_labeled} labeled rows, {part.groupby('set').size().min()} splits\n")
        print("| | " + " | ".join(columns) + " | chosen less scikit-learn |")
        print("| --- " * (len(columns) + 2) + "|")
        for name, row in means.iterrows():
            difference = f"{row['chosen'] - row['scikit-learn']:+.1f} ± {error[name]:.1f}"
            print(f"| {name} | " + " | ".join(f"{row[c]:.1f}" for c in columns) + f" | {difference} |")
        mean = means.mean()
        print("| mean | " + " | ".join(f"{mean[c]:.1f}" for c in columns) + " | |")
        better = int((means["chosen"] < means["scikit-learn"]).sum())
        print(
            f"\nChosen less hindsight: {mean['chosen'] - mean['hindsight']:.2f} points on the mean; better than ",
            end="",
        )
        print(f"scikit-learn's on {better} of {len(means)} sets.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("ssl_book.csv"))
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--sets", nargs="*", default=SETS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    frame = pd.read_csv(arguments.out) if arguments.out.exists() else pd.DataFrame()
    done = set() if frame.empty else set(frame[["set", "labeled", "split"]].itertuples(index=False, name=None))
    for n_labeled in (10, 100):
        for name in arguments.sets:
            for row in run(name, n_labeled, done, arguments.splits):
                frame = pd.concat([frame, pd.DataFrame([row])], ignore_index=True)
                frame.to_csv(arguments.out, index=False)
    summary(frame)


if __name__ == "__main__":
    main()
