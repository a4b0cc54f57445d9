"""Type aliases of the public API."""

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import sparray, spmatrix

MatrixLike: TypeAlias = ArrayLike | sparray | spmatrix  # one row per sample: an array, a data frame, a sparse matrix
Seed: TypeAlias = int | np.random.RandomState | None
