# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The web server: who may look, and from where.

Nothing can be changed through it; where it may explain balls, `tennis explain` runs here, and that
is all. It listens on this machine unless told otherwise; beyond it, a token is needed, which the
address brings once and a cookie then. A request that names another host is refused, so that no page
elsewhere can lead a browser here (DNS rebinding), and so is a websocket of another origin.
"""

import contextlib
import hmac
import logging
import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.server.server import BaseServer
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.doc_handler import DocHandler
from bokeh.server.views.session_handler import SessionHandler
from bokeh.server.views.ws import WSHandler
from tornado import web
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.ioloop import IOLoop
from tornado.netutil import bind_sockets
from tornado.platform.asyncio import BaseAsyncIOLoop

from tennis.errors import UsageError
from tennis.listener import say
from tennis.rally.text import plain
from tennis.scoreboard import browsers
from tennis.scoreboard.board import Board
from tennis.scoreboard.explaining import Explaining
from tennis.scoreboard.explorer import RallyCache, explore
from tennis.scoreboard.wall import show

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
COOKIE = "tennis-scoreboard"
ENTER = "/enter"
TOKEN_NEEDED = "Open the address with its token, which `tennis scoreboard` printed."  # noqa: S105
DAYS = 1
FULL_STATUS = 503
END_S = 10.0  # for what was started to end
FULL = (
    f"{browsers.PAGES_MAX} pages of this scoreboard are open, which is the most it can serve: "
    "close one. This page tries again by itself."
)
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' ws: wss:; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Server": "tennis",
}


class _Headers(web.OutputTransform):
    """Puts the headers onto every answer."""

    def __init__(self, request: HTTPServerRequest) -> None:
        del request

    def transform_first_chunk(
        self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
    ) -> tuple[int, HTTPHeaders, bytes]:
        """Add them."""
        del finishing
        for name, value in HEADERS.items():
            headers[name] = value
        return status_code, headers, chunk


class _Refused(web.RequestHandler):
    """Says why nothing is shown."""

    def initialize(self, status: int, why: str) -> None:
        """Take what to say."""
        self._status, self._why = status, why

    def prepare(self) -> None:
        """Say it, whatever was asked."""
        self.set_status(self._status)
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        if self._status == FULL_STATUS:
            self.set_header("Refresh", "20")  # a browser on a wall has nobody who would
        self.finish(self._why + "\n")


class _Enter(web.RequestHandler):
    """Changes the token in the address into a cookie."""

    def get(self) -> None:
        """Take the token, once."""
        token = self.settings["tennis_token"]
        given = self.get_query_argument("token", "")
        if not (token and hmac.compare_digest(given.encode(), token.encode())):
            self.set_status(403)
            self.set_header("Content-Type", "text/plain; charset=utf-8")
            self.finish(TOKEN_NEEDED + "\n")
            return
        self.set_signed_cookie(COOKIE, "may look", expires_days=DAYS, httponly=True, samesite="Lax")
        self.redirect("/")


class _Guarded(BokehTornado):
    """Bokeh's server, for those who may look: everything that is asked comes by here."""

    tennis_hosts: frozenset[str] = frozenset()

    def only_pages(self) -> None:
        """Take away Bokeh's ways in besides the pages; websockets are those of ``browsers``."""
        router = self.wildcard_router
        router.rules = [rule for rule in router.rules if not _is_extra(rule.target)]
        for rule in router.rules:
            if rule.target is WSHandler:
                rule.target = browsers.Websocket

    def find_handler(self, request: HTTPServerRequest, **more: Any) -> Any:
        """Refuse other hosts, other methods, and whoever has no cookie where there is a token."""
        status, why = 0, ""
        if request.host.lower() not in self.tennis_hosts:
            status, why = 403, "This host is not the scoreboard's: name it with --host."
        elif request.method not in {"GET", "HEAD"}:
            status, why = 405, "The scoreboard can only be read."
        elif (
            self.settings["tennis_token"]
            and request.path != ENTER
            and not self._is_signed_in(request)
        ):
            status, why = 403, TOKEN_NEEDED
        elif request.path in self.app_paths and browsers.pages(self) >= browsers.PAGES_MAX:
            status, why = FULL_STATUS, FULL
        if why:
            return self.get_handler_delegate(request, _Refused, {"status": status, "why": why})
        return super().find_handler(request, **more)

    def _is_signed_in(self, request: HTTPServerRequest) -> bool:
        cookie = request.cookies.get(COOKIE)
        secret = self.settings["cookie_secret"]
        return bool(
            cookie and web.decode_signed_value(secret, COOKIE, cookie.value, max_age_days=DAYS)
        )


def _is_extra(handler: object) -> bool:
    """Tell whether Bokeh makes a page for other ends than to show it: for another site, say."""
    return (
        isinstance(handler, type)
        and issubclass(handler, SessionHandler)
        and not issubclass(handler, DocHandler)
    )


class _Lines(logging.Handler):
    """Says what went wrong in one line; whoever is at the terminal did not ask for more."""

    def emit(self, record: logging.LogRecord) -> None:
        """Say it."""
        error = record.exc_info[1] if record.exc_info else None
        said = f"{type(error).__name__}: {error}" if error else record.getMessage()
        say(f"the scoreboard: {plain(said.splitlines()[0] if said else '', 200)}")


def _log_in_lines() -> None:
    """Let both libraries say one line where they would print a stack; refusals are no news."""
    logging.getLogger("tornado.access").setLevel(logging.CRITICAL)
    for name in ("tornado", "bokeh"):
        logger = logging.getLogger(name)
        logger.handlers = [_Lines(logging.ERROR)]
        logger.propagate = False
    browsers.quiet_about_browsers()


class Scoreboard:
    """A server that is bound; ``serve`` runs it."""

    def __init__(  # noqa: PLR0913, PLR0917 (what a server is made of)
        self,
        board: Board,
        listen: str,
        port: int,
        hosts: Sequence[str],
        token: str | None,
        explaining: Explaining | None = None,
    ):
        """Bind. Raises UsageError where the address cannot be had."""
        _log_in_lines()
        try:
            sockets = bind_sockets(port, listen)
        except OSError as error:
            raise UsageError(
                f"cannot listen on {listen}:{port} ({error.strerror or error})",
                next_step="choose another --port, or --listen",
            ) from error
        self.port = sockets[0].getsockname()[1]
        self._board, self.token, self._explaining = board, token, explaining
        names = {*LOOPBACK, listen, *hosts}
        allowed = frozenset(f"{name.lower()}:{self.port}" for name in names)
        shelf = RallyCache()
        pages = {
            "/": Application(FunctionHandler(partial(show, board))),
            "/explorer": Application(FunctionHandler(partial(explore, board, shelf, explaining))),
        }
        application = _Guarded(
            pages,
            extra_websocket_origins=sorted(allowed),
            extra_patterns=[(ENTER, _Enter)],
            cookie_secret=secrets.token_bytes(32),
            tennis_token=token,
            transforms=[_Headers],
            use_index=False,
            sign_sessions=True,
            secret_key=secrets.token_bytes(32),
            include_cookies=[],
            include_headers=[],
            check_unused_sessions_milliseconds=browsers.CHECK_MS,
            unused_session_lifetime_milliseconds=browsers.UNUSED_MS,
            websocket_max_message_size_bytes=browsers.MESSAGE_MAX,
            websocket_ping_interval=browsers.PING_S,
            websocket_ping_timeout=browsers.PING_S,
        )
        application.tennis_hosts = allowed
        application.only_pages()
        http = browsers.Door(
            application,
            max_header_size=1 << 14,
            max_body_size=1 << 16,
            max_buffer_size=1 << 18,
            idle_connection_timeout=browsers.IDLE_S,
            body_timeout=browsers.IDLE_S,
        )
        http.add_sockets(sockets)
        self._loop = IOLoop.current()
        self._server = BaseServer(self._loop, application, http)
        self.name = hosts_name(listen, hosts)

    @property
    def address(self) -> str:
        """Return what to type into a browser."""
        enter = f"{ENTER}?token={self.token}" if self.token else "/"
        return f"http://{self.name}:{self.port}{enter}"

    def serve(self, announce: Callable[[str], object]) -> None:
        """Announce the address, serve until Ctrl-C, SIGTERM or SIGHUP, end what was started."""
        assert isinstance(self._loop, BaseAsyncIOLoop)  # noqa: S101 (Tornado has no other)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._loop.asyncio_loop.add_signal_handler(number, self._loop.stop)
        announce(self.address)  # from now on it can be ended
        self._server.start()
        try:
            self._loop.start()
        finally:
            if self._explaining is not None:
                self._explaining.close()
            self._board.close()
            limit = time.monotonic() + END_S
            while not self._board.closed(0.1) and time.monotonic() < limit:
                _end_children()  # ssh, which asks a bench; another one may follow
            self._server.stop()


def _end_children() -> None:
    for children in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in children.read_text().split():
                os.kill(int(child), signal.SIGTERM)


def hosts_name(listen: str, hosts: Sequence[str]) -> str:
    """Return the name that people type."""
    if hosts:
        return hosts[0]
    return socket.gethostname() if listen in {"0.0.0.0", "::", ""} else listen  # noqa: S104
