"""Paths or label spreading, chosen by labels alone, beside scikit-learn's LabelSpreading tuned on the same labels.

FEWLABEL_DATA=folder python -m benchmarks.quality.ssl_book [--out FILE.csv]

Seven sets of the semi-supervised benchmark, 12 official splits with 10 and with 100 labeled rows; error on the
unlabeled rows, in percent. Every choice is by the accuracy in five folds of the labeled rows, hidden in
turn. On Text, counts of words, all methods use the cosine distance. The file is resumed, set by set.

scikit-learn's label spreading is linear in the labels: its steps are taken for the labels of all splits and folds at
once, and compared with scikit-learn itself on the first split.
"""

import argparse
import warnings
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading

import fewlabel
from benchmarks.harness.resume import run_missing
from benchmarks.papers.paths.experiment import SUITE, Labeled

SETS = ("Digit1", "USPS", "COIL", "BCI", "g241c", "g241d", "Text")
N_FOLDS = 5


class SharedGraph:
    """Mixin: the graph depends on the rows alone, so that it is built once for all splits and folds of a set."""

    searches: dict = {}

    def _make_search(self):
        key = self.metric, self._n_searched(0)
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


def transduce(model, X, labels):
    """Classes of all rows, for each vector of labels; those of a single class give that class to all."""
    one = [few.max() if len(np.unique(few[few >= 0])) == 1 else None for few in labels]
    rows = [model.fit(X, few).transduction_ if c is None else np.full(len(few), c) for few, c in zip(labels, one)]
    return np.array(rows)


def folds(few, seed):
    """The labels without those of each fold, stratified; and the rows of the folds."""
    known = np.random.default_rng(seed).permutation(np.flatnonzero(few >= 0))
    known = known[np.argsort(few[known], kind="stable")]
    held = [known[f::N_FOLDS] for f in range(N_FOLDS)]
    rest = np.repeat(few[None], N_FOLDS, axis=0)
    for labels, rows in zip(rest, held):
        labels[rows] = -1
    return rest, held


def out_of_fold(found, few, held):
    """Share of the labeled rows that are right in what was found without their labels."""
    return sum(np.count_nonzero((classes == few)[rows]) for classes, rows in zip(found, held)) / sum(map(len, held))


def matrices(X):
    """The graphs of 5, 10, 20 neighbors, and kernels of three widths."""
    lengths, _ = NearestNeighbors(n_neighbors=10).fit(X).kneighbors()
    found = {f"knn {k}": NearestNeighbors(n_neighbors=k).fit(X).kneighbors_graph() for k in (5, 10, 20)}
    products = X @ X.T
    products = products.toarray() if hasattr(products, "toarray") else products
    squares = products.diagonal()
    distances = np.maximum(squares[:, None] + squares - 2 * products, 0)
    for width in (0.25, 0.5, 1.0):
        found[f"rbf {width}"] = np.exp(-distances / (2 * (width * np.median(lengths)) ** 2))
    return found


def scikit_learns(matrix, alpha, labels):
    """The transduction of scikit-learn's LabelSpreading for many vectors of labels: all its steps, for all at once."""
    rows = np.arange(matrix.shape[0])[:, None]
    model = LabelSpreading(lambda A, B: matrix, alpha=alpha).fit(rows, labels[0])
    spread = model._build_graph()
    onehot = labels.T[:, :, None] == np.arange(labels.max() + 1)
    start = onehot.astype(float)
    scores, before, going = start.copy(), np.zeros_like(start), np.ones(len(labels), dtype=bool)
    for _ in range(model.max_iter):
        going &= np.abs(scores - before).sum(axis=(0, 2)) >= model.tol
        if not going.any():
            break
        before[:, going] = scores[:, going]
        moved = spread @ scores[:, going].reshape(len(rows), -1)
        scores[:, going] = alpha * moved.reshape(len(rows), -1, start.shape[2]) + (1 - alpha) * start[:, going]
    found = np.where(onehot.any(axis=0), scores, -1.0).argmax(axis=2).T
    assert (found[0] == model.transduction_).all()
    return found


def run(name, n_labeled, n_splits):
    """A row of results for each split."""
    experiment = SUITE.experiments[0]
    metric = "cosine" if name == "Text" else "euclidean"
    SharedGraph.searches.clear()
    problems = [experiment.problem(f"ssl-{name}", Labeled(n_labeled), split) for split in range(n_splits)]
    X = problems[0].X
    graphs = matrices(normalize(X) if metric == "cosine" else X)
    sides = {
        "ours": {
            "paths": partial(transduce, Paths(metric=metric), X),
            "label spreading": partial(transduce, Spreading(metric=metric), X),
        },
        "scikit-learn": {
            f"{graph}, alpha {alpha}": partial(scikit_learns, matrix, alpha)
            for graph, matrix in graphs.items()
            for alpha in (0.2, 0.99)
        },
    }
    dealt = [folds(problem.few, split) for split, problem in enumerate(problems)]
    labels = np.concatenate([np.vstack([problem.few, rest]) for problem, (rest, _) in zip(problems, dealt)])
    rows = [{"split": split} for split in range(n_splits)]
    for side, methods in sides.items():
        found = {method: find(labels).reshape(n_splits, 1 + N_FOLDS, -1) for method, find in methods.items()}
        for split, (problem, (_, held)) in enumerate(zip(problems, dealt)):
            evidence = {m: out_of_fold(classes[split, 1:], problem.few, held) for m, classes in found.items()}
            chosen = max(reversed(list(evidence)), key=evidence.__getitem__)  # of equal ones the last: label spreading
            rows[split][f"choice of {side}"] = chosen
            for method in methods if side == "ours" else [chosen]:
                wrong = found[method][split, 0][problem.test] != problem.y[problem.test]
                rows[split][method if side == "ours" else side] = 100 * wrong.mean()
    return rows


COLUMNS = ["split", "paths", "label spreading", "choice of ours", "scikit-learn", "choice of scikit-learn"]


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
        print("| | " + " | ".join(columns) + " | chosen minus scikit-learn |")
        print("| --- " * (len(columns) + 2) + "|")
        for name, row in means.iterrows():
            difference = f"{row['chosen'] - row['scikit-learn']:+.1f} ± {error[name]:.1f}"
            print(f"| {name} | " + " | ".join(f"{row[c]:.1f}" for c in columns) + f" | {difference} |")
        mean = means.mean()
        print("| mean | " + " | ".join(f"{mean[c]:.1f}" for c in columns) + " | |")
        better = int((means["chosen"] < means["scikit-learn"]).sum())
        of_set = means["chosen"] - means[["paths", "label spreading"]].min(axis=1)
        print(
            f"\nChosen, above the better one of each set: {of_set.mean():.2f} points on the mean; above that ",
            end="",
        )
        print(
            f"of each split (hindsight): {mean['chosen'] - mean['hindsight']:.2f}; better than scikit-learn's on ",
            end="",
        )
        print(f"{better} of {len(means)} sets.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("ssl_book.csv"))
    parser.add_argument("--splits", type=int, default=12)
    parser.add_argument("--sets", nargs="*", default=SETS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    keys = [(name, n_labeled) for n_labeled, name in product((10, 100), arguments.sets)]
    summary(run_missing(arguments.out, ["set", "labeled"], COLUMNS, keys, partial(run, n_splits=arguments.splits)))


if __name__ == "__main__":
    main()
