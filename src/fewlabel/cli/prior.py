"""``fewlabel prior``: the share of positives among the unlabeled rows."""

from typing import TYPE_CHECKING, Annotated

import typer

from fewlabel.cli.options import AsJson, Debug, Quiet, Seed, TableFile, unfold
from fewlabel.cli.reading import Reading, read_labeled
from fewlabel.cli.terminal import print_json, say

if TYPE_CHECKING:
    import numpy as np

    from fewlabel.prior import PriorEstimate

_METHODS = ("auto", "bbe", "dedpul", "km2", "en", "energy")


@unfold()
def prior(
    table: TableFile,
    *,
    reading: Reading,
    method: Annotated[
        str, typer.Option("--method", "-m", metavar="NAME", help=f"One of {', '.join(_METHODS)}.")
    ] = "auto",
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Estimate the share of positives among the unlabeled rows from the labeled positives.

    Labeled rows of other classes count as unlabeled, except with --method energy, which uses them.
    """
    if method not in _METHODS:
        raise typer.BadParameter(f"{method!r} is not one of {', '.join(_METHODS)}", param_hint="--method")
    import numpy as np

    from fewlabel.labels import read_positive
    from fewlabel.tables import TableEncoder

    X, column, notes = read_labeled(table, reading)
    for note in notes:
        say(f"note: {note}", quiet)
    classes, codes, _ = read_positive(column.labels, column.positive)
    features = np.asarray(TableEncoder(dayfirst=reading.day_first, random_state=seed).fit_transform(X))
    found, doubts = _estimate(features, codes, method, seed)
    if as_json:
        print_json(
            {"prior": found.prior, "low": found.low, "high": found.high, "methods": found.methods, "doubts": doubts}
        )
        return
    name = classes[1]
    print(f"{found.prior:.3f} of the unlabeled rows are {name!r} (90% interval {found.low:.3f} to {found.high:.3f})")
    if not quiet:
        print("by method: " + ", ".join(f"{m} {value:.3f}" for m, value in found.methods.items()))
        for doubt in doubts:
            print(f"note: {doubt}")


def _estimate(features: "np.ndarray", codes: "np.ndarray", method: str, seed: int) -> "tuple[PriorEstimate, list[str]]":
    """The estimate, and the warnings that came with it."""
    import warnings

    import numpy as np

    from fewlabel.exceptions import PriorWarning
    from fewlabel.prior import estimate_class_prior

    if method != "energy":
        codes = np.where(codes == 1, 1, -1)
    else:  # which takes no missing values
        features = np.where(np.isnan(features), np.nan_to_num(np.nanmedian(features, axis=0)), features)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", PriorWarning)
        found = estimate_class_prior(features, codes, method, random_state=seed)
    return found, [str(w.message) for w in raised if issubclass(w.category, PriorWarning)]
