"""Pages say what they have to say where Markdown is read as it is: on a forge, in an editor.

There a directive of MyST is a box with the lines inside it, and a link is what its text is.
"""

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tennis.kit.checkout import ROOT

BUILT = {"_build", "build", "demo", "node_modules"}
PAGES = sorted(
    page.relative_to(ROOT)
    for page in ROOT.rglob("*.md")
    if not any(part in BUILT or part.startswith(".") for part in page.relative_to(ROOT).parts)
)
OPTION = re.compile(r":(?!caption:)[a-z-]+:")  # a caption is words


def tokens(text: str) -> list[Token]:
    """Read a page as a forge does; return blocks and what is in them."""
    parsed = MarkdownIt("commonmark").enable("table").parse(text)
    return [inner for token in parsed for inner in (token, *(token.children or []))]


def empty_links(text: str) -> list[str]:
    """Return the targets of links and pictures that show nothing."""
    found, words, target = [], True, ""
    for token in tokens(text):
        match token.type:
            case "link_open":
                words, target = False, str(token.attrs["href"])
            case "link_close" if not words:
                found.append(target)
            case "image" if not token.content.strip():
                found.append(str(token.attrs["src"]))
        if token.type in {"text", "code_inline", "image"} and token.content.strip():
            words = True
    return found


def empty_boxes(text: str) -> list[str]:
    """Return the first lines of blocks without a line that a reader understands."""
    return [
        f"{token.markup}{token.info}"
        for token in tokens(text)
        if token.type in {"fence", "code_block"}
        and not any(
            line.strip() and not OPTION.match(line.strip()) for line in token.content.splitlines()
        )
    ]


OMITTED = "<!-- raw HTML omitted -->"


def broken_html(text: str) -> list[str]:
    """Return blocks of HTML that begin in a sentence, or that swallow Markdown: GitHub's parser.

    Such a block is not parsed: a reader sees backticks and brackets, and half a sentence.
    """
    rendered = cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_SOURCEPOS)
    written, found, line = rendered.splitlines(), [], 0
    source = text.splitlines()
    for before, now in pairwise(["", *written]):
        if now == OMITTED and (not before or before.endswith(">")):
            first = next(n for n in range(line, len(source)) if source[n].strip())
            comment = source[first].lstrip().startswith("<!--")
            ends = (
                n
                for n in range(first, len(source))
                if ("-->" in source[n] if comment else not source[n])
            )
            block = source[first : next(ends, len(source) - 1) + 1]
            words = re.sub(r"<!--.*?-->|<[^>]*>", "", "\n".join(block), flags=re.DOTALL)
            if (before.endswith("</p>") and first == line) or re.search(r"[`*\[]", words):
                found.append(block[0])
        for position in re.findall(r'data-sourcepos="\d+:\d+-(\d+):', now):
            line = int(position)
    return found


def test_html_that_begins_in_a_sentence_or_swallows_markdown_is_found():
    assert broken_html("# A\n\nA sentence\n<!-- address --> goes on, `code`.\n") != []
    assert broken_html("# A\n\n<!-- address --> You are `here`.\n") != []
    assert (
        broken_html("# A\n\n<!-- here -->\n\nA sentence with <b>bold</b>.\n\n<!-- to -->\n") == []
    )


def noise(text: str) -> list[str]:
    """Return lines that only MyST understands: labels."""
    return re.findall(r"^\([a-z0-9-]+\)=$", text, re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that a forge gives to a page's headings."""
    seen: Counter[str] = Counter()
    found = set()
    parsed = MarkdownIt("commonmark").parse(page.read_text())
    for token, inline in pairwise(parsed):
        if token.type == "heading_open":
            words = "".join(one.content for one in inline.children or [])
            slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
            seen[slug] += 1
    return found


def dead_links(page: Path) -> list[str]:
    """Return the links and pictures of a page that lead to no file, or to no heading of it."""
    targets = []
    for token in tokens(page.read_text()):
        targets += [str(token.attrs[name]) for name in ("href", "src") if name in token.attrs]
        if token.type in {"html_inline", "html_block"}:
            targets += re.findall(r'\b(?:href|src)="([^"]+)"', token.content)
    found = []
    for target in targets:
        if re.match(r"[a-z][a-z0-9+.-]*:", target):  # another place
            continue
        name, _, anchor = unquote(target).partition("#")
        file = page.parent / name if name else page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            found.append(target)
    return found


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_stands_alone(page):
    text = (ROOT / page).read_text()
    assert empty_links(text) == []
    assert empty_boxes(text) == []
    assert noise(text) == []
    assert broken_html(text) == []
    if str(page) != "CHANGELOG.md":  # what it names of older versions may be gone
        assert dead_links(ROOT / page) == []


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_is_whole_without_its_book(page):
    """The code writes these parts: scripts/reference.py."""
    text = (ROOT / page).read_text()
    assert "In the built book" not in text
    assert len(text.splitlines()) > 4  # no stub
