"""Rivals in the ring: other learners on the splits of `benchmarks.quality.cells`, beside AutoClassifier.

    FEWLABEL_DATA=folder python -m benchmarks.quality.ring FOLDER [--cells 30]

FOLDER holds the tables of `benchmarks.quality.tables`; `pip install perpetual xrfm pytabkit` gives the rivals. Adds
rows to ring.csv: the test AUC of a method that was fitted to the labeled rows of a cell, drawn at random from those of
experience.csv, where AutoClassifier's AUC is; its experience is without the table. Methods have their defaults,
CatBoost 300 trees. Columns are encoded as AutoClassifier sees them; "CatBoost, own categories" sees words as they are.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.quality.cells import encode, sample
from benchmarks.quality.experience import FILES
from fewlabel.auto.members import BINARY

FILE = Path(__file__).with_name("ring.csv")
COLUMNS = ["table", "amount", "method", "auc", "seconds"]
OWN = "CatBoost, own categories"


def _catboost(rows, y, tests, **parameters):
    model = CatBoostClassifier(300, thread_count=1, verbose=False, allow_writing_files=False, random_seed=0)
    return model.fit(rows, y, **parameters).predict_proba(tests)[:, 1]


def _perpetual(rows, y, tests):
    from perpetual import PerpetualBooster

    model = PerpetualBooster(objective="LogLoss", num_threads=1)
    model.fit(rows, y)
    return model.predict(tests)


def _xrfm(rows, y, tests):
    from xrfm import xRFM

    # It stops by a fifth of the rows.
    held_out = np.zeros(len(y), dtype=bool)
    for code in (0, 1):
        of_class = np.flatnonzero(y == code)
        held_out[of_class[: max(1, len(of_class) // 5)]] = True
    model = xRFM(device="cpu", random_state=0, verbose=False)
    model.fit(rows[~held_out], y[~held_out], rows[held_out], y[held_out])
    return np.asarray(model.predict_proba(tests))[:, 1]


def _real_mlp(rows, y, tests):
    from pytabkit import RealMLP_TD_Classifier

    model = RealMLP_TD_Classifier(device="cpu", n_threads=1, random_state=0, verbosity=0)
    return model.fit(rows.astype(np.float32), y).predict_proba(tests.astype(np.float32))[:, 1]


RIVALS = {"CatBoost, 300 trees": _catboost, "perpetual": _perpetual, "xRFM": _xrfm, "RealMLP": _real_mlp}


def _own_categories(data, known, y):
    """Scores by CatBoost, which is told the columns that hold words; None if there is none."""
    words = list(data.select_dtypes(exclude=["number", "bool"]).columns)
    if not words:
        return None
    data = data.copy()
    for column in words:
        data[column] = data[column].astype(object).where(data[column].notna(), "missing").astype(str)
    return _catboost(data[known], y, data[~known], cat_features=words)


def fit_cell(name, amount, tables):
    """Test AUC and CPU seconds of each rival on one cell."""
    data, few, codes = sample(BINARY, name, amount, 0, tables)
    known = few >= 0
    y = codes[known]
    X = encode(data)
    filled = SimpleImputer(strategy="median", keep_empty_features=True).fit(X[known]).transform(X)
    scaled = StandardScaler().fit(filled[known]).transform(filled)
    for method in (*RIVALS, OWN):
        start = time.process_time()
        if method == OWN:
            found = _own_categories(data, known, y)
        else:
            found = RIVALS[method](scaled[known], y, scaled[~known])
        auc = np.nan if found is None else roc_auc_score(codes[~known], found)
        yield name, amount, method, auc, time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--cells", type=int, default=30)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    cells = pd.read_csv(FILES[BINARY])[["table", "amount"]].sample(frac=1.0, random_state=0)[: options.cells]
    done = set()
    if FILE.exists():
        done = set(pd.read_csv(FILE)[["table", "amount"]].itertuples(index=False, name=None))
    for name, amount in cells.itertuples(index=False, name=None):
        if (name, amount) not in done:
            found = pd.DataFrame(fit_cell(name, amount, options.tables), columns=COLUMNS).round(4)
            found.to_csv(FILE, mode="a", header=not FILE.exists(), index=False)


if __name__ == "__main__":
    main()
