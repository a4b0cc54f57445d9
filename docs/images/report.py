"""Draw report.png, the first part of the demo's report; needs Chromium.

python docs/images/report.py
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from fewlabel.cli.main import run

SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1100,1300")


def main():
    picture = Path(__file__).with_name("report.png")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        if run(["demo", "--quiet", "--out", str(page)]) != 0:
            raise SystemExit("the demo failed")
        subprocess.run([shutil.which("chromium"), *SWITCHES, f"--screenshot={picture}", page.as_uri()], check=True)


if __name__ == "__main__":
    main()
