"""``fewlabel prior``: how many of the unlabeled rows are positive."""

from typing import Annotated

import typer

from fewlabel.cli.options import (
    AsJson,
    Debug,
    Drop,
    Positive,
    Quiet,
    Seed,
    TableFile,
    Target,
    print_json,
    read_labeled,
)

_METHODS = ("auto", "bbe", "dedpul", "km2", "en", "energy")


def prior(
    table: TableFile,
    target: Target,
    positive: Positive = None,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help=f"One of {', '.join(_METHODS)}.")
    ] = "auto",
    drop: Drop = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate the share of positives among the unlabeled rows, from labeled positives alone.

    Labeled rows of other classes are counted as unlabeled, but for --method energy, which uses them.
    """
    import warnings

    import numpy as np

    from fewlabel.exceptions import PriorWarning
    from fewlabel.prior import estimate_class_prior
    from fewlabel.tables import TableClassifier

    if method not in _METHODS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(_METHODS)}", param_hint="--method")
    X, y, _ = read_labeled(table, target, drop)
    model = TableClassifier(positive=positive, random_state=seed)
    features, codes = model.encode(X, y)
    if method != "energy":
        codes = np.where(codes == 1, 1, -1)
    else:
        features = np.where(np.isnan(features), np.nan_to_num(np.nanmedian(features, axis=0)), features)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", PriorWarning)
        found = estimate_class_prior(features, codes, method, random_state=seed)
    doubts = [str(w.message) for w in raised if issubclass(w.category, PriorWarning)]
    if as_json:
        print_json(
            {"prior": found.prior, "low": found.low, "high": found.high, "methods": found.methods, "doubts": doubts}
        )
        return
    name = model.classes_[1]
    print(f"{found.prior:.3f} of the unlabeled rows are {name!r} (90% interval {found.low:.3f} to {found.high:.3f})")
    if not quiet:
        print("by method: " + ", ".join(f"{m} {value:.3f}" for m, value in found.methods.items()))
        for doubt in doubts:
            print(f"note: {doubt}")
