"""Always, never, cannot: each such sentence is true by a reason that stands in universal_words.toml."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ironlaw

HERE, PACKAGE = Path(__file__).parent, Path(ironlaw.__file__).parent
KNOWN = tomllib.loads((HERE / "universal_words.toml").read_text(encoding="utf-8"))
STRONG = r"worst[- ]case|best[- ]case|best it can|all models|impossible|no [A-Za-z]+ can"
STRONGEST = re.compile(rf"\b(?:{STRONG})\b", re.IGNORECASE)
UNIVERSAL = re.compile(rf"\b(?:always|never|cannot|{STRONG})\b", re.IGNORECASE)
HEADING = re.compile(r"^## .*$", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])\s+")
# where -> files, and the keys whose texts are ours: what a claim or a belief says is somebody's, and an option may be wrong
TEXTS = {
    "claims": ("claims/*.toml", {"why"}),
    "counterexamples": ("recall/counterexamples/*.toml", {"says"}),
    "cards": ("recall/questions/*.toml", {"ask", "working", "rubric"}),
    "glossary": ("registry/glossary.toml", {"says"}),
}


def texts(value: Any, keys: set[str], key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, keys, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, keys, key)
    elif isinstance(value, str) and key in keys:
        yield value


def unproved(text: str, pattern: re.Pattern[str], known: dict[str, str]) -> list[str]:
    sentences = SENTENCE.split(" ".join(text.split()))
    return [one for one in sentences if pattern.search(one) and not any(words in one for words in known)]


@pytest.mark.parametrize("where", TEXTS)
def test_a_universal_word_has_its_reason(where: str) -> None:
    pattern, keys = TEXTS[where]
    found = [text for path in sorted(PACKAGE.glob(pattern)) for text in texts(tomllib.loads(path.read_text(encoding="utf-8")), keys)]
    assert len(found) > 50 and [one for text in found for one in unproved(text, UNIVERSAL, KNOWN[where])] == []


def test_the_strongest_words_of_the_labs_have_theirs() -> None:
    words = [HEADING.sub("", path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.glob("labs/*/words.md"))]
    paragraphs = [each for text in words for each in text.split("\n\n")]
    assert len(paragraphs) > 1000 and [one for text in paragraphs for one in unproved(text, STRONGEST, KNOWN["labs"])] == []


def test_a_sentence_without_a_reason_is_found() -> None:
    assert unproved("A ring is fine. It is always the best.", UNIVERSAL, {}) == ["It is always the best."]
    assert unproved("It is always the best of one.", UNIVERSAL, {"best of one": "there is no other"}) == []
