"""The thesis's Tables 3.2 to 3.4, rerun with the selection inside each fold, and the speed of the subset search.

Stratified folds; the selectors see the training part only. FSCRF and ReliefF have the thesis's M and K, ReliefF takes
as many columns as FSCRF took in that fold. Classifiers: naive Bayes (Gaussian for numbers, categorical for categories)
and scikit-learn's decision tree with at least 2 rows a leaf on one-hot columns (the thesis's is Weka's J48, pruned).

    FEWLABEL_DATA=/path/to/data python benchmarks/selection.py [--repeats 1] [--folds 10] [--sets sonar,soybean]
    python benchmarks/selection.py --speed
"""

import argparse
import os
import sys
import time
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.tree import DecisionTreeClassifier

import fewlabel

PUBLISHED = tomllib.loads((Path(__file__).parent / "selection.toml").read_text())
METHODS = PUBLISHED["methods"]


def load(name):
    table = pd.read_parquet(Path(os.environ["FEWLABEL_DATA"]) / f"{name}.parquet")
    y = pd.factorize(table.pop("target").astype(str), sort=True)[0]
    return table, y


def prepare(X, train):
    """Numbers with gaps filled by the training median, and categories as codes with the gap a code of its own."""
    numeric = X.select_dtypes("number")
    numeric = numeric.fillna(numeric.iloc[train].median()).fillna(0.0)
    nominal = X[[c for c in X.columns if c not in numeric]]
    codes = nominal.apply(lambda c: pd.Series(pd.factorize(c)[0] + 1, index=c.index))
    return numeric, codes


def bayes(numeric, codes, y, train, test):
    """Naive Bayes of both kinds of columns: the log-likelihoods add up, the class prior is counted once."""
    n_classes = y.max() + 1
    prior = np.log(np.bincount(y[train], minlength=n_classes) + 1.0)
    joint = np.tile(prior, (len(test), 1))
    present = np.unique(y[train])
    for model, columns in ((GaussianNB(var_smoothing=1e-6), numeric), (CategoricalNB(min_categories=None), codes)):
        if columns.shape[1]:
            if columns is codes:
                model.set_params(min_categories=codes.max().to_numpy() + 1)
            values = columns.to_numpy()
            model.fit(values[train], y[train])
            own = np.log(np.bincount(y[train])[present] / len(train))
            joint[:, present] += model.predict_joint_log_proba(values[test]) - own
    missing = np.setdiff1d(np.arange(n_classes), present)
    joint[:, missing] = -np.inf
    return joint.argmax(axis=1)


def tree(numeric, codes, y, train, test, seed):
    dummies = pd.get_dummies(codes.astype("category"), dtype=float) if codes.shape[1] else codes
    table = pd.concat([numeric, dummies], axis=1).to_numpy(dtype=float)
    model = DecisionTreeClassifier(min_samples_leaf=2, random_state=seed).fit(table[train], y[train])
    return model.predict(table[test])


def supports(name, X, y, seed):
    *_, m, k = PUBLISHED["sizes"][name]
    nominal = np.array([c for c in X.columns if not pd.api.types.is_numeric_dtype(X[c])], dtype=object)
    nominal = "auto" if len(nominal) == 0 else nominal
    yield "all", np.ones(X.shape[1], dtype=bool)
    yield "CFS", fewlabel.CorrelationSubsetSelector(nominal_features=nominal).fit(X, y).support_
    yield "LVF", fewlabel.ConsistencySubsetSelector(nominal_features=nominal).fit(X, y).support_
    options = dict(n_neighbors=k, max_samples=m, nominal_features=nominal, random_state=seed)
    fscrf = fewlabel.SubsetReliefSelector(**options).fit(X, y).support_
    yield "Relief", fewlabel.ReliefFSelector(int(fscrf.sum()), **options).fit(X, y).support_
    yield "FSCRF", fscrf


def run(name, repeats, n_folds):
    X, y = load(name)
    for repeat in range(repeats):
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=repeat).split(X, y)
        for train, test in folds:
            numeric, codes = prepare(X, train)
            for method, support in supports(name, X.iloc[train], y[train], repeat):
                kept = X.columns[support]
                parts = numeric[[c for c in kept if c in numeric]], codes[[c for c in kept if c in codes]]
                majority = np.full(len(test), np.bincount(y[train]).argmax())
                by_bayes = bayes(*parts, y, train, test) if len(kept) else majority
                by_tree = tree(*parts, y, train, test, repeat) if len(kept) else majority
                yield name, method, support.sum(), 100 * np.mean(by_bayes == y[test]), 100 * np.mean(by_tree == y[test])


def show(results):
    for title, column, key in (
        ("Table 3.2: mean number of columns", "size", "sizes"),
        ("Table 3.3: naive Bayes, accuracy in %", "bayes", "bayes"),
        ("Table 3.4: decision tree, accuracy in %", "tree", "tree"),
    ):
        table = results.pivot_table(index="set", columns="method", values=column, sort=False)[METHODS].astype(float)
        for i, method in enumerate(METHODS):
            published = [PUBLISHED[key][name] for name in table.index]
            if key == "sizes":
                place = {"CFS": 0, "LVF": 1, "Relief": 2, "FSCRF": 2}.get(method)
                table[f"{method}, thesis"] = [np.nan if place is None else p[place] for p in published]
            else:
                table[f"{method}, thesis"] = [p[i] for p in published]
        if len(table) > 1:
            table.loc["mean"] = table.mean()
        print(f"\n### {title}\n\n{table.to_markdown(floatfmt='.1f')}")


def speed(n, d, m, rounds):
    """Seconds of `rounds` steps of the search, and of the naive scores of the same candidates, extrapolated."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from reference.selection import subset_score

    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.random((n, d))
    X[:, : d // 10] += 0.3 * y[:, None]
    options = dict(stop=None, max_samples=m, random_state=0)
    fewlabel.SubsetReliefSelector(2, **options).fit(X[:50], y[:50])  # compiles
    start = time.perf_counter()
    model = fewlabel.SubsetReliefSelector(rounds, **options).fit(X, y)
    ours = time.perf_counter() - start
    print(f"{n} x {d}, {m} sampled rows, {rounds} columns: {ours:.2f} s")
    if n > 5000:
        return
    values, nominal, naive = (X - X.min(0)) / np.ptp(X, axis=0), np.zeros(d, dtype=bool), 0.0
    for size in range(1, rounds + 1):  # two query rows of one candidate of each size stand for all
        subset = [*model.path_[: size - 1], model.path_[size - 1]]
        start = time.perf_counter()
        subset_score(values, nominal, y, subset, [0, 1], 10)
        naive += (time.perf_counter() - start) / 2 * m * (d - size + 1)
    print(f"naive reference, extrapolated: {naive:.0f} s, {naive / ours:.0f} times as long")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--sets", default=",".join(PUBLISHED["sizes"]))
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    if arguments.speed:
        speed(5_000, 200, 200, 10)
        return speed(20_000, 1_000, 300, 5)
    if not os.environ.get("FEWLABEL_DATA"):
        sys.exit("skipped: set FEWLABEL_DATA to a folder with sonar.parquet, soybean.parquet, ...")
    warnings.simplefilter("ignore", UserWarning)
    rows = []
    for name in arguments.sets.split(","):
        start = time.perf_counter()
        rows += run(name, arguments.repeats, arguments.folds)
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
    print(f"fewlabel {fewlabel.__version__}, {arguments.repeats} x {arguments.folds} folds, seeds 0 on")
    return show(pd.DataFrame(rows, columns=["set", "method", "size", "bayes", "tree"]))


if __name__ == "__main__":
    main()
