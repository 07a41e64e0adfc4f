#!/usr/bin/env python3
"""Make the site: the books, and a page to explore recorded rallies. Static files, for any place.

    make_site.py [OUT]     default: build/site; a folder that is there is written again

It plays three rallies first, and has them explained: some minutes, once; build/site-rallies keeps
them. The books are those that `make books` built.
"""

import html
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tennis.explain.explore import page, recorded
from tennis.kit.checkout import ROOT
from tennis.kit.edition import EDITION
from tennis.kit.errors import TennisError, UsageError
from tennis.rally import open_rally
from tennis.rally.disk import write_whole
from tennis.rally.instants import INSTANTS

TENNIS = Path(sys.executable).with_name("tennis")
KEPT = ROOT / "build" / "site-rallies"
SITE = ROOT / "build" / "site"
BOOKS = ("docs", "handouts")
NOT_TAKEN = shutil.ignore_patterns(".doctrees", "*.map", "_sources", "objects.inv", ".buildinfo")
LINKS = {"The reference book": "docs/index.html", "The students' book": "handouts/index.html"}
LINKS |= {"Install it": "docs/install.html", "A tour": "docs/tour.html"}

LINK = re.compile(r'(?<=\s)(href|src)="([^"]*)"')
PAGES = '<div class="sidebar-tree">'  # a book's list of pages; one that is printed has none
BACK = (
    '<ul><li class="toctree-l1"><a class="reference internal" href="{}index.html">'
    "Recorded rallies</a></li></ul>"
)


@dataclass(frozen=True)
class Play:
    """A rally of the page: its folder's name, a visitor's words, the options that play it."""

    name: str
    title: str
    words: str
    options: str


PLAYS = (
    Play(
        "mainline",
        "Mainline",
        "The ordinary kernel. The handler runs in the hard interrupt.",
        "--kernel mainline",
    ),
    Play(
        "rt-forced",
        "PREEMPT_RT, request_irq",
        "The kernel forces the handler into a thread.",
        "--kernel rt --priorities chrt --top-half forced",
    ),
    Play(
        "rt-explicit",
        "PREEMPT_RT, request_threaded_irq",
        "The driver asks for a thread itself.",
        "--kernel rt --priorities chrt --top-half explicit",
    ),
)
ALIKE = "--load stress --balls 5000 --seed 1"


def say(text: str) -> None:
    """Print a line at once."""
    print(f"site: {text}", flush=True)


def run(*words: str | Path) -> None:
    """Run a command of Tennis. Raises UsageError with its last line."""
    done = subprocess.run([TENNIS, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise UsageError(f"tennis {' '.join(map(str, words))}: {last.removeprefix('tennis: ')}")


def played(one: Play, place: Path, alike: str = ALIKE) -> tuple[Path, Path]:
    """Return the folders of a rally and of its explanation; play what is not there."""
    folder = place / f"edition-{EDITION}"
    folder.mkdir(parents=True, exist_ok=True)
    rally, why = folder / one.name, folder / f"{one.name}-why"
    asked = folder / f"{one.name}.txt"
    options = f"{one.options} {alike}"
    if not asked.exists() or asked.read_text() != options:
        for old in (rally, why, rally.with_name(f"{one.name}.part")):
            shutil.rmtree(old, ignore_errors=True)
        asked.write_text(options)
    if not rally.exists():
        shutil.rmtree(rally.with_name(f"{one.name}.part"), ignore_errors=True)
        say(f"playing: tennis rally {options}")
        run("--quiet", "rally", *options.split(), "--out", rally)
    if not (rally / INSTANTS).exists():
        say(f"searching for the worst instant of {one.name}")
        run("--quiet", "explain", "shots", rally)
    if not why.exists():
        say(f"explaining the latest balls of {one.name}")
        run("--quiet", "explain", rally, "--out", why)
    return rally, why


def explorer(place: Path = KEPT) -> str:
    """Play what is not there, and return the page."""
    found = []
    for one in PLAYS:
        rally, why = played(one, place)
        found.append(recorded(one.title, one.words, open_rally(rally), why))
    return page(found, LINKS)


def copy_book(book: str, site: Path) -> None:
    """Copy a built book; its pages get a link back, and lead to the other book as it lies here."""
    built = ROOT / book / "_build" / "html"
    if not (built / "index.html").exists():
        raise UsageError(f"{book} is not built", next_step="run 'make site', or 'make books' first")
    shutil.copytree(built, site / book, ignore=NOT_TAKEN)
    for path in sorted((site / book).rglob("*.html")):
        text = path.read_text().replace(PAGES, PAGES + BACK.format(up(path, site)))
        path.write_text(LINK.sub(lambda found, at=path: inside(found, at, site), text))


def up(path: Path, site: Path) -> str:
    """Return the way from a page to the site's first folder."""
    return "../" * len(path.relative_to(site).parents[:-1])


def inside(found: re.Match[str], path: Path, site: Path) -> str:
    """Return a link that leads to the other book as it lies here, or to what it led to."""
    name, to = found.groups()
    parts = urlsplit(html.unescape(to))
    if not parts.path or parts.scheme:
        return found.group()
    built = re.fullmatch(r"(?:\.\./)+(docs|handouts)/_build/html/(.*)", parts.path)
    if built is None:
        return found.group()
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    here = f"{up(path, site)}{built.group(1)}/{built.group(2)}{fragment}"
    return f'{name}="{html.escape(here)}"'


def lost(site: Path) -> Iterator[str]:
    """Yield each link of a page that leads to no file of the site."""
    for path in sorted(site.rglob("*.html")):
        for _, to in LINK.findall(path.read_text()):
            parts = urlsplit(html.unescape(to))
            if parts.scheme or parts.netloc or not parts.path:
                continue
            target = (path.parent / unquote(parts.path)).resolve()
            if not target.is_file() or not target.is_relative_to(site.resolve()):
                yield f"{path.relative_to(site)}: {to}"


def make(out: Path, first: str) -> None:
    """Write the site into ``out``; ``first`` is the page to explore. Raises UsageError."""
    if out.exists() and not (out / "docs" / "index.html").exists():
        raise UsageError(f"{out} is no site", next_step="name a folder that is not there")
    scratch = out.with_name(f".{out.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for book in BOOKS:
        copy_book(book, scratch)
    write_whole(scratch / "index.html", first.encode())
    if wrong := list(lost(scratch)):
        raise UsageError(f"{len(wrong)} links lead nowhere, the first: {wrong[0]}")
    shutil.rmtree(out, ignore_errors=True)
    scratch.rename(out)


def main(arguments: Sequence[str]) -> int:
    """Make the site; return the exit code."""
    if len(arguments) > 1 or any(one.startswith("-") for one in arguments):
        print(__doc__)
        return 2
    out = Path(arguments[0]).resolve() if arguments else SITE
    try:
        make(out, explorer())
    except (TennisError, ValueError, OSError) as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    say(f"{out / 'index.html'}, {size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
