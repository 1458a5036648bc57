"""Serves matches to a browser on this machine: a page that lists them and shows the newest, and their own pages.

Only requests to this machine by its own name are answered, so that no page of another site can read the matches by a
name that it makes point here (DNS rebinding).
"""

import errno
import json
import logging
import re
from collections import OrderedDict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self

from nemesis.core.errors import UserError
from nemesis.evaluation.newest_matches import WatchedMatch

_ADDRESS = "127.0.0.1"
_NAMES = (_ADDRESS, "localhost")
_KEPT_BYTES = 64 * 2**20  # of pages
_PAGE = Path(__file__).parent / "page"
_STATIC = {
    "/": ("matches.html", "text/html"),
    "/matches.css": ("matches.css", "text/css"),
    "/matches.js": ("matches.js", "text/javascript"),
}
_log = logging.getLogger(__name__)


class MatchServer:
    """A server in a thread of its own, from the start of a block to its end."""

    def __init__(self, title: str, port: int) -> None:
        """Listen at a port of this machine, 0 for any that is free."""
        self._title = title
        self._matches: OrderedDict[int, WatchedMatch] = OrderedDict()  # by number
        self._next = 1
        self._lock = Lock()
        try:
            self._server = _Server((_ADDRESS, port), self)
        except OSError as error:
            in_use = error.errno == errno.EADDRINUSE
            reason = "is in use" if in_use else f"cannot be listened at ({error.strerror})"
            raise UserError(
                f"Port {port} of {_ADDRESS} {reason}; name another with --port, or leave it out for a free one."
            ) from error
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        return f"http://{_ADDRESS}:{self.port}/"

    def add(self, match: WatchedMatch) -> None:
        """Serve a match; the oldest are dropped when there are too many."""
        with self._lock:
            self._matches[self._next] = match
            self._next += 1
            while len(self._matches) > 1 and sum(len(one.page) for one in self._matches.values()) > _KEPT_BYTES:
                self._matches.popitem(last=False)

    def page(self, number: int) -> bytes | None:
        """Return the page of a match, if there is one of that number."""
        with self._lock:
            match = self._matches.get(number)
        return match.page if match else None

    def listed(self) -> dict[str, Any]:
        """Return all matches as JSON, the oldest first."""
        with self._lock:
            matches = list(self._matches.items())
        return {
            "title": self._title,
            "matches": [
                {"number": number, "update": match.update, "names": match.names, "winner": match.winner}
                for number, match in matches
            ],
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], matches: MatchServer) -> None:
        super().__init__(address, _Handler)
        self.matches = matches

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 (named in the library)
        """Log what broke off an answer, such as a tab that was closed, instead of printing it."""
        _log.debug("An answer to %s broke off.", client_address, exc_info=True)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        matches, path = self.server.matches, self.path.partition("?")[0]
        if self.headers.get("Host") not in {f"{name}:{matches.port}" for name in _NAMES}:
            self._answer(HTTPStatus.FORBIDDEN, "text/plain", f"Open {matches.address} instead.".encode())
        elif path in _STATIC:
            name, kind = _STATIC[path]
            self._answer(HTTPStatus.OK, kind, (_PAGE / name).read_bytes())
        elif path == "/matches":
            self._answer(HTTPStatus.OK, "application/json", json.dumps(matches.listed()).encode())
        elif (found := re.fullmatch(r"/matches/(\d{1,9})", path)) and (page := matches.page(int(found[1]))):
            self._answer(HTTPStatus.OK, "text/html", page)
        else:
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", b"There is no such page, or it is too old.")

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 (its name in the standard library)
        _log.debug(format, *arguments)

    def _answer(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)
