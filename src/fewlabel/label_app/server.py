"""The server of the labeling page: on the loopback address, behind a token, for this page only."""

import hmac
import html
import json
import os
import secrets
import sys
import tempfile
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from fewlabel.active import REASONS
from fewlabel.label_app.loop import Conflict, LabelingLoop, NotStored
from fewlabel.types import PlainDict

# Never another address: the page has no accounts.
ADDRESS = "127.0.0.1"
_MOST_BYTES = 20_000  # of a request
_MOST_CHARACTERS = 5000  # of a text in it
_SECONDS = 30  # that a connection may be idle
_PAGE = {
    "": ("page.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", "text/css; charset=utf-8"),
    "page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_HEADERS = {
    # The page loads its own files only; whatever text gets into it, the browser runs none of it.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # The address holds the token.
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}


class LabelServer:
    """Serve a labeling loop to the browsers of this machine.

    Parameters
    ----------
    loop : LabelingLoop
    port : int, default=0
        0 for any free port.
    token : str, default=None
        Part of the address that a visitor has to know; by default a new one.

    Attributes
    ----------
    url : str
        The address to open.
    """

    def __init__(self, loop: LabelingLoop, port: int = 0, token: str | None = None) -> None:
        self.loop = loop
        self.token = token or secrets.token_urlsafe(24)
        self._http = _Server((ADDRESS, port), _Handler)
        self._http.owner = self
        self._opener: Path | None = None
        self.port = self._http.server_address[1]
        self.hosts = {f"{name}:{self.port}" for name in (ADDRESS, "localhost")}
        self.url = f"http://{ADDRESS}:{self.port}/{self.token}/"

    def write_opener(self, folder: Path) -> Path:
        """Write a file that leads a browser to the page, and that only its owner can read; the first visit removes it.

        The arguments of a browser are visible to every user of the machine, so the token must not be among them.
        """
        address = html.escape(self.url)
        handle, name = tempfile.mkstemp(prefix="fewlabel-label-", suffix=".html", dir=folder)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(
                f'<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">'
                f'<meta http-equiv="refresh" content="0; url={address}"><title>fewlabel</title>'
                f'<a href="{address}">Label rows</a>\n'
            )
        self._opener = Path(name).absolute()
        return self._opener

    def remove_opener(self) -> None:
        """Remove what `write_opener` wrote."""
        if self._opener is not None:
            self._opener.unlink(missing_ok=True)

    def serve(self) -> None:
        """Answer requests until `close` is called or the process is interrupted."""
        self._http.serve_forever(poll_interval=0.1)

    def start(self) -> None:
        """Answer requests in a thread of its own."""
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self) -> None:
        """Stop answering, also on connections that are open."""
        self._http.is_closing = True
        self._http.shutdown()
        self._http.server_close()
        self.remove_opener()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # Elsewhere a port in use is refused anyway.
    allow_reuse_address = os.name != "nt"
    owner: LabelServer
    is_closing = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print no traceback if a browser closed its connection, as it does when a tab is closed."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Refused(Exception):
    """A request that is not answered; the status and a line for the log of the browser."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Response(NamedTuple):
    status: HTTPStatus
    kind: str
    body: bytes


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SECONDS
    server_version = "fewlabel"
    sys_version = ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """No log: the addresses hold the token."""

    def _answer(self, respond: Callable[[], _Response]) -> None:
        try:
            if self.server.is_closing:
                raise _Refused(HTTPStatus.SERVICE_UNAVAILABLE, "it is ending")
            response = respond()
        except _Refused as refused:
            # Its body was not read: the next request on this connection would begin in it.
            self.close_connection = True
            response = _Response(refused.status, "text/plain; charset=utf-8", str(refused).encode())
        self.send_response(response.status)
        headers = {**_HEADERS, "Content-Type": response.kind, "Content-Length": str(len(response.body))}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)

    def _checked_path(self) -> str:
        """The path behind the token; the request is refused unless it comes from this page or an address bar."""
        owner = self.server.owner
        # Another site may have a name that resolves to this machine.
        if self.headers.get("Host") not in owner.hosts:
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, "wrong host")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in owner.hosts}:
            raise _Refused(HTTPStatus.FORBIDDEN, "wrong origin")
        _, token, *rest = (self.path.partition("?")[0] + "/").split("/", 2)
        path = rest[0].rstrip("/") if rest else ""
        # The file that opens the page counts as another site. It may lead a tab here, and get nothing back.
        is_visit = self.command == "GET" and path == "" and self.headers.get("Sec-Fetch-Mode") == "navigate"
        if self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none") and not is_visit:
            raise _Refused(HTTPStatus.FORBIDDEN, "wrong origin")
        if not hmac.compare_digest(token.encode(), owner.token.encode()):
            raise _Refused(HTTPStatus.FORBIDDEN, "wrong token: open the address that `fewlabel label` printed")
        return path

    def _get(self) -> _Response:
        path = self._checked_path()
        if path not in _PAGE:
            raise _Refused(HTTPStatus.NOT_FOUND, "not found")
        if path == "":
            self.server.owner.remove_opener()
        name, kind = _PAGE[path]
        return _Response(HTTPStatus.OK, kind, (files("fewlabel.label_app") / "page" / name).read_bytes())

    def _post(self) -> _Response:
        path = self._checked_path()
        loop = self.server.owner.loop
        given = self._body()
        tab = _text(given, "tab")
        try:
            if path == "api/start":
                task = loop.task
                shown = {"title": task.title, "target": task.target, "classes": task.classes, "rubric": task.rubric}
                return _json(HTTPStatus.OK, {**shown, **loop.next(tab)})
            if path == "api/next":
                return _json(HTTPStatus.OK, loop.next(tab))
            if path == "api/answer":
                return _json(HTTPStatus.OK, loop.answer(tab, **_read_answer(given)))
            if path == "api/undo":
                return _json(HTTPStatus.OK, loop.undo(tab))
        except Conflict as conflict:
            return _json(HTTPStatus.CONFLICT, {"message": str(conflict), **loop.next(tab)})
        except NotStored as error:
            return _json(HTTPStatus.INSUFFICIENT_STORAGE, {"message": str(error)})
        raise _Refused(HTTPStatus.NOT_FOUND, "not found")

    def _body(self) -> PlainDict:
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        length = self.headers.get("Content-Length", "")
        # Five digits at most: int() takes time for long texts, and digits of other scripts.
        if not (length.isascii() and length.isdecimal() and len(length) <= 5):
            raise _Refused(HTTPStatus.BAD_REQUEST, "expected a Content-Length of up to five digits")
        if int(length) > _MOST_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_MOST_BYTES} bytes")
        try:
            given = json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            # Not JSON, numbers with thousands of digits, or deeply nested.
            given = None
        if not isinstance(given, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "expected a JSON object")
        return given


def _read_answer(given: PlainDict) -> PlainDict:
    probability = given.get("probability", 1.0)
    if not (isinstance(probability, (int, float)) and 0 < probability <= 1):
        raise _Refused(HTTPStatus.BAD_REQUEST, "expected a probability above 0 and at most 1")
    how = _text(given, "how", "")
    if how and how not in REASONS:
        raise _Refused(HTTPStatus.BAD_REQUEST, "expected one of the ways to choose rows")
    return {
        "key": _text(given, "key"),
        "label": None if given.get("label") is None else _text(given, "label"),
        "how": how,
        "probability": float(probability),
        "note": _text(given, "note", ""),
    }


def _text(given: PlainDict, name: str, default: str | None = None) -> str:
    value = given.get(name, default)
    if not isinstance(value, str) or len(value) > _MOST_CHARACTERS:
        raise _Refused(HTTPStatus.BAD_REQUEST, f"expected a text {name!r}")
    try:
        value.encode()
    except UnicodeEncodeError:
        # Half of a surrogate pair.
        raise _Refused(HTTPStatus.BAD_REQUEST, f"expected a text {name!r}") from None
    return value


def _json(status: HTTPStatus, value) -> _Response:
    return _Response(status, "application/json; charset=utf-8", json.dumps(value, allow_nan=False).encode())
