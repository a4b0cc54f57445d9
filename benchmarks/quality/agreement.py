"""Whether the files of `fewlabel fit` agree: every printed number is one of metrics.json, and figures add up.

FEWLABEL_DATA=folder python -m benchmarks.quality.agreement [--method small] [--out FOLDER]

Twelve tables, each with other options, by the command line. Numbers of the report (text, tables, tips of charts), the
model card and the terminal are looked up in metrics.json. The text, the confusion matrix, the slider, the least cost
and the rows that `fewlabel predict` flags are compared with each other. Charts are read by the numbers on their axes:
curves go through the points of the slider, and the area under the ROC curve is the one of its caption.
"""

import argparse
import contextlib
import io
import itertools
import json
import re
import sys
import tempfile
import zlib
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness.data import table
from fewlabel.cli.main import run

MOST_ROWS = 1500
NUMBER = re.compile(r"(?<![\w.#/-])[+−-]?\d[\d,]*(?:\.\d+)?%?")
# Of the pages' own words and of axes: none of them is an estimate.
WORDS = {"95", "80", "90", "100", "256", "0", "1", "1.0", "0.0", "5", "0.01", "0.05"}
DIGITS = range(5)
PIXEL = 0.01  # of the range of an axis: three pixels
AREA = 0.02  # between forty points of the ROC curve and all of them
# Table, labels, how they are chosen, options.
CASES = {
    "cost": ("credit-g", 120, "random", ["--cost-miss", "5", "--cost-alarm", "1"]),
    "flags everything": ("german.numer", 60, "random", ["--cost-miss", "200", "--cost-alarm", "1"]),
    "review": ("pima", 80, "random", ["--review", "50"]),
    "precision": ("kr-vs-kp", 200, "random", ["--at-precision", "0.8"]),
    "prior": ("default-credit-card", 150, "each class", ["--prior", "0.22"]),
    "positives only": ("mushroom", 60, "positives", []),
    "positives only, review": ("insurance-30pct", 80, "positives", ["--review", "100", "--prior", "0.12"]),
    "many classes": ("dermatology", 60, "random", []),
    "a class with one label": ("autos", 60, "random", []),
    "distribution-free": ("ionosphere", 60, "random", ["--interval", "distribution-free"]),
    "chosen labels": ("surgical-deepnet", 250, "column", ["--report-by", "gender"]),
    "scorecard": ("tic-tac-toe", 100, "random", ["--method", "scorecard", "--review", "30"]),
}


def problem(name, n_labels, how):
    """A table whose column `label` is mostly empty."""
    found = table(name)
    rng = np.random.default_rng(zlib.crc32(f"{name} {how}".encode()))
    rows = rng.permutation(len(found.data))[:MOST_ROWS]
    data = found.data.iloc[rows].reset_index(drop=True)
    target = found.target.iloc[rows].astype(str).reset_index(drop=True)
    # Names without digits: every number that is printed is then a figure.
    kinds = {kind: f"kind {letters(k)}" for k, kind in enumerate(sorted(target.unique()))}
    positive = kinds[str(found.positive)] if len(kinds) == 2 else None
    target = target.map(kinds)
    data.columns = [name if name.isalpha() else f"column {letters(k)}" for k, name in enumerate(map(str, data))]
    if how == "positives":
        labeled = np.flatnonzero(target == positive)[:n_labels]
    elif how == "each class":
        labeled = np.concatenate([np.flatnonzero(target == one)[: n_labels // 2] for one in target.unique()])
    elif how == "column":
        numbers = data.select_dtypes("number")
        strongest = numbers.corrwith(target == positive).abs().idxmax()
        noisy = numbers[strongest] / numbers[strongest].std() + rng.normal(size=len(data))
        labeled = np.argsort(-noisy.to_numpy())[:n_labels]
    else:
        labeled = np.arange(n_labels)
    label = pd.Series(None, index=data.index, dtype=object)
    label.iloc[labeled] = target.iloc[labeled]
    return data.assign(label=label), positive


def letters(number):
    """A number in the letters of the alphabet."""
    more, place = divmod(number, 26)
    return (letters(more - 1) if more else "") + chr(ord("a") + place)


def numbers_in(value):
    """All numbers of a plain dict; texts are left out, because they are what is tested."""
    if isinstance(value, dict):
        yield from itertools.chain.from_iterable(numbers_in(one) for one in value.values())
    elif isinstance(value, list):
        yield from itertools.chain.from_iterable(numbers_in(one) for one in value)
    elif isinstance(value, (int, float)):
        yield float(value)


def spellings(found):
    """How the numbers of metrics.json may be printed."""
    texts = set()
    n_rows = (found["decisions"] or {"rows": 0})["rows"]
    for number in numbers_in(found):
        for digits in DIGITS:
            texts |= {f"{abs(number):.{digits}f}", f"{abs(number):,.{digits}f}", f"{100 * abs(number):.{digits}f}"}
        # Counts of the confusion matrix are shares of the rows.
        texts |= {f"{n_rows * number:.0f}", f"{abs(number):.4g}", f"{abs(number):.3g}"}
    data = found["data"]
    texts |= {f"{100 * data['unlabeled'] / data['rows']:.0f}", str(len(data["classes"])), str(len(found["next_rows"]))}
    # Counts that only a note about the table has.
    texts |= set(re.findall(r"\d[\d,]*(?= (?:labeled )?rows)", " ".join(found["cautions"])))
    for more in (found["certainty"]["more_labels"], (found["learning_curve"] or {}).get("more_labels") or 0):
        texts.add(f"{round(more, -max(len(str(more)) - 2, 0)):,}")
    return texts


def printed(html):
    """What a reader of the page sees, without axes, code, values of the table and the footer; tips of charts, too."""
    tips = " ".join(re.findall(r"<title>(.*?)</title>", html.partition("<body")[2]))
    html = re.sub(r'<td class="values">.*?</td>', " ", html, flags=re.DOTALL)
    html = re.sub(r"<(style|script|svg|pre|code|footer|title)\b.*?</\1>", " ", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", html) + tips)


def unknown_numbers(text, found):
    """Numbers of a text that metrics.json does not have, each with what is around it."""
    known = spellings(found) | WORDS
    for name in (found["versions"]["fewlabel"], found["title"]):
        text = text.replace(name, " ")
    wrong = []
    for match in NUMBER.finditer(text):
        number = match.group().lstrip("+−-").rstrip("%").rstrip(",")
        if number not in known:
            wrong.append(text[max(0, match.start() - 40) : match.end() + 20].replace("\n", " "))
    return wrong


def contradictions(found, html):
    """What does not add up within the decisions of metrics.json, and between them and the slider of the report."""
    decisions = found["decisions"]
    if decisions is None:
        return []
    wrong = []

    def same(what, one, other, digits=4):
        if round(one - other, digits) != 0:
            wrong.append(f"{what}: {one} and {other}")

    estimates = decisions["estimates"]
    # From positives only, there are bands.
    end = "high" if estimates["precision"]["value"] is None else "value"
    values = {name: one[end] for name, one in estimates.items()}
    share = estimates["share"]["value"]
    if end == "value":
        matrix = [values[name] for name in ("true_positive", "false_positive", "false_negative", "true_negative")]
        same("confusion matrix and all rows", sum(matrix), 1.0)
        same("confusion matrix and flagged rows", decisions["rows"] * (matrix[0] + matrix[1]), decisions["flagged"], 1)
        same("share of positives", matrix[0] + matrix[2], decisions["prior"]["value"])
    if decisions["flagged"]:
        same("precision", values["true_positive"] / share, values["precision"])
    slider = json.loads(re.search(r'id="threshold-data">(.*?)</script>', html, flags=re.DOTALL)[1])
    here = [point for point in slider if point["threshold"] == decisions["threshold"]]
    if len(here) != 1:
        return [*wrong, f"the slider has {len(here)} points at the threshold"]
    for name in ("precision", "recall", "lift"):
        same(f"{name} of the slider", here[0][name][2 if end == "high" else 0], values[name])
    if decisions["costs"] is not None and end == "value":
        same("least cost of the chart", min(point["cost"][0] for point in slider), values["cost"])
    return wrong


class Chart:
    """A chart of the report, read as a person does: places by the numbers on the axes.

    Attributes
    ----------
    curves : list of ndarray of shape (n_points, 2)
    dots : ndarray of shape (n_dots, 2)
    threshold : float or None
        Where the vertical line is.
    """

    def __init__(self, svg, log_x=False):
        self._log_x = log_x
        ticks = re.findall(r'<text class="tick" x="([\d.]+)" y="([\d.]+)" text-anchor="(\w+)">([^<]+)<', svg)
        numbers = [(float(x), float(y) - 4, which, float(text.replace("−", "-"))) for x, y, which, text in ticks]
        across = np.array([(x, value) for x, _, which, value in numbers if which == "middle"])
        up = np.array([(y, value) for _, y, which, value in numbers if which == "end"])
        if log_x:
            across[:, 1] = np.log10(across[:, 1])
        # A person reads between the outermost ticks, and expects the others on the line between them.
        self._lines = [np.polyfit(*axis[[0, -1]].T, 1) for axis in (across, up)]
        self.is_even = all(
            np.allclose(np.polyval(line, axis[:, 0]), axis[:, 1], atol=PIXEL * np.ptp(axis[:, 1]))
            for line, axis in zip(self._lines, (across, up))
        )
        self.curves = [self._values(path) for path in re.findall(r'<path class="curve c\d" d="M([^"VZ]+)"', svg)]
        self.dots = self._values("L".join(" ".join(dot) for dot in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', svg)))
        line = re.search(r'<path class="(?:threshold|here)" d="M([\d.]+ [\d.]+)V', svg)
        self.threshold = None if line is None else self._values(line[1])[0, 0]

    def _values(self, points):
        places = np.array([point.split() for point in points.split("L") if point], dtype=float).reshape(-1, 2)
        values = np.column_stack([np.polyval(line, places[:, k]) for k, line in enumerate(self._lines)])
        if self._log_x:
            values[:, 0] = 10 ** values[:, 0]
        return values


def charts_of(html):
    """The charts of a report, by the names they have in the page."""
    found = re.findall(r'<svg class="chart"[^>]*aria-labelledby="([^"]+)".*?</svg>', html, flags=re.DOTALL)
    svgs = re.findall(r'<svg class="chart".*?</svg>', html, flags=re.DOTALL)
    return {name: Chart(svg, log_x=name == "learning-curve") for name, svg in zip(found, svgs)}


def misdrawn(found, html):
    """Charts that do not show the numbers of metrics.json and of the slider."""
    charts = charts_of(html)
    wrong = [f"the ticks of {name} are not even" for name, chart in charts.items() if not chart.is_even]
    learned = found["learning_curve"]
    if "learning-curve" in charts and learned:
        chart = charts["learning-curve"]
        wrong += _apart("learning curve", chart.dots, [*zip(learned["labels"], learned["scores"])])
        if round(chart.threshold / found["data"]["labeled"], 2) != 1:
            wrong.append(f"you are at {chart.threshold:.0f} of {found['data']['labeled']} labels")
    if "calibration" in charts:
        bins = [(one["probability"], one["share"]) for one in found["calibration"]]
        wrong += _apart("calibration", charts["calibration"].dots, bins)
    if found["decisions"] is not None and "decision-1" in charts:
        wrong += _misdrawn_decisions(found, html, charts)
    return wrong


def _apart(name, drawn, values):
    """A text if points are not drawn at their values."""
    values = np.array(values, dtype=float)
    room = PIXEL * np.maximum(np.ptp(values, axis=0), 0.1)
    if len(drawn) == len(values) and (np.abs(drawn - values) <= room).all():
        return []
    return [f"{name} does not go through its points"]


def _misdrawn_decisions(found, html, charts):
    decisions = found["decisions"]
    slider = json.loads(re.search(r'id="threshold-data">(.*?)</script>', html, flags=re.DOTALL)[1])
    shown = {"decision-1": "recall", "decision-2": "precision"}
    if decisions["costs"] is not None:
        shown["decision-3"] = "cost"
    value = {name: np.array([point[name][0] for point in slider]) for name in ("share", *shown.values())}
    wrong = []
    for name, figure in shown.items():
        # A band without a curve has no values.
        if charts[name].curves or value[figure][0] is not None:
            points = np.column_stack([value["share"], value[figure]])
            wrong += _apart(f"{figure} by share", charts[name].curves[0], points)
        if abs(charts[name].threshold - decisions["flagged"] / decisions["rows"]) > PIXEL:
            wrong.append(f"the line of {name} is at {charts[name].threshold:.3f} of the rows")
    if "roc" not in charts:
        return wrong
    points = np.column_stack([value["recall"], value["precision"]])
    wrong += _apart("precision by recall", charts["precision-recall"].curves[0], points)
    false = value["share"] * (1 - value["precision"]) / (1 - decisions["prior"]["value"])
    roc = charts["roc"].curves[0]
    wrong += _apart("ROC curve", roc, [(0.0, 0.0), *zip(false, value["recall"])])
    auc = decisions["auc"]["value"]
    area = np.trapezoid(roc[:, 1], roc[:, 0])
    if abs(area - auc) > AREA:
        wrong.append(f"the area under the ROC curve is {area:.3f}, and {auc:.3f} in the text")
    caption = f"The area under the ROC curve is {auc:.3f}"
    headline = found["headline"]["score"]
    if found["score_name"] == "AUC" and headline is not None:
        caption = rf"{caption} \(\S+ to \S+\); the headline, {headline:.3f}, "
    if re.search(caption, html) is None:
        wrong.append("the caption of the ROC curve has other numbers")
    return wrong


def check(case, folder, method):
    """Fit a case by the command line; what disagrees."""
    name, n_labels, how, options = CASES[case]
    rows, positive = problem(name, n_labels, how)
    folder.mkdir(parents=True)
    path = folder / "rows.csv"
    rows.to_csv(path, index=False)
    if positive is not None:
        options = ["--positive", positive, *options]
    if "--method" not in options:
        options = ["--method", method, *options]
    terminal = io.StringIO()
    with contextlib.redirect_stdout(terminal):
        code = run(["fit", str(path), "--target", "label", *options, "--out", str(folder / "model"), "--quiet"])
    if code != 0:
        return [f"exit code {code}"]
    model = folder / "model"
    found = json.loads((model / "metrics.json").read_text("utf-8"))
    html = (model / "report.html").read_text("utf-8")
    card = (model / "model_card.md").read_text("utf-8")
    # Names, versions and digests; how to repeat the fit.
    card = re.sub(r"^\|[^|]*\|[^|]*\|$|^```.*?```", " ", card, flags=re.MULTILINE | re.DOTALL)
    wrong = []
    for where, text in (
        ("report", printed(html)),
        ("card", card),
        ("terminal", terminal.getvalue().replace(str(folder), " ")),
    ):
        wrong += [f"{where}: {one}" for one in unknown_numbers(text, found)]
    wrong += contradictions(found, html)
    wrong += misdrawn(found, html)
    if found["decisions"] is not None:
        wrong += _predicted(folder, rows, found)
    return wrong


def _predicted(folder, rows, found):
    """Whether `fewlabel predict` flags as many of the unlabeled rows as the report says."""
    rows[rows["label"].isna()].drop(columns="label").to_csv(folder / "new.csv", index=False)
    out = folder / "scores.csv"
    with contextlib.redirect_stdout(io.StringIO()):
        run(
            ["predict", str(folder / "model" / "model.fewlabel"), str(folder / "new.csv"), "--out", str(out), "--quiet"]
        )
    scores = pd.read_csv(out)
    flagged = int((scores["label"].astype(str) == found["data"]["positive"]).sum())
    if flagged == found["decisions"]["flagged"]:
        return []
    return [f"predict flags {flagged} rows, the report says {found['decisions']['flagged']}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", default=list(CASES), metavar="CASE")
    parser.add_argument("--method", default="small")
    parser.add_argument("--out", type=Path, default=None, help="folder that keeps the files")
    options = parser.parse_args()
    n_wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        for case in options.cases:
            wrong = check(case, (options.out or Path(temporary)) / case.replace(" ", "-"), options.method)
            print(f"{case}: {len(wrong)} disagree", *wrong, sep="\n  ", flush=True)
            n_wrong += len(wrong)
    return int(n_wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
