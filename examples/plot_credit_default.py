"""
Credit default: a scorecard from a few known outcomes
=====================================================

A lender knows the outcome of a few hundred loans. Thousands of open ones have none yet. The aim is a ranking
of the open loans by risk that a credit officer can read: a scorecard.

The stand-in table is generated: 1 default in 20 loans, columns in correlated blocks, and 2% of the cells
missing. With ``FEWLABEL_DATA`` set, it is the table of Yeh and Lien, The comparisons of data mining
techniques for the predictive accuracy of probability of default of credit card clients, Expert Systems with
Applications, 2009.
"""

# %%
# The table, and the few outcomes that are known
# ----------------------------------------------
import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

import fewlabel
from fewlabel import LabeledStratifiedKFold, PNUAUCBoostClassifier, hide_labels
from fewlabel.inspection import plot_shape_functions, scorecard

if os.environ.get("FEWLABEL_DATA"):
    table = fewlabel.load_dataset("default-credit-card")
    X, y = table.data, (table.target == table.positive).astype(int).to_numpy()
else:
    values, _, y = fewlabel.make_multiview_credit(6000, return_true=True, random_state=0)
    X = pd.DataFrame(values, columns=[f"measure {j}" for j in range(values.shape[1])])

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
y_few = hide_labels(y_train, labeled=600, random_state=0)  # -1: not known
print(pd.Series(y_few).value_counts().rename({-1: "not known", 0: "repaid", 1: "default"}))

# %%
# Do the open loans help?
# -----------------------
# With ``gamma=1``, the default, ``PNUAUCBoostClassifier`` is RankBoost and learns from the labeled rows; below 1 it
# learns from all rows. Compare the two on labeled rows that they were not fitted to, with a test for paired scores.
folds = LabeledStratifiedKFold(5, shuffle=True, random_state=0)
labeled = np.flatnonzero(y_few != -1)
scores = {}
for name, model in {
    "labeled rows": PNUAUCBoostClassifier(random_state=0),
    "all rows": PNUAUCBoostClassifier(gamma=0.95, random_state=0),
}.items():
    out_of_fold = np.full(len(y_few), np.nan)
    for train, test in folds.split(X_train, y_few):
        fitted = model.fit(X_train.iloc[train], np.asarray(y_few)[train])
        out_of_fold[test] = fitted.decision_function(X_train.iloc[test])
    scores[name] = out_of_fold[labeled]
truth = np.asarray(y_few)[labeled]
print(fewlabel.paired_auc_test(truth, scores["all rows"], scores["labeled rows"]))

# %%
# The scorecard
# -------------
# A booster of stumps is a sum of step functions, one per column. Written as points, it is a scorecard: 20
# points double the odds of a default.
model = PNUAUCBoostClassifier(random_state=0).fit(X_train, y_few)
card = scorecard(model, points=20, base=600)
print(card.round(1).head(8).to_string(index=False))

# %%
# The most important columns, as pictures:
figure, axes = plt.subplots(2, 3, figsize=(10, 5), layout="constrained")
plot_shape_functions(model, axes=axes)
plt.show()

# %%
# How good is it?
# ---------------
# Here the hidden outcomes are at hand, so the test rows can say. In practice ``auc_confidence_interval`` on
# out-of-fold scores is what there is.
on_labels = fewlabel.auc_confidence_interval(truth, scores["labeled rows"])
print("out of fold, on the labeled rows:", on_labels)
print(f"on the test rows: {roc_auc_score(y_test, model.decision_function(X_test)):.3f}")
