"""Type aliases of the public API."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import sparray, spmatrix

MatrixLike: TypeAlias = ArrayLike | sparray | spmatrix  # one row per sample: an array, a data frame, a sparse matrix
Seed: TypeAlias = int | np.random.RandomState | None
PlainDict: TypeAlias = dict[str, Any]  # what JSON can hold: dicts, lists, texts, finite numbers, booleans and None
