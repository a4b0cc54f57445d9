"""Draw the pictures of the pages, and check that none is older than its script or its data.

python docs/pictures.py draw docs/methods/auto.py    # run a script, and sign the pictures that it wrote
python docs/pictures.py check                        # name the pictures that no longer belong to their script

The signature is in the file of the picture: the path of the script, and a digest of it and of the .csv files it reads.
"""

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from PIL import Image, PngImagePlugin

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "docs" / "images", ROOT / "docs" / "methods" / "images")
SCRIPT = "fewlabel script"  # names of texts in the file
DIGEST = "fewlabel digest"
CSV = re.compile(r'"quality" / "(\w+\.csv)"')


def digest_script(script):
    """SHA-256 of a script and of the stored results that it names."""
    text = script.read_text("utf-8")
    content = hashlib.sha256(text.encode())
    for name in sorted(set(CSV.findall(text))):
        content.update((ROOT / "benchmarks" / "quality" / name).read_bytes())
    return content.hexdigest()


def sign(picture, script):
    """Write script and digest into a picture, whose pixels stay as they are."""
    texts = PngImagePlugin.PngInfo()
    texts.add_text(SCRIPT, script.resolve().relative_to(ROOT).as_posix())
    texts.add_text(DIGEST, digest_script(script))
    with Image.open(picture) as image:
        image.save(picture, pnginfo=texts, optimize=True)


def pictures():
    """Committed pictures of the guide; those of docs/results are made from the stored results by `benchmarks pages`."""
    return [picture for folder in FOLDERS for picture in sorted(folder.glob("*.png"))]


def find_stale():
    """Pictures without a script, or whose script or data have changed since they were drawn, in words."""
    stale = []
    for picture in pictures():
        with Image.open(picture) as image:
            texts = dict(image.text)
        script = texts.get(SCRIPT)
        name = picture.relative_to(ROOT).as_posix()
        if script is None:
            stale.append(f"{name} has no script: draw it with `python docs/pictures.py draw SCRIPT`")
        elif not (ROOT / script).exists() or digest_script(ROOT / script) != texts[DIGEST]:
            stale.append(f"{name} is older than {script}: python docs/pictures.py draw {script}")
    return stale


def draw(script):
    """Run a script, and sign what it wrote."""
    before = {picture: picture.stat().st_mtime_ns for picture in pictures()}
    subprocess.run([sys.executable, str(script)], check=True)
    written = [picture for picture in pictures() if picture.stat().st_mtime_ns != before.get(picture)]
    for picture in written:
        sign(picture, script)
    return written


if __name__ == "__main__":
    if sys.argv[1] == "draw":
        for argument in sys.argv[2:]:
            print(*(picture.name for picture in draw(Path(argument))))
    else:
        # An empty text would count as an error.
        sys.exit("\n".join(find_stale()) or None)
