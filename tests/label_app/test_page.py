"""The labeling page in a real browser."""

import errno
import json
import os
import threading
import time

import pytest

from fewlabel.active.answers import read_answers
from fewlabel.label_app import AnswerStore, LabelingLoop, LabelServer
from label_app.tasks import make_task

HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "' onmouseover='document.title=1' \" 😀 \N{RIGHT-TO-LEFT OVERRIDE}אבג " + "a" * 2000,
)


class App:
    """A server that can be stopped and started again at the same address."""

    def __init__(self, path, task):
        self.path, self.task, self.port = path, task, 0
        self.start()

    def start(self):
        self.store = AnswerStore(self.path)
        self.loop = LabelingLoop(self.task, self.store)
        self.server = LabelServer(self.loop, self.port, token="token")
        self.port = self.server.port
        self.server.start()

    def stop(self):
        self.server.close()
        self.loop.wait()
        self.store.close()


@pytest.fixture
def app(tmp_path, request):
    app = App(tmp_path / "labels.csv", make_task(60, **getattr(request, "param", {})))
    yield app
    app.stop()


def state(browser):
    return browser.execute_script("return [document.body.dataset.row, document.body.dataset.busy]")


def wait_for(browser, condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, browser.execute_script("return document.body.innerText")
        time.sleep(0.01)


def open_page(browser, app):
    browser.get(app.server.url)
    wait_for(browser, lambda: state(browser)[1] == "no")


def press(browser, key):
    """Press a key and wait for the next row; returns the row that was shown before."""
    row, _ = state(browser)
    browser.switch_to.active_element.send_keys(key)
    wait_for(browser, lambda: state(browser)[0] != row and state(browser)[1] == "no")
    return row


def test_thirty_answers_by_keyboard_undo_skip_and_a_note(browser, app):
    open_page(browser, app)
    rows = [press(browser, "12"[k % 2]) for k in range(28)]
    skipped = press(browser, "s")
    undone = press(browser, "1")
    press(browser, "u")
    assert state(browser)[0] == undone
    browser.switch_to.active_element.send_keys("n")
    browser.switch_to.active_element.send_keys("unsure 12us\n")  # keys are text here
    press(browser, "2")
    rows += [undone, press(browser, "1")]
    assert len(set(rows)) == 30
    found = read_answers(app.path)
    assert found["row"].tolist() == rows
    assert found["label"].tolist() == ["yes", "no"] * 14 + ["no", "yes"]
    assert set(found["how"]) <= {"random", "diverse", "uncertain", "likely positive", "unlike the labeled"}
    lines = [entry for entry in app.store.entries if entry.row in (skipped, undone)]
    assert [(entry.action, entry.label, entry.note) for entry in lines] == [
        ("skip", "", ""),
        ("answer", "yes", ""),
        ("undo", "yes", ""),
        ("answer", "no", "unsure 12us"),
    ]
    text = browser.find_element("id", "counts").text
    assert text == "30 answered, 1 skipped; 30 of 60 rows labeled"


def test_keys_pressed_while_an_answer_is_stored_count_for_the_row_that_is_shown(browser, app, monkeypatch):
    answer = app.loop.answer
    go_on = threading.Event()

    def answer_later(*given, **more):
        go_on.wait(20)
        return answer(*given, **more)

    monkeypatch.setattr(app.loop, "answer", answer_later)
    open_page(browser, app)
    shown = []
    for key in "121":
        shown.append(state(browser)[0])
        browser.switch_to.active_element.send_keys(key)
    assert state(browser) == ["", "yes"]
    browser.switch_to.active_element.send_keys("2")
    assert "this key was not taken" in browser.find_element("id", "message").text
    go_on.set()
    wait_for(browser, lambda: state(browser)[1] == "no")
    shown.append(press(browser, "2"))
    found = read_answers(app.path)
    assert found["row"].tolist() == shown
    assert found["label"].tolist() == ["yes", "no", "yes", "no"]


def no_space(file, data):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_shown_and_the_answers_are_saved_later(browser, app, monkeypatch):
    open_page(browser, app)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", no_space)
        rows = []
        for key in "12":
            rows.append(state(browser)[0])
            browser.switch_to.active_element.send_keys(key)
        wait_for(browser, lambda: "No space left on device" in browser.find_element("id", "message").text)
        wait_for(browser, lambda: "2 not saved yet" in browser.find_element("id", "message").text)
    wait_for(browser, lambda: state(browser)[1] == "no")
    assert read_answers(app.path)["row"].tolist() == rows
    assert browser.find_element("id", "message").text == ""
    app.path.unlink()
    rows.append(press(browser, "1"))
    assert "was deleted while the page was open" in browser.find_element("id", "message").text
    assert read_answers(app.path)["row"].tolist() == rows


def test_answers_on_their_way_outlive_a_reload(browser, app, monkeypatch):
    open_page(browser, app)
    row, _ = state(browser)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", no_space)
        browser.switch_to.active_element.send_keys("1")
        browser.refresh()
        wait_for(browser, lambda: "1 not saved yet" in browser.find_element("id", "message").text)
        assert state(browser)[0] not in ("", row)
    wait_for(browser, lambda: state(browser)[1] == "no")
    assert read_answers(app.path)["row"].tolist() == [row]


def test_a_file_opens_the_page_and_is_gone_afterwards(browser, app, tmp_path):
    opener = app.server.write_opener(tmp_path)
    browser.get(opener.as_uri())
    wait_for(browser, lambda: browser.execute_script("return document.body && document.body.dataset.busy") == "no")
    assert browser.current_url == app.server.url
    assert not opener.exists()


@pytest.mark.parametrize("app", [{"rubric": "Yes if <b>a</b> is large.\nElse no.", "labeler": "Ann"}], indirect=True)
def test_a_rubric_and_the_answers_of_each_labeler(browser, app):
    open_page(browser, app)
    press(browser, "1")
    assert browser.find_element("id", "rubric-text").text == "Yes if <b>a</b> is large.\nElse no."
    assert browser.find_element("id", "labelers").text == "By Ann: 1"


def test_the_model_shows_what_the_labels_bring(browser, app):
    open_page(browser, app)
    for _ in range(20):
        row = app.loop.next("t")["row"]
        app.loop.answer("t", row["key"], app.task.classes[(row["number"] - 1) % 2], how=row["how"])
    app.loop.wait()
    open_page(browser, app)
    assert browser.find_element("id", "auc").text.startswith("AUC ")
    assert browser.execute_script("return document.querySelectorAll('#chart circle').length") >= 2
    assert browser.find_element("id", "why").text
    assert browser.find_element("css selector", "#values dt").text == "a"


def test_a_restart_in_the_middle_goes_on_without_a_reload(browser, app):
    open_page(browser, app)
    rows = [press(browser, "1") for _ in range(4)]
    app.stop()
    row, _ = state(browser)
    browser.switch_to.active_element.send_keys("2")
    wait_for(browser, lambda: "does not answer" in browser.find_element("id", "message").text)
    app.start()
    wait_for(browser, lambda: state(browser)[0] != row and state(browser)[1] == "no")
    rows += [row, press(browser, "1")]
    assert read_answers(app.path)["row"].tolist() == rows
    press(browser, "u")
    press(browser, "u")
    assert state(browser)[0] == row
    open_page(browser, app)
    assert browser.find_element("id", "counts").text.startswith("4 answered")


def test_two_tabs_do_not_clash(browser, app):
    open_page(browser, app)
    first, keys = browser.current_window_handle, []
    browser.switch_to.new_window("tab")
    second = browser.current_window_handle
    open_page(browser, app)
    for _ in range(5):
        for window in (first, second):
            browser.switch_to.window(window)
            keys.append(press(browser, "1"))
    browser.close()
    browser.switch_to.window(first)
    assert len(set(keys)) == 10
    assert read_answers(app.path)["row"].tolist() == keys


@pytest.mark.parametrize(
    "app", [{"classes": HOSTILE[:2], "columns": HOSTILE, "title": HOSTILE[1], "target": HOSTILE[0]}], indirect=True
)
def test_a_hostile_table_does_nothing_and_nothing_is_asked_of_the_network(browser, app):
    app.task.table[HOSTILE[2]] = HOSTILE[0]
    browser.get("about:blank")
    for log in ("browser", "performance"):
        browser.get_log(log)  # what the browser does for itself when it starts
    open_page(browser, app)
    for k in range(12):
        press(browser, "12"[k % 2])
    app.loop.wait()
    open_page(browser, app)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    addresses = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    assert addresses
    assert all(address.startswith((app.server.url, "data:")) for address in addresses), addresses
    assert browser.title == f"{HOSTILE[0]}: label rows"
    assert browser.find_element("css selector", "#answers button").text.endswith(HOSTILE[0])
    assert browser.execute_script("return document.scripts.length") == 1
    assert browser.execute_script("return document.images.length") == 0
    handlers = "return [...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on/.test(a.name)))"
    assert browser.execute_script(handlers) == []
    for width in (390, 1280):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
