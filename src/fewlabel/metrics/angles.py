"""The scale on which scores are averaged and compared with what other tables have."""

import numpy as np


def to_angle(auc):
    r"""The angle :math:`2 \arcsin \sqrt{A}`, whose sampling variance hardly depends on the AUC :math:`A`."""
    return 2 * np.arcsin(np.sqrt(np.clip(auc, 0.0, 1.0)))


def from_angle(angle):
    """Inverse of `to_angle`."""
    return np.sin(np.clip(angle, 0.0, np.pi) / 2) ** 2
