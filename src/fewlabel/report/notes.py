"""What a person should know about the table and the methods before relying on the model."""

from fewlabel.auto import AutoClassifier
from fewlabel.tables import TableClassifier
from fewlabel.text import short

_MOST_NAMED = 5


def notes_of(model: TableClassifier) -> list[str]:
    """What :func:`table_notes` and :func:`method_notes` say."""
    return [*table_notes(model), *method_notes(model)]


def table_notes(model: TableClassifier) -> list[str]:
    """Notes on dropped columns, notations of numbers and dates, and suspected leaks; known before the fit."""
    notes = []
    dropped = model.encoder_.dropped_
    for reason in dict.fromkeys(dropped.values()):
        notes.append(f"dropped ({reason}): {_names_with(reason, dropped)}")
    notations = model.encoder_.notations_
    for notation in dict.fromkeys(notations.values()):
        notes.append(f"numbers or dates are read like {notation}: {_names_with(notation, notations)}")
    for name, reason in list(model.leaks_.items())[:_MOST_NAMED]:
        notes.append(
            f"column {short(name)!r} {reason}: if it is filled in after the label is known, fit again without it "
            "(--drop)"
        )
    return notes


def method_notes(model: TableClassifier) -> list[str]:
    """Notes on an additive choice, copies of rows and methods left out; none for a single method, fitted with Dask."""
    auto = model.estimator_
    if not isinstance(auto, AutoClassifier):
        return []
    notes = []
    if auto.additive_choice_ is not None:
        notes.append(auto.additive_choice_.text)
    if auto.n_copies_:
        notes.append(
            f"{auto.n_copies_} labeled rows are exact or near duplicates of others: they are on one side of every split"
        )
    for status, rows in auto.leaderboard_.query("status != 'ok'").groupby("status", sort=False):
        notes.append(f"left out ({status}): {', '.join(rows['method'])}")
    return notes


def _names_with(value: str, columns: dict[str, str]) -> str:
    """The first columns that have a value, as text."""
    names = [short(name) for name, other in columns.items() if other == value]
    text = ", ".join(names[:_MOST_NAMED])
    if len(names) > _MOST_NAMED:
        text += f" and {len(names) - _MOST_NAMED} more"
    return text
