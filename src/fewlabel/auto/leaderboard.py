"""The leaderboard of a fit, and what can be read from it."""

from typing import NamedTuple

import numpy as np

from fewlabel.auto.attempts import status_of
from fewlabel.auto.intervals import EXPERIENCE, compare, interval
from fewlabel.auto.weights import expected

ENSEMBLE = "ensemble"
_BASELINES = ("logistic regression", "random forest", "extra trees", "naive Bayes")  # the first that was tried
_EVEN_RANKS = (np.arange(1000) + 0.5) / 1000
_NO_FIGURES = dict.fromkeys(("score", "low", "high", "prior", "posterior", "fit_seconds"), np.nan)


class AdditiveChoice(NamedTuple):
    """An additive method beside the best of all methods, by their out-of-fold scores.

    Attributes
    ----------
    method, best : str
    score, best_score : float
    """

    method: str
    score: float
    best: str
    best_score: float

    @property
    def cost(self) -> float:
        """How much higher the best score is."""
        return self.best_score - self.score

    @property
    def text(self) -> str:
        """What the choice costs, as a sentence."""
        if self.cost <= 0:
            return f"{self.method} is additive, and no other method has a higher score ({self.score:.3f})"
        return (
            f"{self.method} is the chosen additive method, with a score of {self.score:.3f}; {self.best}, the best of "
            f"all, has {self.best_score:.3f}: being additive costs {self.cost:.3f}"
        )


def leaderboard(training, evidence, left_out, weighing, scorer, experience, unlabeled=None, *, kind=EXPERIENCE):
    """One record per member and one for the ensemble, the best first; then the members that are left out.

    Parameters
    ----------
    training : Training
    evidence : dict
        Out-of-fold results of each member.
    left_out : dict
        Reason of each member that has none.
    weighing : Weighing
    scorer : callable
    experience : Experience
        With the members that have evidence.
    unlabeled : ndarray of shape (n_rows,), default=None
        Ranks of unlabeled rows by the ensemble.
    kind : {"experience", "distribution-free"}, default="experience"
        Of the intervals.

    Returns
    -------
    list of dict
    """
    rows = training.tested_rows
    share = training.training_share

    def ends_of(ranks, unlabeled):
        score, low, high = interval(
            training.evaluated_rows,
            ranks[training.evaluated],
            scorer,
            training.prior,
            training.seed,
            share,
            kind=kind,
            unlabeled=unlabeled if training.is_chosen else None,
            by_design=training.by_design,
        )
        return {"score": score, "low": low, "high": high}

    ranks = np.array([results.ranks for results in evidence.values()])
    aucs = expected(rows, ranks, scorer, experience)
    records = []
    for member, weight, (prior, posterior) in zip(evidence, weighing.weights, aucs):
        # Ranks of a member are those among the unlabeled rows.
        found = ends_of(evidence[member].ranks, _EVEN_RANKS)
        found |= {"prior": float(prior), "posterior": float(posterior), "fit_seconds": evidence[member].seconds}
        records.append(_record(member.name, member.family, found, training.uses_unlabeled(member), weight))
    found = ends_of(weighing.out_of_fold, unlabeled)
    found["fit_seconds"] = float(sum(results.seconds for results in evidence.values()))
    chosen_use_unlabeled = any(record["uses_unlabeled"] for record in records if record["weight"] > 0)
    records.append(_record("AutoClassifier", ENSEMBLE, found, chosen_use_unlabeled, 1.0))
    # Members that were left out have no score to be sorted by, and come last.
    records.sort(key=lambda record: -record["score"])
    for member, reason in left_out.items():
        uses_unlabeled = training.uses_unlabeled(member)
        records.append(_record(member.name, member.family, {}, uses_unlabeled, 0.0, status_of(reason)))
    return records


def _record(method, family, found, uses_unlabeled, weight, status="ok"):
    """A row of the leaderboard; NaN where there is no figure."""
    about = {"uses_unlabeled": bool(uses_unlabeled), "weight": float(weight), "status": status}
    return {"method": method, "family": family, **_NO_FIGURES, **found, **about}


def baseline(training, evidence, weighing, records, scorer):
    """What the ensemble gains over a plain method: the difference of their scores in the leaderboard.

    Its interval is as wide as that of the paired test on the same out-of-fold rows.

    Parameters
    ----------
    training, evidence, weighing, scorer
        As in `leaderboard`.
    records : list of dict
        The leaderboard.

    Returns
    -------
    dict or None
        `method`, `difference`, `low` and `high`; None if no plain method was tried, or if it is the only one.
    """
    tried = {member.name: results for member, results in evidence.items()}
    plain = next((name for name in _BASELINES if name in tried), None)
    if plain is None or len(tried) == 1:
        return None
    scores = {record["method"]: record["score"] for record in records if record["status"] == "ok"}
    own = next(record["score"] for record in records if record["family"] == ENSEMBLE)
    difference = own - scores[plain]
    evaluated = training.evaluated
    own_ranks = weighing.out_of_fold[evaluated]
    plain_ranks = tried[plain].ranks[evaluated]
    observed, low, high = compare(training.evaluated_rows, own_ranks, plain_ranks, scorer, training.seed)
    # Positives among the unlabeled rows make differences against these smaller than against negatives.
    scale = 1.0 if training.prior is None else 1 / (1 - training.prior.prior)
    return {
        "method": plain,
        "difference": difference,
        "low": difference + scale * (low - observed),
        "high": difference + scale * (high - observed),
    }


def headline(records, selection, *, has_unlabeled, kind=EXPERIENCE, possible=None):
    """Score and interval of the ensemble, the rows that they are about, and why there is none.

    Parameters
    ----------
    records : list of dict
    selection : Selection
    has_unlabeled : bool
    kind : {"experience", "distribution-free", "bootstrap"}, default="experience"
        What the interval is based on.
    possible : dict, default=None
        What the score can be, if the labels cannot tell.

    Returns
    -------
    dict
        `score`, `low` and `high` are None if the labels cannot tell; `reason` says why. `audited` is the number of rows
        that they are based on, if these were drawn with known probability, and 0 otherwise.
    """
    own = next(record for record in records if record["family"] == ENSEMBLE)
    estimate = {name: own[name] for name in ("score", "low", "high")}
    population = "unlabeled rows" if has_unlabeled else "rows like these"
    about = {"population": population, "interval": kind, "audited": selection.audited, "possible": possible}
    if selection.can_tell:
        return {**estimate, **about, "reason": None}
    return {**dict.fromkeys(estimate), **about, "reason": selection.reason}


def additive_choice(records):
    """The method with all of the weight, beside the one with the best score."""
    methods = [record for record in records if record["status"] == "ok" and record["family"] != ENSEMBLE]
    chosen = max(methods, key=lambda record: record["weight"])
    best = max(methods, key=lambda record: record["score"])
    return AdditiveChoice(chosen["method"], chosen["score"], best["method"], best["score"])
