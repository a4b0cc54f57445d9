"""
Who was labeled? Accepted, investigated, class by class, positives only
=======================================================================

Can you trust an AUC if the labels are not a random sample? Four ways in which labels arrive: for each, what fewlabel
says of the labels, its AUC beside the hidden truth, and what 50 audited rows add. The tables ship with scikit-learn, so
the truth is known.
"""

# %%
# What is printed
# ---------------
import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.metrics import roc_auc_score

from fewlabel import AuditQuery, AutoClassifier

warnings.filterwarnings("ignore", message="only one labeled class")  # this is what the last case is about
cases = []  # name, low, high and truth of each fit, for the picture at the end


def fit_and_compare(name, X, few, y, *, chance=None, prior=None):
    """Fit to few labels, print what is said of them, and the estimate beside the truth."""
    model = AutoClassifier("small", prior=prior, random_state=0).fit(X, few, label_probability=chance)
    hidden = few == -1
    headline = model.headline_
    band = headline
    estimate = f"{headline['score']:.3f} ({headline['low']:.3f} to {headline['high']:.3f})"
    if headline["reason"] is not None:
        band = headline["possible"] or {"low": np.nan, "high": np.nan}
        estimate = f"no number, {band['low']:.2f} to {band['high']:.2f} is possible"
    if headline["reason"] is not None and headline["possible"] is None:
        estimate = "no number"
    truth = roc_auc_score(y[hidden], model.decision_function(X[hidden]))
    cases.append((name, band["low"], band["high"], truth))
    print(textwrap.fill(model.selection_.text, 95))
    print(f"AUC of the unlabeled rows: {estimate}; in truth {truth:.3f}")
    return model


def audit(X, few, y, n=50):
    """The labels and probabilities after somebody has answered for rows that the computer drew."""
    query = AuditQuery(random_state=0).query(X, few, n=n)
    answered = few.copy()
    answered[query.rows] = y[query.rows]
    return answered, query.label_probability(len(few))


rng = np.random.default_rng(0)
tumors, benign = load_breast_cancer(return_X_y=True, as_frame=True)
malignant = 1 - benign.to_numpy()
images, digit = load_digits(return_X_y=True)

# %%
# Accepted only
# -------------
# An old rule looks at one column. Rows with a low value are accepted and followed up, others as an exception: these are
# labeled four times less often, but there are some.
risk = tumors["mean texture"].rank(pct=True)
accepted = rng.random(len(tumors)) < np.where(risk < 0.6, 0.4, 0.1)
few = np.where(accepted, malignant, -1)
model = fit_and_compare("accepted", tumors, few, malignant)

# %%
# The estimate is about the unlabeled rows. After an audit it holds whatever the reason for the choice.
answered, chance = audit(tumors, few, malignant)
model = fit_and_compare("accepted, audited", tumors, answered, malignant, chance=chance)

# %%
# Investigated: the top of an old score
# -------------------------------------
# Images of an eight are rare. An old score, ink in the middle of the image, sent its top 25% to somebody who looked at
# them. Most other images resemble none of these: there is no number, only a range.
is_eight = (digit == 8).astype(int)
ink = images[:, [27, 28, 35, 36]].sum(axis=1) + rng.normal(size=len(images))
few = np.where(ink > np.quantile(ink, 0.75), is_eight, -1)
model = fit_and_compare("investigated", images, few, is_eight)

# %%
answered, chance = audit(images, few, is_eight)
model = fit_and_compare("investigated, audited", images, answered, is_eight, chance=chance)

# %%
# Class by class
# --------------
# Sixty threes and sixty other digits were collected, where one image in ten is a three. The AUC is right, but the share
# of threes decides precision and probabilities.
is_three = (digit == 3).astype(int)
few = np.full(len(digit), -1)
for code in (0, 1):
    few[rng.permutation(np.flatnonzero(is_three == code))[:60]] = code
model = fit_and_compare("class by class", images, few, is_three)
hidden = few == -1
believed = model.positive_proba(images[hidden]).mean()
print(f"mean probability of a three: {believed:.2f}, in truth {is_three[hidden].mean():.2f}")

# %%
# With the share stated, probabilities, precision and cost are those of the table.
model = fit_and_compare("class by class, share stated", images, few, is_three, prior=0.07)
believed = model.positive_proba(images[hidden]).mean()
print(f"mean probability of a three: {believed:.2f}, in truth {is_three[hidden].mean():.2f}")

# %%
# Positives only
# --------------
# Only malignant tumors are on file, mostly large ones. How many of the others are malignant, nobody can know. So many
# seem to be on file already that there is no estimate.
large = tumors["mean radius"].rank(pct=True)
few = np.where((malignant == 1) & (rng.random(len(tumors)) < 0.8 * large**2), 1, -1)
model = fit_and_compare("positives only", tumors, few, malignant)
hidden = few == -1
print(f"share of malignant ones in truth: {malignant[hidden].mean():.2f}")

# %%
# Fifty answers show it.
answered, chance = audit(tumors, few, malignant)
model = fit_and_compare("positives only, audited", tumors, answered, malignant, chance=chance)
hidden = answered == -1
print(f"share of malignant ones: {model.base_rate_:.2f}; in truth {malignant[hidden].mean():.2f}")

# %%
# All cases
# ---------
# A line is what fewlabel says about the AUC, the dot is the truth. With positives only it says nothing.
figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
names, lows, highs, truths = zip(*reversed(cases))
for place, (low, high, truth) in enumerate(zip(lows, highs, truths)):
    axis.plot([low, high], [place, place], color="tab:blue", linewidth=3, alpha=0.6)
    axis.plot(truth, place, "o", color="tab:orange")
axis.set_yticks(range(len(cases)), names)
axis.set(xlabel="AUC of the unlabeled rows")
plt.show()

# %%
# Conclusion: read what is said about the labels before the number. If somebody chose the rows and the reason is not in
# the table, have 50 rows audited before you act on the AUC.
