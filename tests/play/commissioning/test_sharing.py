"""A record that is sent holds what the list names, whatever the folder says."""

import json
import random
import string

import pytest

from tennis.play.commissioning.record import Number, Record, StepResult, read_record
from tennis.play.commissioning.sharing import ANOTHER, FACTS, NUMBERS, to_share
from tennis.play.commissioning.steps import names, steps

DAY = "2026-01-02"
# as boards say it, or ours do
SEEN = {
    "board": ["Raspberry Pi Pico with RP2040", "Raspberry Pi Pico2 with RP2350"],
    "micropython": ["1.25.0", "1.26.1"],
    "firmware": ["0.4.0"],
    "firmware_sha256": ["0a" * 32],
    "model": [
        "Raspberry Pi 4 Model B Rev 1.4",
        "Raspberry Pi 5 Model B Rev 1.0",
        "Raspberry Pi Zero 2 W Rev 1.0",
        "Raspberry Pi Compute Module 4 Rev 1.1",
    ],
    "system": ["Debian GNU/Linux 12 (bookworm)", "Debian GNU/Linux 13 (trixie)"],
    "machine": ["aarch64"],
    "flavour": ["rt", "mainline"],
    "kernel": ["rt", "mainline"],
    "release": [
        "6.12.47+rpt-rpi-v8",
        "6.12.47+rpt-rpi-2712",
        "6.12.74+deb13+1-rt-arm64",
        "6.1.0-49-rt-arm64",
        "6.12.74-v8-rt+",
    ],
    "virtual_kernel": ["6.12.74+deb13+1-arm64"],
    "version": [
        "#1 SMP PREEMPT_RT Debian 6.12.74-2 (2026-03-08)",
        "#1 SMP PREEMPT Debian 1:6.12.47-1+rpt1 (2025-09-16)",
    ],
    "clocksource": ["arch_sys_counter"],
    "governor": ["performance", "ondemand, performance"],
    "ping_line": ["17 of pinctrl-bcm2711", "0 of 9030000.pl061"],
    "reply_line": ["27 of pinctrl-rp1"],
    "reply_at_rest": ["low"],
    "load": ["stress"],
    "memory": ["cortex-a72@0f1e2d3c"],
}
# what a folder may have picked up, short and long, as part of what is right or alone
PRIVATE = (
    *("10.0.2.17", "9.9.9.9", "pi-of-ada"),
    *(
        "Bo",
        "Li",
        "Ada",
        "bo@x1",
        "held by bo@x1 for 5 min more",
        "ada-lovelace",
        "x1",
        "pi-of-ada",
    ),
    *("192.0.2.17", "fe80::1%eth0", "/home/ada/kit", "/dev/ttyACM0", "/dev/tennis/brickwall-e661"),
    *("e66154454e4e4953", "10000000a1b2c3d4", "b8:27:eb:01:02:03", "ada@lab.example.org"),
    *("6.12.47-ada", "6.12.0-bo+", "#1 SMP ada@x1 Debian", "Raspberry Pi of Ada", "bench-1"),
    *("Raspberry Pi 4 Model B Rev 1.4 Ada", "performance\nada", "17 of ada-expander", "1.25.0-bo"),
)


@pytest.mark.parametrize("name", FACTS)
def test_facts_of_boards_leave_as_they_are(name):
    result = StepResult(
        name="kernel", verdict="pass", date=DAY, reason="x", facts={name: SEEN[name][0]}
    )
    for words in SEEN[name]:
        given = record([result.model_copy(update={"facts": {name: words}})])
        assert to_share(given).steps[0].facts == {name: words}


def record(results: list[StepResult], tennis: str = "0.3.0") -> Record:
    return Record(schema_version=1, created=DAY, tennis=tennis, kind="physical", steps=results)


def with_words(rng: random.Random) -> Record:
    """Return a record whose every text is somebody's, with the same verdicts and numbers."""

    def word() -> str:
        if rng.random() < 0.3:
            letters = string.ascii_letters + string.digits + "-._@:/ "
            made = "".join(rng.choice(letters) for _ in range(rng.randrange(2, 30)))
            return f"Q{made}"
        return rng.choice(PRIVATE)

    results = []
    for name in names():
        numbers = [Number(name=n, words=word(), value=1.5, unit=word()[:20]) for n in NUMBERS]
        numbers.append(Number(name="of_ada", words=word(), value=2, unit=""))
        results.append(
            StepResult(
                name=name,
                verdict="fail",
                date=DAY,
                reason=word(),
                advice=word(),
                failure=word(),
                numbers=numbers[:40],
                facts={**{fact: word() for fact in FACTS}, "of_ada": word()},
                notes=[word(), word()],
            )
        )
    return record(results, tennis=word())


def test_no_word_of_a_folder_is_in_what_is_sent():
    """Folders with other words and the same numbers are one file: nothing seeped through."""
    rng = random.Random(53)  # noqa: S311
    sent = {to_share(with_words(rng)).sealed_text() for _ in range(300)}
    assert len(sent) == 1
    (text,) = sent
    kept = json.loads(text)
    assert {fact for one in kept["steps"] for fact in one["facts"].values()} == {ANOTHER}
    assert kept["tennis"] == ANOTHER
    assert "of_ada" not in text.decode()


def test_a_failure_leaves_by_its_name_and_gets_its_words_from_the_steps():
    for one in steps():
        for failure in one.failures:
            said = StepResult(
                name=one.name,
                verdict="fail",
                date=DAY,
                reason=f"{failure.symptom} (Bo, 3 of 20 counted): {failure.means}",
                advice="ask Bo",
                failure=failure.name,
            )
            (sent,) = to_share(record([said])).steps
            assert (sent.failure, sent.advice) == (failure.name, failure.mend)
            assert sent.reason == f"{failure.symptom}: {failure.means}"


@pytest.mark.parametrize("version", ["0.3.0", "0.3.0rc1", "0.3.0.dev0+1a2b3c4d"])
def test_the_version_leaves(version):
    assert to_share(record([], tennis=version)).tennis == version


def test_what_is_sent_is_a_record_that_can_be_read(tmp_path):
    place = tmp_path / "sent.json"
    sent = to_share(with_words(random.Random(1)))  # noqa: S311
    place.write_bytes(sent.sealed_text())
    assert read_record(place) == sent
    # and once more is the same
    assert to_share(sent).sealed_text() == sent.sealed_text()
