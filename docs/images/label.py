"""Draw label.png, the labeling page with the breast-cancer data of scikit-learn; needs selenium and Chromium.

python docs/images/label.py
"""

import contextlib
import shutil
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver
from sklearn.datasets import load_breast_cancer

from fewlabel.active.answers import row_keys
from fewlabel.label_app import AnswerStore, LabelingLoop, LabelServer, Task

N_ANSWERS = 90


def labeled_loop(path):
    """A loop with answers from the true classes."""
    data = load_breast_cancer(as_frame=True)
    table, truth, names = data.data.round(3), data.target.to_numpy(), ["malignant", "benign"]
    codes = np.where(np.arange(len(table)) < 10, truth, -1)
    rubric = "Malignant if you would ask for another biopsy.\nIf in doubt, skip the row and write a note."
    task = Task(
        title="tumors.csv",
        table=table,
        keys=row_keys(table),
        target="diagnosis",
        classes=names,
        codes=codes,
        positive="malignant",
        rubric=rubric,
    )
    loop = LabelingLoop(task, AnswerStore(path))
    for k in range(N_ANSWERS):
        row = loop.next("script")["row"]
        label = names[truth[row["number"] - 1]]
        loop.answer("script", row["key"], label, how=row["how"], probability=row["probability"])
        if k % 5 == 4:
            loop.wait()
    return loop


def main():
    picture = Path(__file__).absolute().with_name("label.png")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        loop = labeled_loop(Path("labels.csv"))
        server = LabelServer(loop)
        server.start()
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for switch in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1180,940"):
            options.add_argument(switch)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        driver.get(server.url)
        time.sleep(2)
        driver.save_screenshot(str(picture))
        driver.quit()
        server.close()
        loop.wait()
        loop.store.close()


if __name__ == "__main__":
    main()
