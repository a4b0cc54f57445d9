"""The server of the labeling page: on the loopback address, behind a token, for this page only."""

import hmac
import json
import os
import secrets
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from fewlabel.label_app.loop import Conflict, LabelingLoop

ADDRESS = "127.0.0.1"  # never another one: the page has no accounts
_MOST_BYTES = 20_000  # of a request
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
    "Referrer-Policy": "no-referrer",  # the address holds the token
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
        self.port = self._http.server_address[1]
        self.hosts = {f"{name}:{self.port}" for name in (ADDRESS, "localhost")}
        self.url = f"http://{ADDRESS}:{self.port}/{self.token}/"

    def serve(self) -> None:
        """Answer requests until `close` is called or the process is interrupted."""
        self._http.serve_forever(poll_interval=0.1)

    def start(self) -> None:
        """Answer requests in a thread of its own."""
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = os.name != "nt"  # elsewhere a port in use is refused anyway
    owner: LabelServer


class _Refused(Exception):
    """A request that is not answered; the status and a line for the log of the browser."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SECONDS
    server_version, sys_version = "fewlabel", ""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(self._get)

    def do_POST(self) -> None:
        self._answer(self._post)

    def log_message(self, format: str, *args: Any) -> None:
        """No log: the addresses hold the token."""

    def _answer(self, respond: Any) -> None:
        try:
            path = self._checked_path()
            status, kind, body = respond(path)
        except _Refused as refused:
            self.close_connection = True  # its body was not read
            status, kind, body = refused.status, "text/plain; charset=utf-8", str(refused).encode()
        self.send_response(status)
        for name, value in {**_HEADERS, "Content-Type": kind, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _checked_path(self) -> str:
        """The path behind the token; the request is refused unless it comes from this page or an address bar."""
        owner = self.server.owner
        if self.headers.get("Host") not in owner.hosts:  # another name that resolves to this machine
            raise _Refused(HTTPStatus.MISDIRECTED_REQUEST, "wrong host")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in {f"http://{host}" for host in owner.hosts}:
            raise _Refused(HTTPStatus.FORBIDDEN, "wrong origin")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("same-origin", "none"):
            raise _Refused(HTTPStatus.FORBIDDEN, "wrong origin")
        _, token, *rest = (self.path.partition("?")[0] + "/").split("/", 2)
        if not hmac.compare_digest(token.encode(), owner.token.encode()):
            raise _Refused(HTTPStatus.FORBIDDEN, "wrong token: open the address that `fewlabel label` printed")
        return rest[0].rstrip("/") if rest else ""

    def _get(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        if path not in _PAGE:
            raise _Refused(HTTPStatus.NOT_FOUND, "not found")
        name, kind = _PAGE[path]
        return HTTPStatus.OK, kind, (files("fewlabel.label_app") / "page" / name).read_bytes()

    def _post(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        loop, given = self.server.owner.loop, self._body()
        tab = _text(given, "tab")
        try:
            if path == "api/start":
                task = loop.task
                found = {"title": task.title, "target": task.target, "classes": task.classes, **loop.next(tab)}
            elif path == "api/next":
                found = loop.next(tab)
            elif path == "api/answer":
                label = None if given.get("label") is None else _text(given, "label")
                chance = given.get("probability", 1.0)
                if not (isinstance(chance, (int, float)) and 0 < chance <= 1):
                    raise _Refused(HTTPStatus.BAD_REQUEST, "expected a probability above 0 and at most 1")
                found = loop.answer(
                    tab,
                    _text(given, "key"),
                    label,
                    how=_text(given, "how", ""),
                    probability=float(chance),
                    note=_text(given, "note", ""),
                )
            elif path == "api/undo":
                found = loop.undo(tab)
            else:
                raise _Refused(HTTPStatus.NOT_FOUND, "not found")
        except Conflict as conflict:
            return _json(HTTPStatus.CONFLICT, {"message": str(conflict), **loop.next(tab)})
        return _json(HTTPStatus.OK, found)

    def _body(self) -> dict[str, Any]:
        if self.headers.get_content_type() != "application/json":
            raise _Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "expected application/json")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            raise _Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected at most {_MOST_BYTES} bytes")
        try:
            given = json.loads(self.rfile.read(int(length)))
        except ValueError:
            given = None
        if not isinstance(given, dict):
            raise _Refused(HTTPStatus.BAD_REQUEST, "expected a JSON object")
        return given


def _text(given: dict[str, Any], name: str, default: str | None = None) -> str:
    value = given.get(name, default)
    if not isinstance(value, str) or len(value) > 5000:
        raise _Refused(HTTPStatus.BAD_REQUEST, f"expected a text {name!r}")
    return value


def _json(status: HTTPStatus, value: Any) -> tuple[HTTPStatus, str, bytes]:
    return status, "application/json; charset=utf-8", json.dumps(value, allow_nan=False).encode()
