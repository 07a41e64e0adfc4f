"""The students' tree holds no answer, builds its book, and plays."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from tennis import __version__
from tennis.cli import cli
from tennis.course.lab_files import solved, starter
from tennis.kit import checkout
from tennis.kit.checkout import ROOT, _project
from tennis.rally import open_rally
from tests.support.processes import run_to_end
from tests.support.shared import made_once

pytestmark = pytest.mark.slow

KIT = [*(ROOT / "target/racquet").iterdir(), *(ROOT / "target/programs").glob("*.[ch]")]
EXAM = ROOT / "exam" / "questions.toml"


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """The students' tree, with its book."""

    def make(folder: Path) -> None:
        done = CliRunner().invoke(
            cli, ["course", "release", "student", "--out", str(folder / "tennis")]
        )
        assert done.exit_code == 0, done.output
        command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html"]
        command += [str(folder / "tennis/handouts"), str(folder / "tennis/handouts/_build/html")]
        built = run_to_end(command, env=there(folder / "tennis"))
        assert built.returncode == 0, built.stderr

    return made_once(tmp_path_factory, "student-tree", make) / "tennis"


def there(tree: Path) -> dict[str, str]:
    """Return an environment in which ``tennis`` is that of the tree."""
    # safe: python -m does not look into this folder first
    return {**os.environ, "PYTHONPATH": str(tree), "PYTHONSAFEPATH": "1"}


def secrets() -> dict[str, str]:
    """Return pieces of every solution: longer ones, which stand nowhere by chance."""
    found = {}
    for path in sorted((ROOT / "labs").glob("*/solution.toml")):
        for question, answer in tomllib.loads(path.read_text()).items():
            texts = [answer.get("sample", ""), answer.get("why", "")]
            texts += [criterion["text"] for criterion in answer.get("rubric", [])]
            sentences = re.split(r"(?<=[.:;?]) ", " ".join(" ".join(texts).split()))
            for number, words in enumerate(one for one in sentences if len(one) > 30):
                found[f"{path.parent.name}/{question}/{number}"] = words[:60].casefold()
    for question in tomllib.loads(EXAM.read_text())["questions"]:
        found[f"exam/{question['id']}"] = " ".join(question["answer"].split())[:60].casefold()
    # what belongs into the gaps of a file; the kit's own Racquets and programs are everybody's
    kit = " ".join(" ".join(file.read_text() for file in KIT).split())
    for path in sorted((ROOT / "labs").glob("*/*.c")):
        text = path.read_text()
        lines = set(solved(text).splitlines()) - set(starter(text).splitlines())
        for number, line in enumerate(sorted(lines)):
            code = " ".join(line.split())
            if len(code) > 30 and code not in kit:
                found[f"{path.parent.name}/{path.name}/{number}"] = code.casefold()
    return found


def test_no_answer_is_in_the_students_tree(tree):
    """Not in sources, not in the book: pages, doctrees, search index."""
    known = secrets()
    assert len(known) > 30
    assert sum(name.startswith("exam/") for name in known) == 33
    assert not (tree / "exam").exists()
    assert not list(tree.rglob("term.*"))
    assert (tree / "slides/00-opening.md").is_file()
    checked = 0
    for path in tree.rglob("*"):
        if not path.is_file() or path.is_symlink():
            continue
        assert path.name not in {"solution.toml", "wrong.toml"}
        text = path.read_bytes().decode("utf-8", "ignore")
        text = re.sub(r"<[^>]+>", "", text) if path.suffix == ".html" else text
        text = " ".join(text.split()).casefold()
        checked += 1
        for name, secret in known.items():
            assert secret not in text, f"{path.relative_to(tree)} holds {name}"
    assert checked > 300
    assert any(tree.glob("handouts/_build/html/searchindex.js"))
    assert any(tree.glob("handouts/_build/html/.doctrees/*.doctree"))
    # the search would have found them: the instructor's tree holds each
    files = [EXAM, *(ROOT / "labs").glob("*/solution.toml"), *(ROOT / "labs").glob("*/*.c")]
    sources = " ".join(" ".join(path.read_text().split()) for path in files).casefold()
    assert all(secret in sources for secret in known.values())


def test_recorded_rallies_are_in_the_students_tree(tree):
    folder = tree / "labs/06-out-of-band/recorded"
    assert open_rally(folder / "evl-stress").balls == 3000


def test_the_students_tree_checks_blindly(tree, tmp_path):
    command = [sys.executable, "-c", "from tennis.cli import main; main()", "lab"]

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        return run_to_end([*command, *words], cwd=tmp_path, env=there(tree))

    assert run("start", "04", "--as", "Ada").returncode == 0
    checked = run("check", "04")
    assert checked.returncode == 1
    assert "there is no answer yet" in checked.stdout


@pytest.mark.more
@pytest.mark.virtual
def test_lab_1_runs_in_the_students_tree(tree, tmp_path):
    command = [sys.executable, "-c", "from tennis.cli import main; main()", "rally"]
    command += ["--balls", "60", "--out", str(tmp_path / "r")]
    done = subprocess.run(command, env=there(tree), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "60 balls, 0 misses" in done.stdout


@pytest.mark.parametrize(
    ("out", "words"), [("here", "exists"), (str(ROOT / "build-student"), "in the tree itself")]
)
def test_where_no_tree_goes(tmp_path, monkeypatch, out, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    done = CliRunner().invoke(cli, ["course", "release", "student", "--out", out])
    assert words in str(done.exception)


def released() -> str:
    """Return the newest version that was released, as the change log has it."""
    newest = re.search(r"^## \[(\d.*?)\] - \d{4}-\d\d-\d\d$", changelog(), flags=re.MULTILINE)
    assert newest
    return newest[1]


def test_citation_and_changelog_name_one_version():
    assert f"version: {released()}\n" in (ROOT / "CITATION.cff").read_text()


def test_a_version_between_releases_is_no_release():
    said = _project()["version"]
    if ".dev" not in said:
        assert (said, __version__) == (released(), released())
        return
    # on the way to one that is later than all others
    ahead = said.partition(".dev")[0]
    assert [*map(int, ahead.split("."))] > [*map(int, released().split("."))]
    assert re.fullmatch(rf"{re.escape(said)}(\+[0-9a-f]{{8}})?", __version__)


@pytest.mark.parametrize("said", ["0.3.0.dev0", "0.3.0"])
def test_a_development_version_names_its_commit(tmp_path, monkeypatch, said):
    """In a worktree, whose branch stands in the packed references of another folder."""
    commit = "1a2b3c4d" + "0" * 32
    own = tmp_path / "home/.git/worktrees/w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (tmp_path / "home/.git/packed-refs").write_text(f"# pack-refs\n{commit} refs/heads/topic\n")
    (tmp_path / ".git").write_text(f"gitdir: {own}\n")
    monkeypatch.setattr(checkout, "ROOT", tmp_path)
    monkeypatch.setattr(checkout, "_project", lambda: {"version": said})
    for head in ("ref: refs/heads/topic", commit):
        (own / "HEAD").write_text(f"{head}\n")
        assert checkout.version() == ("0.3.0.dev0+1a2b3c4d" if ".dev" in said else "0.3.0")
    (tmp_path / ".git").unlink()
    assert checkout.version() == said


def changelog() -> str:
    return (ROOT / "CHANGELOG.md").read_text()
