"""One source for the wiring, which does not contradict itself or the boards."""

import json

import pytest

from tennis.kit.errors import TennisError
from tennis.kit.wiring import SOURCE, wiring


def test_the_firmware_gets_its_pins():
    assert json.loads(wiring().firmware_json()) == {
        **{"ping": 2, "reply": 3, "listen": 6, "answer": 7},
        **{"yellow": 10, "red": 11, "green": 12, "buzzer": 13},
    }
    assert wiring().jumper_words() == "GP2-GP6 and GP7-GP3"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("pico_pin = 4\n", "pico_pin = 3\n", "ping: GP2 is not pin 3 of a Pico"),
        ("target_pin = 13", "target_pin = 15", "reply: BCM27 is not pin 15"),
        ("pico_gpio = 3\npico_pin = 5", "pico_gpio = 2\npico_pin = 4", "2 is used twice"),
        ("pico_pin = 3 ", "pico_pin = 4 ", "pin 4 of a Pico is not ground"),
        ("target_pico_pin = 3 ", "target_pico_pin = 5 ", "pin 5 of a Pico is not ground"),
        ("target_pico_pin = 4\n", "target_pico_pin = 6\n", "ping: GP2 is not pin 6 of a Pico"),
        ("target_pin = 9 ", "target_pin = 10 ", "pin 10 of the header is not ground"),
        ('to = "listen"', 'to = "ears"', "no wire ears"),
        ('wire = "reply"', 'wire = "replies"', "no wire replies"),
        ('name = "ping"', 'nome = "ping"', "restore it"),
    ],
)
def test_a_wrong_pin_is_found(tmp_path, old, new, words):
    text = SOURCE.read_text().replace("pico_pin = 3\ntarget", "pico_pin = 3 \ntarget")
    text = text.replace("target_pin = 9\n", "target_pin = 9 \n")
    assert old in text
    path = tmp_path / "wiring.toml"
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(TennisError, match=words):
        wiring(path)
