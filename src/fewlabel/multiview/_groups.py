"""Balanced groups: large classes are split, the rarest one is in every group."""

import numpy as np


def count_parts(counts, n_groups):
    """Return the number of groups, and the number of parts that each class is split into.

    The number of "balanced" groups is the size of the largest class divided by that of the rarest. The rarest class is
    not split and the largest has one part per group; other classes are split in proportion, so that every group has
    all classes. Among several rarest or largest classes the first counts.
    """
    counts = np.asarray(counts)
    largest = int(counts.argmax())
    rarest = int(counts.argmin())
    if isinstance(n_groups, str):
        n_groups = max(1, round(counts[largest] / counts[rarest]))
    if n_groups > counts[largest]:
        raise ValueError(
            f"n_groups={n_groups} is more than the {counts[largest]} labeled rows of the largest class, so a group "
            "would have none of it: lower n_groups"
        )
    parts = np.ones(len(counts), dtype=int)
    # Otherwise one of the classes of equal size is split, and the others stay whole.
    if counts[rarest] < counts[largest]:
        in_proportion = np.round(n_groups * counts / counts[largest]).astype(int)
        parts = np.clip(in_proportion, 1, counts)
        parts[rarest] = 1
    parts[largest] = n_groups
    return int(n_groups), parts


def deal(codes, parts, n_groups, rng):
    """Draw the rows of each group: each class is shuffled and split, and its parts are assigned in turn.

    Parameters
    ----------
    codes : ndarray
        Class of each row.
    parts : ndarray of shape (n_classes,)
        Number of parts of each class.
    n_groups : int
        Number of groups.
    rng : RandomState

    Returns
    -------
    list of ndarray
        Sorted row positions of each group.
    """
    parts_by_class = []
    for code, n_parts in enumerate(parts):
        shuffled = rng.permutation(np.flatnonzero(codes == code))
        parts_by_class.append(np.array_split(shuffled, n_parts))
    groups = []
    for g in range(n_groups):
        members = [class_parts[g % len(class_parts)] for class_parts in parts_by_class]
        groups.append(np.sort(np.concatenate(members)))
    return groups
