"""Words that no learner should meet: archaic ones, private ones, and second names for one thing.

What is allowed all the same stands in plain_words.toml, by a few words of its own sentence and with a reason.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ironlaw

HERE, PACKAGE = Path(__file__).parent, Path(ironlaw.__file__).parent
ALLOWED: dict[str, str] = tomllib.loads((HERE / "plain_words.toml").read_text(encoding="utf-8"))["allowed"]
HEADING, SLOT, LINK = re.compile(r"^## .*$", re.MULTILINE), re.compile(r"\{\{.*?\}\}"), re.compile(r"\]\([^)]*\)")
COUNTED = (
    "batches|bits?|bytes|calls|failures|FLOPs?|images|joules|operations|pages|parameters|ports|queries|requests|scales?|steps|tokens|"
    "µs|ms|s|B|kB|MB|GB|W|g|USD|dollars"
)
EACH = (
    "batch|box|byte|call|card|channel|day|device|element|GPU|host|hour|image|kWh|layer|message|minute|month|node|parameter|pass|replica|"
    "request|second|sequence|stage|step|tensor|token|watt|week|weight|year"
)
# what to write instead -> what not to write
FORBIDDEN = {
    "predict": r"foretell\w*|foretold",
    "expensive": r"dear(?:er|est|ly)?",
    "repair, make up for": r"mend(?:s|ed|ing)?",
    "each": "apiece",
    "you can have": "(?:to )?be had",
    "other than, different from": "otherwise than",
    "the bottleneck": "binds?",
    "SLO": "(?:under|within|meets?|keeps?|breaks?) (?:a|the|its|this|that) promise",
    "point-to-point": "one to one",
    "latency": "without the start|start and its bytes|starts and bytes",
    "microbatch": "micro-batch(?:es)?",
    "chunked prefill": "prompts in pieces",
    "percent, %": "per cent",
    "rarely": "seldom",
    "forever": "for ever",
    "per": rf"(?:{COUNTED}) an? (?:{EACH})",
    "Llama 3 8B": r"Llama-3|Llama3|LLaMA",
    "digit classifier": "digit reader",
}
PATTERN = re.compile(r"\b(?:" + "|".join(FORBIDDEN.values()) + r")\b")
# files -> the keys whose texts a learner reads; all of them where none is named
TEXTS: dict[str, set[str]] = {
    "labs/*/questions.toml": {"label", "ask", "prompt", "unit"},
    "labs/misconceptions.toml": set(),
    "recall/questions/*.toml": {"ask", "working", "rubric", "label", "name"},
    "recall/counterexamples/*.toml": {"says"},
    "recall/concepts.toml": {"definition", "label", "name"},
    "recall/checklist.toml": set(),
    "claims/*.toml": {"says", "why"},
    "registry/glossary.toml": {"term", "says", "figure"},
}


def texts(value: Any, keys: set[str], key: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, keys, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, keys, key)
    elif isinstance(value, str) and (not keys or key in keys):
        yield value


def faults(text: str, allowed: dict[str, str]) -> list[str]:
    """Each forbidden word with what stands round it; names of slots and addresses of links are not read by anybody."""
    plain = " ".join(LINK.sub("]", SLOT.sub("…", HEADING.sub("", text))).split())
    found = ((match, plain[max(0, match.start() - 40) : match.end() + 40]) for match in PATTERN.finditer(plain))
    return [f"{match[0]!r} in {around!r}" for match, around in found if not any(words in around for words in allowed)]


@pytest.mark.parametrize("pattern", TEXTS)
def test_no_text_of_a_data_file_has_a_forbidden_word(pattern: str) -> None:
    paths = sorted(PACKAGE.glob(pattern))
    found = [text for path in paths for text in texts(tomllib.loads(path.read_text(encoding="utf-8")), TEXTS[pattern])]
    assert len(found) > 20 and [fault for text in found for fault in faults(text, ALLOWED)] == []


def test_no_lab_has_a_forbidden_word() -> None:
    labs = sorted(PACKAGE.glob("labs/*/words.md"))
    assert len(labs) > 20
    assert [f"{path.parent.name}: {fault}" for path in labs for fault in faults(path.read_text(encoding="utf-8"), ALLOWED)] == []


def test_every_exception_is_still_needed() -> None:
    words = " ".join(" ".join(LINK.sub("]", SLOT.sub("…", path.read_text(encoding="utf-8"))).split()) for path in _files())
    assert [allowed for allowed in ALLOWED if allowed not in words] == []


def _files() -> Iterator[Path]:
    yield from PACKAGE.glob("labs/*/words.md")
    for pattern in TEXTS:
        yield from PACKAGE.glob(pattern)


@pytest.mark.parametrize("text", ["Memory binds.", "16 bytes a parameter", "tokens a second", "a micro-batch", "10 µs apiece"])
def test_a_forbidden_word_is_found(text: str) -> None:
    assert faults(text, {}) and not faults(text, {text: "a reason"})


def test_slots_links_and_headings_are_not_read() -> None:
    assert faults("## act1.promise\nOur SLO is {{ promise }}. [Go](set:act1?binds=1)", {}) == []
