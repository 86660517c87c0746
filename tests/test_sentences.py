"""Sentences that can be read aloud: none is long, and colons are for lists."""

import tomllib
from pathlib import Path

import pytest
from sentences import Sentence, sentences, split

import ironlaw

PACKAGE = Path(ironlaw.__file__).parent
LABS = sorted(PACKAGE.glob("labs/lab_*/words.md"))
LONG = 30  # words
COLONS = 0.12  # of the sentences


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.parent.name)
def test_a_lab_reads_aloud(path: Path) -> None:
    found = sentences(path.read_text(encoding="utf-8"))
    assert [one for one in found if one.words > LONG and not one.section.endswith("peek")] == []  # the maths names its symbols in a list
    assert len(found) > 100 and sum(one.colon for one in found) <= COLONS * len(found)


def test_no_claim_has_a_long_sentence() -> None:
    found = [(name, claim) for path in PACKAGE.glob("claims/*.toml") for name, claim in tomllib.loads(path.read_text("utf-8")).items()]
    texts = [(name, text) for name, claim in found for key in ("says", "why") for text in split(claim[key])]
    assert len(texts) > 500 and [(name, text) for name, text in texts if Sentence(name, text).words > LONG] == []


def test_what_is_counted() -> None:
    head = "not shown\n## act1.title\nA label\n## act1.reveal\n"
    words = head + "It takes {{ wall }} on {{ device }}. Two:\n\n$$x = 1$$\n\n| a | b |\n\n- [Try it](set:act1?n=2)\n"
    first, second, third = sentences(words)
    assert (first.words, first.figures, first.colon) == (5, 1, False) and second.colon and third.text == "[Try it]"
