"""
Diagnosis: the best ranking from 40 labeled patients
====================================================

Labels cost a biopsy. Of the 398 patients in the table 40 have a diagnosis. Which method ranks the others
best, how sure can one be, and who should be examined next?

The data are the Wisconsin breast-cancer measurements that ship with scikit-learn: Street, Wolberg and
Mangasarian, Nuclear feature extraction for breast tumor diagnosis, IS&T/SPIE Symposium on Electronic Imaging,
1993.
"""

# %%
# The table
# ---------
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from fewlabel import AutoClassifier, hide_labels

data = load_breast_cancer(as_frame=True)
y = data.target_names[data.target]  # "benign" or "malignant": the last one, in the order of the alphabet, is positive
X_train, X_test, y_train, y_test = train_test_split(data.data, y, test_size=0.3, stratify=y, random_state=0)
y_few = hide_labels(y_train, labeled=40, random_state=0)  # None where there is no diagnosis

# %%
# Let the labels choose
# ---------------------
# ``AutoClassifier`` fits a portfolio of methods, scores each labeled patient with models that were not fitted
# to that patient, and combines the better methods. ``portfolio="small"`` takes a few fast ones; the default
# tries about twenty.
model = AutoClassifier("small", random_state=0).fit(X_train, y_few)
board = model.leaderboard_
print(board.to_string())

# %%
# With 40 labels the intervals are wide. A difference between two methods that lies inside them means nothing.
print(model.unlabeled_effect_)

# %%
# Rank new patients
# -----------------
probability = model.predict_proba(X_test)[:, 1]
auc = roc_auc_score(y_test == "malignant", probability)
print(f"AUC on {len(X_test)} new patients: {auc:.3f}; out of fold, on 40: {model.score_:.3f}")

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
bins = np.linspace(0, 1, 21)
for name in ("benign", "malignant"):
    axis.hist(probability[y_test == name], bins, alpha=0.6, label=name)
axis.set(xlabel="probability of a malignant tumor", ylabel="new patients")
axis.legend(frameon=False)
plt.show()

# %%
# Whom to examine next
# --------------------
# The patients whose probability is closest to one half: their labels teach the model most.
hidden = np.array([label is None for label in y_few])
of_hidden = model.predict_proba(X_train[hidden])[:, 1]
unsure = np.argsort(np.abs(of_hidden - 0.5))[:5]
print(X_train[hidden].iloc[unsure, :4].assign(probability=of_hidden[unsure].round(2)).to_string())
