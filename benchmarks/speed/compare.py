"""Compare two runs of run.py: which figures grew?

    python -m benchmarks.speed.compare OLD NEW [--history FILE] [--tolerance 0.15]

OLD and NEW are positions in the history (0 is the first run, -1 the last), or files with one run as JSON. The exit code
is 1 if a figure grew by more than the tolerance.
"""

import argparse
import json
import sys
from pathlib import Path


def read_run(which, history):
    if Path(which).is_file():
        return json.loads(Path(which).read_text())
    runs = [json.loads(line) for line in Path(history).read_text().splitlines()] if Path(history).exists() else []
    try:
        return runs[int(which)]
    except (ValueError, IndexError):
        sys.exit(f"{which} is neither a file nor a position in {history}, which has {len(runs)} runs")


def compare(old, new, tolerance):
    """Lines of a table, and the figures that grew by more than the tolerance."""
    lines, worse = [], []
    names = [name for name in new["figures"] if name in old["figures"]]
    for name in names:
        before, after = old["figures"][name], new["figures"][name]
        change = after / before
        mark = "slower" if change > 1 + tolerance else "faster" if change < 1 / (1 + tolerance) else ""
        worse += [name] if mark == "slower" else []
        lines.append(f"{name:60s} {before:9.3g} {after:9.3g} {change:7.2f} {mark}".rstrip())
    return lines, worse


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--history", type=Path, default=Path(__file__).parent / "history.jsonl")
    parser.add_argument("--tolerance", type=float, default=0.15)
    options = parser.parse_args(arguments)
    old, new = (read_run(which, options.history) for which in (options.old, options.new))
    lines, worse = compare(old, new, options.tolerance)
    print(f"{'figure':60s} {'old':>9s} {'new':>9s} {'new/old':>7s}  ({old['date']} and {new['date']})")
    print("\n".join(lines))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
