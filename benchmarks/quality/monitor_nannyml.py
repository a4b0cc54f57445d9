"""NannyML's CBPE on the batches that benchmarks.quality.monitor saved: ``python monitor_nannyml.py FOLDER``.

It runs in an environment with NannyML 0.13.1 and statsmodels, which NannyML needs and does not name. Each .npz file of
the folder gets a .csv file with the expected AUC and accuracy of each batch.
"""

import sys
import warnings
from pathlib import Path

import nannyml
import numpy as np
import pandas as pd


def expected(saved):
    """What CBPE expects of each batch, with its own calibration."""
    reference = _frame(saved["held_out"]).assign(truth=saved["positive"].astype(int))
    estimator = nannyml.CBPE(
        y_pred_proba="probability",
        y_pred="predicted",
        y_true="truth",
        problem_type="classification_binary",
        metrics=["roc_auc"],
        chunk_number=1,
    )
    estimator.fit(reference)
    rows = []
    for batch in saved["batches"]:
        found = estimator.estimate(_frame(saved["probability"][batch])).filter(period="analysis").to_df()
        rows.append({name: float(found["roc_auc", name].iloc[0]) for name in ("value",)})
    return pd.DataFrame(rows)


def _frame(probability):
    return pd.DataFrame({"probability": probability, "predicted": (probability > 0.5).astype(int)})


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    for path in sorted(Path(sys.argv[1]).glob("*.npz")):
        expected(np.load(path)).to_csv(path.with_suffix(".csv"), index=False)
