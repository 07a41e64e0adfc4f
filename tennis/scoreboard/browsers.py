# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a browser may say and how many of them there may be: who looks cannot take the memory.

Bokeh lets a browser replace a page, add to it and read tracebacks. Here a browser fetches its page,
changes plain values of what is on it (an axis, a selection) and presses its buttons. Whatever else
comes ends its connection.
"""

import logging
import socket
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

from bokeh.server.session import ServerSession
from bokeh.server.views.ws import WSHandler
from bokeh.util.token import get_session_id
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream

from tennis.listener import say

PAGES_MAX = 50  # open at once: a page of all balls takes some megabytes here
CONNECTIONS_MAX = 200  # that ask for something, besides the pages
MESSAGE_MAX = 1 << 16  # bytes
SAID_MAX = 1 << 24  # bytes of all messages of a connection: a wall for days
FRAGMENTS = 3  # of a message: header, metadata, content
UNUSED_MS, CHECK_MS = 5000, 1000  # a page that no browser holds is dropped
IDLE_S = 60.0  # a connection that asks nothing
STUCK_MS = 60_000  # one that takes nothing of what it asked for
PING_S = 30.0  # a browser that does not answer so long is gone
POLICY = 1008  # why a websocket is closed (RFC 6455): what was said is not allowed
CHANGES = {"ModelChanged", "MessageSent"}
HANDLERS: dict[str, Callable[[Any, Any], Any]] = {
    "PULL-DOC-REQ": ServerSession.pull,
    "PATCH-DOC": ServerSession.patch,
}


class Door(HTTPServer):
    """Lets so many connections in; for the next one, the oldest of whoever has most is closed.

    So nobody keeps others out with requests that are never whole.
    """

    _inside: dict[IOStream, str]  # from where, in the order in which they came

    def initialize(self, *args: Any, **kwargs: Any) -> None:
        """Begin with nobody inside."""
        self._inside = {}
        super().initialize(*args, **kwargs)

    def handle_stream(self, stream: IOStream, address: Any) -> None:
        """Take a connection."""
        if len(self._inside) >= CONNECTIONS_MAX:
            ((most, _),) = Counter(self._inside.values()).most_common(1)
            oldest = next(one for one, client in self._inside.items() if client == most)
            del self._inside[oldest]
            oldest.close()
        self._inside[stream] = str(address[0]) if isinstance(address, tuple) else ""
        stream.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, STUCK_MS)
        super().handle_stream(stream, address)

    def on_close(self, server_conn: Any) -> None:
        """Forget a connection that ended, or became a websocket."""
        self._inside.pop(server_conn.stream, None)
        super().on_close(server_conn)


class Websocket(WSHandler):
    """A browser's page: what it says is looked at before Bokeh does."""

    _said = _fragments = 0

    def open(self, *args: str, **kwargs: str) -> None:
        """Let a browser in that holds a page, or has room for one."""
        try:
            session = get_session_id(self._token or "")
            if not any(known.id == session for known in self.application_context.sessions) and (
                pages(self.application) >= PAGES_MAX
            ):
                self._refuse("")
                return
            super().open(*args, **kwargs)
        except Exception:  # what is no token fails in many ways
            self._refuse("came with a wrong token")

    async def _receive(self, fragment: str | bytes) -> Any:
        self._said += len(fragment)
        self._fragments += 1
        if self._said > SAID_MAX:
            return self._refuse("said too much")
        receiver: Any = self.receiver  # None before the server's first message
        try:
            message = await receiver.consume(fragment)
            if message is None and self._fragments < FRAGMENTS:
                return None
            self._fragments = 0
            if message is None or not may_be_said(message.msgtype, message.content):
                return self._refuse("sent what no page sends")
        except Exception:  # what is no message fails in many ways
            return self._refuse("sent no valid message")
        return message

    async def _handle(self, message: Any) -> Any:
        try:
            return await HANDLERS[message.msgtype](message, self.connection)
        except Exception as error:
            return self._refuse(f"asked for what cannot be done ({type(error).__name__})")

    def _refuse(self, why: str) -> None:
        if why and self.ws_connection is not None and not self.ws_connection.is_closing():
            say(f"the scoreboard: a browser {why}: its connection was closed")
        self.close(POLICY)


def pages(application: Any) -> int:
    """Return how many pages a Bokeh server holds in memory."""
    return sum(len(application.get_sessions(path)) for path in application.app_paths)


def may_be_said(kind: object, content: Any) -> bool:
    """Tell whether a message is one of a page: it asks for it, or changes plain values of it."""
    if kind == "PULL-DOC-REQ":
        return True
    if kind != "PATCH-DOC":
        return False
    if any(event["kind"] not in CHANGES for event in content["events"]):
        return False
    waiting = [cast("Any", content)]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if value.get("type") == "object":  # a new part of the page
                return False
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return True


def quiet_about_browsers() -> None:
    """Keep Bokeh from saying a second time what is said here in one line."""
    for name in ("bokeh.protocol", "bokeh.server.views.ws"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
