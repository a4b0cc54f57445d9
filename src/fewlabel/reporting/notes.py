"""What a person should know before relying on the model, and how its table was read."""

from fewlabel.auto import AutoClassifier
from fewlabel.tables import TableClassifier
from fewlabel.text import short
from fewlabel.types import PlainDict

_MOST_NAMED = 5
_FEW = 30  # labels of a class


def table_notes(model: TableClassifier) -> list[str]:
    """How the table was read, and suspected leaks; known before the fit."""
    return [*reading_notes(model), *_leaks(model)]


def reading_notes(model: TableClassifier) -> list[str]:
    """Notes on dropped columns, and on notations of numbers and dates."""
    notes = []
    dropped = model.encoder_.dropped_
    for reason in dict.fromkeys(dropped.values()):
        notes.append(f"dropped ({reason}): {_names_with(reason, dropped)}")
    notations = model.encoder_.notations_
    for notation in dict.fromkeys(notations.values()):
        notes.append(f"numbers or dates are read like {notation}: {_names_with(notation, notations)}")
    return notes


def _leaks(model: TableClassifier) -> list[str]:
    notes = []
    for name, reason in list(model.leaks_.items())[:_MOST_NAMED]:
        notes.append(
            f"column {short(name)!r} {reason}: if it is filled in after the label is known, fit again without it "
            "(--drop)"
        )
    return notes


def method_notes(model: TableClassifier) -> list[str]:
    """Notes on an additive choice, copies of rows and methods left out."""
    auto = model.estimator_
    additive = [] if auto.additive_choice_ is None else [auto.additive_choice_.text]
    return [*additive, *_copies(auto), *left_out_notes(auto)]


def left_out_notes(auto: AutoClassifier) -> list[str]:
    """Methods that were left out, by their reasons."""
    notes = []
    for status, rows in auto.leaderboard_.query("status != 'ok'").groupby("status", sort=False):
        notes.append(f"left out ({status}): {', '.join(rows['method'])}")
    return notes


def _copies(auto: AutoClassifier) -> list[str]:
    if not auto.n_copies_:
        return []
    return [
        f"{auto.n_copies_} labeled rows are exact or near duplicates of others: they are on one side of every split"
    ]


def cautions(model: TableClassifier, data: PlainDict, selection: PlainDict) -> list[str]:
    """What matters before the model is relied on: label count, how labels arose, leaks, groups.

    Parameters
    ----------
    model : TableClassifier
        Fitted, with an AutoClassifier as its estimator.
    data, selection : dict
        Of the summary.

    Returns
    -------
    list of str
    """
    auto = model.estimator_
    return [*_few_labels(data), *_how_labels_arose(auto, data, selection), *_leaks(model), *_splits(auto)]


def _few_labels(data: PlainDict) -> list[str]:
    rarest = min(data["labeled_by_class"], key=lambda name: data["labeled_by_class"][name])
    count = data["labeled_by_class"][rarest]
    if count >= _FEW:
        return []
    return [f"only {count} labels are {short(rarest)}: the choice of methods and the probabilities rest on them"]


def _how_labels_arose(auto: AutoClassifier, data: PlainDict, selection: PlainDict) -> list[str]:
    if data["unlabeled"] == 0:
        return ["every row is labeled: the figures are for new rows like these"]
    if auto.prior_ is not None:
        return [f"the figures are true if the labeled {short(data['positive'])} are typical of all of them"]
    if selection["chosen"]:
        return []  # said beside the headline
    return [
        "labels look like a random sample by the columns of this table; if they were chosen by something that is not "
        "in it, the figures are for rows like the labeled ones"
    ]


def _splits(auto: AutoClassifier) -> list[str]:
    notes = _copies(auto)
    if "groups" not in auto.model_.about["split_by"]:
        notes.append(
            "rows are taken to be independent: if several are of one patient, customer or device, fit with --groups, "
            "or the figures are too high"
        )
    return notes


def _names_with(value: str, columns: dict[str, str]) -> str:
    """The first columns that have a value, as text."""
    names = [short(name) for name, other in columns.items() if other == value]
    text = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        text += f" and {len(names) - _MOST_NAMED} more"
    return text
