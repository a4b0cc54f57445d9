"""Classes with one or two labels: kept, merged into one class, or left out."""

import numpy as np
import pandas as pd

from fewlabel.labels._reading import UNLABELED, Labels

_FEWEST = 3  # labels of a class that is not rare
_MERGED = "other"


def treat_rare_classes(labels, how):
    """Merge or drop the classes with one or two labels, if there are three classes or more.

    Parameters
    ----------
    labels : Labels
    how : {"keep", "merge", "drop"}
        Keep them; make one class of them, "other"; or take their rows as unlabeled.

    Returns
    -------
    labels : Labels
    rare : list
        The classes that were merged or dropped.

    Examples
    --------
    >>> from fewlabel.labels import read, treat_rare_classes
    >>> labels, rare = treat_rare_classes(read(["a"] * 3 + ["b"] * 4 + ["c", "d", None]), "merge")
    >>> labels.classes.tolist(), labels.codes[-3:].tolist(), rare
    (['a', 'b', 'other'], [2, 2, -1], ['c', 'd'])
    """
    counts = np.bincount(labels.codes[labels.codes >= 0], minlength=len(labels.classes))
    is_rare = counts < _FEWEST
    if how == "keep" or len(labels.classes) < 3 or not is_rare.any() or (~is_rare).sum() < 2:
        return labels, []
    rare = labels.classes[is_rare].tolist()
    names = labels.classes.astype(object)
    names[is_rare] = _MERGED if how == "merge" else None
    # The merged classes have one new code, dropped ones -1.
    new_codes, kept = pd.factorize(names)
    return Labels(kept, np.append(new_codes, UNLABELED)[labels.codes]), rare
