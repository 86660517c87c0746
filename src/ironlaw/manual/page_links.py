"""The links of the Markdown sources: followed on disk for the check, turned for the pages, where every source lies in one folder.

[setup](docs/setup.md) in README.md    ->  [setup](setup.md) in index.md
[it](../src/ironlaw/units.py)          ->  it: a page has no file of the repository beside it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

FENCE = re.compile(r"^```.*?^```[^\n]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
OUTSIDE = re.compile(r"[a-z][a-z+.-]*:")  # https:, mailto:, and set:, which only a lab understands


def turn(text: str, page: Path, places: Callable[[Path], str | None]) -> str:
    """A source for the pages. `places(file)` is where a file lies among them, or None if it doesn't; its link is then only its words."""

    def one(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        picture, words, target = match["picture"], match["words"], match["target"]
        path, mark, part = target.partition("#")
        if OUTSIDE.match(target) or not path:
            return match[0]
        place = places((page.parent / path).resolve())
        return f"{picture}[{words}]({place}{mark}{part})" if place else words

    code = rf"(?P<code>{FENCE.pattern}|{CODE.pattern})"
    link = LINK.pattern.replace("(!?)", "(?P<picture>!?)", 1).replace("((?:", "(?P<words>(?:", 1).replace("([^)", "(?P<target>[^)", 1)
    return re.sub(f"{code}|{link}", one, text, flags=re.MULTILINE | re.DOTALL)


def broken(page: Path) -> Iterator[str]:
    """What a page links to and is not there: a file, or a heading of one."""
    text = CODE.sub("", FENCE.sub("", page.read_text(encoding="utf-8")))
    for _, words, target in LINK.findall(text):
        path, _, part = target.partition("#")
        if OUTSIDE.match(target):
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{page.name}: [{words}]({target}): there is no {path}"
        elif part and file.suffix == ".md" and part not in anchors(file.read_text(encoding="utf-8")):
            yield f"{page.name}: [{words}]({target}): {file.name} has no heading '{part}'"


def anchors(text: str) -> set[str]:
    """The ids of a page's headings, as GitHub and Python-Markdown make them."""
    return {slug(heading) for heading in HEADING.findall(FENCE.sub("", text))}


def slug(heading: str) -> str:
    plain = re.sub(r"[^\w\s-]", "", LINK.sub(r"\2", heading).replace("`", "")).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)
