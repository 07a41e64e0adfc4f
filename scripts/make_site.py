#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Make the site: the books, and a page to explore recorded rallies. Static files, for any place.

    make_site.py [OUT]     default: build/site; a folder that is there is written again

It plays three rallies first, and has them explained: some minutes, once; build/site-rallies keeps
them. The books are those that `make books` built. Two books of 147 pages repeat much: what all
pages of a book have alike is moved to one script and one style of that book.
"""

import html
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from PIL import Image

from tennis.checkout import ROOT
from tennis.edition import EDITION
from tennis.errors import TennisError, UsageError
from tennis.explain.sections.storage import SECTIONS
from tennis.pages.explore import page, recorded
from tennis.rally import open_rally
from tennis.rally.disk import write_whole

TENNIS = Path(sys.executable).with_name("tennis")
KEPT = ROOT / "build" / "site-rallies"
SITE = ROOT / "build" / "site"
BOOKS = ("docs", "handouts")
MAX_BYTES = 5_000_000  # for a telephone, and for a mail
NOT_TAKEN = shutil.ignore_patterns(".doctrees", "*.map", "_sources", "objects.inv", ".buildinfo")
LINKS = {"The reference book": "docs/index.html", "The students' book": "handouts/index.html"}
LINKS |= {"Install it": "docs/install.html", "A tour": "docs/tour.html"}

# what a page of a book repeats, and what replaces it; each must be found once in each page
ICONS = re.compile(r'<svg xmlns="[^"]*" style="display: none;">.*?</symbol>\s*</svg>\s', re.DOTALL)
TREE = re.compile(r'<div class="sidebar-tree">.*?</div>', re.DOTALL)
STYLE = re.compile(r"<style>\s*body \{.*?</style>", re.DOTALL)
ROOT_OF = re.compile(r'data-content_root="([^"]*)"')
# marks without an effect: blanks in code, words in which no browser breaks a line
BARE = re.compile(
    r'<span class="w">(\s*)</span>|<span class="pre">([\w.,:=()\'"&;$]*)</span>|'
    r'(?<=<code class=")docutils '
)
LINK = re.compile(r'(?<=\s)(href|src)="([^"]*)"')
# above a book's list of pages
BACK = (
    '<ul><li class="toctree-l1"><a class="reference internal" href="../index.html">'
    "Recorded rallies</a></li></ul>"
)
FRAME = """\
"use strict";
// the icons and the list of pages, which all pages of this book have
function tennisIcons() { document.currentScript.insertAdjacentHTML("afterend", ICONS); }
function tennisTree(page) {
  const own = document.currentScript, root = document.documentElement.dataset.content_root;
  own.insertAdjacentHTML("afterend", TREE);
  for (const link of own.nextElementSibling.querySelectorAll("a")) {
    const to = link.getAttribute("href"), here = to === page;
    link.setAttribute("href", here ? "#" : root + to);
    if (!here) continue;
    link.classList.add("current");
    link.closest("li").classList.add("current-page");
    for (let item = link.closest("li"); item; item = item.parentElement.closest("li")) {
      item.classList.add("current");
      const box = item.querySelector(":scope > input");
      if (box) box.checked = true;
    }
  }
}
"""


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
    """Run a command of Tennis. Raises UsageError with what it said last."""
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
    if not (rally / SECTIONS).exists():
        say(f"recording every instant of {one.name}")
        run("--quiet", "explain", rally, "--sections")
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


def only(pattern: re.Pattern[str], text: str, name: Path) -> str:
    """Return what is found once. Raises ValueError where the theme makes it otherwise."""
    found = list(pattern.finditer(text))
    if len(found) != 1:
        raise ValueError(f"{name}: {pattern.pattern[:30]!r} is there {len(found)} times, not once")
    return found[0].group()


def framed(text: str) -> bool:
    """Tell whether a page has the book's frame: a page that is printed has none."""
    return TREE.search(text) is not None


def copy_book(book: str, site: Path) -> None:
    """Copy a built book, and move what its pages repeat into two files."""
    built = ROOT / book / "_build" / "html"
    if not (built / "index.html").exists():
        raise UsageError(f"{book} is not built", next_step="run 'make site', or 'make books' first")
    out = site / book
    shutil.copytree(built, out, ignore=NOT_TAKEN)
    first = out / "index.html"
    text = first.read_text()
    icons, tree, style = (only(one, text, first) for one in (ICONS, TREE, STYLE))
    tree = tree.replace(">", f">{BACK}", 1)
    script = FRAME.replace("ICONS", json.dumps(icons)).replace("TREE", json.dumps(tree))
    (out / "_static" / "frame.js").write_text(script)
    (out / "_static" / "colours.css").write_text(style[len("<style>") : -len("</style>")])
    for path in sorted(out.rglob("*.html")):
        text = path.read_text()
        if framed(text):
            text = with_frame(text, path, out)
        text = BARE.sub(lambda found: found[1] or found[2] or "", text)
        path.write_text(LINK.sub(lambda found, at=path: inside(found, at, site), text))


def with_frame(text: str, path: Path, out: Path) -> str:
    """Return a page that takes icons, list of pages and colours from the book's own files."""
    match = ROOT_OF.search(text)
    if match is None:
        raise ValueError(f"{path} does not say where its book is")
    root = match.group(1).removeprefix("./")
    name = path.relative_to(out).as_posix()
    script = f'<script src="{root}_static/frame.js"></script><script>tennisIcons()</script>\n'
    without = f'<noscript><a href="{root}index.html">All pages</a></noscript>'
    for pattern, instead in (
        (ICONS, script),
        (TREE, f"{without}<script>tennisTree({json.dumps(name)})</script>"),
        (STYLE, f'<link rel="stylesheet" href="{root}_static/colours.css">'),
    ):
        text = text.replace(only(pattern, text, path), instead)
    # the frame's own lines need no indent; an article may have <pre>
    head, opened, rest = text.partition("<article")
    article, closed, foot = rest.rpartition("</article>")
    return close(head) + opened + article + closed + close(foot)


def close(text: str) -> str:
    """Return HTML without indents and empty lines."""
    return re.sub(r"\n\s+", "\n", text)


def inside(found: re.Match[str], path: Path, site: Path) -> str:
    """Return a link that leads to the other book as it lies here, or to what it led to."""
    name, to = found.groups()
    parts = urlsplit(html.unescape(to))
    if not parts.path or parts.scheme:
        return found.group()
    built = re.fullmatch(r"(?:\.\./)+(docs|handouts)/_build/html/(.*)", parts.path)
    if built is None:
        return found.group()
    up = "../" * len(path.relative_to(site).parents[:-1])
    fragment = f"#{parts.fragment}" if parts.fragment else ""
    return f'{name}="{html.escape(up + built.group(1) + "/" + built.group(2) + fragment)}"'


def share_static(site: Path) -> None:
    """Let the second book use the first one's files where both have the same."""
    first, second = (site / book / "_static" for book in BOOKS)
    for path in sorted(second.rglob("*")):
        other = first / path.relative_to(second)
        if path.is_dir() or not other.is_file() or path.read_bytes() != other.read_bytes():
            continue
        name = path.relative_to(second).as_posix()
        path.unlink()
        used = re.compile(rf'="((?:\.\./)*)_static/{re.escape(name)}(\?[^"]*)?"')
        for one in (site / BOOKS[1]).rglob("*.html"):
            text = one.read_text()
            if f"_static/{name}" in text:
                up = "../" * len(one.relative_to(site).parents[:-1])
                to = f"{up}{BOOKS[0]}/_static/{name}"
                one.write_text(used.sub(f'="{to}"', text))


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


def fewer_colours(site: Path) -> None:
    """Write each PNG with 256 colours, where that is smaller: they are charts and screens."""
    for path in sorted(site.rglob("*.png")):
        with Image.open(path) as picture, io.BytesIO() as written:
            method = Image.Quantize.FASTOCTREE  # keeps what is transparent
            picture.convert("RGBA").quantize(256, method=method).save(written, "PNG", optimize=True)
            if len(written.getvalue()) < path.stat().st_size:
                path.write_bytes(written.getvalue())


def size(site: Path) -> int:
    """Return the bytes of all files."""
    return sum(path.stat().st_size for path in site.rglob("*") if path.is_file())


def make(out: Path, first: str) -> None:
    """Write the site into ``out``; ``first`` is the page to explore. Raises UsageError."""
    if out.exists() and not (out / "docs" / "_static" / "frame.js").exists():
        raise UsageError(f"{out} is no site", next_step="name a folder that is not there")
    scratch = out.with_name(f".{out.name}.part")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    for book in BOOKS:
        copy_book(book, scratch)
    share_static(scratch)
    fewer_colours(scratch)
    write_whole(scratch / "index.html", first.encode())
    if wrong := list(lost(scratch)):
        raise UsageError(f"{len(wrong)} links lead nowhere, the first: {wrong[0]}")
    if (taken := size(scratch)) > MAX_BYTES:
        raise UsageError(f"the site takes {taken:,} bytes, more than {MAX_BYTES:,}")
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
    say(f"{out / 'index.html'}, {size(out) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
