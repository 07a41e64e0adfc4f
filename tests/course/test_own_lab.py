"""The lab that docs/teachers.md writes is a lab: its blocks are taken from the page, and tried."""

import json
import re
import sys
from pathlib import Path

from tennis.course import load_course
from tennis.course.authoring.release import release
from tennis.kit.checkout import ROOT
from tests.course.test_release import there
from tests.support.processes import run_to_end

SLUG = "14-long-story"
TRY = f"""
import json, sys
from pathlib import Path
from tennis.course import load_lab
from tennis.course.checking.running import run_checks
from tests.support.hand_ins import make_work
lab = load_lab("{SLUG}")
told = {{}}
for name, median in (("wrong", 7e9), ("right", None)):
    work = make_work(Path(name), lab, "zoe", answers={{"median": median or 1}})
    if median is None:
        from tennis.rally import open_rally
        from tennis.rally.statistics import summarize
        right = summarize(open_rally(work / "user")).scheduling_ns.median / 1000
        text = (work / "answers.toml").read_text()
        (work / "answers.toml").write_text(text.replace("median = 1", f"median = {{right}}"))
    report = run_checks(work, blind=False)
    verdicts = {{result.check: result.verdict for result in report.results}}
    told[name] = [verdicts["check_median"], report.points, [m.question for m in report.open]]
print(json.dumps(told))
"""


def test_no_lab_has_the_number_of_the_pages_example():
    assert int(SLUG[:2]) == len(load_course()[0].labs) + 1


def test_the_lab_of_the_page_is_checked(tmp_path):
    page = (ROOT / "docs/teachers.md").read_text()
    blocks = re.findall(
        rf"`labs/{SLUG}/(\S+)`.*?^```\w+\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    assert [name for name, _ in blocks] == ["lab.toml", "solution.toml", "checks.py"]
    tree = tmp_path / "tennis"
    release("instructor", tree)
    folder = tree / "labs" / SLUG
    folder.mkdir()
    for name, text in blocks:
        (folder / name).write_text(text)
    course = tree / "labs/course.toml"
    course.write_text(course.read_text().replace('"07-worst-case"', f'"07-worst-case", "{SLUG}"'))
    done = run_to_end([sys.executable, "-c", TRY], cwd=tmp_path, env=there(tree))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"wrong": ["fail", 0, ["why"]], "right": ["pass", 2, ["why"]]}
    book = [sys.executable, "-m", "sphinx", "-q", "-b", "html"]
    book += ["-D", "exclude_patterns=_build,0[2-9]*,1[0-3]*"]  # pages that nobody looks at here
    (tree / "handouts" / f"{SLUG}.md").write_text(
        "# 14. A long story\n\n```{lab-facts}\n```\n\n```{lab-rallies}\n```\n\n"
        "```{lab-questions}\n```\n"
    )
    built = run_to_end([*book, str(tree / "handouts"), str(tmp_path / "html")], env=there(tree))
    assert built.returncode == 0, built.stderr
    html = (tmp_path / "html" / f"{SLUG}.html").read_text()
    # A long command is shown in several lines, each but the last ending in a backslash.
    shown = re.sub(r"\\\n\s*", "", re.sub(r"<[^>]*>", "", html))
    assert "--bottom-half user --balls 2000" in shown
    assert Path(tree / "CITATION.cff").is_file()
