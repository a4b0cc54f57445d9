"""The report in a real browser: every plot is there, nothing is asked of the network, and hostile names do nothing."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabel import AutoClassifier, TableClassifier
from fewlabel.reporting import summarize, write

HOSTILE = [
    "<script>document.title = 'owned'</script>",
    "</style></title><img src=x onerror=\"document.title='owned'\">",
    "a" * 10_000,
    "😀 \N{RIGHT-TO-LEFT OVERRIDE}אבג",
    "' onmouseover='document.title=1' \" {{ 7 * 7 }}",
]
PLOTS = ("roc", "precision-recall", "learning-curve", "calibration", "scores")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report on a table whose columns, values, classes and title are all hostile."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = pd.DataFrame(rng.normal(size=(120, 5)) + y[:, None], columns=HOSTILE)
    X["text"] = np.where(rng.random(120) < 0.5, HOSTILE[0], HOSTILE[1])
    few = pd.Series(np.where(rng.random(120) < 0.5, np.array(HOSTILE[:2], dtype=object)[y], None), name=HOSTILE[1])
    model = TableClassifier(AutoClassifier(["logistic regression", "naive Bayes"], n_repeats=1, random_state=0))
    encoded = model.encode(X, few)
    summary = summarize(
        model.fit_encoded(encoded), X, encoded, title=HOSTILE[1], command=HOSTILE[0], notes=[HOSTILE[0]]
    )
    path = tmp_path_factory.mktemp("report") / "report.html"
    write(summary, path)
    return path


def test_the_page_loads_without_errors_or_requests_and_runs_its_own_script_only(browser, page):
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)  # what the browser does for itself when it starts
    browser.get(page.as_uri())
    assert browser.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    addresses = [m["params"]["request"]["url"] for m in asked if m["method"] == "Network.requestWillBeSent"]
    assert addresses
    assert all(address == page.as_uri() or address.startswith("data:") for address in addresses), addresses
    assert browser.title not in ("owned", "1")
    assert browser.execute_script("return [...document.scripts].map(s => s.type)") == ["application/json", ""]
    assert browser.execute_script("return document.images.length") == 0
    handlers = "return [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/.test(a.name)))"
    assert browser.execute_script(handlers) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_every_plot_is_there_and_nothing_sticks_out(browser, page, width, scheme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    browser.get(page.as_uri())
    for name in PLOTS:
        chart = browser.execute_script(
            "const svg = document.getElementById(arguments[0]).parentElement, box = svg.getBoundingClientRect();"
            "return [box.width, box.height, svg.querySelectorAll('path, circle').length]",
            name,
        )
        assert chart[0] > 200, name
        assert chart[1] > 100, name
        assert chart[2] > 0, name
    assert browser.execute_script("return document.querySelectorAll('.bars tr').length") >= 5
    assert browser.execute_script("return document.querySelectorAll('.rows tbody tr').length") == 20
    # The page itself does not scroll sideways; wide tables scroll in their cards.
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    ink, paper = (
        browser.execute_script(f"return getComputedStyle(document.body).{name}")
        for name in ("color", "backgroundColor")
    )
    light = [sum(int(part) for part in c[4:-1].split(",")[:3]) for c in (ink, paper)]
    assert (light[0] > light[1]) == (scheme == "dark")


def test_it_can_be_printed(browser, page):
    browser.get(page.as_uri())
    pdf = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"]
    assert len(pdf) > 10_000


def test_the_slider_moves_the_cut_and_a_click_sorts(browser, page):
    browser.get(page.as_uri())
    read = (
        "return [document.querySelector('[data-threshold=recall]').textContent, "
        "document.querySelector('path.threshold').getAttribute('d')]"
    )
    before = browser.execute_script(read)
    browser.execute_script(
        "const s = document.getElementById('threshold-slider'); s.value = s.max; s.dispatchEvent(new Event('input'))"
    )
    after = browser.execute_script(read)
    assert after[0].startswith("100%")
    assert after[1] != before[1]
    scores = "return [...document.querySelectorAll('.board tbody td.auc')].map(c => Number(c.dataset.value))"
    browser.execute_script("document.querySelectorAll('.board th[data-sort]')[1].click()")
    found = browser.execute_script(scores)
    assert found == sorted(found, reverse=True)
    browser.execute_script("document.querySelectorAll('.board th[data-sort]')[1].click()")
    assert browser.execute_script(scores) == sorted(found)


def test_without_scripts_everything_is_readable(browser, page):
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(page.as_uri())
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    text = browser.find_element("tag name", "body").text
    assert "Expected rows of" in text
    assert "Try another threshold" not in text
