# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Who may look at a scoreboard, and from where: a real server, asked by hand."""

import base64
import http.client
import os
import socket
import time
from urllib.parse import urlsplit

import pytest

from tennis.scoreboard.board import Board
from tests.support.scoreboards import running
from tests.support.synthetic import make_rally
from tests.support.terminal import run

EVERYWHERE = "0.0.0.0"  # noqa: S104


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("place")
    make_rally(place / "in" / "r", balls=50)
    make_rally(place / "secret", balls=50)
    return place / "in"


@pytest.fixture(scope="module")
def here(place):
    with running(place) as address:
        yield address


@pytest.fixture(scope="module")
def with_token(place):
    with running(place, "--token") as address:
        yield address


def ask(address, path, method="GET", **headers):
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request(
        method, path, headers={key.replace("_", "-"): v for key, v in headers.items()}
    )
    answer = connection.getresponse()
    return answer.status, answer.read().decode(errors="replace"), answer.headers


def upgraded(address, path="/ws", **headers):
    """Ask for a websocket; return the status."""
    key = base64.b64encode(os.urandom(16)).decode()
    return ask(
        address, path, Connection="Upgrade", Upgrade="websocket", Sec_WebSocket_Key=key,
        Sec_WebSocket_Version="13", Sec_WebSocket_Protocol="bokeh, none", **headers,
    )[0]  # fmt: skip


def test_the_page_and_its_headers(here):
    status, page, headers = ask(here, "/")
    assert (status, "Tennis scoreboard" in page) == (200, True)
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Server"] == "tennis"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("path", ["/", "/explorer?rally=r", "/static/js/bokeh.min.js", "/nothing"])
@pytest.mark.parametrize("host", ["evil.example", "evil.example:8585", "127.0.0.1", "127.0.0.1:1"])
def test_another_host_is_refused(here, path, host):
    status, said, _ = ask(here, path, Host=host)
    assert (status, "is not the scoreboard's" in said) == (403, True)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/explorer", "/enter", "/ws"])
def test_nothing_but_looking(here, path, method):
    assert ask(here, path, method)[0] == 405


def test_a_websocket_of_another_origin_is_refused(here):
    port = urlsplit(here).port
    for origin in ("http://evil.example", f"http://evil.example:{port}", "null"):
        assert upgraded(here, Origin=origin) == 403
    # of its own, but without a session that the page began
    assert upgraded(here, Origin=f"http://127.0.0.1:{port}") in {101, 401, 403}


def test_no_way_out_of_the_server_and_of_the_list(here):
    for path in (
        "/../secret/manifest.json",
        "/static/../../../../../../etc/passwd",
        "/static/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static//etc/passwd",
    ):
        status, said, _ = ask(here, path)
        assert status in {403, 404}
        assert "root:" not in said
    for name in ("../secret", "..%2Fsecret", "%2Fetc", "r%00", "", "nothing"):
        status, page, _ = ask(here, f"/explorer?rally={name}")
        assert status == 200
        assert "secret" not in page


def test_without_the_token_nothing_is_shown(with_token):
    for path in ("/", "/explorer?rally=r", "/ws", "/static/js/bokeh.min.js", "/enter/"):
        status, said, _ = ask(with_token, path)
        assert (status, "Open the address with its token" in said) == (403, True)
    for path in ("/enter", "/enter?token=", "/enter?token=%00", "/enter?token=wrong"):
        status, said, headers = ask(with_token, path)
        assert (status, "Set-Cookie" in headers) == (403, False)
        assert "Open the address with its token" in said
    forged = ask(with_token, "/", Cookie='tennis-scoreboard="2|1:0|10:1|3:a|4:eHg=|abc"')
    assert forged[0] == 403
    port = urlsplit(with_token).port
    assert upgraded(with_token, Origin=f"http://127.0.0.1:{port}") == 403


def test_the_token_becomes_a_cookie(with_token):
    parts = urlsplit(with_token)
    status, _, headers = ask(with_token, f"{parts.path}?{parts.query}")
    assert (status, headers["Location"]) == (302, "/")
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    status, page, _ = ask(with_token, "/", Cookie=cookie.split(";")[0])
    assert (status, "Tennis scoreboard" in page) == (200, True)
    assert parts.query.removeprefix("token=") not in page


def test_beyond_this_machine_a_token_is_needed(place):
    with running(place, "--listen", EVERYWHERE, "--host", "lab.example") as address:
        parts = urlsplit(address)
        assert parts.hostname == "lab.example"
        assert parts.query.startswith("token=")
        local = f"http://127.0.0.1:{parts.port}"
        assert "its token" in ask(local, "/")[1]
        assert "its token" in ask(local, "/", Host=f"lab.example:{parts.port}")[1]
        assert ask(local, "/", Host=f"other.example:{parts.port}")[0] == 403


def test_benches_of_an_inventory(place, tmp_path):
    """Nobody answers at this address: the page says so, and shows everything else."""
    hosts = tmp_path / "hosts.yml"
    hosts.write_text("targets: {hosts: {bench-1: {ansible_host: 127.0.0.1, ansible_port: 9}}}\n")
    with running(place, "--inventory", str(hosts)) as address:
        board = Board([place], hosts, 3600.0)
        assert ask(address, "/")[0] == 200
        limit = time.monotonic() + 300
        while board.benches is None and time.monotonic() < limit:
            time.sleep(0.2)
        assert [row.bench for row in board.benches] == ["bench-1"]
        assert board.benches[0].trouble
        board.close()


def test_what_is_wrong_is_one_line(tmp_path):
    done = run("scoreboard", tmp_path, "--inventory", tmp_path / "nothing")
    assert (done.exit_code != 0, done.output.count("\n")) == (True, 1), done.output
    done = run("scoreboard", tmp_path / "nothing")
    assert done.exit_code != 0
    assert "nothing" in done.output
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run("scoreboard", tmp_path, "--port", port)
    assert done.exit_code != 0
    assert f"cannot listen on 127.0.0.1:{port}" in done.output
    assert done.output.count("\n") == 1
    done = run("scoreboard", tmp_path, "--listen", "not-a-host.invalid")
    assert done.exit_code != 0
    assert "cannot listen on not-a-host.invalid" in done.output
