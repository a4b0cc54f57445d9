"""
Intrusion: alarms that are worth reading
========================================

A few hundred connections were classified by hand; the log has thousands. Columns are numbers with long tails,
categories, dates, and some are empty. Which connections should raise an alarm, so that most alarms are attacks?

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
from fewlabel import AutoClassifier, TableClassifier, hide_labels
from fewlabel.tables import choose_threshold


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
# The model, and a promise
# ------------------------
# ``TableClassifier`` turns the columns into numbers and remembers how. ``positive`` names the class to find. The
# threshold promises that at least 60% of the alarms are attacks, with 80% confidence; where the labels cannot promise
# it, there is an error that names the best they can.
model = TableClassifier(AutoClassifier("small", random_state=0), positive="attack", random_state=0)
rows = model.encode(X_train, y_few)
model.fit_encoded(rows)
decision = choose_threshold(model, rows, precision=0.6)
print(f"{decision.rule}: {decision.n_flagged} alarms among {decision.n_rows} connections")

# %%
# On the next log
# ---------------
alarm = model.predict(X_test) == "attack"
attack = y_test == "attack"
print(
    f"{alarm.sum()} alarms, {np.mean(attack[alarm]):.0%} of them attacks, {np.mean(alarm[attack]):.0%} of all attacks"
)

figure, axis = plt.subplots(figsize=(5, 4), layout="constrained")
RocCurveDisplay.from_predictions(attack, model.positive_proba(X_test), name="300 labels", ax=axis)
axis.plot(np.mean(alarm[~attack]), np.mean(alarm[attack]), "o", color="tab:orange", label="the threshold")
axis.set(xlabel="false positive rate", ylabel="true positive rate (recall)")
axis.legend(frameon=False)
plt.show()

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

# %%
# Conclusion: the promise of 60% is kept on the next log, and the file is all that the nightly job needs.
