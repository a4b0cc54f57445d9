"""Rivals in the ring: other learners on the splits of `benchmarks.quality.cells`, beside AutoClassifier.

    FEWLABEL_DATA=folder python -m benchmarks.quality.ring FOLDER [--cells 30]

FOLDER holds the tables of `benchmarks.quality.tables`; `pip install perpetual xrfm pytabkit autogluon.tabular` and
`pip install --no-deps pfns==0.3.0` give the rivals, in an environment of their own. The weights of TabPFN 1 are in the
source archive of pfns 0.3.0; TABPFN names the folder that it was unpacked to. Adds rows to ring.csv: the test AUC of a
method that was fitted to the labeled rows of a cell, drawn at random from those of experience.csv, where the AUC of
AutoClassifier is. Methods have their defaults, CatBoost 300 trees, AutoGluon 60 and 300 seconds on one core. Columns
are encoded as AutoClassifier sees them; "CatBoost, own categories" and AutoGluon see words as they are. A method that
is not installed is left out, and added by a later run.
"""

import argparse
import os
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Optional

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from benchmarks.quality.cells import encode, sample
from benchmarks.quality.experience import ENSEMBLE, FILES
from fewlabel.auto.members import BINARY

FILE = Path(__file__).with_name("ring.csv")
COLUMNS = ["table", "amount", "method", "auc", "seconds"]
OWN = "CatBoost, own categories"
LABEL = "label of the cell"
WEIGHTS = "models_diff/prior_diff_real_checkpoint_n_0_epoch_42.cpkt"


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


def _tab_m(rows, y, tests):
    from pytabkit import TabM_D_Classifier

    model = TabM_D_Classifier(device="cpu", n_threads=1, random_state=0, verbosity=0)
    return model.fit(rows.astype(np.float32), y).predict_proba(tests.astype(np.float32))[:, 1]


def _tabpfn(rows, y, tests):
    import torch

    # pfns 0.3.0 was written for earlier versions of torch and scikit-learn.
    torch.nn.modules.transformer.Optional = Optional
    torch.load = partial(torch.load, weights_only=True)
    from pfns.scripts import tabpfn_interface

    tabpfn_interface.check_X_y = lambda X, y, **options: (X, y)
    tabpfn_interface.check_array = lambda X, **options: X
    known = tabpfn_interface.TabPFNClassifier.models_in_memory
    if not known:
        # It would look for other files of weights on the network first.
        known["|cpu"] = (*tabpfn_interface.load_model_only_inference(os.environ["TABPFN"], WEIGHTS), None)
    # The network takes at most 1,000 rows and 100 columns.
    some = np.random.default_rng(0).permutation(len(y))[:1000]
    columns = np.argsort(-rows[some].var(axis=0), kind="stable")[:100]
    model = tabpfn_interface.TabPFNClassifier(N_ensemble_configurations=16)
    model.fit(rows[some][:, columns], y[some])
    pieces = np.array_split(tests[:, columns], max(1, len(tests) // 500))
    return np.concatenate([model.predict_proba(piece)[:, 1] for piece in pieces])


RIVALS = {
    "CatBoost, 300 trees": _catboost,
    "perpetual": _perpetual,
    "xRFM": _xrfm,
    "RealMLP": _real_mlp,
    "TabM": _tab_m,
    "TabPFN 1": _tabpfn,
}


def _own_categories(data, known, y):
    """Scores by CatBoost, which is told the columns that hold words; None if there is none."""
    words = list(data.select_dtypes(exclude=["number", "bool"]).columns)
    if not words:
        return None
    data = data.copy()
    for column in words:
        data[column] = data[column].astype(object).where(data[column].notna(), "missing").astype(str)
    return _catboost(data[known], y, data[~known], cat_features=words)


def _autogluon(seconds, data, known, y):
    """Scores by AutoGluon after at most these seconds; it sees the table as it is."""
    from autogluon.tabular import TabularPredictor

    with tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor(LABEL, path=f"{folder}/model", eval_metric="roc_auc", verbosity=0)
        # Its trial of stacking needs processes of its own, and most of a minute.
        settings = {"presets": "best", "time_limit": seconds, "num_cpus": 1, "dynamic_stacking": False}
        model.fit(data[known].assign(**{LABEL: y}), **settings)
        return model.predict_proba(data[~known])[1].to_numpy()


WHOLE = {
    OWN: _own_categories,
    "AutoGluon, best, 60 s": partial(_autogluon, 60),
    "AutoGluon, best, 300 s": partial(_autogluon, 300),
}


def fit_cell(name, amount, tables, done):
    """Test AUC and CPU seconds of each rival on one cell, without the methods that are done."""
    data, few, codes = sample(BINARY, name, amount, 0, tables)
    known = few >= 0
    y = codes[known]
    X = encode(data)
    filled = SimpleImputer(strategy="median", keep_empty_features=True).fit(X[known]).transform(X)
    scaled = StandardScaler().fit(filled[known]).transform(filled)
    for method in (*RIVALS, *WHOLE):
        if (name, amount, method) in done:
            continue
        start = time.process_time()
        try:
            if method in WHOLE:
                found = WHOLE[method](data, known, y)
            else:
                found = RIVALS[method](scaled[known], y, scaled[~known])
        except ModuleNotFoundError:
            continue
        auc = np.nan if found is None else roc_auc_score(codes[~known], found)
        yield name, amount, method, auc, time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("--cells", type=int, default=30)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    tried = pd.read_csv(FILE) if FILE.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(tried[["table", "amount", "method"]].itertuples(index=False, name=None))
    for name, amount in choose_cells(tried, options.cells):
        for row in fit_cell(name, amount, options.tables, done):
            _append(row)


def choose_cells(tried, n_cells):
    """Table and amount of labels of the cells that were tried, and of others drawn at random."""
    known = pd.read_csv(FILES[BINARY]).query("draw == 0").sample(frac=1.0, random_state=0)
    both = pd.concat([tried, known])[["table", "amount"]].drop_duplicates()
    return list(both[:n_cells].itertuples(index=False, name=None))


def beside_ours(rivals):
    """The rows of ring.csv, and the AUC that AutoClassifier has on the cell, without the table in its experience."""
    ours = pd.read_csv(FILES[BINARY]).query("draw == 0").set_index(["table", "amount"])[ENSEMBLE]
    return rivals.join(ours, on=["table", "amount"])


def _append(row):
    pd.DataFrame([row], columns=COLUMNS).round(4).to_csv(FILE, mode="a", header=not FILE.exists(), index=False)


if __name__ == "__main__":
    main()
