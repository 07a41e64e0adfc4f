"""A file that a system called a copy is not read, and is not passed over without a word."""

import pytest

from tennis.course import load_lab, work
from tennis.kit.errors import UsageError
from tennis.rally.copied_names import copies_of
from tennis.rally.edited import read_edited
from tests.support.hand_ins import make_work

COPIES = (
    "marks (1).toml",
    "Marks - Copy.toml",
    "marks.toml.txt",
    "marks copy.toml",
    "marks 2.toml",
)


@pytest.mark.parametrize("name", COPIES)
def test_what_somebody_wrote_into_a_copy_is_not_lost(name, tmp_path):
    """Points of a person were: the sheet beside it was read as before."""
    path = tmp_path / "marks.toml"
    for other in ("marks.toml.before", "marks-old.toml", "remarks.toml"):
        (tmp_path / other).write_text("x = 1")
    assert read_edited(path) == {}
    path.write_text("x = 2")
    assert read_edited(path) == {"x": 2}
    (tmp_path / name).write_text("x = 3")
    with pytest.raises(UsageError, match="which nothing reads: put what you wrote") as caught:
        read_edited(path)
    assert name in str(caught.value)
    assert copies_of(path) == [name]


def test_a_students_folder_says_what_is_called_otherwise(tmp_path):
    lab = load_lab("04-under-load")
    made = make_work(tmp_path / "w", lab, "Ada", rallies={name.name: None for name in lab.rallies})
    asked = lab.rallies[0].name
    (made / f"{asked} (1)").mkdir()
    assert work.read(made).trouble[asked] == f"it is not there; rename {asked} (1)"
    (made / "answers.toml").rename(made / "answers (1).toml")
    with pytest.raises(work.WorkError, match=r"rename '\S+/answers \(1\).toml'"):
        work.read(made)
