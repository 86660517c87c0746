"""Words that nobody should meet in labs, help texts, messages, docs or docstrings: archaic ones, private ones, second names for one thing.

What is allowed all the same stands in plain_words.toml, by a few words of its own sentence and with a reason.
"""

import ast
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
CODE = re.compile(r"(?<!`)`[^`\n]+`(?!`)")
READS = "recall/card_answers.py"  # how learners may write a unit
COUNTED = (
    "(?i:batches|bits?|bytes?|calls|failures|FLOPs?|images|joules|operations|pages|parameters|ports|queries|requests|samples|scales?|seconds|steps|"
    "tokens)|ps|ns|µs|ms|s|B|kB|MB|GB|W|g|USD|dollars"
)
EACH = (
    "batch|box|byte|call|card|channel|clock|core|day|device|element|GPU|host|hour|image|kWh|lane|layer|message|minute|month|node|parameter|pass|replica|"
    "request|second|sequence|SM|stage|step|tensor|token|watt|week|weight|year"
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
    "exposed communication": "communication that nothing hides",
    "pad": "fills? (?:it|them|up the vocabulary) up to|filled up to",
    "is not a": r"(?<![Tt]here )(?:is|are|was|were|be) no (?!\w+er\b|more|less|worse|limit|way|need|use)\w+",
}
STARTS = re.compile(r'"""(?:Of [a-z`]|Those )')  # of a docstring that does not name its subject
LESS = re.compile(
    r'^ +"""(?:Between which|By what |From [a-z]|Per request|That (?:a|are) |To (?:a|the) |Until |Without [a-z])', re.MULTILINE
)
JOINT = re.compile(r'"\s+f?"')  # between two halves of a string
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
    "registry/hardware/*.toml": {"why"},
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
    """Each forbidden word with what stands round it; names of slots, addresses of links and code are not prose."""
    plain = _plain(HEADING.sub("", text))
    found = ((match, plain[max(0, match.start() - 40) : match.end() + 40]) for match in PATTERN.finditer(plain))
    return [f"{match[0]!r} in {around!r}" for match, around in found if not any(words in around for words in allowed)]


def _plain(text: str) -> str:
    return " ".join(CODE.sub("…", LINK.sub("]", SLOT.sub("…", text))).split())


def strings(source: str) -> Iterator[str]:
    """What a module says to people: strings of several words, docstrings, comments."""
    tree = ast.parse(source)
    pieces = {id(piece) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else "…" for piece in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and id(node) not in pieces:
            yield node.value
    yield from re.findall(r"# (.*)$", source, re.MULTILINE)


@pytest.mark.parametrize("pattern", TEXTS)
def test_no_text_of_a_data_file_has_a_forbidden_word(pattern: str) -> None:
    paths = sorted(PACKAGE.glob(pattern))
    found = [text for path in paths for text in texts(tomllib.loads(path.read_text(encoding="utf-8")), TEXTS[pattern])]
    assert len(found) > 20 and [fault for text in found for fault in faults(text, ALLOWED)] == []


def test_no_lab_has_a_forbidden_word() -> None:
    labs = sorted(PACKAGE.glob("labs/*/words.md"))
    assert len(labs) > 20
    assert [f"{path.parent.name}: {fault}" for path in labs for fault in faults(path.read_text(encoding="utf-8"), ALLOWED)] == []


def test_no_module_has_a_forbidden_word() -> None:
    """Only the few modules that have such a word at all, be it a name, are parsed."""
    modules = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if path != PACKAGE / READS}
    suspects = {path: source for path, source in modules.items() if PATTERN.search(" ".join(JOINT.sub("", source).split()))}
    assert len(modules) > 1000 and suspects
    found = ((path, fault) for path, source in suspects.items() for text in strings(source) for fault in faults(text, ALLOWED))
    assert [f"{path.relative_to(PACKAGE)}: {fault}" for path, fault in found] == []


def test_every_docstring_names_its_subject() -> None:
    """`Of the logarithm.` leaves the reader to guess of what it is the standard deviation."""
    assert STARTS.search('"""Of the logarithm."""') and not STARTS.search('"""Often."""')
    assert LESS.search('    """Until the first is done."""') and not LESS.search('    """Seconds until the first is done."""')
    modules = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert [path.name for path, source in modules.items() if STARTS.search(source)] == []
    assert [path.name for path, source in modules.items() if "labs" not in path.parts and LESS.search(source)] == []


def test_no_script_or_page_of_the_docs_has_a_forbidden_word() -> None:
    """Every `--help` is in docs/cli.md, which is generated from them."""
    paths = [*_documents(), *PACKAGE.glob("widget/**/*.js")]
    assert len(paths) > 50
    assert [f"{path.name}: {fault}" for path in paths for fault in faults(path.read_text(encoding="utf-8"), ALLOWED)] == []


def test_every_exception_is_still_needed() -> None:
    words = " ".join(_plain(path.read_text(encoding="utf-8")) for path in _files())
    assert [allowed for allowed in ALLOWED if allowed not in words] == []


def _files() -> Iterator[Path]:
    yield from PACKAGE.glob("labs/*/words.md")
    for pattern in TEXTS:
        yield from PACKAGE.glob(pattern)
    yield from _documents()


def _documents() -> list[Path]:
    root = HERE.parent
    return [*root.glob("docs/*.md"), *(root / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING"))]


@pytest.mark.parametrize("text", ["Memory binds.", "16 bytes a parameter", "tokens a second", "a micro-batch", "10 µs apiece"])
def test_a_forbidden_word_is_found(text: str) -> None:
    assert faults(text, {}) and not faults(text, {text: "a reason"})


def test_slots_links_headings_and_code_are_not_read() -> None:
    assert faults("## act1.promise\nOur SLO is {{ promise }}. [Go](set:act1?binds=1) `binds`", {}) == []


def test_messages_docstrings_and_comments_of_a_module_are_read_and_names_are_not() -> None:
    source = 'def binds(n):\n    """Memory binds."""\n    return f"{n} tokens " "a second", {"binds": n}  # 10 µs apiece\n'
    assert [fault.partition(" in ")[0] for text in strings(source) for fault in faults(text, {})] == [
        "'binds'",
        "'tokens a second'",
        "'apiece'",
    ]
