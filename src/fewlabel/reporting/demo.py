"""Data of the demo: a table that ships with scikit-learn, most of its labels hidden."""

from typing import NamedTuple

import pandas as pd

TEST_SHARE = 0.3


class Table(NamedTuple):
    """Training rows with mostly hidden labels, and test rows with all labels."""

    name: str
    source: str
    X_train: pd.DataFrame
    y_train: pd.Series
    X_test: pd.DataFrame
    y_test: pd.Series


def breast_cancer(labeled: float = 0.1, seed: int = 0) -> Table:
    """Load the Wisconsin breast-cancer data with most training labels hidden.

    Parameters
    ----------
    labeled : float, default=0.1
        Share of the training labels to keep.
    seed : int, default=0
        Seed of the split and of the choice of labels.

    Returns
    -------
    Table
        Training rows, which do not contain the hidden labels, and test rows.

    Examples
    --------
    >>> from fewlabel.reporting.demo import breast_cancer
    >>> table = breast_cancer(labeled=0.1, seed=0)
    >>> len(table.X_train), len(table.X_test), int(table.y_train.notna().sum())
    (398, 171, 40)
    """
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from fewlabel.model_selection import hide_labels

    data = load_breast_cancer(as_frame=True)
    # In sorted order "malignant" is the last class, so it is the positive one.
    y = pd.Series(data.target_names[data.target], name="diagnosis", dtype=object)
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, y, test_size=TEST_SHARE, stratify=y, random_state=seed
    )
    y_train = hide_labels(y_train, labeled=labeled, random_state=seed)
    return Table(
        "Breast cancer (Wisconsin, diagnostic)",
        "569 tumors, 30 measurements of cell nuclei each; scikit-learn's load_breast_cancer",
        X_train.reset_index(drop=True),
        y_train.reset_index(drop=True),
        X_test.reset_index(drop=True),
        y_test.reset_index(drop=True),
    )
