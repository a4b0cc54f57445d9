"""``fewlabel prior``: the share of positives among the unlabeled rows."""

from typing import TYPE_CHECKING, Annotated, Literal, get_args

from fewlabel.cli.next import encoded
from fewlabel.cli.options import AsJson, Quiet, Seed, Tables, option, unfold
from fewlabel.cli.reading import Reading, read_labeled
from fewlabel.cli.terminal import print_json, say_notes

if TYPE_CHECKING:
    import numpy as np

    from fewlabel.cli.reading import TableRows
    from fewlabel.decisions import Estimate
    from fewlabel.prior import PriorEstimate

_Method = Literal["auto", "bbe", "dedpul", "en", "energy"]
_OTHER_LABELS = (
    "the {n} labeled rows of other classes count as unlabeled here. If labels were drawn at random, {share:.1%} of the "
    "rows are {positive!r}, as among the labels, and `fewlabel fit` counts on that"
)


@unfold()
def prior(
    tables: Tables,
    *,
    reading: Reading,
    method: Annotated[_Method, option("NAME", f"One of {', '.join(get_args(_Method))}.", "--method", "-m")] = "auto",
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Estimate the share of positives among unlabeled rows.

    Labeled rows of other classes count as unlabeled, except with --method energy, which uses them, and after an audit,
    whose rows alone count.
    """
    from fewlabel.labels import read_positive

    rows, column, notes = read_labeled(tables, reading)
    say_notes(notes, quiet)
    classes, codes, _ = read_positive(column.labels, column.positive)
    features = encoded(rows, reading, seed)
    estimate, doubts = _estimate(features, codes, method, seed)
    n_negative = int((codes == 0).sum())
    audited = _audited(rows, codes)
    if audited is not None:
        n_audited, by_audit = audited
        estimate = estimate._replace(prior=by_audit.value, low=by_audit.low, high=by_audit.high)
    elif n_negative and method != "energy":
        share = float((codes == 1).sum() / (codes >= 0).sum())
        doubts.append(_OTHER_LABELS.format(n=n_negative, share=share, positive=classes[1]))
    if as_json:
        interval = {"low": estimate.low, "high": estimate.high}
        print_json({"prior": estimate.prior, **interval, "methods": estimate.methods, "doubts": doubts})
        return
    positive = str(classes[1])
    if audited is not None:
        from fewlabel.reporting import audited_text

        print(audited_text(positive, n_audited, by_audit))
    elif n_negative == 0 and method == "auto":
        print(_of_positives(estimate, positive, codes))
    else:
        ends = f"90% interval {estimate.low:.3f} to {estimate.high:.3f}"
        print(f"{estimate.prior:.3f} of the unlabeled rows are {positive!r} ({ends})")
    if audited is None and not quiet:
        by_method = [f"{name} {value:.3f}" for name, value in estimate.methods.items()]
        print("by method: " + ", ".join(by_method))
        for doubt in doubts:
            print(f"note: {doubt}")


def _of_positives(estimate: "PriorEstimate", positive: str, codes: "np.ndarray") -> str:
    """What positives alone tell of the share, in the words of `fewlabel fit`."""
    from fewlabel.population import Selection
    from fewlabel.reporting import share_text

    n_labeled = int((codes == 1).sum())
    selection = Selection.of_positives(n_labeled, estimate.prior * (len(codes) - n_labeled))
    share = share_text(positive, estimate.prior, estimate.high, selection)
    return f"{selection.text}\n{share}".rstrip()


def _audited(rows: "TableRows", codes: "np.ndarray") -> "tuple[int, Estimate] | None":
    """The rows that were drawn with known probability, and the share of positives by these, which `fit` counts on."""
    drawn = None if rows.merged is None else rows.merged.known_probability()
    if drawn is None:
        return None
    import numpy as np

    from fewlabel.population import Selection
    from fewlabel.reporting import audited_share

    is_labeled = codes >= 0
    design = Selection.unknown(int(is_labeled.sum())).by_design(drawn[is_labeled])
    share = float(np.average(codes[is_labeled] == 1, weights=design.weight))
    return design.audited, audited_share(share, design)


def _estimate(features: "np.ndarray", codes: "np.ndarray", method: str, seed: int) -> "tuple[PriorEstimate, list[str]]":
    """The estimate, and the warnings that came with it."""
    import warnings

    import numpy as np

    from fewlabel.exceptions import PriorWarning
    from fewlabel.prior import estimate_class_prior

    if method == "energy":
        # Distances between rows take no missing values; a column without any value says nothing, so any number does.
        medians = np.nan_to_num(np.nanmedian(features, axis=0))
        features = np.where(np.isnan(features), medians, features)
    else:
        codes = np.where(codes == 1, 1, -1)
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", PriorWarning)
        estimate = estimate_class_prior(features, codes, method, random_state=seed)
    doubts = [str(warning.message) for warning in raised if issubclass(warning.category, PriorWarning)]
    return estimate, doubts
