"""A seeded fuzzer of the command line: files as people, spreadsheets and databases write them.

Each case writes a table of random columns, some of them odd, in a random format, and runs check, fit, predict and next.
Allowed outcomes of a command: it works, or one line that names the column or the line of the file. Anything else is a
finding.

    python tests/robustness tables [--cases 1000] [--first 0] [--only lists]
"""

import contextlib
import datetime
import decimal
import gzip
import io
import os
import re
import tempfile
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from fewlabel.auto import curves
from fewlabel.cli.main import app
from fewlabel.exceptions import LabelError, TableError
from robustness.fuzz import limit

SECONDS_A_COMMAND = 300  # also on a busy machine
TARGET = "the label"


def pick(rng, values, n):
    """Values of any type, drawn with replacement."""
    return [values[k] for k in rng.integers(len(values), size=n)]


def sprinkle(rng, odd, usual, n):
    """Mostly usual values, a few odd ones."""
    column = pick(rng, usual, n)
    for k in rng.integers(n, size=max(1, n // 30)):
        column[k] = odd[rng.integers(len(odd))]
    return column


def dates_of(rng, n):
    return [f"20{k % 30:02}-{k % 12 + 1:02}-{k % 28 + 1:02}" for k in rng.integers(1000, size=n)]


NUMBERS = [str(k / 4) for k in range(40)]
# Columns that a CSV file can hold, by what is odd about them: functions of rng and the number of rows.
WRITTEN = {
    "numbers": lambda rng, n: rng.normal(size=n).round(3).tolist(),
    "categories": lambda rng, n: pick(rng, ["a", "b", "c", None], n),
    "dates": dates_of,
    "texts": lambda rng, n: [" ".join(pick(rng, ["red", "blue", "old", "new", "car"], 6)) for _ in range(n)],
    "never": lambda rng, n: sprinkle(rng, ["9999-12-31", "0001-01-01", "0024-05-01"], dates_of(rng, 20), n),
    "all never": lambda rng, n: ["9999-12-31"] * n,
    "never with times": lambda rng, n: sprinkle(
        rng, ["9999-12-31 23:59:59", "1500-01-01 00:00"], [d + " 10:00" for d in dates_of(rng, 20)], n
    ),
    "impossible dates": lambda rng, n: sprinkle(
        rng, ["2024-02-30", "0000-00-00", "2024-13-01", "31.12.99999"], dates_of(rng, 20), n
    ),
    "zones": lambda rng, n: sprinkle(
        rng, ["2024-03-31T02:30:00+02:00", "2024-01-01T00:00:00Z"], ["2024-05-01T10:00:00-05:00"], n
    ),
    "days or months": lambda rng, n: pick(rng, ["03/04/2024", "11/12/2023", "01/02/99"], n),
    "wide digits": lambda rng, n: sprinkle(rng, ["\uff11\uff12", "\uff13"], NUMBERS, n),
    "Arabic digits": lambda rng, n: sprinkle(rng, ["\u0661\u0662", "\u0663\u066b\u0664"], NUMBERS, n),
    "superscripts": lambda rng, n: sprinkle(rng, ["\u00b2", "\u2460", "\u00bd", "\u4e09"], NUMBERS, n),
    "infinite": lambda rng, n: sprinkle(rng, ["inf", "-inf", "1e400", "-1e999"], NUMBERS, n),
    "huge": lambda rng, n: sprinkle(rng, ["1e308", "-1.7e308", "4.9e-324", "9" * 400], NUMBERS, n),
    "big integers": lambda rng, n: [str(2**63 + int(k)) for k in rng.integers(1000, size=n)],
    "units": lambda rng, n: sprinkle(rng, ["12 kg", "$5", "7%", "1,000.5", "-"], [f"{k} kg" for k in range(30)], n),
    "decimal commas": lambda rng, n: pick(rng, ["1,5", "2,25", "1.000,5", "3"], n),
    "hexadecimal": lambda rng, n: pick(rng, ["0x1F", "1_000", "0b1", "1e5", "1d5"], n),
    "gap words": lambda rng, n: sprinkle(rng, ["NA", "N/A", "?", "null", "#N/A", "NaN", "none", "-"], NUMBERS, n),
    "errors of sheets": lambda rng, n: sprinkle(rng, ["#DIV/0!", "#REF!", "=1+1", "@x"], NUMBERS, n),
    "yes and no": lambda rng, n: pick(rng, ["yes", "no", "Yes", "TRUE", "false", "1", "0", "y"], n),
    "empty": lambda rng, n: [None] * n,
    "one value": lambda rng, n: [None] * (n - 1) + ["only"],
    "blank": lambda rng, n: pick(rng, [" ", "  ", "\t", "\u00a0", "\u200b"], n),
    "constant": lambda rng, n: ["same"] * n,
    "all different": lambda rng, n: [f"id-{k}" for k in range(n)],
    "long category": lambda rng, n: sprinkle(rng, ["x" * 500_000, "y" * 500_000], ["short", "long"], n),
    "long texts": lambda rng, n: [f"{k}, " + "word " * (40_000 if k < 2 else 3) for k in range(n)],
    "long digits": lambda rng, n: sprinkle(rng, ["1" * 5000, "0." + "3" * 5000, "1e" + "9" * 50], NUMBERS, n),
    "quotes": lambda rng, n: pick(rng, ['"', 'a "b" c', '""', "'", 'a,"b', "a;b", "a\tb"], n),
    "line breaks": lambda rng, n: pick(rng, ["a\nb", "a\r\nb", "\n", "a\rb", "c"], n),
    "control characters": lambda rng, n: pick(rng, ["a\x01b", "\x1b[31mred", "\x7f", "\x0b", "\x0c", "\x85"], n),
    "directions": lambda rng, n: pick(rng, ["\u202etxt", "\u2066a", "\ufeffb", "e\u0301", "\U0001f600"], n),
    "markup": lambda rng, n: pick(rng, ["<script>alert(1)</script>", "&amp;", "[bold]x[/bold]", "{{x}}", "%s"], n),
    "mixed": lambda rng, n: pick(rng, ["1", "two", "2024-01-01", "True", None, "3,5", "12:30"], n),
    "times": lambda rng, n: pick(rng, ["12:30", "25:00", "1:02:03", "P1D", "3 days", "00:00"], n),
    "leak": lambda rng, n: [str(k) for k in range(n)],
    "numbers, mostly gaps": lambda rng, n: [None if k % 9 else k / 7 for k in range(n)],
}


def decimals(rng, n):
    return [None if k % 7 == 0 else decimal.Decimal(int(k)) / 8 for k in rng.integers(1000, size=n)]


def moments(rng, n):
    far = [datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1), None]
    return pa.array(sprinkle(rng, far, [datetime.datetime(2024, 1, k) for k in range(1, 28)], n), pa.timestamp("us"))


def days(rng, n):
    far = [datetime.date(9999, 12, 31), datetime.date(1, 1, 1), None]
    return pa.array(sprinkle(rng, far, [datetime.date(2024, 1, k) for k in range(1, 28)], n), pa.date32())


def zoned(rng, n):
    seconds = [None if k % 11 == 0 else int(k) for k in rng.integers(2**40, size=n)]
    return pa.array(seconds, pa.timestamp(str(rng.choice(["s", "ms"])), tz=str(rng.choice(["UTC", "Europe/Paris"]))))


def coded(rng, n):
    values = pa.array(pick(rng, [["a", "b", "c"], [1, 2, 3], [1.5, -2.0, 0.0]], 1)[0])
    return pa.DictionaryArray.from_arrays(pa.array(pick(rng, [0, 1, 2, None], n), pa.int8()), values)


# Columns of Parquet and Arrow files.
TYPED = {
    "lists": lambda rng, n: pa.array(pick(rng, [[1, 2], [3], [], None], n)),
    "lists of texts": lambda rng, n: pa.array(pick(rng, [["a"], ["b", None], None], n)),
    "records": lambda rng, n: pa.array(pick(rng, [{"a": 1, "b": "x"}, {"a": 2, "b": None}, None], n)),
    "maps": lambda rng, n: pa.array(
        pick(rng, [[("k", 1)], [("k", 2), ("l", 3)], None], n), pa.map_(pa.string(), pa.int64())
    ),
    "bytes": lambda rng, n: pa.array(pick(rng, [b"\xff\x00", b"a", b"", None], n)),
    "bytes of one length": lambda rng, n: pa.array(pick(rng, [b"\xff\x00", b"ab", None], n), pa.binary(2)),
    "decimals": lambda rng, n: pa.array(decimals(rng, n), pa.decimal128(12, 3)),
    "moments": moments,
    "days": days,
    "zones of a type": zoned,
    "durations": lambda rng, n: pa.array([int(k) for k in rng.integers(-(2**40), 2**40, size=n)], pa.duration("s")),
    "times of day": lambda rng, n: pa.array([datetime.time(int(k)) for k in rng.integers(24, size=n)]),
    "nulls": lambda rng, n: pa.nulls(n),
    "coded": coded,
    "large texts": lambda rng, n: pa.array(pick(rng, ["a", "b", None], n), pa.large_string()),
    "booleans": lambda rng, n: pa.array(pick(rng, [True, False, None], n)),
    "unsigned": lambda rng, n: pa.array([2**64 - 1 - int(k) for k in rng.integers(1000, size=n)], pa.uint64()),
    "halves": lambda rng, n: pa.array(rng.normal(size=n).astype(np.float16)),
    "infinite floats": lambda rng, n: pa.array(pick(rng, [np.inf, -np.inf, np.nan, 1.0, None], n)),
}


def names(rng, n):
    """Labels, of which most are hidden."""
    hidden = rng.random(n) < 0.5
    return np.where(hidden, None, np.where(rng.random(n) < 0.4, "bad", "good")).tolist()


# What may be odd about the labels; the usual ones come most often.
LABELS = {
    "names": names,
    "numbers": lambda rng, n: pick(rng, [0, 1, -1, -1], n),
    "floats with gaps": lambda rng, n: pick(rng, [0.0, 1.0, None], n),
    "positives only": lambda rng, n: pick(rng, ["fraud", None, None], n),
    "three classes": lambda rng, n: pick(rng, ["a", "b", "c", None], n),
    "spellings": lambda rng, n: pick(rng, ["Yes", "yes ", "no", None], n),
    "measurements": lambda rng, n: rng.normal(size=n).tolist(),
    "none": lambda rng, n: [None] * n,
    "all of one class": lambda rng, n: ["bad"] * n,
    "a class of one row": lambda rng, n: ["rare", *pick(rng, ["usual", None], n - 1)],
    "words for gaps": lambda rng, n: pick(rng, ["bad", "good", "unknown", "?", "NA"], n),
    "odd names": lambda rng, n: pick(rng, ["<b>", "=1+1", "\u202ea", "x" * 3000, None, None], n),
    "dates": dates_of,
    "markers alone": lambda rng, n: pick(rng, [1, -1], n),
}
HEADINGS = ["\n", "two\nlines", 'a "b"', "a,b", "", " ", "1", "<script>", "\u202ename", "x" * 3000, "row", "label"]
HEADINGS += ["score", "rank", "fewlabel_sum", "\u00e9t\u00e9", "[red]", "__index_level_0__", "Unnamed: 0", "=1+1"]
FORMATS = ["csv", "tsv", "semicolons", "crlf", "bom", "utf-16", "latin-1", "gz", "parquet", "feather"]
# Faults of the file itself: the error must name the line.
FAULTS = ["short line", "long line", "nul", "open quote", "not utf-8", "header only", "no header", "blank lines"]


def make_case(seed, only=None):
    """Columns by name, in order, the format and the fault of the file, and a sentence that tells of them."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 3, 12, 40, 120], p=[0.03, 0.05, 0.12, 0.4, 0.4]))
    form = str(rng.choice(FORMATS))
    kinds = {**WRITTEN, **TYPED} if form in ("parquet", "feather") else WRITTEN
    drawn = [str(kind) for kind in rng.choice(list(kinds), size=int(rng.integers(1, 5)))]
    if only is not None:
        form = form if only in kinds else "parquet"
        drawn[0] = only
    table = {"plain": rng.normal(size=n).round(3).tolist()} if rng.random() < 0.8 else {}
    for k, kind in enumerate(drawn):
        name = str(rng.choice(HEADINGS)) if rng.random() < 0.2 else f"{kind} {k}"
        table[name] = {**WRITTEN, **TYPED}[kind](rng, n)
    width = 0
    if rng.random() < 0.03:
        width = 5000
        values = rng.normal(size=n).round(2).tolist()
        table |= {f"gene number {k:06} of a long header": values for k in range(width)}
    labels = "names" if rng.random() < 0.6 else str(rng.choice(list(LABELS)))
    table[TARGET] = LABELS[labels](rng, n)
    fault = str(rng.choice(FAULTS)) if rng.random() < 0.12 else ""
    told = f"case {seed}: {drawn}, {n} rows, {form}, labels {labels!r}, columns {[c[:20] for c in table][:8]!r}"
    if width:
        told += f", {width} wide"
    return table, form, fault, told + (f", fault {fault!r}" if fault else "")


def others(seed, table, form):
    """Rows to score: columns of the same names, some of another kind, and fewer of them."""
    rng = np.random.default_rng([seed, 1])
    kinds = {**WRITTEN, **TYPED} if form in ("parquet", "feather") else WRITTEN
    n = len(table[TARGET])
    rows = dict(table)
    for name in table:
        if rng.random() < 0.3:
            rows[name] = kinds[str(rng.choice(list(kinds)))](rng, n)
        elif rng.random() < 0.05:
            del rows[name]
    return rows or table


def write(table, form, fault, folder, stem="rows"):
    """Write the table; its path and the options that a user would give for it."""
    if form in ("parquet", "feather"):
        arrays = [values if isinstance(values, pa.Array) else pa.array(values) for values in table.values()]
        arrow = pa.table(arrays, names=list(table))
        path = folder / f"{stem}.{form}"
        if form == "parquet":
            pq.write_table(arrow, path)
        else:
            pyarrow.feather.write_feather(arrow, path)
        return path, []
    separator = {"tsv": "\t", "semicolons": ";"}.get(form, ",")
    suffix = {"tsv": ".tsv", "gz": ".csv.gz"}.get(form, ".csv")
    end = "\r\n" if form == "crlf" else "\n"
    text = pd.DataFrame(table).to_csv(index=False, sep=separator, lineterminator=end)
    encoding = {"utf-16": "utf-16", "latin-1": "latin-1", "bom": "utf-8-sig"}.get(form, "utf-8")
    data = spoil(text, fault, separator, end).encode(encoding, "replace")
    if fault == "not utf-8":
        data += b"\xff\xfe,\xff" + end.encode()
    path = folder / f"{stem}{suffix}"
    path.write_bytes(gzip.compress(data) if form == "gz" else data)
    return path, ["--encoding", encoding] if encoding in ("utf-16", "latin-1") else []


def spoil(text, fault, separator, end):
    """The text of a file with a fault."""
    if fault == "short line":
        return text + "1" + end
    if fault == "long line":
        return text + separator.join(["1"] * 9000) + end
    if fault == "nul":
        return text + "\x00" + end
    if fault == "open quote":
        return text + '"1' + end
    if fault == "header only":
        return text.split(end)[0] + end
    if fault == "no header":
        return text[text.index(end) + len(end) :]
    if fault == "blank lines":
        return end + text.replace(end, end + end)
    return text


@contextlib.contextmanager
def quick_reports():
    """Learning curves of two points: the rest of a report does not depend on them."""
    usual = curves._SHARES
    curves._SHARES = (0.45, 1.0)
    try:
        yield
    finally:
        curves._SHARES = usual


def run_command(arguments, columns):
    """What is wrong with the outcome of a command, None if nothing is."""
    output, errors = io.StringIO(), io.StringIO()
    try:
        with limit(SECONDS_A_COMMAND), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            app(arguments, standalone_mode=False, prog_name="fewlabel")
    except Exception as error:
        expected = isinstance(error, (TableError, LabelError)) or hasattr(error, "format_message")
        text = error.format_message() if hasattr(error, "format_message") else str(error)
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{arguments[0]}: {type(error).__name__}: {text[:300]} ({Path(where.filename).name}:{where.lineno})"
        if not expected:
            return told
        if not names_a_place(text, columns):
            return f"names no place: {told}"
    return None


def names_a_place(text, columns):
    """Whether an error names a column, a line, or what a file lacks as a whole."""
    if re.search(r"\bline \d|\b\d+ row", text) or "has no rows" in text or "is empty" in text:
        return True
    # A column without a name is shown as pandas calls it; messages have one line.
    names = [name or f"Unnamed: {k}" for k, name in enumerate(columns)]
    shown = [" ".join(name.split())[:20] for name in names]
    return any(repr(name)[1:-1] in text or name in text for name in shown if name)


def run_case(seed, only=None):
    """One case; what was found, an empty list if nothing was."""
    table, form, fault, told = make_case(seed, only)
    method = "small" if seed % 20 == 0 else "logistic-regression"
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), quick_reports():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            path, reading = write(table, form, fault, Path(folder))
            by_target = [path.name, "--target", TARGET, *reading]
            commands = [
                ["check", *by_target],
                ["next", *by_target, "--n", "3", "--out", "ask.csv", "--quiet"],
                ["fit", *by_target, "--method", method, "--jobs", "1", "--quiet"],
            ]
            found = [run_command(words, table) for words in commands]
            if Path("model.fewlabel").exists():
                new, _ = write(others(seed, table, form), form, "", Path(folder), "new")
                for name in (path.name, new.name):
                    words = ["predict", "model.fewlabel", name, "--out", "scores.csv", "--quiet", *reading]
                    found.append(run_command(words, table))
        finally:
            os.chdir(before)
    return [f"{told}\n    {finding}" for finding in found if finding]


def findings(n_cases, first=0, only=None):
    """What is wrong, case by case."""
    for seed in range(first, first + n_cases):
        yield from run_case(seed, only)
