"""
Many classes: ten digits, a few labels each
===========================================

Ten classes, and a few labeled rows of each. Do the unlabeled rows help? Here they do: images of one digit
form a connected cloud, and a path through unlabeled images leads from each image to a labeled one of its
class.

The digits ship with scikit-learn: Alpaydin and Kaynak, Optical recognition of handwritten digits, UCI Machine
Learning Repository, 1998.
"""

# %%
# Accuracy by the number of labels
# --------------------------------
# Three draws of labels for each number. ``PathNeighborsClassifier`` uses all rows; the others learn from the
# labeled rows.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.neighbors import KNeighborsClassifier

from fewlabel import AutoClassifier, PathNeighborsClassifier, hide_labels

X, y = load_digits(return_X_y=True)
N_LABELS, DRAWS = [1, 3, 10, 30], 3
MODELS = {
    "path neighbors (all rows)": PathNeighborsClassifier(),
    "1-NN (labeled rows)": KNeighborsClassifier(1),
    "extra trees (labeled rows)": ExtraTreesClassifier(random_state=0),
}

accuracy = {name: np.empty((DRAWS, len(N_LABELS))) for name in MODELS}
for draw in range(DRAWS):
    for j, n in enumerate(N_LABELS):
        y_few = hide_labels(y, labeled=n, mechanism="per-class", random_state=draw)
        hidden = y_few == -1
        for name, model in MODELS.items():
            if isinstance(model, PathNeighborsClassifier):
                found = model.fit(X, y_few).transduction_[hidden]  # the class of every row of the fit
            else:
                found = model.fit(X[~hidden], y_few[~hidden]).predict(X[hidden])
            accuracy[name][draw, j] = np.mean(found == y[hidden])

# %%
figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
for name, values in accuracy.items():
    error = values.std(axis=0, ddof=1) / np.sqrt(DRAWS)
    axis.errorbar(N_LABELS, values.mean(axis=0), error, marker="o", capsize=3, label=name)
axis.set(xscale="log", xlabel="labeled rows per class", ylabel=f"accuracy, mean of {DRAWS} draws ± standard error")
axis.set_xticks(N_LABELS, [str(n) for n in N_LABELS])
axis.legend(frameon=False)
plt.show()

# %%
# Which rows are doubtful?
# ------------------------
# ``label_distributions_`` has a probability per class for each row. Look at the rows where no class stands
# out.
y_few = hide_labels(y, labeled=5, mechanism="per-class", random_state=0)
model = PathNeighborsClassifier().fit(X, y_few)
doubt = np.argsort(model.label_distributions_.max(axis=1))[:8]
figure, axes = plt.subplots(1, 8, figsize=(9, 1.6), layout="constrained")
for axis, row in zip(axes, doubt):
    axis.imshow(X[row].reshape(8, 8), cmap="gray_r")
    axis.set_title(f"{model.transduction_[row]} (is {y[row]})", fontsize=9)
    axis.set_axis_off()
plt.show()

# %%
# The decision
# ------------
# Which digits can be read without a person? Those whose class is likely enough: here, at most one in a hundred should
# be wrong. ``AutoClassifier`` compares path neighbors with other methods, and its probabilities are calibrated.
auto = AutoClassifier("small", random_state=0).fit(X, y_few)
hidden = y_few == -1
probability = auto.predict_proba(X[hidden]).max(axis=1)
is_right = auto.predict(X[hidden]) == y[hidden]
by_machine = probability >= 0.99
print(auto.headline_)
print(f"{by_machine.mean():.0%} are read by the machine, {np.mean(~is_right[by_machine]):.1%} of these wrong")

# %%
# Conclusion: sure images go through, a person reads the others, and these answers are the next labels. Unlabeled rows
# do not help everywhere: where classes overlap, a path of short steps leads from one class to another.
