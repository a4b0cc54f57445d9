"""
Which rows to label next
========================

Ten tumors of a table are diagnosed, and every further diagnosis costs a biopsy. Which tumors should be next?
`BatchQuery` asks for ten at a time; we compare it with ten random ones each time.
"""

# %%
# The answers are in the data here; in a real job somebody gives them, for instance on the page of ``fewlabel label``.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabel import BatchQuery, RandomQuery, auc_confidence_interval, draw_weights

X, y = load_breast_cancer(return_X_y=True)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
model = make_pipeline(StandardScaler(), LogisticRegression())


def label_rows(strategy, seed, n_rounds=6):
    """AUC on the test rows after each round, and how the rows were drawn, in the order of the answers."""
    known = np.full(len(y), -1)
    known[np.random.default_rng(seed).permutation(len(y))[:10]] = 1
    known = np.where(known == 1, y, -1)
    aucs, rows, random, chance = [], list(np.flatnonzero(known >= 0)), [False] * 10, [1.0] * 10
    for step in range(n_rounds + 1):
        model.fit(X[known >= 0], known[known >= 0])
        aucs.append(roc_auc_score(y_test, model.decision_function(X_test)))
        query = strategy.set_params(random_state=100 * seed + step).query(
            X, known, 10, probability=model.predict_proba(X)
        )
        known[query.rows] = y[query.rows]
        rows += list(query.rows)
        random += [how == "random" for how in query.how]
        chance += list(query.probability)
    return aucs, rows, random, chance


# %%
# The mean of ten starts:

labels = np.arange(10, 80, 10)
for name, strategy in {"BatchQuery": BatchQuery(), "random rows": RandomQuery()}.items():
    curves = np.array([label_rows(strategy, seed)[0] for seed in range(10)])
    plt.plot(labels, curves.mean(axis=0), marker="o", label=name)
plt.xlabel("labeled rows")
plt.ylabel("AUC on test rows, mean of 10 starts")
plt.legend()
plt.show()

# %%
# The chosen rows are hard ones, so an AUC measured on them is too low. One in ten rows was drawn at random, with known
# probability: weights correct the estimate, and its interval says how sure it is with so few rows.

_, rows, random, chance = label_rows(BatchQuery(), 0)
model.fit(X_test, y_test)  # a score that has not seen these rows
score = model.decision_function(X[rows])
print("all rows of the table:", round(roc_auc_score(y, model.decision_function(X)), 3))
print("labeled rows, no weights:", round(roc_auc_score(y[rows], score), 3))
print("labeled rows, weighted:", auc_confidence_interval(y[rows], score, sample_weight=draw_weights(random, chance)))

# %%
# Conclusion: ask for the rows that `BatchQuery` names, keep the random tenth, and stop when the weighted interval is
# short enough for the decision. ``fewlabel label`` does all of it in the browser.
