"""The thesis's Tables 4.2 to 4.5, rerun: NC-T and its rivals on twelve sets, beside the published accuracies.

A quarter of the rows is for testing; of the training labels 20, 40, 60 or 80% are kept. Base classifiers: a network of
radial basis functions (Gaussians on k-means clusters of each class, then logistic regression), and a tree with 2 rows a
leaf (not pruned, unlike J48). "labels only" is the base classifier on the labelled rows. "NC-T, guard" is the default;
the others label every row, NC-T and ICT in at most 10 rounds (the thesis: 10 rows a part and round). "3 bootstraps" is
the vote that tri-training starts from. Gaps are filled with the training median, categories are one-hot.

    FEWLABEL_DATA=/path/to/data python benchmarks/cross_training.py [--base tree] [--draws 3] [--sets wdbc,iris]
"""

import argparse
import os
import sys
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier

import fewlabel

PUBLISHED = tomllib.loads((Path(__file__).parent / "cross_training.toml").read_text())
FILES = {"diabetes": "pima", "german": "credit-g"}
SETS = "bupa,colic,diabetes,german,hypothyroid,ionosphere,iris,kr-vs-kp,sick,tic-tac-toe,vote,wdbc"


class RBFNetwork(ClassifierMixin, BaseEstimator):
    """Gaussians on two k-means clusters of each class, normalised to sum to 1, and logistic regression on them.

    Each Gaussian has a deviation of its own for every column, at least 0.1 of the (standardised) column's.
    """

    def __init__(self, n_centres=2, random_state=None):
        self.n_centres = n_centres
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        clusters = []
        for c in self.classes_:
            rows = X[y == c]
            means = KMeans(min(self.n_centres, len(rows)), n_init=1, random_state=self.random_state).fit(rows)
            clusters += [rows[means.labels_ == k] for k in np.unique(means.labels_)]
        self._centres = np.array([rows.mean(axis=0) for rows in clusters])
        self._deviations = np.array([np.maximum(rows.std(axis=0), 0.1) for rows in clusters])
        self._logs = np.log([len(rows) / len(X) for rows in clusters]) - np.log(self._deviations).sum(axis=1)
        self._top = LogisticRegression(C=100.0, max_iter=200).fit(self._bumps(X), y)
        return self

    def _bumps(self, X):
        parts = zip(self._logs, self._centres, self._deviations)
        return softmax(np.transpose([log - (((X - m) / s) ** 2).sum(axis=1) / 2 for log, m, s in parts]), axis=1)

    def predict_proba(self, X):
        return self._top.predict_proba(self._bumps(X))

    def predict(self, X):
        return self._top.predict(self._bumps(X))


def load(name):
    table = pd.read_parquet(Path(os.environ["FEWLABEL_DATA"]) / f"{FILES.get(name, name)}.parquet")
    y = pd.factorize(table.pop("target").astype(str), sort=True)[0]
    return pd.get_dummies(table, dtype=float).to_numpy(dtype=float), y


def three_self_trainers(base, X, y, tests, seed):
    """Se-T: three self-trainers on thirds of the labelled and unlabelled rows vote."""
    votes = []
    for _, part in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        k = max(10, int(np.ceil((y[part] < 0).sum() / 10)))
        model = SelfTrainingClassifier(clone(base), criterion="k_best", k_best=k, max_iter=None)
        votes.append(model.fit(X[part], y[part]).predict(tests))
    return np.array([np.bincount(vote).argmax() for vote in np.array(votes).T])


def methods(base, seed):
    yield "NC-T", fewlabel.CrossTrainingClassifier(base, stop="exhausted", random_state=seed)
    yield "ICT", fewlabel.CrossTrainingClassifier(base, n_parts=2, stop="exhausted", random_state=seed)
    yield "Co-T", fewlabel.CoTrainingClassifier(base, stop="exhausted", random_state=seed)
    yield "NC-T, guard", fewlabel.CrossTrainingClassifier(base, random_state=seed)
    yield "tri-training", fewlabel.TriTrainingClassifier(base, stop="exhausted", random_state=seed)


def run(base_name, name, X, y, rate, draw):
    warnings.simplefilter("ignore")
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=draw, stratify=y)
    few = fewlabel.hide_labels(y[train], labeled=rate / 100, random_state=draw)
    prepare = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()).fit(X[train])
    rows, tests = prepare.transform(X[train]), prepare.transform(X[test])
    base = RBFNetwork(random_state=draw)
    if base_name == "tree":
        base = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2, random_state=draw)
    known = few != fewlabel.UNLABELED
    predicted = {"labels only": clone(base).fit(rows[known], few[known]).predict(tests)}
    start = fewlabel.TriTrainingClassifier(base, random_state=draw).fit(rows[known], few[known])
    predicted["3 bootstraps"] = start.predict(tests)
    for method, model in methods(base, draw):
        predicted[method] = model.fit(rows, few).predict(tests)
    predicted["Se-T"] = three_self_trainers(base, rows, few, tests, draw)
    return [(base_name, rate, name, draw, method, 100 * np.mean(p == y[test])) for method, p in predicted.items()]


def show(results, base_name, rate):
    here = results[(results.base == base_name) & (results.rate == rate)]
    ours = here.pivot_table(index="set", columns="method", values="accuracy", sort=False)
    columns = PUBLISHED["columns"]
    ours = ours[["labels only", "NC-T, guard", *columns, "tri-training", "3 bootstraps"]]
    published = PUBLISHED[base_name][str(rate)]
    for k, method in enumerate(columns):
        ours[f"{method}, thesis"] = [published[name][k] for name in ours.index]
    ours.loc["mean"] = ours.mean()
    print(f"\n### {base_name}, {rate}% of the labels\n\n{ours.to_markdown(floatfmt='.1f')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", default="rbf,tree")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--rates", default="20,40,60,80")
    parser.add_argument("--sets", default=SETS)
    arguments = parser.parse_args()
    if not os.environ.get("FEWLABEL_DATA"):
        sys.exit("skipped: set FEWLABEL_DATA to a folder with wdbc.parquet, iris.parquet, ...")
    tables = {name: load(name) for name in arguments.sets.split(",")}
    columns = ["base", "rate", "set", "draw", "method", "accuracy"]
    for base_name in arguments.base.split(","):
        for rate in map(int, arguments.rates.split(",")):
            cells = [
                delayed(run)(base_name, name, *table, rate, draw)
                for name, table in tables.items()
                for draw in range(arguments.draws)
            ]
            results = [row for cell in Parallel(arguments.jobs)(cells) for row in cell]
            show(pd.DataFrame(results, columns=columns), base_name, rate)


if __name__ == "__main__":
    main()
