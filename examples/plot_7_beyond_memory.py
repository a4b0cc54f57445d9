"""
A table beyond memory: which payments to check
==============================================

Payments are in many files, larger than memory together. Which 200 of them should be checked? ``fewlabel.dask`` reads
the files block by block, and gives the model that the in-memory estimator would give.

The script writes a small stand-in, 8 Parquet files of 5,000 rows. On a cluster, start a
``distributed.Client`` first; the code is the same.
"""

# %%
# The files
# ---------
import tempfile
from pathlib import Path

import dask.dataframe as dd
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

import fewlabel
import fewlabel.dask
from fewlabel.inspection import plot_shape_functions


def make_block(seed, n=5000, n_columns=12):
    """Payments, 2% frauds; 5% of the rows have a label, -1 marks the others."""
    rng = np.random.default_rng(seed)
    fraud = rng.random(n) < 0.02
    values = rng.normal(size=(n, n_columns)).round(2) + np.outer(fraud, np.linspace(1.5, 0, n_columns)).round(2)
    block = pd.DataFrame(values, columns=[f"c{j}" for j in range(n_columns)])
    return block.assign(label=np.where(rng.random(n) < 0.05, fraud, -1), fraud=fraud)


folder = tempfile.TemporaryDirectory()
for k in range(8):
    make_block(k).to_parquet(Path(folder.name) / f"part-{k}.parquet")

# %%
# The fit
# -------
# The collection is lazy. Memory holds one byte per value and 16 bytes per row, spread over the workers.
rows = dd.read_parquet(f"{folder.name}/part-*.parquet")
X, y = rows.drop(columns=["label", "fraud"]), rows["label"]
model = fewlabel.dask.PNUAUCBoostClassifier(50, random_state=0).fit(X, y)
scores = model.decision_function(X)  # lazy too
print(f"AUC over all rows: {roc_auc_score(rows['fraud'].compute(), scores.compute()):.3f}")

# %%
# The decision: 200 payments to check
# -----------------------------------
# Only the scores are in memory, one number per row.
unlabeled = (y == -1).compute().to_numpy()
fraud = rows["fraud"].compute().to_numpy()
order = np.argsort(-np.where(unlabeled, scores.compute(), -np.inf))[:200]
print(
    f"{fraud[order].sum()} of the first 200 are frauds; of 200 random ones {200 * fraud[unlabeled].mean():.0f} would be"
)

# %%
# The same model as in memory
# ---------------------------
# ``model_`` is the ordinary estimator: save it, look at its step functions, write it as a scorecard.
whole = X.compute()
alone = fewlabel.PNUAUCBoostClassifier(50, random_state=0).fit(whole, y.compute())
difference = np.abs(alone.decision_function(whole) - model.model_.decision_function(whole)).max()
print(f"largest difference of a score: {difference:.1e}")

figure, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
plot_shape_functions(model.model_, max_columns=3, axes=axes)
plt.show()

# %%
# Conclusion: few labels do not need the whole table in memory, and the list is the one that the whole table would give.
# The command line also reads text, dates and categories, and writes a report::
#
#     fewlabel fit part-*.parquet --target label --engine dask --review 200
folder.cleanup()
