"""Names are text: what registers hold is taken, shown as written, and harmless in files."""

import csv
import io
import re

import pytest
from click.testing import CliRunner

from tennis.cli import cli
from tennis.course import work
from tennis.grading.hand_in import file_name
from tennis.rally.cells import csv_of, words

LAB = work.find_lab("01")
NAMES = [
    "Kumaran a/l Raju",
    "Amina d/o Yusuf",
    "'t Hart",
    "Núria Col·lell",
    "Smith, John",
    "レオナルド・ディカプリオ",
    "\u02bbAkahi Kekona",
    "Jean\u2013Luc (JL) O\u2019Neil",
    "María-José & Ana",
    "../../etc",
    'Ada "Countess" Lovelace\\',
    "=1+2+cmd|x",
    "<b>Ada</b> #1",
    "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627",
]
REFUSED = {
    "Ada\u202eecalevoL": "U+202E (right-to-left override)",
    "Ada\x1b[2J": "U+001B (a control character)",
    "Ada\nLovelace": "U+000A (a control character)",
    "Ada\u200bLovelace": "U+200B (zero width space)",
    "Ada\u00adLovelace": "U+00AD (soft hyphen)",
    "Ada\udcff": "U+DCFF",
    "": "it holds no letter",
    "···": "it holds no letter",
    " Ada": "it begins or ends with a space",
    "A" * 61: "it is longer than 60 characters",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_taken_and_comes_back_as_written(tmp_path, name):
    folder = tmp_path / "w"
    done = CliRunner().invoke(cli, ["lab", "start", "01", "--as", name, "--out", str(folder)])
    assert done.exit_code == 0, done.output
    found = work.read(folder, LAB)
    assert found.answers.student == name
    assert re.fullmatch(r"[\w\u200c\u0300-\u036f-]+\.zip", file_name(found))
    assert len({file_name(found), "01-first-serve.zip"}) == 2
    cell = next(csv.reader(io.StringIO(csv_of([[words(name)]]).decode("utf-8-sig"))))[0]
    assert not cell.startswith(("=", "+", "-", "@"))


@pytest.mark.parametrize("name", REFUSED)
def test_what_would_lie_is_refused_and_the_sign_is_named(tmp_path, name):
    folder = tmp_path / "w"
    done = CliRunner().invoke(cli, ["lab", "start", "01", "--as", name, "--out", str(folder)])
    assert done.exit_code == 1
    assert REFUSED[name] in str(done.exception or done.output)
    assert not folder.exists()
