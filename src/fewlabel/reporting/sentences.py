"""Every sentence that report, model card and commands say about a fit; headings and captions are in the templates.

The numbers come from the summary or from the model: nothing is estimated here.
"""

import math
from typing import Any

from fewlabel.auto import DISTRIBUTION_FREE, AutoClassifier, LearningCurve
from fewlabel.decisions import Estimate, Sensitivity
from fewlabel.metrics.shares import share_estimate
from fewlabel.population import Selection
from fewlabel.reporting.figures import end_text, signed
from fewlabel.tables import TOO_FEW_FOR_LEAKS, Decision, TableClassifier
from fewlabel.text import short
from fewlabel.types import PlainDict

GAIN = 0.01  # of the score: what more labels should bring
WITHIN = 0.05  # of the score: what an interval should be short enough for
_FURTHEST = 100  # times the present labels
_MOST_NAMED = 5
_MOST_METHODS = 3
_FEW = 30  # labels of a class

WITH_SUSPECTED = " These figures, like the model, are with the suspected columns."
_WITHOUT_SUSPECTED = "Without the suspected columns"

# Sentences with numbers in them; what is said, and when, is below.
_ESTIMATE = "{name} {score:.3f} ({free}95% interval {low:.3f} to {high})"
_IF_TYPICAL = "if the labeled {positive} are typical of all {positive}"
_POSSIBLE = (
    " If the odds of each row are up to {factor:g} times lower or higher than the labels say, {name} is {low:.2f} to "
    "{high:.2f}."
)
_NO_BETTER = " With odds {reversing:.1f} times lower or higher, the ranking may be no better than chance."
_PAIRS = "Of two rows, one {positive} and one not, it puts the {positive} one first in {cases} cases. {use}"
_CERTAINTY = "{labels} cannot tell {low:.2f} from {high:.2f}: label {wanted} more rows to be within {within}{room}."
_NO_ROOM = ", which is more than the {unlabeled} unlabeled rows of this table"
_CONFUSION = (
    "About {correct.value:.0%} of rows are predicted right (95% interval {correct.low:.0%} to {correct.high:.0%}), if "
    "classes are as frequent as among the labels. The mean recall of the classes (balanced accuracy) is "
    "about {balanced.value:.0%} ({balanced.low:.0%} to {balanced.high:.0%})"
)
_UNTESTED = ", with nothing found of {n} class{plural} that could not be tested"
_THRESHOLD = "Threshold by {0.rule}: {0.n_flagged} of {0.n_rows} rows have a score above {0.threshold:.4g}."
_CANNOT_TELL = " How many of them are {positive} these labels cannot tell: {reason}."
_RANGE = (
    " If their odds are up to {factor:g} times lower or higher than the model says, it is {low:.0%} to {high:.0%}. "
    "Odds that are {times:.1f} times {side} reverse the decision: {less} than {target:.0%}."
)
_NONE_FLAGGED = " No row is flagged: at these costs no row is likely enough to be {positive}."
_ASKS_SHARE = (
    " {precision.low:.0%} to {precision.high:.0%} of them are {positive}: it depends on the share of {positive} among "
    "all rows, which these labels cannot tell. State it with --prior."
)
_YIELDS = (
    " An estimated {precision.value:.0%} of them are {positive} (95% band {precision.low:.0%} to {precision.high:.0%})"
    ", which is {recall.value:.0%} of all {positive} ({recall.low:.0%} to {recall.high:.0%})."
)
_YIELDS_OF_POSITIVES = (
    " If the labeled {positive} are typical of all {positive}, these are {recall.value:.0%} of all {positive} "
    "({recall.low:.0%} to {recall.high:.0%}), {lift.value:.1f} times as many as in a random choice of rows. The share "
    "of {positive} among these rows is not known without negatives: {precision.low:.0%} to {precision.high:.0%}."
)
_ALL_FLAGGED = (
    " Every row is flagged: by these labels no row is certain enough to be left out, so the ranking decides nothing "
    "here. Review the highest rows first, or label more rows."
)
_NEARLY_ALL = 0.9  # of the rows are flagged
_FEW_LEFT_OUT = (
    " At these costs a row is left out only if it is {positive} with a probability below {target:.1%}, and few rows "
    "are that certain: the ranking decides little here."
)
_COST = " Expected cost per row: {value:.3g} ({low:.3g} to {high:.3g})."
_COST_RANGE = " Expected cost per row: {low:.3g} to {high:.3g}."
_UNCHOSEN = (
    "{best[method]} has the highest score of a single method, {best[score]:.3f}, and no weight: so few labels hardly "
    "tell methods apart, and on other tables it did worse. With both counted, {weight[method]} is expected to be "
    "better by {difference:.3f} {measure}."
)
_NO_OUTLOOK = (
    "Without negatives the {name} depends on the share of positives, of which only the largest possible one is known: "
    "points average over the shares that other tables suggest, and no forecast is made."
)
_BEATS = "The model beats {method}, the plain baseline, by {difference:.3f} {score_name} ({interval})."
_IS_WORSE = (
    "The model is worse than {method}, the plain baseline, by {worse:.3f} {score_name} ({interval}): consider that "
    "method alone."
)
_NO_DIFFERENCE = (
    "The difference between the model and {method}, the plain baseline, is {signed} {score_name} ({interval}): these "
    "labels cannot tell the two apart."
)
_POSITIVES_ONLY = "Only {positive} is labeled, so every method needs the {unlabeled} unlabeled rows. {share}"
_STATED_SHARE = "{prior:.1%} of these are {positive}, as given."
_LARGEST_SHARE = (
    "At most {high:.1%} of the unlabeled rows are {positive} (95% confidence), {if_typical}. These data do not tell "
    "how many fewer; other tables suggest {prior:.1%}."
)

_AUDITED_SHARE = (
    "By the {n} rows that were drawn with known probability, {share.value:.1%} of the unlabeled rows are {positive} "
    "(95% interval {share.low:.1%} to {share.high:.1%})."
)


# The first lines ---------------------------------------------------------------------------------------------


def headline_text(name: str, headline: PlainDict, condition: str = "") -> str:
    """What to expect on the rows that the headline is about, under a condition."""
    if headline["score"] is None:
        return f"No estimate: {headline['reason']}.{_possible(name, headline)}"
    population = headline["population"]
    if headline["audited"]:
        population += f", by {headline['audited']} audited rows"
    return f"Expected on the {population}: {_estimate(name, headline)}{condition}."


def _possible(name: str, headline: PlainDict) -> str:
    """The range of a score that the labels cannot tell."""
    possible = headline["possible"]
    if possible is None:
        return ""
    text = _POSSIBLE.format(name=name, **possible)
    if possible["reversing"] is not None:
        text += _NO_BETTER.format(**possible)
    return text


def leaks_text(name: str, leaks: list[str], whole: PlainDict, without: PlainDict | None, condition: str = "") -> str:
    """The headline without columns that are suspected to be known only after the label, and with them."""
    columns = ", ".join(repr(short(leak)) for leak in leaks[:3])
    if len(leaks) > 3:
        columns += " and others"
    is_one = len(leaks) == 1
    known = f"{'is' if is_one else 'are'} suspected to be known only after the label"
    with_them = f"With {'it' if is_one else 'them'}: {_estimate(name, whole)}."
    # Every column is suspected: there is nothing to fit without them.
    if without is None:
        return f"No estimate: {columns} {known}, and there is no other column. {with_them}"
    return f"{headline_text(name, without, f', without {columns}, which {known}{condition}')} {with_them}"


def _estimate(name: str, headline: PlainDict) -> str:
    if headline["score"] is None:
        return "no estimate"
    free = "distribution-free " if headline["interval"] == DISTRIBUTION_FREE else ""
    high = end_text(headline["high"], headline["positives_only"])
    return _ESTIMATE.format(name=name, free=free, **{**headline, "high": high})


def if_typical(positive: str) -> str:
    """What figures assume if only positives are labeled."""
    return _IF_TYPICAL.format(positive=positive)


def good_for(summary: PlainDict) -> str:
    """What a ranking of this quality can be used for.

    Parameters
    ----------
    summary : dict
        With `headline`, `task`, `score_name` and `data`; with more than two classes, `confusion`.
    """
    headline = summary["headline"]
    if headline["score"] is None and headline["reason"] is None:
        return "Nothing can be said about new rows: every column is suspected to be known only after the label."
    if headline["score"] is None:
        return "The ranking may still be good; these labels cannot show it."
    lead = f"{_WITHOUT_SUSPECTED}: " if headline["with_leaks"] else ""
    return lead + _worth(summary)


def _worth(summary: PlainDict) -> str:
    headline = summary["headline"]
    if summary["task"] == "multiclass":
        n_untested = summary["confusion"]["untested"]
        tested = f"{len(summary['data']['classes']) - n_untested} {'tested ' if n_untested else ''}classes"
        best = "Good for taking the most likely class, with a check of rows where its probability is low."
        return f"One class against the others, averaged over {tested}. {_use(headline, best)}"
    use = _use(headline, "Good for deciding by a threshold, with a check of the rows close to it.")
    if summary["score_name"] != "AUC":
        return use
    positive = class_name(summary["data"]["positive"])
    # Never 100 of 100: no number of labels shows that.
    cases = "nearly all" if headline["score"] >= 0.995 else f"about {100 * headline['score']:.0f} of 100"
    return _PAIRS.format(positive=positive, cases=cases, use=use)


def _use(headline: PlainDict, best: str) -> str:
    """What the lower end of the interval allows."""
    # Not by the estimate: with few labels, a high one can be luck.
    low = headline["low"]
    if low <= 0.55:
        return "This may be little better than a random order: label more rows before you use it."
    if low < 0.75:
        return "Good for looking at the most likely rows first; too uncertain to decide about single rows."
    if low < 0.9:
        return "Good for sorting a list for review; look at single rows before you act on them."
    return best


def certainty_text(summary: PlainDict, more: int) -> str:
    """What the interval of the headline cannot tell, and how many labels more would."""
    data = summary["data"]
    by_class = data["labeled_by_class"]
    n_labels = sum(by_class.values())
    labels = f"{n_labels} labels"
    if summary["task"] == "binary":
        rarest = min(by_class, key=lambda name: by_class[name])
        labels = f"{n_labels} labels, {by_class[rarest]} of them {class_name(rarest)},"
    if summary["headline"]["with_leaks"]:
        labels = f"{_WITHOUT_SUSPECTED}, {labels}"
    wanted = "many" if more > _FURTHEST * n_labels else f"about {rough(more)}"
    room = _NO_ROOM.format(unlabeled=data["unlabeled"]) if 0 < data["unlabeled"] < more else ""
    return _CERTAINTY.format(labels=labels, wanted=wanted, within=WITHIN, room=room, **summary["headline"])


def class_name(name: object, most: int = 60) -> str:
    """A class within a sentence: in quotes if it is a number or a mark."""
    text = short(name, most)
    return text if any(letter.isalpha() for letter in text) else repr(text)


def rough(number: int) -> str:
    """Round to two significant digits."""
    digits = max(len(str(number)) - 2, 0)
    return f"{round(number, -digits):,}"


def confusion_text(correct: Estimate, balanced: Estimate, n_untested: int) -> str:
    """How many rows, and how many of a class, are predicted right, with more than two classes."""
    text = _CONFUSION.format(correct=correct, balanced=balanced)
    if n_untested:
        text += _UNTESTED.format(n=n_untested, plural="es" if n_untested > 1 else "")
    return f"{text}."


# Decisions ---------------------------------------------------------------------------------------------------


def threshold_text(
    decision: Decision, positive: str, unknown: str | None, sensitivity: Sensitivity | None, asks_share: bool
) -> str:
    """The threshold and its yields."""
    text = _THRESHOLD.format(decision)
    if unknown is not None:
        text += _CANNOT_TELL.format(positive=positive, reason=unknown)
        return text if sensitivity is None else text + _range(sensitivity)
    if decision.n_flagged == 0:
        return text + _NONE_FLAGGED.format(positive=positive)
    if asks_share:
        return text + _ASKS_SHARE.format(positive=positive, **decision.yields)
    is_range = math.isnan(decision.yields["precision"].value)
    yields = _YIELDS_OF_POSITIVES if is_range else _YIELDS
    text += yields.format(positive=positive, **decision.yields)
    if decision.n_flagged == decision.n_rows:
        text += _ALL_FLAGGED
    elif decision.costs is not None and decision.n_flagged >= _NEARLY_ALL * decision.n_rows:
        text += _FEW_LEFT_OUT.format(positive=positive, target=decision.target)
    if "cost" in decision.yields:
        cost = _COST_RANGE if is_range else _COST
        text += cost.format(**decision.yields["cost"]._asdict())
    return text


def _range(sensitivity: Sensitivity) -> str:
    """What the precision may be, and what would reverse the decision."""
    reversing = sensitivity.reversing
    if reversing < 1:
        odds = {"times": 1 / reversing, "side": "lower", "less": "fewer"}
    else:
        odds = {"times": reversing, "side": "higher", "less": "more"}
    return _RANGE.format(**odds, **sensitivity._asdict())


# The choice of methods, and what more labels would bring -----------------------------------------------------


def choice_text(auto: AutoClassifier, methods: list[Any], unchosen: PlainDict | None, score_name: str) -> str:
    """What was chosen, why, and what it gains over a plain method; `methods` by descending weight."""
    sentences = [_chosen(auto, methods)]
    if auto.headline_["reason"] is not None:
        # Without an estimate for the unlabeled rows, the scores of methods could be taken for one.
        sentences.insert(0, auto.selection_.scores_hold)
    if unchosen is not None:
        measure = "log-loss" if auto.task_ == "multiclass" else score_name
        sentences.append(_UNCHOSEN.format(measure=measure, **unchosen))
    if auto.baseline_ is not None:
        sentences.append(_gain(auto.baseline_, score_name))
    return " ".join(sentences)


def _chosen(auto: AutoClassifier, methods: list[Any]) -> str:
    chosen = [row for row in methods if row["weight"] > 0]
    if auto.additive_choice_ is not None:
        return f"{auto.additive_choice_.text}."
    if len(methods) == 1:
        return f"{chosen[0]['method']} is the only method that was tried."
    if len(chosen) == 1:
        return f"The model is {chosen[0]['method']}, one of {len(methods)} methods that were tried."
    named = [f"{row['method']} ({row['weight']:.2f})" for row in chosen[:_MOST_METHODS]]
    if len(chosen) > _MOST_METHODS:
        named.append(f"{len(chosen) - _MOST_METHODS} more")
    return f"The model is the weighted mean of {len(chosen)} of {len(methods)} methods: {', '.join(named)}."


def _gain(baseline: PlainDict, score_name: str) -> str:
    if baseline["low"] > 0:
        sentence = _BEATS
    elif baseline["high"] < 0:
        sentence = _IS_WORSE
    else:
        sentence = _NO_DIFFERENCE
    difference = baseline["difference"]
    interval = f"95% interval {signed(baseline['low'])} to {signed(baseline['high'])}"
    texts = {"score_name": score_name, "interval": interval, "worse": -difference, "signed": signed(difference)}
    return sentence.format(**texts, **baseline)


def outlook(
    curve: LearningCurve, certain: float, n: int, name: str, *, share_is_known: bool = True
) -> tuple[int | None, str]:
    """Labels that a gain of the score takes, and a sentence on it; without a forecast there is no number either.

    Parameters
    ----------
    curve : LearningCurve
    certain : float
        Lower end of the interval of the score; NaN if there is no estimate.
    n : int
        Number of labels.
    name : str
        Of the score.
    share_is_known : bool, default=True
        Whether there are labels of both classes, or the share of positives was stated.
    """
    if math.isnan(certain):
        return None, "The scores are for rows like the labeled ones, so no forecast is made."
    if not share_is_known:
        return None, _NO_OUTLOOK.format(name=name)
    if curve.error <= GAIN and certain >= 1 - GAIN:
        return None, f"By this curve, the {name} is already within {GAIN} of 1: more labels can hardly improve it."
    if curve.error <= GAIN:
        only = f"{n} labels only show that it is {certain:.2f} or more"
        return None, f"By this curve, the {name} is near 1, but {only}, so no forecast is made."
    # The score with all labels has to be higher than with few of them by more than chance.
    rises = curve.low[-1] > curve.scores[0]
    more = curve.needed(GAIN, n) if rises else None
    if more is None:
        return None, "The score does not rise clearly with the number of labels, so no forecast is made."
    return more, f"By this curve, +{GAIN} {name} takes about {rough(more)} more labels."


def unlabeled_text(auto: AutoClassifier, data: PlainDict) -> str:
    """How many of the unlabeled rows are positive, by an audit, or as far as positives alone tell."""
    positive = data["positive"]
    audited = share_of_audit(auto)
    if audited is not None:
        return audited_text(positive, auto.selection_.audited, audited)
    if auto.prior_ is None or auto.prior_interval_ is None:
        return ""
    names = {**data, "positive": class_name(positive)}
    share = _STATED_SHARE.format(**names)
    if auto.prior is None:
        share = share_text(positive, auto.prior_, auto.prior_interval_[1], auto.selection_)
    return _POSITIVES_ONLY.format(share=share, **names).rstrip()


def share_of_audit(auto: AutoClassifier) -> Estimate | None:
    """Share of positives among the unlabeled rows, if an audit tells it."""
    if not auto.selection_.audited or auto.base_rate_ is None or auto.prior is not None:
        return None
    return audited_share(auto.base_rate_, auto.selection_)


def audited_share(share: float, design: Selection) -> Estimate:
    """The share of positives among rows that were drawn with known probability, with its interval."""
    n_rows = design.effective_labels
    return share_estimate(share * n_rows, n_rows)


def audited_text(positive: str, n_audited: int, share: Estimate) -> str:
    """How many of the unlabeled rows are positive, by an audit."""
    return _AUDITED_SHARE.format(positive=class_name(positive), n=n_audited, share=share)


def share_text(positive: str, prior: float, high: float, selection: Selection) -> str:
    """How many of the unlabeled rows are positive, as far as positives alone tell.

    Parameters
    ----------
    positive : str
    prior, high : float
        The estimate, and the upper end of its interval.
    selection : Selection
        How the positives were chosen.
    """
    if not selection.can_tell:
        return ""
    positive = class_name(positive)
    return _LARGEST_SHARE.format(positive=positive, prior=prior, high=high, if_typical=if_typical(positive))


# Notes: how the table was read, and what to know before relying on the model ---------------------------------


def table_notes(model: TableClassifier) -> list[str]:
    """How the table was read, and suspected leaks; known before the fit."""
    return [*reading_notes(model), *_leaks(model)]


def reading_notes(model: TableClassifier) -> list[str]:
    """Notes on dropped columns, and on notations of numbers and dates."""
    encoder = model.encoder_
    read = {"dropped ({})": encoder.dropped_, "numbers or dates are read like {}": encoder.notations_}
    notes = []
    for form, columns in read.items():
        for value in dict.fromkeys(columns.values()):
            names = [short(name) for name, other in columns.items() if other == value]
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            notes.append(f"{form.format(value)}: {', '.join(names[:_MOST_NAMED])}{more}")
    return notes


def _leaks(model: TableClassifier) -> list[str]:
    advice = "if it is filled in after the label is known, fit again without it (--drop)"
    leaks = list(model.leaks_.items())[:_MOST_NAMED]
    return [f"column {short(name)!r} {reason}: {advice}" for name, reason in leaks]


def method_notes(model: TableClassifier) -> list[str]:
    """Notes on an additive choice, copies of rows and methods left out."""
    auto = model.estimator_
    additive = [] if auto.additive_choice_ is None else [auto.additive_choice_.text]
    return [*additive, *_copies(auto), *left_out_notes(auto)]


def left_out_notes(auto: AutoClassifier) -> list[str]:
    """Methods that were left out, by their reasons."""
    by_status = auto.leaderboard_.query("status != 'ok'").groupby("status", sort=False)
    return [f"left out ({status}): {', '.join(rows['method'])}" for status, rows in by_status]


def _copies(auto: AutoClassifier) -> list[str]:
    if not auto.n_copies_:
        return []
    return [
        f"{auto.n_copies_} labeled rows are exact or near duplicates of others: they are on one side of every split"
    ]


def cautions(model: TableClassifier, data: PlainDict, selection: PlainDict) -> list[str]:
    """What matters before the model is relied on: label count, how labels arose, leaks, copies, groups.

    Parameters
    ----------
    model : TableClassifier
        Fitted, with an AutoClassifier as its estimator.
    data, selection : dict
        Of the summary.
    """
    auto = model.estimator_
    notes = []
    by_class = data["labeled_by_class"]
    rarest = min(by_class, key=lambda name: by_class[name])
    if by_class[rarest] < _FEW:
        n_rarest = by_class[rarest]
        few = f"only {n_rarest} label{'s are' if n_rarest > 1 else ' is'} {class_name(rarest)}"
        notes.append(f"{few}: the choice of methods and the probabilities rest on them")
    if data["unlabeled"] == 0:
        notes.append("every row is labeled: the figures are for new rows like these")
    elif auto.prior_ is not None:
        notes.append(f"the figures are true if the labeled {class_name(data['positive'])} are typical of all of them")
    elif not selection["chosen"]:  # if they were chosen, it is said beside the headline
        of_class = " of each class" if auto.prior is not None else ""
        notes.append(
            f"labels look like a random sample{of_class} by the columns of this table; if they were chosen by "
            "something that is not in it, the figures are for rows like the labeled ones"
        )
    if selection["doubt"] is not None:
        notes.append(selection["doubt"])
    notes += _leaks(model)
    if not data["enough_for_leaks"]:
        notes.append(TOO_FEW_FOR_LEAKS)
    notes += _copies(auto)
    if "groups" not in auto.model_.about["split_by"]:
        notes.append(
            "rows are taken to be independent: if several are of one patient, customer or device, fit with --groups, "
            "or the figures are too high"
        )
    return notes
