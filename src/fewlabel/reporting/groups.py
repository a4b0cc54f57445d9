"""What the report says about groups of rows, such as men and women."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from fewlabel.decisions import Estimate
from fewlabel.metrics import by_group
from fewlabel.rows import Rows
from fewlabel.tables import TableClassifier
from fewlabel.types import PlainDict

_FIGURES = ("auc", "flagged", "precision", "recall")


def describe_groups(
    model: TableClassifier, rows: Rows, threshold: float, columns: Mapping[str, Any]
) -> list[PlainDict]:
    """Figures of each group of each column, as plain values; None where the labels of a group are too few.

    Parameters
    ----------
    model : TableClassifier
        Fitted to two classes, with an AutoClassifier as its estimator.
    rows : Rows
        What it was fitted to.
    threshold : float
        Rows with a higher score are flagged.
    columns : dict of str to array-like of shape (n_rows,)
        The groups, by the name of the column.
    """
    auto = model.estimator_
    tested = auto.labeled_rows_
    score = auto.decision_function(rows.X)
    score[tested] = auto.out_of_fold_
    weight = np.ones(len(rows))
    if auto.model_.evidence.weight is not None:
        weight[tested] = auto.model_.evidence.weight
    # Labeled rows that no fold tests have only scores of models that were fitted to them.
    kept = rows.codes < 0
    kept[tested] = True
    found = []
    for name, groups in columns.items():
        of_kept = pd.Series(groups).reset_index(drop=True)[kept]
        table = by_group(rows.codes[kept], score[kept], of_kept, threshold=threshold, sample_weight=weight[kept])
        found.append({"column": name, "groups": [_row(group) for group in table.to_dict("records")]})
    return found


def _row(group: PlainDict) -> PlainDict:
    """One row, with each estimate in one piece, None where there is none."""
    row = {name: group[name] for name in ("group", "rows", "labels", "positives")}
    for name in _FIGURES:
        estimate = Estimate.of_columns(group, name)
        row[name] = None if np.isnan(estimate.value) else estimate
    return row
