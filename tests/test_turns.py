"""Thirty who hand in at once take turns: none is lost, and so many run at once as there is room."""

import os
import threading
import time

import pytest

from tennis.kit import turns
from tennis.kit.checkout import ROOT


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    monkeypatch.setattr(turns, "LOCKS", tmp_path)
    monkeypatch.setattr(turns, "LOOK_S", 0.005)
    return tmp_path


def test_thirty_at_once_on_two_places(locks):
    here, most, done, waited = 0, 0, 0, []
    lock, start = threading.Lock(), threading.Barrier(30)

    def hand_in() -> None:
        nonlocal here, most, done
        start.wait()
        with turns.turn("notebook", 2, lambda: waited.append(1)):
            with lock:
                here += 1
                most = max(most, here)
            time.sleep(0.01)
            with lock:
                here -= 1
                done += 1

    each = [threading.Thread(target=hand_in) for _ in range(30)]
    for one in each:
        one.start()
    for one in each:
        one.join(60)
    assert (done, most) == (30, 2)
    assert 1 <= len(waited) <= 28  # each printed it once
    assert {path.name for path in locks.iterdir()} == {"tennis-notebook-0", "tennis-notebook-1"}
    assert {path.stat().st_mode & 0o777 for path in locks.iterdir()} == {0o444}


def test_who_holds_all_places_keeps_nobody_back_for_ever():
    with turns.turn("notebook", 1) as first:
        assert first < 1
        said = []
        with turns.turn("notebook", 1, lambda: said.append(1), wait_s=0.1) as waited:
            assert waited >= 0.1
        assert said == [1]
        with turns.turn("other", 1, lambda: said.append(2)):
            assert said == [1]  # another kind of work has places of its own
    with turns.turn("notebook", 1) as again:
        assert again < 1


@pytest.mark.parametrize("kind", ["a link", "a pipe", "no folder"])
def test_what_another_account_put_there_stops_nobody(locks, monkeypatch, kind):
    place = locks / "tennis-notebook-0"
    if kind == "a link":
        place.symlink_to("/etc/passwd")
    elif kind == "a pipe":
        os.mkfifo(place)
    else:
        monkeypatch.setattr(turns, "LOCKS", locks / "none")
    begin = time.monotonic()
    with turns.turn("notebook", 1) as waited:
        assert waited < 1
    assert time.monotonic() - begin < 5


def test_the_teachers_page_says_how_long_somebody_waits_at_most():
    page = (ROOT / "docs/teachers.md").read_text()
    assert f"longer than {turns.WAIT_S / 60:g} minutes for a turn" in page
