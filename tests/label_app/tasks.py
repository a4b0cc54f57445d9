"""Small labeling tasks."""

import numpy as np
import pandas as pd

from fewlabel.active.answers import row_keys
from fewlabel.label_app import Task


def make_task(n=40, labeled=0, classes=("yes", "no"), columns=("a", "b", "c"), **more):
    """Rows whose classes take turns and differ in the first column; the first `labeled` rows are labeled."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % len(classes)
    values = [rng.normal(size=n) + 2 * y, rng.normal(size=n), [f"text {k % 7}" for k in range(n)]]
    table = pd.DataFrame(dict(zip(columns, values)))
    codes = np.where(np.arange(n) < labeled, y, -1)
    given = {"title": "rows.csv", "target": "y", "portfolio": ["logistic regression"], **more}
    return Task(table=table, keys=row_keys(table), classes=list(classes), codes=codes, **given)
