# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Systems on which no package makes Tennis play: each is told so in a line."""

import os
import platform

import pytest

from tennis.bench import system
from tennis.errors import BenchError


def of_musl(_name):
    raise ValueError("unrecognized configuration name")


@pytest.mark.parametrize("answer", [of_musl, lambda _name: None, lambda _name: ""])
def test_musl_is_sent_to_the_container(answer, monkeypatch):
    system.must_be_able_to_play()
    monkeypatch.setattr(os, "confstr", answer)
    with pytest.raises(BenchError, match="not glibc") as raised:
        system.must_be_able_to_play()
    assert "container" in str(raised.value.next_step)


def test_a_cache_on_windows_disk_is_refused_on_windows_alone(monkeypatch):
    monkeypatch.setenv("TENNIS_CACHE", "/mnt/c/Users/ada/tennis")
    system.must_be_able_to_play()
    monkeypatch.setattr(platform, "release", lambda: "5.15.167.4-microsoft-standard-WSL2")
    with pytest.raises(BenchError, match="on Windows' disk"):
        system.must_be_able_to_play()
    for elsewhere in ("/mnt", "/mnt/data/tennis", "/home/ada/c"):
        monkeypatch.setenv("TENNIS_CACHE", elsewhere)
        system.must_be_able_to_play()
