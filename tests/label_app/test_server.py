"""The server by plain HTTP: who is refused, and what tabs get. That no answer is lost: tests/robustness/labeling.py."""

import http.client
import json
import socket
from urllib.parse import urlsplit

import pytest

from fewlabel.label_app import AnswerStore, LabelingLoop, LabelServer
from label_app.tasks import make_task


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    store = AnswerStore(tmp_path_factory.mktemp("labels") / "labels.csv")
    loop = LabelingLoop(make_task(labeled=8, classes=("yes", "no", "perhaps")), store)
    server = LabelServer(loop)
    server.start()
    yield server
    server.close()
    loop.wait()
    store.close()


def ask(url, path="", given=None, method=None, **headers):
    """Status and body of a request."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    body = None if given is None else json.dumps(given)
    sent = {"Content-Type": "application/json"} | headers
    connection.request(method or ("GET" if given is None else "POST"), parts.path + path, body, sent)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, content, response.headers


def post(url, path, **given):
    status, content, _ = ask(url, path, {"tab": "a"} | given)
    return status, json.loads(content)


def test_the_page_and_its_headers(server):
    for path in ("", "page.css", "page.js"):
        status, content, headers = ask(server.url, path)
        assert status == 200
        assert len(content) > 500
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Cache-Control"] == "no-store"
    assert server.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
    ],
)
def test_requests_from_elsewhere_are_refused(server, headers, status):
    before = len(server.loop.store.entries)
    key = server.loop.next("a")["row"]["key"]
    given = {"tab": "a", "key": key, "label": "yes"}
    assert ask(server.url, "api/answer", given, **headers)[0] == status
    if "Content-Type" not in headers:
        assert ask(server.url, "", **headers)[0] == status
    assert len(server.loop.store.entries) == before


def test_a_wrong_token_is_refused_for_every_path(server):
    right = server.token
    for token in ("", "x", right[:-1], right + "x", right[:-1] + chr(ord(right[-1]) ^ 1), "%00", "é"):
        url = f"http://127.0.0.1:{server.port}/"
        path = f"{token}/" if token else ""
        if token.isascii():
            assert ask(url, path)[0] == 403
            assert ask(url, path + "api/next", {"tab": "a"})[0] == 403
    assert ask(server.url, "../page.html")[0] in (403, 404)
    assert ask(server.url, "page/../../loop.py")[0] == 404
    assert ask(server.url, "api/other", {"tab": "a"})[0] == 404
    assert ask(server.url, method="DELETE")[0] == 501


@pytest.mark.parametrize("body", ["", "[]", "{", '{"tab": 1}', '{"tab": "' + "x" * 30_000 + '"}'])
def test_bad_bodies_are_refused(server, body):
    parts = urlsplit(server.url)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    connection.request("POST", parts.path + "api/next", body, {"Content-Type": "application/json"})
    assert connection.getresponse().status in (400, 413)
    connection.close()


def raw(server, request):
    """The status of a request that no library would send."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request)
        return int(connection.makefile("rb").readline().split()[1])


@pytest.mark.parametrize(
    "given",
    [
        {"how": "random\nr1,no"},
        {"how": "as I like"},
        {"note": "\ud800"},
        {"tab": "\ud800"},
        {"key": "\ud800"},
        {"label": "\ud800"},
    ],
)
def test_texts_that_cannot_be_stored_are_a_bad_request(server, given, capfd):
    key = server.loop.next("a")["row"]["key"]
    before = len(server.loop.store.entries)
    assert ask(server.url, "api/answer", {"tab": "a", "key": key, "label": "yes"} | given)[0] == 400
    assert len(server.loop.store.entries) == before
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("length", "body"),
    [
        (None, b"[" * 15_000),
        (None, b'{"tab":' * 2_500),
        (None, b'{"tab": "a", "probability": ' + b"9" * 5000 + b"}"),
        (b"9" * 5000, b""),
        (b"-1", b""),
        ("\u0661".encode(), b""),
        (b"1_0", b'{"tab":"a"}'),
    ],
)
def test_malformed_requests_are_answered_without_a_traceback(server, length, body, capfd):
    length = length or str(len(body)).encode()
    head = f"POST /{server.token}/api/next HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n".encode()
    head += b"Content-Type: application/json\r\nContent-Length: " + length + b"\r\n\r\n"
    assert raw(server, head + body) == 400
    assert capfd.readouterr().err == ""


def test_two_tabs_get_different_rows_and_cannot_overwrite_each_other(server):
    _, one = post(server.url, "api/next", tab="one")
    _, two = post(server.url, "api/next", tab="two")
    key = one["row"]["key"]
    assert key != two["row"]["key"]
    assert post(server.url, "api/next", tab="one")[1]["row"]["key"] == key  # a reload shows the same row
    before = len(server.loop.store.entries)
    assert post(server.url, "api/answer", tab="one", key=key, label="yes")[0] == 200
    assert post(server.url, "api/answer", tab="one", key=key, label="yes")[0] == 200  # the same request again
    status, found = post(server.url, "api/answer", tab="two", key=key, label="no")
    assert status == 409
    assert found["message"] == "This row was labeled yes in another tab; that answer is kept."
    assert found["row"]["key"] == two["row"]["key"]
    assert len(server.loop.store.entries) == before + 1
    status, found = post(server.url, "api/undo", tab="two")
    assert status == 409
    assert post(server.url, "api/undo", tab="one")[1]["row"]["key"] == key
    assert server.loop.store.entries[-1].action == "undo"


def test_answers_that_make_no_sense_are_refused(server):
    key = server.loop.next("a")["row"]["key"]
    assert post(server.url, "api/answer", key=key, label="maybe")[0] == 409
    assert post(server.url, "api/answer", key="r0-0", label="yes")[0] == 409
    for wrong in ({"probability": 0}, {"label": ["yes"]}, {"key": None}, {"note": 1}, {"tab": None}):
        given = {"tab": "a", "key": key, "label": "yes"} | wrong
        assert ask(server.url, "api/answer", given)[0] == 400
