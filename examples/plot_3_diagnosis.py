"""
Diagnosis: whom to examine, with 40 labeled patients
====================================================

A label costs a biopsy. Of the 398 patients in the table, 40 have a diagnosis. Which of the others should be examined,
how sure can one be, and whose biopsy would help the model most?

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

import fewlabel
from fewlabel import AutoClassifier, BatchQuery, TableClassifier, hide_labels
from fewlabel.tables import choose_threshold

data = load_breast_cancer(as_frame=True)
diagnosis = data.target_names[data.target]
X, X_new, y, y_new = train_test_split(data.data, diagnosis, test_size=0.3, stratify=diagnosis, random_state=0)
y_few = hide_labels(y, labeled=40, random_state=0)  # None where there is no diagnosis

# %%
# Let the labels choose
# ---------------------
# ``AutoClassifier`` scores each labeled patient with models that were not fitted to that patient, and combines the
# better methods. ``"small"`` takes a few fast ones; the default tries nine.
model = TableClassifier(AutoClassifier("small", random_state=0), positive="malignant", random_state=0)
rows = model.encode(X, y_few)
model.fit_encoded(rows)
print(model.estimator_.leaderboard_[["method", "score", "low", "high", "weight"]].round(3).to_string(index=False))

# %%
# With 40 labels the intervals are wide: a difference between two methods that lies inside them means nothing. What to
# expect on the patients without a diagnosis:
print(model.estimator_.headline_)

# %%
# The decision: at most 100 examinations
# --------------------------------------
decision = choose_threshold(model, rows, review=100)
recall = decision.yields["recall"]
band = f"{recall.low:.0%} to {recall.high:.0%}"
print(f"{decision.rule}: {recall.value:.0%} of all malignant tumors are among them ({band})")
page = fewlabel.report(model, X, y_few, title="Patients without a diagnosis")

# %%
# The same model on new patients, whose diagnosis it has not seen:
probability = model.positive_proba(X_new)
print(f"AUC on {len(X_new)} new patients: {roc_auc_score(y_new == 'malignant', probability):.3f}")

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
bins = np.linspace(0, 1, 21)
for name in ("benign", "malignant"):
    axis.hist(probability[y_new == name], bins, alpha=0.6, label=name)
axis.set(xlabel="probability of a malignant tumor", ylabel="new patients")
axis.legend(frameon=False)
plt.show()

# %%
# Whose biopsy would help the model most
# --------------------------------------
# The patients closest to the threshold are much alike. ``BatchQuery`` asks for some that are uncertain, typical of
# others, and different from each other.
query = BatchQuery(positive="malignant", random_state=0).query(rows.X, y_few, n=5)
print(X.iloc[query.rows, :4].assign(why=query.how).to_string())

# %%
# Conclusion: with 40 diagnoses the ranking is good enough to choose 100 patients, and we know which five biopsies to do
# next.
