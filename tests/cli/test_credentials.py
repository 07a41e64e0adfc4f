# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A key in a URL is refused by every command, and printed by none."""

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import tennis
from tennis.cli import cli
from tennis.credentials import refuse_credentials, without_credentials
from tennis.errors import BenchError, UsageError
from tennis.store import open_store
from tennis.store.opening import create
from tennis.store.place import Place
from tests.support import terminal

KEY, SECRET = "AKIAEXAMPLE", "wJalr/XUtn+FEMI"
URL = f"s3://{KEY}:{SECRET}@lab/term"


def commands(group, words=()):
    """Yield every command, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        yield (*words, name), command


def test_no_command_takes_or_prints_a_key(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tried = 0
    for words, command in commands(cli):
        values = [[URL], [URL.upper()], [f"--no-such-option={URL}"]]
        for one in command.params:
            if isinstance(one, click.Option) and not one.is_flag:
                values += [[one.opts[0], URL], [f"{one.opts[0]}={URL}"]]
        for value in values:
            done = CliRunner().invoke(cli, [*words, *value])
            assert isinstance(done.exception, UsageError), (words, value, done.output)
            said = done.output + str(done.exception)
            assert SECRET.casefold() not in said.casefold(), (words, value)
            assert KEY.casefold() not in said.casefold(), (words, value)
            tried += 1
    assert tried > 100
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "url",
    [
        URL,
        URL.replace("s3:", "S3:"),
        URL.replace("s3:", "s3a:"),
        URL.replace("s3://", "s3:/"),
        URL.replace("s3://", "s3:"),
        URL.replace("s3://", "s3:///"),
        URL.replace("@", "%40"),
        f"s3://{KEY}:{SECRET}/lab/term",
        f"s3://{KEY}@lab/term",
        f"s3://lab/term?access_key={KEY}&secret_key={SECRET}",
        f"simplecache::{URL}",
        f"ftp://{KEY}:{SECRET}@host/x",
        f"s3://lab/term#{SECRET}",
        f"S3://lab#{SECRET}",
        f"gs://lab/term#{SECRET}",
        f"gcs://lab/term?token={SECRET}",
        f"az://lab/term?{SECRET}",
        f"abfss://lab/term#{SECRET}",
        f"simplecache::sftp://host/term?password={SECRET}",
        f"https://host/term?X-Amz-Signature={SECRET}",
        f"memory://term?a=b&secret_key={SECRET}",
    ],
)
def test_however_it_is_spelled(url):
    for use in (Place, open_store, create, lambda it: open_store(Path(it)), tennis.open):
        with pytest.raises(UsageError, match="holds a key") as error:
            use(url)
        assert SECRET not in str(error.value)
        assert KEY not in str(error.value)


@pytest.mark.parametrize(
    "words",
    ["s3://lab/term", "s3://lab", "s3://lab/a:b", "tcp://head:8786", "bench@host", "a:b@c",
     "x/s3:y", "SELECT 'a@b' WHERE a ? b", "sftp://ada@host/term", "/srv/term",
     # of serial ports, which are judged where ports are read
     "spy:///dev/null?file=x", "loop://?logging=debug", "hwgrep://2E8A&skip_busy", "socket://h:1",
     "rfc2217://h:1?logging=debug", "alt:///dev/ttyACM0?class=x", "https://host/page#heading"],
)  # fmt: skip
def test_what_holds_no_key_is_let_through(words):
    refuse_credentials(words)


def test_the_terminal_shows_one_line():
    done = terminal.tennis("store", "list", URL)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "AWS_ACCESS_KEY_ID" in done.stderr
    assert SECRET not in done.stderr


def test_what_a_library_says_is_shown_without_keys(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    said = f"cannot reach http://ada:pass/word@host:9000 with {SECRET}"
    assert (
        without_credentials(said) == "cannot reach http://...@host:9000 with $AWS_SECRET_ACCESS_KEY"
    )
    place = Place("/nowhere")

    def fail() -> None:
        raise PermissionError(said)

    with pytest.raises(BenchError) as error:
        place._try("look into", fail)
    assert SECRET not in str(error.value)
    assert "pass/word" not in str(error.value)
