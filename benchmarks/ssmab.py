"""The thesis's Table 5.2, rerun: SSMAB and its rivals with a weak tree and 10% of the labels, beside what it prints.

Ten random 75/25 splits; 10% of the training labels are kept, at least one a class. The base classifier is a decision
tree with at least 20 rows a leaf; "tree" and "SAMME" see the labelled rows alone. Categories are one-hot, gaps are
filled with the median of the training part.

    FEWLABEL_DATA=/path/to/data python benchmarks/ssmab.py [--draws 10] [--sets wine,iris]
"""

import argparse
import os
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.tree import DecisionTreeClassifier

import fewlabel

PUBLISHED = tomllib.loads((Path(__file__).parent / "ssmab.toml").read_text())
SETS = "wine,iris,optdigits,pendigits,vote,ionosphere,sonar,dermatology,soybean,letter"


def load(name):
    table = pd.read_parquet(Path(os.environ["FEWLABEL_DATA"]) / f"{name}.parquet")
    y = pd.factorize(table.pop("target").astype(str), sort=True)[0]
    return pd.get_dummies(table, dtype=float).to_numpy(dtype=float), y


def methods(seed):
    tree = DecisionTreeClassifier(min_samples_leaf=20, random_state=seed)
    yield "tree", tree, False
    yield "SAMME", AdaBoostClassifier(tree, n_estimators=30, random_state=seed), False
    yield "ASSEMBLE", fewlabel.AssembleClassifier(tree, random_state=seed), True
    yield "ASSEMBLE, resampled", fewlabel.AssembleClassifier(tree, resample=True, random_state=seed), True
    yield "SSMAB", fewlabel.SemiSupervisedAdaBoostClassifier(tree, random_state=seed), True
    yield "SSMAB, damped", fewlabel.SemiSupervisedAdaBoostClassifier(tree, update="damped", random_state=seed), True
    yield "1-NN", make_pipeline(MinMaxScaler(), KNeighborsClassifier(1)), False
    yield "random forest", RandomForestClassifier(random_state=seed), False


def run(name, X, y, draw):
    train, test = train_test_split(np.arange(len(y)), test_size=0.25, random_state=draw, stratify=y)
    few = fewlabel.hide_labels(y[train], labeled=0.1, random_state=draw)
    imputer = SimpleImputer(strategy="median", keep_empty_features=True).fit(X[train])
    rows, tests = imputer.transform(X[train]), imputer.transform(X[test])
    known = few != fewlabel.UNLABELED
    results = []
    for method, model, semi in methods(draw):
        part = slice(None) if semi else known
        try:
            model.fit(rows[part], few[part])
        except (
            ValueError
        ):  # scikit-learn's SAMME refuses a base classifier no better than chance; it then is all there is
            model = model.estimator.fit(rows[part], few[part])
        results.append((name, draw, method, 100 * np.mean(model.predict(tests) == y[test])))
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--sets", default=SETS)
    arguments = parser.parse_args()
    if not os.environ.get("FEWLABEL_DATA"):
        sys.exit("skipped: set FEWLABEL_DATA to a folder with wine.parquet, iris.parquet, ...")
    names = arguments.sets.split(",")
    cells = [delayed(run)(name, *load(name), draw) for name in names for draw in range(arguments.draws)]
    results = [row for cell in Parallel(arguments.jobs)(cells) for row in cell]
    results = pd.DataFrame(results, columns=["set", "draw", "method", "accuracy"])
    table = results.pivot_table(index="set", columns="method", values="accuracy", sort=False)
    for k, method in enumerate(PUBLISHED["columns"]):
        table[f"{method}, thesis"] = [PUBLISHED["table52"].get(name, [np.nan] * 4)[k] for name in table.index]
    print(table.to_markdown(floatfmt=".2f"))
    beaten = {rival: int((table[rival] < table["SSMAB"]).sum()) for rival in ("tree", "1-NN", "random forest")}
    told = ", ".join(f"{rival} on {n}" for rival, n in beaten.items())
    print(f"\nOf {len(table)} sets SSMAB is better than {told}. {arguments.draws} draws.")


if __name__ == "__main__":
    main()
