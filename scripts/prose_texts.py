# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Where the product's sentences stand: pages, messages, help texts, labs, page templates.

Each reader yields blocks: a paragraph, a title, a table's cell, a message. Code, quoted titles and
figures are one word each: nobody should rewrite them.
"""

import ast
import html
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from errors import error_names
from markdown_it import MarkdownIt
from markdown_it.token import Token

# what a page's template has in these elements is no sentence
TAGS = {f"h{level}": "title" for level in range(1, 7)} | {"title": "title"}
TAGS |= {"summary": "cell", "th": "cell"}
CODE, TITLE, VALUE = "`code`", "“Title”", "X"

# fenced directives of MyST whose content is prose
PROSE_FENCES = re.compile(r"\{(note|warning|important|lab-questions)\}")
# a cell that quotes `tennis explain`: a ball's latency, then its story
EXPLAINED = re.compile(r"(ball \d+, )?[\d.,]+ (ns|µs|ms): ")
# who says something to people: the functions whose arguments are sentences, beside errors
SPEAKERS = frozenset({"echo", "expect", "paragraph", "print_line", "say", "warn"})
# what a TOML file says to people; its other strings are commands, names, sources
SPOKEN_KEYS = frozenset(
    {"about", "answer", "before", "checkpoints", "choices", "dropped", "extensions", "figures"}
    | {"goals", "sample", "text", "title", "why"}
)
PROPER_TITLE_WORDS = 3  # shorter emphasis is a word of the sentence


@dataclass(frozen=True)
class Block:
    """A piece of text: where it begins, what it is (``text``, ``title`` or ``cell``), its words."""

    line: int
    kind: str
    text: str


def markdown(source: str, line: int = 1) -> Iterator[Block]:
    """Yield the blocks of a page; ``line`` is that of its first line in its file."""
    front = re.match(r"---\n.*?\n---\n", source, re.DOTALL)
    if front:
        source, line = source[front.end() :], line + front.group().count("\n")
    source = re.sub(r"^:::.*$", "", source, flags=re.MULTILINE)
    inside = "text"
    for token in MarkdownIt("commonmark").enable("table").parse(source):
        match token.type:
            case "heading_open":
                inside = "title"
            case "th_open" | "td_open":
                inside = "cell"
            case "heading_close" | "th_close" | "td_close":
                inside = "text"
            case "fence" if PROSE_FENCES.match(token.info) and token.map:
                words = re.sub(r"^:[a-z-]+:.*\n", "", token.content, flags=re.MULTILINE)  # options
                yield from markdown(words, line + token.map[0] + 1)
            case "inline" if not (inside == "cell" and EXPLAINED.match(token.content)):
                start, children = line + (token.map[0] if token.map else 0), token.children or []
                for picture in (one for one in children if one.type == "image"):
                    yield Block(start, inside, picture.content)  # what stands for it
                yield Block(start, inside, _inline(children))


def _inline(tokens: list[Token]) -> str:
    words = ""
    opened: list[int] = []
    for token in tokens:
        match token.type:
            case "text":
                words += token.content
            case "code_inline":
                # a role of MyST, or code
                words = re.sub(r"\{[a-z:-]+\}$", "", words) + CODE
            case "softbreak" | "hardbreak":
                words += " "
            case "image":
                words += TITLE
            case "link_open" | "em_open":
                opened.append(len(words))
            case "link_close" | "em_close":
                start = opened.pop()
                words = words[:start] + _title(words[start:])
    return words


def _title(words: str) -> str:
    """Return a placeholder for a link or emphasis that quotes a whole title, or has no words."""
    whole = words[:1].isupper() and len(words.split()) >= PROPER_TITLE_WORDS
    return TITLE if whole or not words else words


def messages(tree: ast.Module, errors: set[str]) -> Iterator[Block]:
    """Yield what a module says: errors, next steps, progress, help of commands and options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            spoken = [one.value for one in node.keywords if one.arg in {"help", "next_step"}]
            if called in errors | SPEAKERS:
                spoken += node.args
            for value in spoken:
                if (words := _string(value)) and " " in words:
                    yield Block(value.lineno, "text", words)
        elif isinstance(node, ast.FunctionDef) and _is_shown(node):
            for paragraph in (ast.get_docstring(node) or "").split("\n\n"):
                if not paragraph.startswith(("\b", "\\b")):
                    yield Block(node.lineno, "text", " ".join(paragraph.split()))


def _is_shown(function: ast.FunctionDef) -> bool:
    """Whether people read its docstring: a command's help, or what a check asks."""
    names = {
        getattr(call, "attr", getattr(call, "id", ""))
        for decorator in function.decorator_list
        for call in [decorator.func if isinstance(decorator, ast.Call) else decorator]
    }
    return bool(names & {"command", "group", "check"})


def _string(node: ast.expr) -> str:
    """Return the words of a string; what it computes is ``VALUE``."""
    match node:
        case ast.Constant(value=str(words)):
            return re.sub(r"`[^`]+`", CODE, words)
        case ast.JoinedStr(values=parts):
            whole = "".join(_string(part) or VALUE for part in parts)
            return re.sub(r"`[^`]+`", CODE, whole)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (_string(left) or VALUE) + (_string(right) or VALUE)
    return ""


def spoken_values(content: object, key: str = "") -> Iterator[Block]:
    """Yield the sentences of a TOML file, in Markdown."""
    if isinstance(content, dict):
        for name, value in content.items():
            # choices have names of their own: the outer key tells what they are
            yield from spoken_values(value, key if key in SPOKEN_KEYS else name)
    elif isinstance(content, list):
        for value in content:
            yield from spoken_values(value, key)
    elif isinstance(content, str) and key in SPOKEN_KEYS:
        for block in markdown(content):
            yield Block(0, "title" if key == "title" else block.kind, block.text)


def template(source: str) -> Iterator[Block]:
    """Yield the text of a page's template, block by block."""
    # a nav repeats the headings
    unread = r"<(nav|script|style)\b.*?</\1>|\{%.*?%\}|\{#.*?#\}"
    source = re.sub(unread, " ", source, flags=re.DOTALL)
    source = re.sub(r"\{\{.*?\}\}", VALUE, source, flags=re.DOTALL)
    source = re.sub(r"</?(a|b|code|em|i|kbd|small|span|strong|sub|sup)\b[^>]*>", "", source)
    for tag, words in re.findall(r"<(/?\w*)[^>]*>([^<]*)", f"<>{source}"):
        if " " in (words := " ".join(html.unescape(words).split())):
            yield Block(0, TAGS.get(tag, "text"), words)


PAGES = (
    *("*.md", "docs/**/*.md", "handouts/*.md", "notebooks/*.md", "slides/*.md", "exam/*.md"),
    *("ansible/**/*.md", "kit-firmware/*/*.md", "target/**/*.md"),
)
# a record of what was said when it was released
SKIPPED = ("CHANGELOG.md", "_build")


def texts(root: Path) -> Iterator[tuple[str, str, list[Block]]]:
    """Yield the page that a text counts for, the file, and its blocks, for all of the tree."""
    for pattern in PAGES:
        for path in sorted(root.glob(pattern)):
            name = str(path.relative_to(root))
            if not any(part in name for part in SKIPPED):
                yield name, name, list(markdown(path.read_text()))
    trees = {
        path: ast.parse(path.read_text())
        for folder in ("tennis", "labs")
        for path in sorted((root / folder).rglob("*.py"))
    }
    errors = error_names(trees.values())
    for path, tree in trees.items():
        relative = path.relative_to(root)
        yield "/".join(relative.parts[:2]), str(relative), list(messages(tree, errors))
    for pattern in (
        *("labs/**/*.toml", "loads/*/load.toml", "exam/questions.toml"),
        *("plans/*.toml", "tennis/replicate/rules.toml"),
    ):
        for path in sorted(root.glob(pattern)):
            relative = path.relative_to(root)
            blocks = list(spoken_values(tomllib.loads(path.read_text())))
            yield "/".join(relative.parts[:2]), str(relative), blocks
    for path in sorted((root / "tennis").rglob("*.html.j2")):
        name = str(path.relative_to(root))
        yield name, name, list(template(path.read_text()))
