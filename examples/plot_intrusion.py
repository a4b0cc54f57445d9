"""
Intrusion: a log with categories, dates and gaps
================================================

A few hundred connections were classified by hand; the log has thousands. Columns are numbers with long tails,
categories, dates, and some are empty. The aim is a model file that scores each new log, in Python or on the
command line.

The stand-in log is generated. With ``FEWLABEL_DATA`` set, it is NSL-KDD: Tavallaee et al., A detailed
analysis of the KDD CUP 99 data set, IEEE CISDA, 2009.
"""

# %%
# The log
# -------
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import train_test_split

import fewlabel
from fewlabel import PNUAUCBoostClassifier, TableClassifier, hide_labels


def make_log(n=6000, seed=0):
    """Connections, one in ten an attack; attacks are short, at night, and to unusual services."""
    rng = np.random.default_rng(seed)
    attack = rng.random(n) < 0.1
    hour = np.where(attack, rng.normal(3, 3, n), rng.normal(14, 4, n)) % 24
    usual, unusual = ["http", "smtp", "dns", "ssh"], ["telnet", "ftp", "http", "finger"]
    log = pd.DataFrame(
        {
            "time": pd.Timestamp("2024-03-01") + pd.to_timedelta(24 * rng.integers(0, 30, n) + hour, unit="h"),
            "protocol": rng.choice(["tcp", "udp", "icmp"], n, p=[0.7, 0.2, 0.1]),
            "service": np.where(attack, rng.choice(unusual, n), rng.choice(usual, n)),
            "seconds": rng.lognormal(np.where(attack, 0.0, 1.0), 1.5),
            "bytes sent": rng.lognormal(np.where(attack, 5.0, 6.0), 2.0).round(),
            "failed logins": np.where(rng.random(n) < 0.2, np.nan, rng.poisson(np.where(attack, 0.7, 0.1))),
        }
    )
    return log, np.where(attack, "attack", "normal")


if os.environ.get("FEWLABEL_DATA"):
    table = fewlabel.load_dataset("nsl-kdd-20pct")
    X, y = table.data, table.target.astype(str).to_numpy()
else:
    X, y = make_log()
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
y_few = hide_labels(y_train, labeled=300, random_state=0)
print(X_train.head(3).to_string())

# %%
# The model
# ---------
# ``TableClassifier`` turns the columns into numbers and remembers how. ``positive`` names the class to find.
model = TableClassifier(PNUAUCBoostClassifier(random_state=0), positive="attack", random_state=0).fit(X_train, y_few)

figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
positive = list(model.classes_).index("attack")
scores = model.predict_proba(X_test)[:, positive]
RocCurveDisplay.from_predictions(y_test == "attack", scores, name="300 labels", ax=axis)
axis.set(xlabel="false positive rate", ylabel="true positive rate (recall)")
plt.show()

# %%
# How many alarms for how many attacks
# ------------------------------------
order = np.argsort(-scores)
for n in (50, 100, 200):
    hits = np.sum(y_test[order[:n]] == "attack")
    print(f"the {n} highest scores: {hits} attacks, {hits / np.sum(y_test == 'attack'):.0%} of all")

# %%
# Keep it, and score the next log
# -------------------------------
# The file holds data only: loading it runs no code. On the command line, ``fewlabel predict model.fewlabel
# log.csv --out scores.csv`` reads it.
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.fewlabel"
    fewlabel.save(model, path)
    again = fewlabel.load(path)
    print("same scores:", np.array_equal(again.predict_proba(X_test), model.predict_proba(X_test)))
