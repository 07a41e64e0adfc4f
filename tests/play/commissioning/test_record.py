"""Records: who edits one is found out, what is old or strange is refused in one line."""

import json

import pytest

from docs._extensions.tennis_commissioning import boards
from tennis.kit.digests import sha256_of
from tennis.kit.errors import AlteredError, RallyError
from tennis.kit.wiring import wiring
from tennis.play.commissioning.page import page
from tennis.play.commissioning.record import PAGE, RECORD, Number, Record, read_record
from tennis.play.commissioning.steps import steps
from tennis.rally.record_file import seal_of
from tests.support.made_up_commissioning import made_up_record


@pytest.fixture
def folder(tmp_path):
    record = made_up_record()
    (tmp_path / PAGE).write_text(page(record))
    record = record.model_copy(update={"files": {PAGE: sha256_of(tmp_path / PAGE)}})
    (tmp_path / RECORD).write_bytes(record.sealed_text())
    return tmp_path


def test_a_record_comes_back_as_it_was_written(folder):
    record = read_record(folder / RECORD)
    assert record.model_copy(update={"files": {}}) == made_up_record()
    record.check_files(folder)


def test_every_edit_of_a_number_is_found_out(folder):
    text = (folder / RECORD).read_text()
    for before, after in (("23.7", "13.7"), ('"fail"', '"pass"'), ("physical", "emulated")):
        assert text.count(before) == 1
        (folder / RECORD).write_text(text.replace(before, after))
        with pytest.raises(AlteredError, match="was changed after it was sealed"):
            read_record(folder / RECORD)


def test_a_page_that_was_edited_is_found_out(folder):
    place = folder / PAGE
    place.write_text(place.read_text().replace("nothing drives", "something drives"))
    with pytest.raises(AlteredError, match=r"index\.html is not what was sealed"):
        read_record(folder / RECORD).check_files(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema_version": 2}, r"schema 2, this one reads 1\): update tennis"),
        ({"schema_version": 0}, r"is not a record of schema 1 \(.schema_version"),
        ({"schema_version": None}, r"is not a record of schema 1 \(.schema_version"),
        ({"steps": 5}, "is not a record of schema 1"),
        ({"who": "somebody"}, r"is not a record of schema 1 \(.who"),
        ({"kind": "\x1b[2J"}, "is not a record of schema 1"),
    ],
)
def test_old_and_strange_records_take_one_line(folder, change, words):
    content = made_up_record().model_dump(mode="json") | change
    content["seal"] = seal_of(content)
    (folder / RECORD).write_text(json.dumps(content))
    with pytest.raises(RallyError, match=words) as refused:
        read_record(folder / RECORD)
    assert str(refused.value).isprintable()


def test_the_pins_of_the_steps_are_those_of_the_wiring():
    known = wiring()
    words = {one.name: " ".join((*one.plug, one.warning)) for one in steps()}
    for name in ("ping", "reply"):
        wire = known.wire(name)
        assert f"Pico pin {wire.pico_pin} (GP{wire.pico_gpio})" in words[name]
        assert f"pin {wire.target_pin} (BCM{wire.target_bcm})" in words[name]
        assert f"{wire.resistor_ohm} Ω" in words[name]
    for jumper in known.jumpers:
        for end in (jumper.origin, jumper.to):
            assert f"GP{known.wire(end).pico_gpio}" in words["jumpers"]


def test_five_volts_are_said_before_a_wire_goes_to_the_target():
    """Each step that plugs into the target warns, and says what 5 V would destroy."""
    for one in steps():
        to_target = any("of the target" in line and "──" in line for line in one.plug)
        assert bool(one.warning) == to_target, one.name
        if one.warning:
            assert "destroy GP3" in one.warning


def test_the_page_escapes_what_a_record_says_and_an_emulated_one_is_called_so():
    text = page(made_up_record())
    assert "<b>a note" not in text
    assert "&lt;b&gt;a note" in text
    assert "nothing here was measured on hardware" not in text
    emulated: Record = made_up_record().model_copy(update={"kind": "emulated"})
    assert "nothing here was measured on hardware" in page(emulated)
    assert "emulated: " in boards([("x", emulated)])


def test_words_of_a_sent_record_are_not_the_books():
    """A page of the book is HTML, and a record comes from anybody."""
    first, *others = made_up_record().steps
    number = Number(name="loop_ns", words="x", value=23.7, unit="<b>")
    steps = [
        first.model_copy(update={"facts": {"board": "<script>alert(1)</script>"}}),
        others[0].model_copy(update={"numbers": [number]}),
    ]
    table = boards([("x", made_up_record().model_copy(update={"steps": steps}))])
    assert "<" not in table
    assert "| 23.7 ns |" in table
