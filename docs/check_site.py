"""Check the built site: links, the length of the guide's pages and, where a browser is installed, accessibility.

python docs/check_site.py docs/_build/html
"""

import re
import shutil
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from urllib.parse import unquote

REFERENCE = re.compile(r'(?:href|src)="([^"]+)"')
ANCHOR = re.compile(r'(?:id|name)="([^"]+)"')
# Pages that are looked up rather than read.
REFERENCE_PAGES = ("api", "cli", "changelog", "contributing", "genindex", "model-file", "py-modindex", "search")
REFERENCE_FOLDERS = ("_", "generated", "gallery", "reports", "results")
SCREEN = 1024  # pixels high, at a width of 1280
MOST_SCREENS = 3
# Rules of axe that say how much contrast, names and roles readers need.
AXE = "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}).then(arguments[0])"


def broken_links(site):
    """Links of pages to files or anchors that do not exist.

    Parameters
    ----------
    site : Path

    Returns
    -------
    list of str
    """
    texts = {page: page.read_text("utf-8") for page in sorted(site.rglob("*.html"))}
    anchors = {page: {unquote(name) for name in ANCHOR.findall(text)} for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        if page.is_relative_to(site / "reports"):  # reports are single files that link nowhere
            continue
        for link in REFERENCE.findall(text):
            address, _, anchor = unquote(link).partition("#")
            if "://" in address or address.startswith(("mailto:", "data:")):
                continue
            target = (page.parent / address.partition("?")[0]).resolve() if address else page.resolve()
            known = anchors.get(target)
            if not target.exists() or (anchor and known is not None and anchor not in known):
                broken.append(f"{page.relative_to(site)}: {link}")
    return broken


def guide_pages(site):
    """Pages that people read from top to bottom."""
    pages = [path.relative_to(site) for path in sorted(site.rglob("*.html"))]
    return [
        page for page in pages if page.stem not in REFERENCE_PAGES and not page.parts[0].startswith(REFERENCE_FOLDERS)
    ]


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
    browser.set_script_timeout(120)  # axe looks at each of the ten thousand cells of a page of results
    return browser


def page_faults(browser, address, axe):
    """What axe finds on a page, in words."""
    browser.get(address)
    browser.execute_script(axe)
    found = browser.execute_async_script(AXE)
    return [f"{rule['id']}: {rule['help']}, as in {rule['nodes'][0]['html'][:120]}" for rule in found["violations"]]


def main(folder):
    """Print what is wrong; 1 if anything is."""
    site = Path(folder).resolve()
    faults = [f"broken link: {link}" for link in broken_links(site)]
    guide = guide_pages(site)
    looked_up = [page.relative_to(site) for page in sorted(site.glob("reports/*.html"))]
    looked_up += [page.relative_to(site) for page in sorted(site.glob("results/**/*.html"))]
    looked_up += [Path("api.html"), Path("cli.html"), Path("gallery/index.html")]
    axe = files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    with tempfile.TemporaryDirectory() as profile:
        browser = start_browser(profile)
        if browser is None:
            print("no Chromium with its driver on this machine: lengths and accessibility of pages are not checked")
        else:
            for page in [*guide, *looked_up]:
                print(f"\r\033[K{page}", end="", flush=True)
                address = (site / page).as_uri()
                faults += [f"{page}: {fault}" for fault in page_faults(browser, address, axe)]
                height = browser.execute_script("return document.querySelector('article')?.offsetHeight ?? 0")
                if page in guide and height > MOST_SCREENS * SCREEN:
                    faults.append(f"{page}: {height} pixels high, more than {MOST_SCREENS} screens of {SCREEN}")
            browser.quit()
    print("\n".join(faults) or f"{len(guide) + len(looked_up)} pages: no broken link, no page too long, no fault")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
