"""The long runs of the robustness suite, of which `make test` runs a short form.

python tests/robustness {fuzz,files,metamorphic} [--cases 20000] [--first 0] [--only NAME]
python tests/robustness tables [--cases 1000] [--first 0] [--only KIND]
python tests/robustness {kills,labeling} [--cases 200] [--first 0] [--only NAME]
python tests/robustness coverage [--parts auc paired prior] [--draws 2000]
"""

import argparse
import faulthandler
import sys
import time
from pathlib import Path

sys.path[0] = str(Path(__file__).parents[1])  # the tests, as under pytest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    cases = {"fuzz": 20_000, "files": 20_000, "metamorphic": 20_000, "tables": 1000, "kills": 200, "labeling": 200}
    for name, n_cases in cases.items():
        command = commands.add_parser(name)
        command.add_argument("--cases", type=int, default=n_cases)
        command.add_argument("--first", type=int, default=0)
        command.add_argument("--only", help="one estimator, function, file or job")
        command.add_argument("--child", help=argparse.SUPPRESS)
    command = commands.add_parser("coverage")
    command.add_argument("--parts", nargs="+", choices=("auc", "paired", "prior"), default=["auc", "paired"])
    command.add_argument("--draws", type=int, default=2000)
    options = parser.parse_args()
    faulthandler.enable()
    if options.command == "coverage":
        from robustness import coverage

        coverage.run(options.parts, options.draws)
        coverage.write_page()
        return
    sys.exit(show_findings(options))


def show_findings(options):
    """Print the findings of a fuzzer as they come; whether there are any."""
    if options.command == "fuzz":
        from robustness.fuzz import findings
    elif options.command == "files":
        from robustness.fuzz_files import findings, run_cases

        if options.child:
            run_cases(options.child, options.first, options.first + options.cases)
            return False
    elif options.command == "tables":
        from robustness.odd_tables import findings
    elif options.command == "kills":
        from robustness.kills import findings
    elif options.command == "labeling":
        from robustness.labeling import findings
    else:
        from robustness.metamorphic import findings
    start, n_findings = time.monotonic(), 0
    for finding in findings(options.cases, options.first, options.only):
        n_findings += 1
        print(finding, flush=True)
    print(f"{options.cases} cases, {n_findings} findings, {time.monotonic() - start:.0f} s")
    return bool(n_findings)


if __name__ == "__main__":
    main()
