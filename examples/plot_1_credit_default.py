"""
Credit default: a scorecard, a threshold and what it costs
==========================================================

A lender knows the outcome of a few hundred loans. Thousands of open ones have none yet. Which of them should be
refused, by a rule that a credit officer can read?

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

import fewlabel
from fewlabel import AutoClassifier, TableClassifier, hide_labels
from fewlabel.decisions import Costs
from fewlabel.tables import choose_threshold

if os.environ.get("FEWLABEL_DATA"):
    table = fewlabel.load_dataset("default-credit-card")
    some = np.random.default_rng(0).permutation(len(table.target))[:6000]
    X = table.data.iloc[some].reset_index(drop=True)
    defaulted = (table.target == table.positive).to_numpy()[some]
else:
    values, _, target = fewlabel.make_multiview_credit(6000, return_true=True, random_state=0)
    X = pd.DataFrame(values, columns=[f"measure {j}" for j in range(values.shape[1])])
    defaulted = target == 1
outcome = pd.Series(np.where(defaulted, "default", "repaid"), name="outcome", dtype=object)
known = hide_labels(outcome, labeled=600, random_state=0)  # None: not known yet
print(pd.Series(known).value_counts(dropna=False))

# %%
# One additive model
# ------------------
# ``interpretable=True`` chooses the best sum of step functions, one per column, and says what being additive costs.
model = TableClassifier(AutoClassifier("small", interpretable=True, random_state=0), positive="default", random_state=0)
rows = model.encode(X, known)
model.fit_encoded(rows)
auto = model.estimator_
print(auto.selection_.text)
print(auto.headline_)
print(auto.additive_choice_.text)

# %%
# Written as points, it is a scorecard: 20 points double the odds of a default.
card = fewlabel.scorecard(model, points=20, base=600)
print(card.round(1).head(8).to_string(index=False))

# %%
# The decision
# ------------
# A missed default costs ten times as much as a good customer who is refused. The threshold with the least expected
# cost is stored in the model.
costs = Costs(miss=500, alarm=50)
decision = choose_threshold(model, rows, costs=costs)
precision = decision.yields["precision"]
print(f"{decision.rule}: refuse {decision.n_flagged} of {decision.n_rows} open loans")
print(f"of these, {precision.value:.0%} would default (95% band {precision.low:.0%} to {precision.high:.0%})")

# %%
# The page that ``fewlabel fit`` writes, for the file of the decision:
page = fewlabel.report(model, X, known, title="Open loans")
print(page.metrics["headline"]["text"])

# %%
# Was it a good decision?
# -----------------------
# Here we can look at the hidden outcomes. In practice you have the intervals of the report.
is_open = pd.isna(pd.Series(known)).to_numpy()
risk = model.positive_proba(X[is_open])
refused = model.predict(X[is_open]) == "default"
bad = defaulted[is_open]
cost = costs.miss * np.sum(bad & ~refused) + costs.alarm * np.sum(~bad & refused)
accept_all = costs.miss * np.sum(bad)
print(f"AUC on the open loans: {roc_auc_score(bad, risk):.3f}")
print(f"refused: {refused.sum()} of {len(refused)}; cost {cost:,} instead of {accept_all:,} if all are accepted")

# %%
# The cost of refusing the first n loans, in the order of risk. The dot is the decision, which was made without these
# outcomes.
order = np.argsort(-risk)
gain = np.cumsum(np.where(bad[order], -costs.miss, costs.alarm))
figure, axis = plt.subplots(figsize=(6, 3.4), layout="constrained")
axis.plot(np.arange(1, len(gain) + 1), accept_all + gain)
axis.plot(refused.sum(), cost, "o", color="tab:orange", label="the decision")
axis.set(xlabel="loans refused, the riskiest first", ylabel="cost")
axis.legend(frameon=False)
plt.show()

# %%
# Conclusion: the card can be read and approved, the threshold is the cheapest one that 600 outcomes can find, and the
# report says how far to trust it. ``fewlabel fit --method scorecard --cost-miss 500 --cost-alarm 50`` does the same.
