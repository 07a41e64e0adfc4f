# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Browsers that say nonsense, are too many or do not read; a server that is told to end."""

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from tennis.scoreboard.browsers import CONNECTIONS_MAX, PAGES_MAX
from tests.support.patience import STANDSTILL_S as WAIT_S
from tests.support.patience import wait_until
from tests.support.scoreboards import started
from tests.support.synthetic import make_rally

EXPLORER = "/explorer?rally=r"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("place")
    make_rally(place / "r", balls=20_000)
    return place


@pytest.fixture(scope="module")
def server(place):
    with started(place) as (address, process, said):
        yield address, process, said
        process.terminate()


def get(address, path, cookie=""):
    """Return status, headers, text and the token of a page."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=WAIT_S)
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    text = answer.read().decode()
    token = re.search(r'"token":"([^"]+)"', text)
    return answer.status, answer.headers, text, token and token[1]


async def entered(address, path, cookie="", token=None):
    """Open a page; return its websocket, behind the server's first message."""
    host = urlsplit(address).netloc
    token = token or get(address, path, cookie)[3]
    way = urlsplit(path).path.rstrip("/")
    headers = {"Origin": f"http://{host}", "Cookie": cookie}
    request = HTTPRequest(f"ws://{host}{way}/ws", headers=headers)
    line = await websocket_connect(request, subprotocols=["bokeh", token])
    assert '"ACK"' in await line.read_message()
    await line.read_message()
    await line.read_message()
    return line


async def say(line, kind, **content):
    header = {"msgid": os.urandom(4).hex(), "msgtype": kind}
    for fragment in (header, {}, content):
        await line.write_message(json.dumps(fragment))


async def fetched(line):
    """Fetch the page's models; return what the server says."""
    await say(line, "PULL-DOC-REQ")
    while True:
        said = await line.read_message()
        if isinstance(said, str) and said.startswith('{"doc"'):
            return json.loads(said)


def memory_mb(process):
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1000


def children(process):
    lists = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(child) for one in lists for child in one.read_text().split()]


def head(**fields):
    return json.dumps({"msgid": "1", "msgtype": "PATCH-DOC", **fields})


def patch(**event):
    return [head(), "{}", json.dumps({"events": [event]})]


OF_A_PAGE = {"kind": "ModelChanged", "model": {"id": "p1"}, "attr": "tags"}
NEW_PART = {"type": "object", "name": "Div", "id": "x", "attributes": {"text": "x" * 1000}}
NONSENSE = {
    "no JSON": ["{", "{}", "{}"],
    "binary": [os.urandom(100)],
    "no object": ["[]", "{}", "{}"],
    "nothing": ["null", "null", "null"],
    "no header": ["{}", "{}", "{}"],
    "unknown": [head(msgtype="NOPE"), "{}", "{}"],
    "no name": [head(msgtype=[]), "{}", "{}"],
    "the server's": [head(msgtype="ACK"), "{}", "{}"],
    "another page": [head(msgtype="PUSH-DOC"), "{}", '{"doc": {}}'],
    "no events": [head(), "{}", "{}"],
    "events?": [head(), "{}", '{"events": 7}'],
    "not there": patch(kind="ModelChanged", model={"id": "nope"}, attr="x", new=1),
    "a new title": patch(kind="TitleChanged", title="x"),
    "a new part": patch(**OF_A_PAGE, new=[NEW_PART]),
    "no event": patch(kind="MessageSent", msg_type="bokeh_event", msg_data={"type": "event"}),
    "deep": ["[" * 60_000, "{}", "{}"],
    "many buffers": [head(num_buffers=10**9), "{}", '{"events": []}', '{"id": "1"}', b"x" * 60_000],
    "huge": ["x" * (1 << 20)],
    "surrogate": ['{"msgid": "\\ud800"}', "{}", "{}"],
}  # fmt: skip


def test_nonsense_is_a_line_and_ends_the_connection(server):
    address, _, said = server

    async def sent(fragments):
        line = await entered(address, "/")
        heard = []
        try:
            for fragment in fragments:
                await line.write_message(fragment, binary=isinstance(fragment, bytes))
            while (message := await line.read_message()) is not None:
                heard.append(message)
        except WebSocketClosedError:
            pass
        assert "Traceback" not in "".join(map(str, heard))
        assert line.close_code in {1008, 1009}  # not allowed, too large

    for what, fragments in NONSENSE.items():
        before = said()
        asyncio.run(asyncio.wait_for(sent(fragments), WAIT_S))
        fresh = said()[len(before) :]
        assert len(fresh) <= 1, what
        assert all(line.startswith("the scoreboard: a browser ") for line in fresh), what


@pytest.mark.parametrize("names", [["bokeh", "x"], ["bokeh"], ["a", "b"], ["bokeh", "eyJ4IjoxfQ"]])
def test_no_token_of_a_page(server, names):
    address, _, said = server
    before = said()

    async def refused():
        host = urlsplit(address).netloc
        request = HTTPRequest(f"ws://{host}/ws", headers={"Origin": f"http://{host}"})
        line = await websocket_connect(request, subprotocols=names)
        assert await line.read_message() is None

    asyncio.run(refused())
    (fresh,) = said()[len(before) :]
    assert "a wrong token" in fresh


@pytest.mark.parametrize("path", ["/autoload.js?bokeh-autoload-element=1", "/metadata"])
def test_no_way_in_besides_the_pages(server, path):
    assert get(server[0], path)[0] == 404


def test_pages_share_a_picture(server):
    address, process, _ = server

    async def crowd():
        lines = [await entered(address, EXPLORER)]
        await fetched(lines[0])
        before = memory_mb(process)
        for _ in range(10):
            lines.append(await entered(address, EXPLORER))
            await fetched(lines[-1])
        assert memory_mb(process) - before < 15  # a picture takes 2.5 MB

    asyncio.run(crowd())


def test_as_many_pages_as_it_says(server):
    address = server[0]

    async def crowd():
        lines = []
        while (opened := get(address, "/"))[0] == 200:
            lines.append(await entered(address, "/", token=opened[3]))
            assert len(lines) <= PAGES_MAX
        for path in ("/", EXPLORER):
            status, headers, text, _ = get(address, path)
            assert (status, headers["Refresh"]) == (503, "20")
            assert f"{PAGES_MAX} pages of this scoreboard are open" in text
        assert (await fetched(lines[-1]))["doc"]  # who is in is served
        for line in lines:
            line.close()
        limit = time.monotonic() + WAIT_S
        while get(address, "/")[0] == 503:
            assert time.monotonic() < limit
            await asyncio.sleep(0.5)

    asyncio.run(crowd())


def test_a_browser_that_does_not_read(server):
    address, process, _ = server

    async def asking():
        line = await entered(address, EXPLORER)
        await fetched(line)
        before = memory_mb(process)
        for _ in range(100):  # 250 MB of answers
            await say(line, "PULL-DOC-REQ")
        await asyncio.sleep(2)
        assert memory_mb(process) - before < 40

    asyncio.run(asking())


@pytest.mark.parametrize("half", [b"", b"GET / HTTP/1.1\r\nHost: "])
def test_connections_that_never_ask_keep_nobody_out(server, half):
    """The oldest of whoever has most of them is closed: it was the newest, of anybody."""
    parts = urlsplit(server[0])
    lines = []
    for _ in range(CONNECTIONS_MAX + 5):
        line = socket.create_connection((parts.hostname, parts.port), timeout=WAIT_S)
        line.sendall(half)
        lines.append(line)
    assert lines[0].recv(1) == b""
    lines[-1].settimeout(0.2)
    with pytest.raises(TimeoutError):
        lines[-1].recv(1)
    for _ in range(3):  # from another address, and from the same
        assert get(server[0], "/")[0] == 200
    other = socket.create_connection(
        (parts.hostname, parts.port), timeout=WAIT_S, source_address=("127.0.0.2", 0)
    )
    lines += [socket.create_connection((parts.hostname, parts.port)) for _ in range(50)]
    request = f"GET / HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n"
    other.sendall(request.encode())  # it came before these fifty, and is still there
    assert other.recv(15) == b"HTTP/1.1 200 OK"
    other.close()
    for line in lines:
        line.close()


def gone(numbers):
    for number in numbers:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


def test_a_question_to_a_bench_ends_with_it(place, tmp_path):
    hosts = tmp_path / "hosts.yml"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        hosts.write_text(
            f"targets: {{hosts: {{b: {{ansible_host: 127.0.0.1, ansible_port: {port}}}}}}}\n"
        )
        with started(place, "--inventory", str(hosts)) as (_, process, _):
            wait_until(lambda: bool(children(process)), process)
            left = children(process)
            process.send_signal(signal.SIGHUP)
    gone(left)
