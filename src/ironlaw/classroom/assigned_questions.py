"""An assignment's own questions, as an instructor writes them under [[question]], become a lab of their own (ironlaw.kit.asked).

[[question]]
title = "A wider bus"
asks = "By what factor does the H100's memory bandwidth exceed the Raspberry Pi's?"
premises = "Both as in the registry."           # may be left out
key = 'hardware("h100_sxm").bandwidth / hardware("pi5").bandwidth'   # the same expressions as a lab's: engine and registries
scale = "log"                                   # or "linear": the option nearest is right; without it, the one that equals the key
unit = "×"                                      # of a number, behind the computed value
options = [                                     # four
  { id = "e1", value = 10, label = "10×", feedback = "One generation is worth that. Here it is {{ answer }}." },
  …
]
feedback = "…"                                  # for everybody, once the prediction is committed; {{ answer }} is what the key computes
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ironlaw.errors import BadValue, IronlawError, unknown
from ironlaw.kit import prose, question_sheet
from ironlaw.kit.question_sheet import Question
from ironlaw.own_labs import SHEET, SLUG, WORDS
from ironlaw.recall.beliefs import beliefs
from ironlaw.slots import BRACES, SLOT

MOST = 5  # questions; more of them are a lab
LONGEST = 2_000  # characters of a text
NEEDED, OPTIONAL = ("title", "asks", "key", "options", "feedback"), ("premises", "scale", "unit")
OF_OPTION = ("id", "value", "label", "feedback", "misconception")
ID = re.compile(r"[a-z][a-z0-9_]{0,30}")
ROMAN = ("I", "II", "III", "IV", "V")
LARGEST = 1e300  # a value; no quantity of a registry comes near
MINUTES = 3  # each
CODE = re.compile(r"(`+)[^`]+\1")
TAG = re.compile(r"<(?!https?://)[a-zA-Z/!?][^>\n]{0,30}>?")
PICTURE = re.compile(r"!\[[^\]\n]*\][(\[]")
LINK = re.compile(r"\]\(\s*(?!https?://|mailto:|/|#)([^)\s]{1,40})|^ {0,3}\[[^\]\n]+\]:\s*(?!https?://|mailto:)(\S{1,40})", re.MULTILINE)
EXAMPLE = "the head of ironlaw/classroom/assigned_questions.py and docs/class.md have one"


@dataclass(frozen=True)
class Questions:
    """The lab's name in the ledger, its two files, and how many questions there are, one act for each."""

    slug: str
    sheet: str
    words: str
    acts: int

    def data(self) -> dict[str, Any]:
        return {"slug": self.slug, "acts": self.acts, SHEET: self.sheet, WORDS: self.words}


def from_data(data: Any) -> Questions:
    """What `data` gave. ValueError, KeyError or TypeError where it is something else."""
    one = Questions(data["slug"], data[SHEET], data[WORDS], data["acts"])
    if not (SLUG.fullmatch(one.slug) and isinstance(one.sheet, str) and isinstance(one.words, str) and one.acts in range(1, MOST + 1)):
        raise ValueError(one.slug)
    return one


def written(listed: Any, title: str, where: str) -> Questions:
    """What stands under [[question]]; BadValue says what is wrong, and where."""
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed) or not 1 <= len(listed) <= MOST:
        raise BadValue(f"{where}: an assignment has one to {MOST} [[question]] tables; what is longer is a lab (docs/write-a-lab.md)")
    _text(title, f"{where}: the title")
    if BRACES.search(title):
        raise BadValue(f"{where}: the title has braces; take them out")
    slug = _slug(title)
    places = ", ".join([*(f'"act{number}.lock"' for number in range(1, len(listed) + 1)), '"end"'])
    sheet = [f'[lab]\nname = "Questions"\nnumber = 0\nminutes = {MINUTES * len(listed)}\nplaces = [{places}]']
    sheet.append(f"[[context]]\ndata = {_toml(slug)}\nlabel = {_toml(title)}")
    words = {
        "title": title, "teaches": "Questions from your instructor.", "sender": "Your instructor", "context": "Which one?",
        "sentence": "Your instructor's own questions: predict first, then see what the engine computes.",
        "read_first": "Nothing beyond the labs that you were asked to do.",
    }  # fmt: skip
    for number, table in enumerate(listed, 1):
        at = f"{where}, question {number}"
        _check(table, at)
        sheet.append(_sheet(f"act{number}", table))
        words |= _words(f"act{number}", ROMAN[number - 1], table, at)
    texts = "\n\n".join(f"## {name}\n{text}" for name, text in words.items()) + "\n"
    return Questions(slug, "\n\n".join(sheet) + "\n", texts, len(listed))


def _slug(title: str) -> str:
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    subject = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:40].strip("_")
    return f"asked_{subject or sha256(title.encode()).hexdigest()[:12]}"


def _check(table: Mapping[str, Any], at: str) -> None:
    if more := sorted(table.keys() - {*NEEDED, *OPTIONAL}):
        raise BadValue(f"{at}: unknown key {', '.join(more)}; a question takes {', '.join((*NEEDED, *OPTIONAL))}")
    if missing := [name for name in NEEDED if name not in table]:
        raise BadValue(f"{at}: it has no {', '.join(missing)}; add it ({EXAMPLE})")
    for name in ("title", "asks", "key", "feedback", *(name for name in OPTIONAL if name in table)):
        _text(table[name], f"{at}: its {name}")
    if "\n" in table["title"] or BRACES.search(table["title"] + table["asks"] + table.get("premises", "")):
        raise BadValue(
            f"{at}: its title is one line, and the answer may not stand before the commit; keep {{{{ answer }}}} for the feedback"
        )
    if table.get("scale", "log") not in ("log", "linear"):
        raise BadValue(f'{at}: scale = {table["scale"]!r}; write "log", "linear", or leave it out where the options are not numbers')
    options = table["options"]
    if not isinstance(options, list) or len(options) != question_sheet.CHOICES or not all(isinstance(one, dict) for one in options):
        raise BadValue(f"{at}: a question has {question_sheet.CHOICES} options; write options = [{{ id = …, value = …, label = … }}, …]")
    for number, option in enumerate(options, 1):
        _option(option, f"{at}, option {number}", "scale" in table)
    for name in ("id", "value", "label"):
        if len({str(option[name]) for option in options}) != len(options):
            raise BadValue(f"{at}: two options have the same {name}; give each one of its own")
    _key(table, at)


def _option(option: Mapping[str, Any], at: str, is_number: bool) -> None:
    if more := sorted(option.keys() - set(OF_OPTION)):
        raise BadValue(f"{at}: unknown key {', '.join(more)}; an option takes {', '.join(OF_OPTION)}")
    if missing := [name for name in OF_OPTION[:3] if name not in option]:
        raise BadValue(f"{at}: it has no {', '.join(missing)}; add it")
    if not isinstance(option["id"], str) or not ID.fullmatch(option["id"]):
        raise BadValue(f"{at}: id = {option['id']!r}; write small letters, digits and underscores, and keep it: ledgers store it")
    for name in ("label", *(name for name in OF_OPTION[3:] if name in option)):
        _text(option[name], f"{at}: its {name}")
    if (belief := option.get("misconception", "")) and belief not in beliefs():
        raise BadValue(f"{at}: {unknown('misconception', belief, beliefs())}; they are in labs/misconceptions.toml")
    value = option["value"]
    is_figure = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LARGEST
    if is_number and not (is_figure and value > 0):
        raise BadValue(f"{at}: value = {value!r}; with a scale, each option's value is a number above 0")
    if not is_figure and not (isinstance(value, str) and value):
        raise BadValue(f"{at}: value = {value!r}; write what the key gives where this option is right: a number or a text")


def _text(text: Any, what: str) -> None:
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST:
        raise BadValue(f"{what} has to be text of at most {LONGEST:,} characters")
    if not all(character.isprintable() or character == "\n" for character in text):
        raise BadValue(f"{what} has a character that can't be shown; take it out")
    if re.search(r"^##[ \t]", text, re.MULTILINE):
        raise BadValue(f"{what} has a line that begins with ##, which begins a section; write bold text instead")
    if {match[1] for match in SLOT.finditer(text)} - {"answer"} or BRACES.search(SLOT.sub("", text)):
        raise BadValue(
            f"{what} has braces that can't be filled; the only slot is {{{{ answer }}}}, and a formula needs a space between two braces"
        )
    _shown(text, what)


def _shown(text: str, what: str) -> None:
    """Checks the text as learners will see it: every formula must be readable, and no markup may be in it that our pages don't show."""
    try:
        prose.html(SLOT.sub("1", text))
    except IronlawError as error:
        raise BadValue(f"{what}: {error}") from None
    words = prose.LATEX.sub("", CODE.sub("", text))
    if tag := TAG.search(words):
        raise BadValue(f"{what} has the tag {tag[0]}; texts are Markdown, so write **bold** or *italic*, or put it between backticks")
    if PICTURE.search(words):
        raise BadValue(f"{what} has a picture, and a page of the labs loads none; link to it: [words](https://…)")
    if link := LINK.search(words):
        raise BadValue(f"{what} has a link to {link[1] or link[2]}; write the whole address, from https:// on")


def _key(table: Mapping[str, Any], at: str) -> None:
    """Computed here and now: one option is right, or nobody gets to see the question."""
    if question_sheet.is_hard_coded(table["key"]):
        raise BadValue(f"{at}: its key calls nothing, so the answer is typed in; write an expression that computes it, as labs do")
    options = tuple(question_sheet.Option(one["id"], one["value"], one["label"]) for one in table["options"])
    question = Question("key", "prediction", table["key"], options, table.get("scale", ""), at)
    try:
        if "scale" in table and not (isinstance(question.answer, (int, float)) and question.answer > 0):
            raise BadValue(f"{at}: its key gives {question.answer!r}; with a scale it has to be a number above 0")
        question.right  # noqa: B018 - it raises where none is
    except BadValue:
        raise
    except IronlawError as error:
        raise BadValue(str(error)) from None


def _sheet(name: str, table: Mapping[str, Any]) -> str:
    fields = {"kind": "prediction", **{key: table[key] for key in ("scale", "unit", "key") if key in table}}
    lines = [f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in fields.items()), "options = ["]
    for option in table["options"]:
        held = ", ".join(f"{key} = {_toml(option[key])}" for key in ("id", "value", "label", "misconception") if key in option)
        lines.append(f"  {{ {held} }},")
    return "\n".join([*lines, "]"])


def _words(name: str, number: str, table: Mapping[str, Any], at: str) -> dict[str, str]:
    own = {f"{name}.feedback.{one['id']}": one["feedback"] for one in table["options"] if "feedback" in one}
    texts = {f"{name}.title": f"Question {number}: {table['title']}", f"{name}.question": table["asks"]}
    return {**texts, f"{name}.premises": table.get("premises", " "), **own, f"{name}.reveal": table["feedback"]}


def _toml(value: str | float) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def total(questions: Questions | None) -> Sequence[int]:
    """The acts of these questions, counted from 1."""
    return range(1, questions.acts + 1) if questions else ()
