"""Datasets as the experiments use them: read once per process, as numbers or with their classes coded."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer

from fewlabel.datasets import load_dataset


@cache
def table(name: str, data_home: str | None = None) -> Any:
    """A dataset, read once per process."""
    return load_dataset(name, data_home)


def binary(name: str, data_home: str | None = None, positive: str | None = None) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns as they are, and 1 for the positive class."""
    found = table(name, data_home)
    return found.data, (found.target == (positive or found.positive)).to_numpy().astype(int)


def multiclass(name: str, data_home: str | None = None) -> tuple[pd.DataFrame, np.ndarray]:
    """Columns as they are, and classes as 0, 1, ..."""
    found = table(name, data_home)
    return found.data, pd.factorize(found.target, sort=True)[0]


def as_numbers(data: pd.DataFrame, train: np.ndarray, *, fill: bool = True) -> np.ndarray:
    """One-hot categories; gaps filled by the median of the training rows."""
    if data.shape[1] == 0:  # a selector may keep no column
        return np.empty((len(data), 0))
    values = pd.get_dummies(data, dtype=float).to_numpy(dtype=float)
    if not fill or not np.isnan(values).any():
        return values
    return SimpleImputer(strategy="median", keep_empty_features=True).fit(values[train]).transform(values)


def home_file(name: str, data_home: str | None = None) -> Path:
    """A file of the data home that is not a dataset."""
    return Path(data_home or os.environ.get("FEWLABEL_DATA", "")) / name
