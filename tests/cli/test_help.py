"""Each command says what it does, and what each of its options and arguments is."""

import re
from collections.abc import Iterator

import click
import pytest

from tennis.cli import _command_of, _names, cli
from tennis.cli.removed import OPTIONS


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yield all commands, those of groups too, each with the words that run it."""
    for name in _names():
        command = _command_of(name)
        assert command
        yield name, command
        if isinstance(command, click.Group):
            context = click.Context(command)
            for inner in command.list_commands(context):
                within = command.get_command(context, inner)
                assert within
                yield f"{name} {inner}", within


@pytest.mark.parametrize(("words", "command"), [("", cli), *commands()])
def test_no_help_is_empty(words, command):
    text = command.get_help(click.Context(command, info_name=f"tennis {words}".strip()))
    usage, sentence, *_ = text.split("\n\n")
    one_form = " ".join(text.split())  # a default and limits: [default: 5; 1 to 10]
    assert "] [" not in one_form.partition(" Options")[2]
    assert not re.search(r"\d<=?x|x<=?\d", one_form)
    assert usage.startswith(f"Usage: tennis {words}".strip())
    assert sentence.strip().endswith((".", ":"))
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.hidden or parameter.help, parameter.opts
        else:
            for word in re.findall(r"\w+", parameter.human_readable_name):
                assert re.search(rf"\b{word}\b", text.partition("\n")[2], re.IGNORECASE), word


@pytest.mark.parametrize(
    ("words", "now"),
    [
        ("flash --port /dev/ttyACM1", "tennis brickwall flash"),
        ("verify", "tennis brickwall verify"),
        ("boot bench-1 rt", "tennis benches boot"),
        ("rally --resume r", "tennis resume DIR"),
        ("rally --check=r", "tennis check DIR"),
        ("explain --stages r", "tennis explain stages RALLY"),
        ("explain r --try kernel=rt", "tennis explain try RALLY NAME=VALUE"),
    ],
)
def test_what_was_typed_in_0_1_is_answered_with_what_it_is_now(typed, words, now):
    code, out, said = typed(*words.split())
    assert (code, out) == (2, "")
    (line,) = said.splitlines()
    assert line.endswith(f"now: run '{now}'")


@pytest.mark.parametrize(
    ("words", "command"), [one for one in commands() if not isinstance(one[1], click.Group)]
)
def test_help_shows_the_options_that_its_examples_use(words, command):
    text = command.get_help(click.Context(command, info_name=f"tennis {words}"))
    examples = text.partition("Options")[0].replace("\\\n", " ")
    uses = re.findall(rf"^ +(?:\w+=\S+ )?tennis {words}\b(.*)$", examples, re.MULTILINE)
    used = {option for line in uses for option in re.findall(r" (--[a-z-]+)", line)}
    shown = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.MULTILINE))
    shown |= set(re.findall(r"^ +--[a-z-]+ / (--[a-z-]+)", text, re.MULTILINE))
    assert not used - shown


def test_removed_options_are_removed():
    there = {
        f"{words} {option}"
        for words, command in commands()
        for parameter in command.params
        for option in parameter.opts
    }
    assert not there & set(OPTIONS)


def test_what_was_probably_meant_is_named(typed):
    meant = {"rallly": "'rally'", "kernels ftch": "'fetch'", "stats --jsn": "--json"}
    for words, name in meant.items():
        code, _, said = typed(*words.split())
        (line,) = said.splitlines()
        assert (code, name in line) == (2, True)
