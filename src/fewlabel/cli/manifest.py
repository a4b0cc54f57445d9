"""The manifest of a fit: who made which model, when, from which rows and how; and whether a fit repeats it."""

import hashlib
import platform
from datetime import UTC, datetime
from getpass import getuser
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from fewlabel.active.answers import TIME, read_answers
from fewlabel.cli.fit import MANIFEST_FORMAT, FitOptions, read_manifest
from fewlabel.cli.options import given_options
from fewlabel.cli.reading import TableRows
from fewlabel.files import sha256
from fewlabel.labels import LabelColumn
from fewlabel.tables import TableDigest
from fewlabel.tables.kinds import as_moments
from fewlabel.types import PlainDict

# Versions on which the bits of a model may depend, where they are installed.
_PACKAGES = ("catboost", "lightgbm", "pyarrow", "scipy", "xgboost", "xgboost-cpu")
# Where results go, and how many threads make them, does not change them.
_WITHOUT_EFFECT = ("out", "jobs", "scheduler", "as_json", "quiet", "repeated")


def describe_run(
    options: FitOptions, rows: TableRows, column: LabelColumn, digest: TableDigest, summary: PlainDict
) -> PlainDict:
    """The manifest of a fit, without the digest of its model, which is not written yet."""
    return {
        "manifest": MANIFEST_FORMAT,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "user": _user(),
        "machine": platform.node(),
        "command": summary["command"],
        "options": given_options(options, omit=_WITHOUT_EFFECT),
        "seed": options.seed,
        "table": _describe_table(rows, digest),
        "labels": _describe_labels(options, rows, column, summary["data"]),
        "checks": _outcomes(summary),
        "decisions": _decisions(summary),
        "versions": {**summary["versions"], **_more_versions()},
        "platform": f"{platform.system()} {platform.machine()}",
    }


def _user() -> str:
    try:
        return getuser()
    # An account without a name.
    except (KeyError, OSError):
        return "unknown"


def _describe_table(rows: TableRows, digest: TableDigest) -> PlainDict:
    source = rows.source
    files = []
    for path in source.files:
        files.append({"name": str(path), "bytes": path.stat().st_size, "sha256": sha256(path)})
    query_digest = None
    if source.query is not None:
        query_digest = hashlib.sha256(source.query.encode()).hexdigest()
    return {
        "origin": source.origin,
        "query": source.query,
        "query_sha256": query_digest,
        "files": files,
        "rows": len(rows.table),
        "columns": rows.table.shape[1],
        "content_sha256": digest.content,
        "order_sha256": digest.order,
    }


def _describe_labels(options: FitOptions, rows: TableRows, column: LabelColumn, data: PlainDict) -> PlainDict:
    """How many labels there are, and from where and when."""
    is_labeled = column.labels.codes >= 0
    n_of_table = data["labeled"]
    if rows.merged is not None:
        n_of_table -= int((is_labeled & (rows.merged.order >= 0)).sum())
    sources: list[PlainDict] = [{"source": "the table", "labels": n_of_table, "first": None, "last": None}]
    for path in options.reading.answers or ():
        answers = read_answers(path)
        about: PlainDict = {"source": str(path), "sha256": sha256(path), "labels": len(answers)}
        # Sheets of a spreadsheet have no times.
        times = [time for time in answers[TIME] if time]
        about["first"] = min(times, default=None)
        about["last"] = max(times, default=None)
        sources.append(about)
    return {
        "by_class": data["labeled_by_class"],
        "unlabeled": data["unlabeled"],
        "sources": sources,
        "by_month": _by_month(options, rows, is_labeled),
    }


def _by_month(options: FitOptions, rows: TableRows, is_labeled: np.ndarray) -> dict[str, int] | None:
    """Number of labels by the month in which their rows were recorded; None without --time, or if it is no date."""
    if options.time is None:
        return None
    moments = as_moments(rows.table[options.time], dayfirst=options.reading.day_first)
    if moments.dtype.kind != "M":
        return None
    months, counts = np.unique(moments[is_labeled].astype("datetime64[M]"), return_counts=True)
    return dict(zip(map(str, months), counts.tolist()))


def _outcomes(summary: PlainDict) -> list[PlainDict]:
    """What was looked at, and what was found."""
    sample = summary["selection"]["text"] or "every row is labeled"
    data = summary["data"]
    none = "none suspected" if data["enough_for_leaks"] else "none suspected: too few labels to tell"
    leaks = [f"suspected: {name}" for name in data["leaks"]]
    return [
        {"check": "how the table is read", "outcome": summary["notes"]},
        {"check": "labels are a random sample of the rows", "outcome": [sample]},
        {"check": "columns known only after the label", "outcome": leaks or [none]},
        {"check": "what to know before relying on the model", "outcome": summary["cautions"]},
    ]


def _decisions(summary: PlainDict) -> PlainDict:
    """What was decided, by options or by the fit."""
    chosen = {}
    for row in summary["leaderboard"]:
        if row["family"] != "ensemble" and row["weight"]:
            chosen[row["method"]] = row["weight"]
    headline = summary["headline"]
    threshold = None
    decisions = summary["decisions"]
    if decisions is not None:
        threshold = {"rule": decisions["rule"], "score_above": decisions["threshold"]}
    return {
        "positive": summary["data"]["positive"],
        "columns_left_out": summary["data"]["dropped"],
        "methods": chosen,
        "estimates_are_for": headline["population"],
        "headline": {name: headline[name] for name in ("score", "low", "high", "reason")},
        "threshold": threshold,
    }


def _more_versions() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def differences(before: PlainDict, now: PlainDict) -> list[str]:
    """What differs between two fits, in words; the order of causes is that of their likelihood."""
    found = []
    table = before["table"]
    new_table = now["table"]
    if table["content_sha256"] != new_table["content_sha256"]:
        sizes = f"{new_table['rows']} rows, before {table['rows']}"
        found.append(f"the table has other rows, columns or labels ({sizes})")
    elif table["order_sha256"] != new_table["order_sha256"]:
        found.append("the rows come in another order (of a database: add ORDER BY to the query)")
    if table["query_sha256"] != new_table["query_sha256"]:
        found.append("the query is another one")
    found += _changes(_without_places(before["options"]), _without_places(now["options"]), "the default")
    if _digests(before) != _digests(now):
        found.append("other answers in --labels")
    found += _changes(before["versions"], now["versions"], "not installed")
    found += _changes({"the platform": before["platform"]}, {"the platform": now["platform"]}, "")
    return found


def _changes(before: PlainDict, now: PlainDict, missing: str) -> list[str]:
    """What each name stands for that has another value than before."""
    changed = []
    # Options that have their defaults are not in a manifest.
    for name in sorted({*before, *now}):
        old = before.get(name, missing)
        new = now.get(name, missing)
        if old != new:
            changed.append(f"{name} is {new}, before {old}")
    return changed


def _digests(manifest: PlainDict) -> list[Any]:
    return [source.get("sha256") for source in manifest["labels"]["sources"]]


def _without_places(options: PlainDict) -> PlainDict:
    """Options but those that say where the rows are: their content is compared."""
    return {name: value for name, value in options.items() if name not in ("tables", "query", "table", "answers")}


def compare_with(path: Path, now: PlainDict) -> str:
    """One sentence on whether a fit gave the same model as before.

    Raises
    ------
    ValueError
        If it did not: the sentence says what differs.
    """
    before = read_manifest(path)
    causes = differences(before, now)
    listed = "; ".join(causes)
    if before["model"]["sha256"] == now["model"]["sha256"]:
        same = f"the model is that of {path}, bit for bit"
        return f"{same}, although {listed}" if causes else same
    if not causes:
        listed = "table, options and versions are the same, so a time budget or another processor made the difference"
    raise ValueError(f"the model is not that of {path}: {listed}")
