"""One source holds the gaps and what belongs into them; students get the gaps."""

import pytest

from tennis.course import load_course, load_lab
from tennis.course.lab_files import solved, source_of, starter
from tennis.course.work import start, starter_of
from tennis.kit.checkout import ROOT
from tennis.rally.program import known_by

SOURCE = """int answer(void)
{
\t/* [gap] 1: the answer. */
\t/* [solution] */
\treturn 42;
\t/* [/solution] */
\treturn 0;
}
"""


def test_both_come_from_one_source():
    assert starter(SOURCE) == "int answer(void)\n{\n\t/* GAP 1: the answer. */\n\treturn 0;\n}\n"
    assert solved(SOURCE) == SOURCE.replace("[gap]", "GAP").replace(
        "\t/* [solution] */\n", ""
    ).replace("\t/* [/solution] */\n", "")
    # a file as students get it stays as it is
    assert starter(starter(SOURCE)) == starter(SOURCE)


@pytest.mark.parametrize(
    "text",
    [
        SOURCE.replace("/* [/solution] */", ""),
        SOURCE.replace("\t/* [solution] */\n", ""),
        SOURCE.replace("/* [solution] */", "// [solution]"),
    ],
)
def test_a_mark_that_stands_alone_is_no_answer_given_away(text):
    with pytest.raises(ValueError, match="stands alone"):
        starter(text)


def test_what_the_solution_has_no_longer_is_what_students_get():
    text = SOURCE.replace("\treturn 0;\n", "\t/* [mistake] */\n\treturn 0;\n\t/* [/mistake] */\n")
    assert starter(text) == starter(SOURCE)
    assert solved(text) == solved(SOURCE).replace("\treturn 0;\n", "")
    with pytest.raises(ValueError, match=r"\[mistake\] stands alone"):
        starter(text.replace("/* [/mistake] */", ""))


def test_every_file_of_the_labs_has_gaps_or_mistakes():
    """But for those that are only there, which are as they stand in the tree."""
    files = [(lab, name) for lab in load_course()[1] for name in lab.files]
    assert files
    for lab, name in files:
        source = source_of(lab, name).read_text()
        given, whole = starter_of(lab, name), solved(source)
        if lab.number == 13 and name != "answer.c":
            assert given == whole == source
            continue
        assert "GAP 1" in given or "[mistake]" in source
        assert "[mistake]" in source or len(given) < len(whole)
        assert given != whole


def test_lab_13_has_the_kits_lines():
    lab = load_lab("13-a-program-that-answers-in-time")
    assert starter_of(lab, "lines.h") == (ROOT / "target/programs/lines.h").read_text()


def test_a_program_that_nobody_completes_is_the_same_in_a_students_folder(tmp_path):
    """The marker plays the lab's own, and a student the copy."""
    lab = load_lab("13-a-program-that-answers-in-time")
    start(lab, "zoe", tmp_path / "w")
    assert known_by(str(lab.folder / "before.c")) == known_by(str(tmp_path / "w/before.c"))
