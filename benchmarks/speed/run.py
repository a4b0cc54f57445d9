"""The speed figures that matter, as ratios to peers in the same run; a line of history, a table and a picture.

Every figure is our time divided by the peer's: below 1 we are faster. Both sides take turns, after a warm-up, and the
least time counts, so that the ratios hold on a busy machine. Peers that are not installed are left out.

    python -m benchmarks.speed.run [--quick] [--rows 1000000] [--megabytes 200] [--out FOLDER]

`--quick` is for 200,000 rows and 50 MB, about three minutes of two cores.

`history.jsonl` in the folder gets one line per run, `RESULTS.md` the last table, `speed.png` its picture.
`python -m benchmarks.speed.compare -2 -1` compares the last two runs.
"""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import time
from pathlib import Path

import numpy as np

import fewlabel

THREADS = 2
_SIDES = ("ours", "XGBoost", "LightGBM")
_BEGIN, _END = "<!-- run.py: begin -->", "<!-- run.py: end -->"


def processor_seconds(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def in_turns(sides, repeats):
    """Least processor time of each side; the first turn is a warm-up."""
    turns = [{name: processor_seconds(work) for name, work in sides.items()} for _ in range(repeats + 1)]
    return {name: min(turn[name] for turn in turns[1:]) for name in sides}


def ratios(what, cost, ours):
    return {f"{what} / {name}": cost[ours] / cost[name] for name in cost if name != ours}


def stump_rounds(rows, columns=50):
    from benchmarks.speed import stumps

    X, y, few = stumps.make_table(rows, columns)
    found = {}
    for share in (1.0, 0.3):
        methods = [kind(X, y, few, THREADS, share) for kind in (stumps.OursLabeled, stumps.XGBoost, stumps.LightGBM)]
        cost = dict(zip(_SIDES, (cpu for cpu, _ in stumps.cost_of_rounds(methods, repeats=3).values())))
        found |= ratios(f"round, {rows:,} x {columns}, {share:.0%} of the columns", cost, "ours")
    new = X[: min(rows, 200_000)]
    cost = dict(zip(_SIDES, (cpu for cpu, _ in stumps.cost_of_scoring(methods, new, repeats=3).values())))
    return found | ratios(f"scoring {len(new):,} rows, 500 rounds", cost, "ours")


def small_tables():
    """Whole fits of 100 labeled rows, 100 rounds."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 10))
    y = (X[:, 0] + rng.normal(size=100) > 0).astype(int)
    hist = HistGradientBoostingClassifier(max_iter=100, max_leaf_nodes=2, early_stopping=False)
    ours = fewlabel.PNUAUCBoostClassifier(100, random_state=0)
    sides = {"ours": lambda: ours.fit_ranking(X, y), "scikit-learn": lambda: hist.fit(X, y)}
    if importlib.util.find_spec("lightgbm"):
        import lightgbm

        model = lightgbm.LGBMClassifier(n_estimators=100, num_leaves=2, n_jobs=1, verbosity=-1, min_child_samples=1)
        sides["LightGBM"] = lambda: model.fit(X, y)
    return ratios("fit of 100 x 10, 100 stumps", in_turns(sides, 5), "ours")


def automatic():
    """AutoClassifier at 300 labels and 3,000 unlabeled rows, beside one booster on the labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3300, 20))
    y = np.where(np.arange(3300) < 300, X[:, 0] * X[:, 1] + X[:, 2] + rng.normal(size=3300) > 0, -1).astype(int)
    sides = {"ours": lambda: fewlabel.AutoClassifier(random_state=0).fit(X, y)}
    if importlib.util.find_spec("catboost"):
        from catboost import CatBoostClassifier

        form = dict(thread_count=1, verbose=0, allow_writing_files=False, random_seed=0)
        sides["CatBoost, defaults"] = lambda: CatBoostClassifier(**form).fit(X[:300], y[:300])
    if importlib.util.find_spec("autogluon"):
        import pandas as pd
        from autogluon.tabular import TabularPredictor

        table = pd.DataFrame(X[:300]).add_prefix("x").assign(y=y[:300])
        sides["AutoGluon, defaults"] = lambda: TabularPredictor("y", verbosity=0).fit(table)
    cost = in_turns(sides, 1)
    return {"AutoClassifier, 300 + 3,000 x 20, CPU s": cost["ours"], **ratios("AutoClassifier", cost, "ours")}


def prediction(megabytes):
    from benchmarks.speed import predict

    return {
        f"fewlabel predict, {megabytes} MB / Arrow reads the {found['format']}, per row": found["ratio per row, CPU"]
        for found in predict.table(megabytes, 1)
    }


def waiting():
    """Seconds of processor time that users wait for, without a peer."""
    from benchmarks.speed import hotspots

    names = [hotspots.PRIOR, hotspots.HELP, hotspots.FIT, hotspots.PREDICT]
    return {f"{name}, CPU s": seconds for name, seconds in hotspots.measure(names, hotspots.ROOT)}


def write_results(folder, record):
    """The table between its marks in RESULTS.md, and the picture."""
    lines = [
        f"Run of {record['date']}, {record['machine']}, load {record['load']:.0f}, fewlabel {record['fewlabel']}.",
        "",
    ]
    lines += ["| figure | ours / peer |", "| --- | --- |"]
    lines += [f"| {name} | {value:.3g} |" for name, value in record["figures"].items()]
    text = "\n".join([_BEGIN, *lines, "", "![Ratios to peers](speed.png)", _END])
    page = folder / "RESULTS.md"
    old = page.read_text() if page.exists() else f"# Speed and memory\n\n{_BEGIN}{_END}\n"
    head, rest = old.split(_BEGIN)
    page.write_text(head + text + rest.split(_END)[1])
    draw(record, folder / "speed.png")


def draw(record, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    shown = {name: value for name, value in record["figures"].items() if " / " in name}
    figure, axes = plt.subplots(figsize=(9, 0.35 * len(shown) + 1.2), layout="constrained")
    axes.barh(list(shown), list(shown.values()), color="#4477aa")
    axes.axvline(1.0, color="black", linewidth=1)
    axes.set(xscale="log", xlabel="our time / the peer's (left of the line we are faster)")
    axes.invert_yaxis()
    for k, value in enumerate(shown.values()):
        axes.annotate(f" {value:.2g}", (value, k), va="center", fontsize=8)
    axes.margins(x=0.15)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--megabytes", type=int)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    arguments = parser.parse_args()
    rows = arguments.rows or (200_000 if arguments.quick else 1_000_000)
    megabytes = arguments.megabytes or (50 if arguments.quick else 200)
    figures = {}
    parts = (lambda: stump_rounds(rows), small_tables, automatic, lambda: prediction(megabytes), waiting)
    for part in parts:
        found = part()
        figures |= found
        for name, value in found.items():
            print(f"{name}: {value:.3g}", flush=True)
    record = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="minutes"),
        "fewlabel": fewlabel.__version__,
        "python": platform.python_version(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}",
        "load": os.getloadavg()[0],
        "figures": {name: float(f"{value:.4g}") for name, value in figures.items()},
    }
    arguments.out.mkdir(exist_ok=True)
    with open(arguments.out / "history.jsonl", "a") as file:
        file.write(json.dumps(record) + "\n")
    write_results(arguments.out, record)


if __name__ == "__main__":
    main()
