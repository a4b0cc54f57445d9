"""Draw monitor.png, the page of the fourth batch of a made table; needs Chromium.

python docs/images/monitor.py
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from fewlabel.cli.main import run

SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=960,2160")
BATCHES = ("january", "february", "march", "april")


def make_rows(n, seed, shift=0.0):
    """Loans whose applicants get older, and come from Oslo more often."""
    rng = np.random.default_rng(seed)
    city = rng.choice(["Oslo", "Graz", "Lima"], n, p=[0.3 + 0.15 * shift, 0.4, 0.3 - 0.15 * shift])
    age = rng.normal(40 + 5 * shift, 10, n).round(1)
    amount = np.exp(rng.normal(6, 1, n)).round(2)
    odds = (age - 40) / 5 + np.log(amount) - 6 + (city == "Oslo")
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-1.5 * odds)), "bad", "good")
    return pd.DataFrame({"id": np.arange(n) + 10_000 * seed, "age": age, "amount": amount, "city": city}), y


def call(*words):
    if run([*map(str, words), "--quiet"]) != 0:
        raise SystemExit(f"fewlabel {words[0]} failed")


def main():
    picture = Path(__file__).with_name("monitor.png")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows, y = make_rows(1000, 0)
        rows.assign(outcome=np.where(np.arange(1000) < 250, y, None)).to_csv(folder / "rows.csv", index=False)
        fit = ["--target", "outcome", "--positive", "bad", "--drop", "id", "--method", "small"]
        call("fit", folder / "rows.csv", *fit, "--out", folder)
        for number, batch in enumerate(BATCHES):
            rows, y = make_rows(800, number + 1, shift=number / 2)
            rows.to_csv(folder / f"{batch}.csv", index=False)
            labels = []
            if batch != BATCHES[-1]:
                rows[["id"]].assign(label=y).to_csv(folder / "late.csv", index=False)
                labels = ["--labels", folder / "late.csv", "--key", "id"]
            costs = ["--cost-miss", 10, "--cost-alarm", 1]
            call("monitor", folder / "model.fewlabel", folder / f"{batch}.csv", *labels, *costs, "--out", folder)
        page = (folder / "monitor.html").as_uri()
        subprocess.run([shutil.which("chromium"), *SWITCHES, f"--screenshot={picture}", page], check=True)
    whole = Image.open(picture).convert("RGB")
    half = whole.resize((whole.width * 3 // 4, whole.height * 3 // 4), Image.Resampling.LANCZOS)
    half.quantize(128).save(picture, optimize=True)


if __name__ == "__main__":
    main()
