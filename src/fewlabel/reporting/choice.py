"""What the report says about the choice of methods: what was chosen, why, and what it gains over a plain one."""

from typing import Any

from fewlabel.auto import ENSEMBLE, AutoClassifier
from fewlabel.reporting.figures import signed
from fewlabel.types import PlainDict

_MOST_NAMED = 3


def choice_of(auto: AutoClassifier, score_name: str) -> PlainDict:
    """Describe the choice in sentences, with the numbers that they name.

    Parameters
    ----------
    auto : AutoClassifier
        Fitted.
    score_name : str

    Returns
    -------
    dict
        `text`; `tried` and `chosen`, numbers of methods; `best`, the method with the highest score if it has no weight,
        beside the one with the largest `weight`; `additive` and `baseline`, see :class:`fewlabel.AutoClassifier`.
    """
    board = auto.leaderboard_.query("status == 'ok'")
    methods: list[Any] = board[board["family"] != ENSEMBLE].to_dict("records")
    heaviest = sorted(methods, key=lambda row: -row["weight"])
    chosen = [row for row in heaviest if row["weight"] > 0]
    best = max(methods, key=lambda row: row["score"])
    unchosen = None
    if best["weight"] == 0 and not auto.interpretable:
        names = ("method", "score", "posterior")
        unchosen = {"best": {name: best[name] for name in names}, "weight": {name: chosen[0][name] for name in names}}
        unchosen["difference"] = abs(chosen[0]["posterior"] - best["posterior"])
    sentences = [_chosen(auto, chosen, len(methods))]
    if unchosen is not None:
        sentences.append(_unchosen(unchosen, "log-loss" if auto.task_ == "multiclass" else score_name))
    if auto.baseline_ is not None:
        sentences.append(_gain(auto.baseline_, score_name))
    additive = auto.additive_choice_
    return {
        "text": " ".join(sentences),
        "additive": None if additive is None else {**additive._asdict(), "cost": additive.cost},
        "tried": len(methods),
        "chosen": len(chosen),
        "unchosen": unchosen,
        "baseline": auto.baseline_,
    }


def _chosen(auto: AutoClassifier, chosen: list[PlainDict], n_tried: int) -> str:
    if auto.additive_choice_ is not None:
        return f"{auto.additive_choice_.text}."
    if n_tried == 1:
        return f"{chosen[0]['method']} is the only method that was tried."
    if len(chosen) == 1:
        return f"The model is {chosen[0]['method']}, one of {n_tried} methods that were tried."
    named = [f"{row['method']} ({row['weight']:.2f})" for row in chosen[:_MOST_NAMED]]
    if len(chosen) > _MOST_NAMED:
        named.append(f"{len(chosen) - _MOST_NAMED} more")
    return f"The model is the weighted mean of {len(chosen)} of {n_tried} methods: {', '.join(named)}."


def _unchosen(rows: PlainDict, score_name: str) -> str:
    """Why the method with the highest score has no weight."""
    best = rows["best"]
    other = rows["weight"]["method"]
    return (
        f"{best['method']} has the highest score of a single method, {best['score']:.3f}, and no weight: so few labels "
        f"hardly tell methods apart, and on other tables it did worse. With both counted, {other} is expected to be "
        f"better by {rows['difference']:.3f} {score_name}."
    )


def _gain(baseline: PlainDict, score_name: str) -> str:
    difference = baseline["difference"]
    interval = f"95% interval {signed(baseline['low'])} to {signed(baseline['high'])}"
    plain = f"{baseline['method']}, the plain baseline"
    if baseline["low"] > 0:
        return f"The model beats {plain}, by {difference:.3f} {score_name} ({interval})."
    if baseline["high"] < 0:
        worse = f"The model is worse than {plain}, by {-difference:.3f} {score_name} ({interval})"
        return f"{worse}: consider that method alone."
    difference_text = f"The difference between the model and {plain}, is {signed(difference)} {score_name}"
    return f"{difference_text} ({interval}): these labels cannot tell the two apart."
