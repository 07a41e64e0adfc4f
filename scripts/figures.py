"""Every printed figure: where it comes from, whether it is today's, and how to get it again.

    figures.py                 check: no play; every text has what was recorded
    figures.py list            the plays, the cheapest first
    figures.py play [NAME...]  play what is stale (or what is named), and write the texts again
    figures.py write           write the texts again from what was recorded
    figures.py evidence PAGE [WORD...]   play what one page prints; WORDs go to its matches

The register is docs/figures.toml (exam/figures.toml for answers); docs/decisions/0021 says why.
"""

import argparse
import datetime
import fnmatch
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evidence import tables
from figures_places import Found, chosen, filled, find, sentence_around, unregistered, write
from figures_register import Evidence, Registered, load, places
from figures_values import Played, holds, said

from tennis import __version__
from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of
from tennis.kit.edition import EDITION, PUBLIC_VERSION
from tennis.kit.errors import TennisError, UsageError
from tennis.rally.repeated import digest_of, from_debian, not_comparable

TENNIS = Path(sys.executable).with_name("tennis")
KEPT = ROOT / "build" / "figures"  # folders of what was played last, for those who write places
# where a number of a play may stand
PAGES = (
    *(
        "README.md",
        "docs/*.md",
        "docs/commands/*.md",
        "docs/evidence/knutsson-match.md",
        "handouts/*.md",
        "notebooks/*.md",
    ),
    *("slides/*.md", "labs/*/lab.toml", "labs/*/solution.toml"),
)
LINKED = ("labs", "plans")
GENERATED = re.compile(
    r"<!-- made by scripts/reference.py.*?<!-- until here -->"
    r"|^```\{(?:lab-(?!console)|session-|published|answer-)[^\n]*\n.*?^```$",
    re.DOTALL | re.MULTILINE,
)
SO_FAR = "so-far.json"  # of a play's folder
GO_ON = {"demo", "match", "sweep", "compare"}  # these commands go on by themselves
HEAD = "*The figures of this page: edition "


def play(one: Registered, folder: Path, more: Sequence[str] = ()) -> tuple[Played, float]:
    """Execute a play's commands in a folder. Returns what came, and processor seconds.

    The folder keeps what each finished command printed: the same call goes on behind it.
    ``more`` are words for each match, such as those of a cluster. Raises TennisError if a command
    fails.
    """
    kept = folder / SO_FAR
    so_far = json.loads(kept.read_text()) if kept.exists() else []
    outputs: list[str] = []
    environment = {**os.environ, "COLUMNS": "100", "TERM": "dumb", "LC_ALL": "C.UTF-8"}
    for name in LINKED:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(ROOT / name)
    spent = 0.0
    for number, command in enumerate(one.commands):
        words = _with_values(command, one, Played(folder, outputs))
        if number < len(so_far) and so_far[number]["words"] == words:
            outputs.append(so_far[number]["output"])
            spent += so_far[number]["seconds"]
            continue
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        output = _executed(one, words, folder, environment, more)
        outputs.append(output.replace(__version__, PUBLIC_VERSION))  # each commit has another one
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        spent += seconds
        so_far = [*so_far[:number], {"words": words, "output": outputs[-1], "seconds": seconds}]
        kept.write_text(json.dumps(so_far))
    for name in LINKED:
        (folder / name).unlink()
    return Played(folder, outputs), spent


def _executed(
    one: Registered,
    words: list[str],
    folder: Path,
    environment: Mapping[str, str],
    more: Sequence[str],
) -> str:
    """Return what one command printed. Raises TennisError if it fails."""
    if words[0] == "show":
        return _shown(folder / words[1], *words[2:])
    if words[0] == "tables":
        named = (word.partition("=")[::2] for word in words[1:])
        return tables({name: folder / match for name, match in named})
    if "--out" in words and not GO_ON & set(words):  # what was interrupted begins again
        for left in folder.glob(f"{words[words.index('--out') + 1]}*"):
            shutil.rmtree(left, ignore_errors=True)
    done = subprocess.run(
        [TENNIS, *words, *(more if words[0] == "match" else ())],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise TennisError(
            f"{one.name}: tennis {shlex.join(words)} gave {done.returncode}: "
            f"{done.stderr.strip()[-400:]}"
        )
    return done.stdout


def _shown(file: Path, member: str = "") -> str:
    """Return the text of a file, or of a zip file's member."""
    if not member:
        return file.read_text()
    with zipfile.ZipFile(file) as archive:
        (name,) = fnmatch.filter(archive.namelist(), member)
        return archive.read(name).decode()


def _with_values(command: list[str], one: Registered, so_far: Played) -> list[str]:
    """Return a command's words with values of what the commands before it made."""
    return [filled(word, lambda name: so_far.value(one.play.values[name])) for word in command]


def record_of(one: Registered, played: Played, spent: float) -> dict[str, Any]:
    """Return what is kept of a play. Raises UsageError for a source that gives nothing."""
    rallies = {}
    for name, rally in played.rallies().items():
        versions = from_debian(rally.manifest.tool.versions)
        key = hashlib.sha256(repr(sorted(versions.items())).encode()).hexdigest()[:12]
        one.recorded.debian[key] = versions
        rallies[name] = {
            "digest": digest_of(rally),
            "balls": rally.balls,
            "missed": rally.misses,
            "debian": key,
        }
    wanted = {place.output for place in one.places if place.output}
    return {
        "edition": EDITION,
        "played": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(spent, 1),
        "commands": [shlex.join(words) for words in one.commands],
        "rallies": rallies,
        "sources": dict(one.play.values),
        "values": {name: played.value(source) for name, source in one.play.values.items()},
        "outputs": {str(n): played.outputs[n - 1] for n in sorted(wanted)},
        "files": {
            target: sha256_of(played.folder / source) for target, source in one.play.files.items()
        },
    }


def differences(one: Registered, fresh: dict[str, Any]) -> list[str]:
    """Say what a fresh play has that the record has not; empty: it came out again.

    Raises NotComparable where it was played on other versions of Debian's.
    """
    record = one.record
    assert record is not None  # noqa: S101 (asked before)
    for name, rally in record["rallies"].items():
        then = one.recorded.debian[rally["debian"]]
        here = fresh["rallies"].get(name)
        if here and (why := not_comparable(then, one.recorded.debian[here["debian"]])):
            raise NotComparableError(f"{one.name}: not comparable: {why}")
    found = [
        f"{name}: other balls"
        for name, rally in record["rallies"].items()
        if fresh["rallies"].get(name, {}).get("digest") != rally["digest"]
    ]
    found += [
        f"{name}: {said(value)} was recorded, and {said(fresh['values'][name])} came"
        for name, value in record["values"].items()
        if name in fresh["values"] and fresh["values"][name] != value
    ]
    for place in one.places:
        if place.output:
            then, here = (
                chosen(kept["outputs"][str(place.output)], place.lines, None)
                for kept in (record, fresh)
            )
            if then != here:
                found.append(f"command {place.output} prints other lines")
    found += [
        f"{name}: another file"
        for name, sha in record["files"].items()
        if fresh["files"][name] != sha
    ]
    return found


class NotComparableError(TennisError):
    """What was recorded came from another kernel, QEMU or program of Debian's."""


def found_in(file: str, plays: list[Registered]) -> tuple[list[Found], list[str]]:
    """Return every stretch of a file that is the register's, and what is wrong with places."""
    text = (ROOT / file).read_text()
    stretches: list[Found] = []
    wrong = []
    for one, place in places(plays):
        if place.file != file or one.record is None or one.stale:
            continue
        try:
            stretches += find(text, place, one)
        except (TennisError, KeyError) as error:
            wrong.append(f"{file}: {error}")
    return stretches, wrong


def check() -> list[str]:
    """Return what is wrong: stale plays, texts with other figures, claims that no longer hold."""
    plays, evidence, facts, constants = load()
    wrong = [f"{one.name} {one.stale}" for one in plays if one.stale]
    files = sorted({place.file for _, place in places(plays)})
    covered: dict[str, list[Found]] = {}
    for file in files:
        stretches, errors = found_in(file, plays)
        covered[file] = stretches
        wrong += errors
        text = (ROOT / file).read_text()
        wrong += [
            f"{file}:{text.count(chr(10), 0, one.start) + 1}: {one.now.strip()[:60]!r} is printed, "
            f"and {one.wanted.strip()[:60]!r} was played"
            for one in stretches
            if not one.is_right
        ]
    wrong += [problem for one in plays if not one.stale for problem in _claims(one)]
    wrong += [problem for one in plays if not one.stale for problem in _files(one)]
    wrong += [
        f"{file}: its head does not say which edition its figures are of ('make figures' writes it)"
        for file, kept in evidence.items()
        if (ROOT / file).exists() and head_of(kept) not in (ROOT / file).read_text()
    ]
    for file in sorted({str(path.relative_to(ROOT)) for one in PAGES for path in ROOT.glob(one)}):
        if file in evidence:
            continue
        # what scripts/reference.py writes comes from the code; all else stays at its place
        text = GENERATED.sub(lambda part: re.sub(".", " ", part[0]), (ROOT / file).read_text())
        try:
            left = unregistered(
                text, covered.get(file, []), facts.get(file, []), dict.fromkeys(constants)
            )
        except UsageError as error:
            wrong.append(f"{file}: {error}")
            continue
        wrong += [
            f"{file}:{line}: {number} comes from no play and is no fact" for line, number in left
        ]
    return wrong


def _claims(one: Registered) -> Iterable[str]:
    record = one.record
    assert record is not None  # noqa: S101 (asked before)
    for claim in one.play.claims:
        path = ROOT / claim.file
        if not path.exists():
            continue
        words = re.sub(r"\s+", " ", path.read_text())
        if re.sub(r"\s+", " ", claim.text) not in words:
            yield f"{claim.file}: the sentence of a claim is gone: {claim.text!r}"
        elif not holds(claim.holds, record["values"]):
            yield f"{claim.file}: {claim.text!r} is not true any more: {claim.holds}"


def _files(one: Registered) -> Iterable[str]:
    record = one.record
    assert record is not None  # noqa: S101 (asked before)
    for name, sha in record["files"].items():
        if sha256_of(ROOT / name) != sha:
            yield f"{name} is not the file that was made from {one.name}"


def head_of(kept: Evidence) -> str:
    """Return the line below a page's title that says which edition its figures are of."""
    if kept.recorded:
        return f"{HEAD}{kept.edition}, recorded {kept.played} on {kept.versions}. {kept.recorded}.*"
    edition = f"{kept.edition}" if kept.edition else "0 (from before the bench had one)"
    but = f" Of today's edition: {kept.but}." if kept.but and kept.edition != EDITION else ""
    today = "today's" if kept.edition == EDITION else f"today's is {EDITION}: it gives other balls"
    return f"{HEAD}{edition}, {today}. Played: {kept.played}, {kept.versions}.{but}*"


def write_all(plays: list[Registered], evidence: dict[str, Evidence]) -> list[str]:
    """Write texts and heads from what was recorded. Returns the sentences whose figures changed."""
    changed = []
    files = sorted({place.file for _, place in places(plays)})
    for file in [*files, *files]:  # a command may hold a value, and its output is found by it
        stretches, _ = found_in(file, plays)
        text = (ROOT / file).read_text()
        for one in stretches:
            if not one.is_right:
                around = sentence_around(text, one)
                changed.append(f"{file}: {one.now.strip()} -> {one.wanted.strip()}\n    {around}")
        fresh = write(text, stretches)
        if fresh != text:
            (ROOT / file).write_text(fresh)
    for file, kept in evidence.items():
        path = ROOT / file
        if path.exists():
            path.write_text(_with_head(path.read_text(), head_of(kept)))
    return changed


def _with_head(text: str, head: str) -> str:
    if re.search(rf"^{re.escape(HEAD)}.*$", text, re.MULTILINE):
        return re.sub(rf"^{re.escape(HEAD)}.*$", lambda _: head, text, count=1, flags=re.MULTILINE)
    return re.sub(
        r"^(# .*\n)", lambda title: f"{title[1]}\n{head}\n", text, count=1, flags=re.MULTILINE
    )


def play_evidence(page: str, more: Sequence[str]) -> int:
    """Play what a page prints, or go on with it. Returns an exit code."""
    plays, evidence, _, _ = load()
    file = next(
        (f for f in (f"docs/evidence/{page}.md", f"docs/{page}.md") if (ROOT / f).exists()), ""
    )
    names = [one.name for one in plays if any(place.file == file for place in one.places)]
    plan = evidence[file].plan if file in evidence else ""
    if not names and not plan:
        known = sorted(
            {Path(p.file).stem for o in plays for p in o.places if p.file.startswith("docs")}
        )
        raise UsageError(
            f"no play is for a page {page!r}", next_step=f"name one of {', '.join(known)}"
        )
    if plan:
        folder = ROOT / "build" / "evidence" / page
        folder.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([TENNIS, "match", ROOT / plan, "--out", folder, *more], check=False)
        print(tables({page: folder}) if not done.returncode else "the same command goes on")
        return done.returncode
    return play_and_write(names, more)


def play_and_write(names: list[str], more: Sequence[str] = ()) -> int:
    """Play what is stale, the cheapest first, and write texts after each. Returns an exit code."""
    plays, evidence, _, _ = load()
    known = {one.name for one in plays}
    if strange := sorted(set(names) - known):
        raise UsageError(f"no play is called {strange[0]}", next_step="figures.py list")
    todo = [one for one in plays if (one.name in names if names else one.stale)]
    todo.sort(key=lambda one: one.seconds)
    total = sum(one.seconds for one in todo)
    print(f"{len(todo)} of {len(plays)} plays, some {total:.0f} processor seconds (0: not known)")
    for number, one in enumerate(todo, 1):
        took = f"{one.seconds:.0f} s" if one.seconds else "not known"
        print(f"{number} of {len(todo)}: {one.name} ({took}) ...", flush=True)
        folder = KEPT / f"{one.name}.edition-{EDITION}.part"
        folder.mkdir(parents=True, exist_ok=True)
        played, spent = play(one, folder, more)
        record = record_of(one, played, spent)
        for target, source in one.play.files.items():
            shutil.copyfile(folder / source, ROOT / target)
        if one.play.digests:
            _write_digests(ROOT / one.play.digests, one, record)
        one.recorded.keep(one.name, record)
        for number_of, output in enumerate(played.outputs, 1):
            (folder / f"output-{number_of}.txt").write_text(output)
        shutil.rmtree(KEPT / one.name, ignore_errors=True)
        folder.rename(KEPT / one.name)
        for text in write_all(plays, {}):
            print(f"  {text}", flush=True)
    write_all(plays, evidence)
    return report(check())


def _write_digests(path: Path, one: Registered, record: dict[str, Any]) -> None:
    """Write what `tennis demo` compares its own rallies with."""
    used = {rally["debian"] for rally in record["rallies"].values()}
    known = {
        "edition": record["edition"],
        "debian": {key: one.recorded.debian[key] for key in sorted(used)},
        "rallies": {
            Path(name).name: {"digest": rally["digest"], "debian": rally["debian"]}
            for name, rally in record["rallies"].items()
        },
    }
    path.write_text(json.dumps(known, indent=1) + "\n")


def listed() -> int:
    """Print every play, the cheapest first."""
    plays, evidence, _, _ = load()
    for one in sorted(plays, key=lambda one: one.seconds):
        count = len(one.places)
        print(f"{one.seconds:8.1f} s  {count:3} places  {one.name}: {one.play.about}  {one.stale}")
    print(f"{len(evidence)} pages have figures of an edition that their head names")
    return 0


def report(wrong: list[str]) -> int:
    """Print what is wrong, or that nothing is."""
    for line in wrong:
        print(line)
    if wrong:
        print(f"figures: {len(wrong)} wrong. 'make figures' plays what is stale.")
        return 1
    plays, _, _, _ = load()
    count = sum(1 for _ in places(plays))
    print(f"figures: {count} places of {len(plays)} plays have what edition {EDITION} gave")
    return 0


def main() -> int:
    """Parse, and do it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("check")
    commands.add_parser("list")
    commands.add_parser("write")
    playing = commands.add_parser("play")
    playing.add_argument("names", nargs="*")
    page = commands.add_parser("evidence")
    page.add_argument("page")
    page.add_argument("words", nargs=argparse.REMAINDER)
    told = parser.parse_args()
    try:
        match told.command:
            case "list":
                return listed()
            case "play":
                return play_and_write(told.names)
            case "evidence":
                return play_evidence(told.page, told.words)
            case "write":
                plays, evidence, _, _ = load()
                print("\n".join(write_all(plays, evidence)))
        return report(check())
    except TennisError as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
