"""Balanced groups: large classes are split, the rarest one is in every group."""

import numpy as np


def count_parts(counts, n_groups):
    """Number of groups, and into how many parts each class is cut.

    Of "balanced" groups there are as many as the largest class has rows for one of the rarest. The rarest class stays
    whole and the largest is cut into one part per group; a class between them is cut in proportion, so that no group
    lacks a class. Of several rarest or largest classes the first counts.
    """
    counts = np.asarray(counts)
    largest, rarest = int(counts.argmax()), int(counts.argmin())
    if isinstance(n_groups, str):
        n_groups = max(1, round(counts[largest] / counts[rarest]))
    if n_groups > counts[largest]:
        raise ValueError(
            f"n_groups={n_groups} is more than the {counts[largest]} labeled rows of the largest class, so that a "
            "group would have none of it: lower n_groups"
        )
    parts = np.clip(np.round(n_groups * counts / counts[largest]).astype(int), 1, counts)
    if counts[rarest] < counts[largest]:
        parts[rarest] = 1
    else:  # classes of equal size: one is split, the others stay whole
        parts[:] = 1
    parts[largest] = n_groups
    return int(n_groups), parts


def deal(codes, parts, n_groups, rng):
    """The rows of each group: of each class the part whose turn it is, in random order before it is cut.

    Parameters
    ----------
    codes : ndarray
        Class of each row.
    parts : ndarray of shape (n_classes,)
        Parts of each class.
    n_groups : int
    rng : RandomState

    Returns
    -------
    list of ndarray
    """
    cut = [np.array_split(rng.permutation(np.flatnonzero(codes == k)), parts[k]) for k in range(len(parts))]
    return [np.sort(np.concatenate([of_class[g % len(of_class)] for of_class in cut])) for g in range(n_groups)]
