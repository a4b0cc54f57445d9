"""Try the members: the evidence of each, or the error that explains why there is none."""

import importlib
import time

import numpy as np

from fewlabel.auto._attempt import attempt
from fewlabel.auto._crossfit import crossfit
from fewlabel.auto._members import TRIED_FIRST
from fewlabel.auto._pretrained import MissingWeights
from fewlabel.threads import map_in_threads

OUT_OF_TIME = "skipped: time budget"


def try_members(rows, members, n_repeats, deadline, n_jobs, first=()):
    """Yield each member with its evidence, with the error that it raised, or with the reason why it was skipped.

    Parameters
    ----------
    rows : TrainingRows
    members : list of Member
    n_repeats : int
    deadline : float
        On the clock of `time.monotonic`. After it no member is started, unless all that were started have failed.
    n_jobs : int or None
    first : tuple of str, default=()
        Members to try before all others, so that no deadline leaves them out.
    """
    for package in sorted({m.package for m in members}):
        attempt(importlib.import_module, package)  # in a thread, others would see modules that are not complete yet
    early = [*first, *TRIED_FIRST]
    order = sorted(members, key=lambda m: early.index(m.name) if m.name in early else len(early))
    started, failed = [], []

    def one(member):
        if len(started) > len(failed) and time.monotonic() > deadline:
            return member, OUT_OF_TIME
        started.append(member)
        found = attempt(_finite_evidence, rows, member, n_repeats)
        if isinstance(found, Exception):
            failed.append(member)
        return member, f"skipped: {found}" if isinstance(found, MissingWeights) else found

    return map_in_threads(one, order, n_jobs)


def _finite_evidence(rows, member, n_repeats):
    found = crossfit(rows, member, n_repeats)
    if not np.isfinite(found.ranks).all():
        raise FloatingPointError("the ranks of its scores are not finite")
    return found


def usual_repeats(n_rows):
    """Splits of the labeled rows into folds: with few labels the result of a single one is noisy."""
    return 2 if n_rows <= 60 else 1
