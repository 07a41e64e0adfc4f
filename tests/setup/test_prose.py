# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The prose check catches the sentences that it should, in every kind of text, and no others."""

import ast
import sys
import tomllib
from collections import Counter

import pytest

from tennis.checkout import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import prose
import prose_texts

RULES = {rule.name: rule for rule in prose.read_rules()}
EXAMPLES = tomllib.loads(prose.RULES.read_text())


def caught(text: str, kind: str = "text") -> set[str]:
    block = prose_texts.Block(1, kind, text)
    return {rule for rule, _ in prose.findings(block, list(RULES.values()))}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_catches_its_bad_sentences_and_no_good_one(name):
    kind = EXAMPLES[name].get("in", ["text"])[0]
    assert EXAMPLES[name]["bad"] and EXAMPLES[name]["good"]
    assert [text for text in EXAMPLES[name]["bad"] if name not in caught(text, kind)] == []
    assert [text for text in EXAMPLES[name]["good"] if name in caught(text, kind)] == []


@pytest.mark.parametrize(
    "text",
    [
        "The pins break at 5 V. Never connect pin 40.",
        "T. Knutsson measured it. Arm et al. repeated it.",
        "Play it again? The seed gives the same bytes.",
        "The context that runs it. user-rt: a process.",
    ],
)
def test_a_block_is_split_where_its_sentences_end(text):
    assert len(prose.sentences(text)) == 2


def test_a_sentence_of_26_words_is_long_and_code_is_one_word():
    (block,) = prose_texts.markdown("The `tennis rally --kernel rt` " + "word " * 23 + "\n")
    assert prose.LONG not in caught(block.text)
    assert prose.LONG in caught(block.text + " word.")


PAGE = """---
title: whoever
---

# Who needs it?

Clone it anew: `whoever`, *Whoever plays must wait*, [Whoever plays first](a.md).

| where | what |
|---|---|
| here | whoever waits |

```console
$ whoever
```

:::{figure-md}
![A line, drawn anew.](a.svg)

A caption for whoever reads it.
:::

:::{note}
Not before whoever.
:::
"""


def test_a_page_is_read_without_code_titles_and_options():
    found = [
        (block.line, rule)
        for block in prose_texts.markdown(PAGE)
        for rule, _ in prose.findings(block, list(RULES.values()))
        if rule != "passive"
    ]
    assert found == [
        (5, "title that asks"),
        (7, "anew"),
        (11, "whoever"),
        (18, "anew"),
        (20, "whoever"),
        (24, "whoever"),
    ]


def test_a_cell_that_quotes_explain_is_not_read():
    table = "| cell | latest ball |\n|---|---|\n| idle | {} |\n\n1.2 ms: it is anew.\n"
    for quoted in ("ball 7, 1.16 ms: it is anew", "901 µs: it is anew"):
        texts = [block.text for block in prose_texts.markdown(table.format(quoted))]
        assert texts == ["cell", "latest ball", "idle", "1.2 ms: it is anew."]
    assert len(list(prose_texts.markdown(table.format("901 balls: it is anew")))) == 5


MODULE = '''
class OddError(TennisError): ...

@click.command()
@click.option("--a", help="Ask whoever.")
def latest(a):
    """Play for whoever.

    \\b
    Examples: whoever
    """
    raise OddError(f"{a} is built " "anew", next_step="clone " + f"{a} anew")

def quiet():
    """Whoever reads this reads code."""
    say("anew it goes")
    log("anew it goes")
'''


def test_a_module_is_read_for_what_people_see():
    blocks = prose_texts.messages(ast.parse(MODULE), {"OddError"})
    assert sorted(block.text for block in blocks) == [
        "Ask whoever.",
        "Play for whoever.",
        "X is built anew",
        "anew it goes",
        "clone X anew",
    ]


def test_labs_and_templates_are_read_for_what_people_see():
    spoken = prose_texts.spoken_values(
        {"questions": [{"id": "a b", "text": "Play anew.", "choices": {"a": "It is anew"}}]}
    )
    assert [block.text for block in spoken] == ["Play anew.", "It is anew"]
    page = "<style>p { a b }</style><p class=x>A <b>ball</b>&nbsp;of {{ n }}</p>{% if a b %}<td>x"
    page += "<h2 id=y>What was found</h2><th>how many</th>It is one."
    assert [(block.kind, block.text) for block in prose_texts.template(page)] == [
        ("text", "A ball of X"),
        ("title", "What was found"),
        ("cell", "how many"),
        ("text", "It is one."),
    ]


def test_every_kind_of_text_of_the_tree_is_read():
    read = Counter[str]()
    for page, _, blocks in prose_texts.texts(ROOT):
        read[page] += len(blocks)
    for page in (
        "README.md",
        "docs/commands/rally.md",
        "handouts/05-preempt-rt.md",
        "notebooks/05-preempt-rt.md",
        "slides/00-opening.md",
        "labs/05-preempt-rt",
        "loads/stress",
        "exam/questions.toml",
        "target/sloth/README.md",
        "plans/quick.toml",
        "tennis/replicate",
        "tennis/cli",
        "tennis/pages/rally.html.j2",
    ):
        assert read[page], page
    assert read["CHANGELOG.md"] == 0


def test_one_finding_fails_and_is_named(monkeypatch, tmp_path, capsys):
    scripts = tmp_path / "scripts"
    monkeypatch.setattr(prose, "HERE", scripts)
    (tmp_path / "README.md").write_text("Clone it again. The clone was made here.\n")
    assert prose.main([]) == 0
    (tmp_path / "README.md").write_text("Clone it anew.\n")
    assert prose.main([]) == 1
    named = "README.md:1: anew (again, a new): Clone it anew.\n"
    assert capsys.readouterr().out == named
    assert prose.main(["docs"]) == 0
    assert prose.main(["--table", str(tmp_path)]) == 0
    assert "| README.md | 1 |" in capsys.readouterr().out


def test_the_tree_has_no_finding():
    assert prose.main([]) == 0
