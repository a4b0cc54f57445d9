"""The thesis's Tables 3.2 to 3.4, rerun with the selection inside each fold, and the speed of the subset search.

Stratified folds; the selectors see the training part only. FSCRF and ReliefF have the thesis's M and K, ReliefF takes
as many columns as FSCRF took in that fold. Classifiers: naive Bayes (Gaussian for numbers, categorical for categories)
and scikit-learn's decision tree with at least 2 rows a leaf on one-hot columns (the thesis's is Weka's J48, pruned).

    FEWLABEL_DATA=/path/to/data python benchmarks/selection.py [--repeats 1] [--folds 10] [--sets sonar,soybean]
    python benchmarks/selection.py --speed
"""

import argparse
import os
import resource
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


def supports(X, y, seed, **sample):
    """The columns of each method; `sample` are FSCRF's and ReliefF's parameters."""
    nominal = np.array([c for c in X.columns if not pd.api.types.is_numeric_dtype(X[c])], dtype=object)
    nominal = "auto" if len(nominal) == 0 else nominal
    yield "all", np.ones(X.shape[1], dtype=bool)
    yield "CFS", fewlabel.CorrelationSubsetSelector(nominal_features=nominal).fit(X, y).support_
    yield "LVF", fewlabel.ConsistencySubsetSelector(nominal_features=nominal).fit(X, y).support_
    options = dict(nominal_features=nominal, random_state=seed, **sample)
    fscrf = fewlabel.SubsetReliefSelector(**options).fit(X, y).support_
    yield "Relief", fewlabel.ReliefFSelector(int(fscrf.sum()), **options).fit(X, y).support_
    yield "FSCRF", fscrf


def predictions(kept, numeric, codes, y, train, test, seed=0):
    """Classes of the test rows by naive Bayes and by a tree of the kept columns; the largest class without any."""
    if len(kept) == 0:
        majority = np.full(len(test), np.bincount(y[train]).argmax())
        return majority, majority
    parts = numeric[[c for c in kept if c in numeric]], codes[[c for c in kept if c in codes]]
    return bayes(*parts, y, train, test), tree(*parts, y, train, test, seed)


def run(name, repeats, n_folds):
    X, y = load(name)
    *_, m, k = PUBLISHED["sizes"][name]
    for repeat in range(repeats):
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=repeat).split(X, y)
        for train, test in folds:
            numeric, codes = prepare(X, train)
            for method, support in supports(X.iloc[train], y[train], repeat, max_samples=m, n_neighbors=k):
                found = predictions(X.columns[support], numeric, codes, y, train, test, repeat)
                yield name, method, support.sum(), *(100 * np.mean(classes == y[test]) for classes in found)


def show(results):
    for title, column, key in (
        ("Table 3.2: mean number of columns", "size", "sizes"),
        ("Table 3.3: naive Bayes, accuracy in %", "bayes", "bayes"),
        ("Table 3.4: decision tree, accuracy in %", "tree", "tree"),
    ):
        table = results.pivot_table(index="set", columns="method", values=column, sort=False)[METHODS].astype(float)
        for i, method in enumerate(METHODS):
            published = [PUBLISHED[key][name] for name in table.index]
            if key != "sizes":
                table[f"{method}, thesis"] = [p[i] for p in published]
            elif method != "all":
                place = {"CFS": 0, "LVF": 1, "Relief": 2, "FSCRF": 2}[method]
                table[f"{method}, thesis"] = [float(p[place]) for p in published]
        if len(table) > 1:
            table.loc["mean"] = table.mean()
        print(f"\n### {title}\n\n{table.to_markdown(floatfmt='.1f')}")


def noisy_table(n, d):
    """Uniform columns; every tenth tells a little of the class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.random((n, d))
    X[:, : d // 10] += 0.3 * y[:, None]
    return X, y


def beside_the_reference(n=5_000, d=200, m=200, rounds=10, n_queries=5):
    """CPU seconds of `rounds` steps of the search and of the naive scores of the same candidates, on one thread.

    The naive side is timed on `n_queries` query rows of one candidate of each size, and multiplied up to all `m` query
    rows and all candidates of that size: a score is a sum over query rows, and costs the same for every candidate.
    """
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from reference.selection import subset_score

    X, y = noisy_table(n, d)
    options = dict(stop=None, max_samples=m, random_state=0)
    fewlabel.SubsetReliefSelector(2, **options).fit(X[:50], y[:50])  # compiles
    start = time.process_time()
    model = fewlabel.SubsetReliefSelector(rounds, **options).fit(X, y)
    ours = time.process_time() - start
    values, nominal, naive = (X - X.min(0)) / np.ptp(X, axis=0), np.zeros(d, dtype=bool), 0.0
    for size in range(1, rounds + 1):
        start = time.process_time()
        subset_score(values, nominal, y, model.path_[:size], range(n_queries), 10)
        naive += (time.process_time() - start) / n_queries * m * (d - size + 1)
    print(f"{n:,} x {d:,}, {m} sampled rows, {rounds} columns: {ours:.2f} s of one core")
    print(f"naive reference, extrapolated: {naive:.0f} s, {naive / ours:.0f} times as long", flush=True)


def whole_search(n=20_000, d=1_000):
    """The defaults, to the end of the search."""
    X, y = noisy_table(n, d)
    start, cpu = time.perf_counter(), time.process_time()
    model = fewlabel.SubsetReliefSelector(random_state=0, verbose=1).fit(X, y)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = np.count_nonzero(model.path_ < d // 10)
    print(f"{n:,} x {d:,}, defaults: {len(model.path_)} columns, {found} of the {d // 10} that tell something")
    print(f"{wall:.0f} s, {cpu:.0f} s of one core; peak memory {peak:.0f} MB, the table is {X.nbytes / 2**20:.0f} MB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--sets", default=",".join(PUBLISHED["sizes"]))
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    if arguments.speed:
        beside_the_reference()
        return whole_search()
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
