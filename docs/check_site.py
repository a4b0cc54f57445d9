"""Check the built site: links, names, pictures and, where a browser is installed, lengths of pages and accessibility.

python docs/check_site.py docs/_build/html
"""

import contextlib
import os
import queue
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import fewlabel

REFERENCE = re.compile(r'(?:href|src)="([^"]+)"')
ANCHOR = re.compile(r'(?:id|name)="([^"]+)"')
PICTURE = re.compile(r"<img\b[^>]*>")
ATTRIBUTE = re.compile(r'\b(alt|src)="([^"]*)"')
# A name in the text; the links of docs/site_links.py put an <a> around it.
NAME = re.compile(r'(<a\b[^>]*>)?<code class="docutils literal notranslate"><span class="pre">(\w+)</span></code>')
TITLE = re.compile(r"<title>(.*?)</title>", re.DOTALL)
# Pages that are looked up rather than read.
REFERENCE_PAGES = ("api", "cli", "changelog", "contributing", "genindex", "model-file", "py-modindex", "search")
REFERENCE_FOLDERS = ("_", "generated", "gallery", "reports", "results")
SCREEN = 1024  # pixels high, at a width of 1280
MOST_SCREENS = 3
# Rules of axe that say how much contrast, names and roles readers need.
ALL_RULES = "{runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}"
# Dark colors change contrast and nothing else.
CONTRAST = "{runOnly: ['color-contrast']}"
# The list of pages is the same on every page: the front page is enough.
WITHOUT_SIDEBAR = "{exclude: [['.sidebar-drawer']]}"
# A program wrote the tables of results: what holds for the first of their ten thousand cells holds for all.
SHORTEN = """
for (const body of document.querySelectorAll("tbody"))
  for (const row of [...body.rows].slice(2)) row.remove();
"""
HEIGHT = "return document.querySelector('article')?.offsetHeight ?? 0"


class Page(NamedTuple):
    """A page for the browser."""

    name: str
    address: str
    is_guide: bool = False
    is_results: bool = False


def read_pages(site):
    """HTML of every page of the site but the reports, which are single files that link nowhere."""
    paths = [path for path in sorted(site.rglob("*.html")) if not path.is_relative_to(site / "reports")]
    return {path: path.read_text("utf-8") for path in paths}


def broken_links(site, texts):
    """Links of pages to files or anchors that do not exist, in words."""
    anchors = {path: {unquote(name) for name in ANCHOR.findall(text)} for path, text in texts.items()}
    broken = []
    for path, text in texts.items():
        for link in REFERENCE.findall(text):
            address, _, anchor = unquote(link).partition("#")
            if "://" in address or address.startswith(("mailto:", "data:")):
                continue
            target = (path.parent / address.partition("?")[0]).resolve() if address else path
            known = anchors.get(target)
            if not target.exists() or (anchor and known is not None and anchor not in known):
                broken.append(f"broken link: {path.relative_to(site)}: {link}")
    return broken


def unlinked_names(site, texts):
    """Public names in the guide that do not lead to their entry of the reference, in words."""
    entries = {path.stem.rpartition(".")[2] for path in site.glob("generated/*.html")}
    faults = []
    for path, text in texts.items():
        page = path.relative_to(site)
        if page.parts[0].startswith(("_", "generated")) or page.stem == "search":
            continue
        # A heading is itself the target of links.
        body = re.sub(r"<h\d>.*?</h\d>", "", text, flags=re.DOTALL)
        names = {name for link, name in NAME.findall(body) if name in entries and not link}
        faults += [f"{page}: {name} does not link to its entry" for name in sorted(names)]
    return faults


def missing_entries(site):
    """Public names without an entry in the reference, in words."""
    entries = {path.stem.rpartition(".")[2] for path in site.glob("generated/*.html")}
    public = set(fewlabel.__all__) - set(fewlabel._MODULES) - {"UNLABELED", "all_estimators"}
    return [f"{name} has no entry in the reference" for name in sorted(public - entries)]


def entries_without_links(site, texts):
    """Entries of classes and functions that lead to no page of the guide and to no example, in words."""
    faults = []
    for path, text in texts.items():
        page = path.relative_to(site)
        if page.parts[0] == "generated" and "In the guide" not in text and "In the examples" not in text:
            faults.append(f"{page}: leads neither to the guide nor to an example")
    return faults


def unclear_pictures(site, texts):
    """Pictures that have no description, or the description of another one, in words."""
    described = {}
    faults = []
    for path, text in texts.items():
        # Thumbnails repeat the title of their example, which stands beside them.
        for tag in PICTURE.findall(text):
            attributes = dict(ATTRIBUTE.findall(tag))
            source, alt = attributes.get("src", ""), attributes.get("alt", "")
            if "thumb" in source or source.startswith("data:"):
                continue
            picture = source.rpartition("/")[2].replace("-dark", "")
            if not alt:
                faults.append(f"{path.relative_to(site)}: {picture} has no description")
            elif described.setdefault(alt, picture) != picture:
                faults.append(f"{path.relative_to(site)}: {picture} is described like {described[alt]}: {alt}")
    return faults


def wrong_versions(site, texts):
    """Pages whose title names another version than this one, in words."""
    titles = {path: TITLE.search(text) for path, text in texts.items()}
    return [
        f"{path.relative_to(site)}: its title does not name version {fewlabel.__version__}"
        for path, title in titles.items()
        if title and "fewlabel" in title.group(1) and fewlabel.__version__ not in title.group(1)
    ]


def pages_to_look_at(site):
    """Pages of the guide, reports, results, and one page of each other kind."""
    paths = [path.relative_to(site) for path in sorted(site.rglob("*.html"))]
    guide = [p for p in paths if p.stem not in REFERENCE_PAGES and not p.parts[0].startswith(REFERENCE_FOLDERS)]
    results = [path for path in paths if path.parts[0] == "results"]
    others = [path for path in paths if path.parts[0] == "reports"]
    others += [Path("api.html"), Path("cli.html"), Path("changelog.html"), Path("gallery/index.html")]
    # Pages of one kind come from one template.
    others += [path for path in paths if path.match("gallery/plot_1*")]
    others += [path for path in paths if path.match("generated/*.AutoClassifier.html")]
    return (
        [Page(path.as_posix(), (site / path).as_uri(), is_guide=True) for path in guide]
        + [Page(path.as_posix(), (site / path).as_uri(), is_results=True) for path in results]
        + [Page(path.as_posix(), (site / path).as_uri()) for path in others]
    )


@contextlib.contextmanager
def labeling_page():
    """The page of ``fewlabel label`` on a small table, while the context is open."""
    from sklearn.datasets import load_breast_cancer

    from fewlabel.active.answers import row_keys
    from fewlabel.label_app import AnswerStore, LabelingLoop, LabelServer, Task

    table, target = load_breast_cancer(return_X_y=True, as_frame=True)
    codes = target.to_numpy().copy()
    codes[40:] = -1
    classes = ["malignant", "benign"]
    task = Task(
        "tumors.csv", table, row_keys(table), "diagnosis", classes, codes, positive="malignant", rubric="Look twice."
    )
    with tempfile.TemporaryDirectory() as folder:
        loop = LabelingLoop(task, AnswerStore(Path(folder, "labels.csv")))
        server = LabelServer(loop)
        server.start()
        try:
            yield Page("the labeling page", server.url)
        finally:
            server.close()
            loop.wait()
            loop.store.close()


def start_browser(profile):
    """Chromium without a window; None if it or its driver is not installed."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not (chromium and driver):
        return None
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    switches = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--window-size=1280,{SCREEN}",
        f"--user-data-dir={profile}",
    )
    for switch in switches:
        options.add_argument(switch)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    browser.set_script_timeout(120)
    return browser


def set_colors(browser, scheme):
    """Prefer light or dark colors, as a reader's system does."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def run_axe(browser, rules, colors, where="document"):
    """What axe finds on the open page, in words."""
    found = browser.execute_async_script(f"axe.run({where}, {rules}).then(arguments[0])")
    return [
        f"{rule['id']} ({colors}): {rule['help']}, {len(rule['nodes'])} times, as in {rule['nodes'][0]['html'][:120]}"
        for rule in found["violations"]
    ]


def page_faults(browser, page, axe):
    """What is wrong with a page as readers see it, in words."""
    set_colors(browser, "light")
    browser.get(page.address)
    faults = []
    height = browser.execute_script(HEIGHT)
    if page.is_guide and height > MOST_SCREENS * SCREEN:
        faults.append(f"{height} pixels high, more than {MOST_SCREENS} screens of {SCREEN}")
    if page.is_results:
        browser.execute_script(SHORTEN)
    browser.execute_script(axe)
    where = "document" if page.name == "index.html" else WITHOUT_SIDEBAR
    faults += run_axe(browser, ALL_RULES, "light", where)
    if not page.is_results:  # their colors are those of the guide
        set_colors(browser, "dark")
        faults += run_axe(browser, CONTRAST, "dark", where)
    return [f"{page.name}: {fault}" for fault in faults]


def look_at(pages):
    """Faults of pages in a browser per core; None if there is no browser."""
    axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    n_browsers = min(os.cpu_count() or 1, 4)
    browsers = queue.Queue()
    faults = []

    def look(page):
        browser = browsers.get()
        try:
            return page_faults(browser, page, axe)
        finally:
            browsers.put(browser)

    with contextlib.ExitStack() as stack:
        for _ in range(n_browsers):
            browser = start_browser(stack.enter_context(tempfile.TemporaryDirectory()))
            if browser is None:
                return None
            stack.callback(browser.quit)
            browsers.put(browser)
        pool = stack.enter_context(ThreadPoolExecutor(n_browsers))
        pending = {pool.submit(look, page): page for page in pages}
        for n_done, done in enumerate(as_completed(pending), start=1):
            faults += done.result()
            print(f"looked at {n_done} of {len(pages)}: {pending[done].name}", flush=True)
    return sorted(faults)


def main(folder):
    """Print what is wrong; 1 if anything is."""
    site = Path(folder).resolve()
    texts = read_pages(site)
    faults = broken_links(site, texts)
    faults += missing_entries(site)
    faults += unlinked_names(site, texts)
    faults += entries_without_links(site, texts)
    faults += unclear_pictures(site, texts)
    faults += wrong_versions(site, texts)
    pages = pages_to_look_at(site)
    with labeling_page() as page:
        seen = look_at([*pages, page])
    if seen is None:
        print("no Chromium with its driver on this machine: lengths and accessibility of pages are not checked")
    faults += seen or []
    print("\n".join(faults) or f"{len(texts)} pages: no broken link, no page too long, no fault")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
