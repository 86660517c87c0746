"""The terms of the glossary in HTML: the first time that a passage uses one, it is marked, and its explanation opens on hover, tap and
focus (js/glossary.js). Never inside what is pressed, in headings, code, formulas or figures. The passage's first word is a Tab stop, and
the arrow keys lead from it to the others.

    mark("<p>One kernel, then another kernel.</p>")    only the first is marked
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from html import escape, unescape

from ironlaw.claims.glossary import terms

TAG = re.compile(r"(<[^>]*>)")
NAME = re.compile(r"</?([a-zA-Z][\w-]*)")
MARKED = re.compile(r'<dfn class="il-gloss" tabindex="(?:0|-1)" data-term="(\w+)">')
VOID = frozenset({"br", "hr", "img", "input", "wbr", "link", "meta", "col"})
SKIP = frozenset({
    "a", "button", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "summary", "label", "legend", "select", "option", "textarea", "th",
    "svg", "script", "style", "dfn", "math",
})  # fmt: skip
KEPT = ("il-num", "il-term", "il-piece")  # classes: a dressed figure, a term of the Iron Law, a widget
LINK = re.compile(r",? ?https?://[^\s,]+")


@lru_cache(maxsize=1024)
def mark(html: str, skip: tuple[str, ...] = (), groups: tuple[str, ...] | None = None) -> str:
    """A passage of HTML with its terms marked, each once. `skip`: further elements to leave alone; `groups`: those alone."""
    pattern, owners = _pattern()
    wanted = {name for name, term in terms().items() if groups is None or term.group in groups}
    seen: set[str] = set()
    has_stop = MARKED.search(html) is not None
    held: list[bool] = []  # for each open element, whether nothing inside it is marked

    def term(match: re.Match[str]) -> str:
        name = owners[_normal(unescape(match["plain"]))]
        if name in seen or name not in wanted:
            return match[0]
        stop = -1 if seen or has_stop else 0
        seen.add(name)
        return f'<dfn class="il-gloss" tabindex="{stop}" data-term="{name}">{match[0]}</dfn>'

    parts = []
    for part in TAG.split(html):
        if part.startswith("<"):
            _nest(part, held, skip)
        parts.append(part if part.startswith("<") or any(held) else pattern.sub(term, part))
    return "".join(parts)


def mark_text(text: str, groups: tuple[str, ...] | None = None) -> str:
    """A plain text as HTML, its terms marked."""
    return mark(escape(text), groups=groups)


def marked(html: str) -> list[str]:
    """The terms that are marked in a page, each once."""
    return list(dict.fromkeys(MARKED.findall(html)))


def explanations(names: Iterable[str] | None = None) -> dict[str, dict[str, str]]:
    """What a page needs to explain these terms, or all of them: a sentence, and a figure with its source."""
    return {
        name: {
            "name": terms()[name].name, "says": terms()[name].says, "label": terms()[name].figure.label,
            "value": terms()[name].figure.value, "source": LINK.sub("", terms()[name].figure.source),
        }
        for name in (terms() if names is None else names)
    }  # fmt: skip


def _nest(tag: str, held: list[bool], skip: tuple[str, ...]) -> None:
    """Follow the elements: `held` grows with each that opens."""
    match = NAME.match(tag)
    if match is None:  # a comment
        return
    name = match[1].lower()
    if tag.startswith("</"):
        if held:
            held.pop()
    elif name not in VOID and not tag.endswith("/>"):
        held.append(name in SKIP or name in skip or any(kept in tag for kept in KEPT))


def _normal(text: str) -> str:
    return text[:1].lower() + text[1:]


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, str]]:
    """All spellings, the longest first, as whole words; and which term each belongs to. The text between tags is escaped HTML."""
    owners = {_normal(spelling): name for name, term in terms().items() for spelling in term.spellings}
    spellings = sorted((spelling for term in terms().values() for spelling in term.spellings), key=len, reverse=True)
    words = "|".join(f"[{s[0].lower()}{s[0].upper()}]{re.escape(escape(s[1:]))}" if s[1:].islower() else re.escape(s) for s in spellings)
    return re.compile(rf"(?<![\w/.&-])(?P<plain>{words})(?:e?s)?(?![\w/-]|\.\d)"), owners
