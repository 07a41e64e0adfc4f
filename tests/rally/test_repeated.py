"""What must come again: a rally's digest and edition, and when two rallies do not compare."""

import json

import pytest

from tennis.kit.edition import EDITION, UNRECORDED, VERSION
from tennis.play.printed import as_printed
from tennis.rally.manifest import Tool
from tennis.rally.repeated import digest_of, from_debian
from tests.support.synthetic import make_rally
from tests.support.terminal import tennis


@pytest.mark.parametrize(
    ("said", "edition"),
    [
        ("7", 7),
        ("", UNRECORDED),
        ("-1", UNRECORDED),
        ("1e9", UNRECORDED),
        ("9" * 4000, UNRECORDED),
        ("\N{SUPERSCRIPT TWO}", UNRECORDED),
    ],
)
def test_an_edition_is_a_small_number_or_none(said, edition):
    assert Tool(tennis=VERSION, versions={"edition": said}).edition == edition


def test_the_version_has_its_edition():
    assert tennis("--version").stdout == f"tennis, version {VERSION}\n"
    assert VERSION.endswith(f", edition {EDITION}")


def test_each_ball_event_and_line_is_in_the_digest(tmp_path):
    rise, fall = [1000, 1200, 1100], [500, 500, 500]
    same = {"rise": rise, "schedule": fall}
    base = digest_of(make_rally(tmp_path / "base", **same))
    assert digest_of(make_rally(tmp_path / "again", **same)) == base
    others = {
        "rise": {"rise": [1000, 1201, 1100], "schedule": fall},
        "fall": {"rise": rise, "schedule": [500, 501, 500]},
        "served": same | {"later_ns": 1},
        "miss": same | {"misses": 1},
        "event": same | {"events": [{"at_ns": 5, "what": "stray"}]},
        "console": same | {"console": "[    0.000002] another kernel\n"},
    }
    digests = {digest_of(make_rally(tmp_path / name, **what)) for name, what in others.items()}
    assert len(digests | {base}) == len(others) + 1


def test_what_qemu_says_of_its_machine_is_left_out(tmp_path):
    same = {"rise": [1000], "schedule": [500]}
    base = digest_of(make_rally(tmp_path / "base", **same, console="kernel\n"))
    said = make_rally(
        tmp_path / "said",
        **same,
        console="kernel\nqemu: terminating on signal 15\n",
        events=[{"what": "emulator", "text": "signal 15"}],
    )
    assert digest_of(said) == base


def test_sloths_image_is_built_here_and_its_compiler_is_debians():
    built = {"kernel": "SLOTH on a Cortex-M3", "kernel_image_sha256": "a", "compiler": "gcc 12.2"}
    assert from_debian(built) == {"compiler": "gcc 12.2", "kernel": "SLOTH on a Cortex-M3"}


def test_as_in_the_readme(tmp_path):
    """`make demo` compares its rallies with the digests that the README's picture had."""
    played = [make_rally(tmp_path / name, rise=[1000], schedule=[500]) for name in ("one", "two")]
    debian = from_debian(played[0].manifest.tool.versions)
    known = {
        "edition": EDITION,
        "debian": {"here": debian},
        "rallies": {r.path.name: {"digest": digest_of(r), "debian": "here"} for r in played},
    }
    file = tmp_path / "digests.json"

    def said(**changes):
        file.write_text(json.dumps(known | changes))
        return as_printed(played, file)

    assert said() == "yes"
    assert said(debian={"here": debian | {"kernel": "older"}}).startswith("not comparable: another")
    assert said(edition=EDITION + 1).startswith("not comparable: the README is of edition")
    other = {"one": {"digest": "0" * 64, "debian": "here"}}
    assert said(rallies=known["rallies"] | other).startswith("no: of 2 rallies one is another")
    moved = {"debian": {"here": debian | {"memory_sha256": "that of another model"}}}
    assert said(**moved, rallies=known["rallies"] | other).startswith("no: of 2 rallies one")
    assert as_printed(played[:1], file) == ""  # other rallies were asked for
    assert as_printed(played, tmp_path / "none") == ""
