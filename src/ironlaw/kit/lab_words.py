"""words.md -> sections with slots. Filling is strict both ways: a slot without a value and a value without a slot are errors.

    ## act1.message
    The microcontroller costs {{ price }}.

A section ends where the next `## id` begins. Everything before the first one is for authors and is not shown.

A section is Markdown. What fills a slot is shown as it stands, whatever is in it: a name from the ledger can be neither a tag nor a link.
Only `prose.Markup` is taken as it is: a dressed figure, a filled section, a text that an author has marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ironlaw.errors import BadRegistry, unknown
from ironlaw.kit.prose import Markup, plain
from ironlaw.slots import BRACES, SLOT

HEADING = re.compile(r"^##[ \t]+([a-z][a-z0-9_.]*)[ \t]*$", re.MULTILINE)


class Words(Mapping[str, str]):
    """The prose of a lab by section. `premises`: slots of the story that every section may use."""

    def __init__(self, sections: Mapping[str, str], premises: Mapping[str, str] | None = None, where: str = "words.md") -> None:
        self.sections, self.where = dict(sections), where
        # a price's $ must not open a formula
        self.premises = {name: text.replace("$", "&#36;") for name, text in (premises or {}).items()}
        self.used: set[str] = set()  # sections that were shown; the check asks for the rest

    def __getitem__(self, name: str) -> str:
        return self.fill(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sections)

    def __len__(self) -> int:
        return len(self.sections)

    def __contains__(self, name: object) -> bool:
        return name in self.sections

    def raw(self, name: str) -> str:
        if name not in self.sections:
            raise unknown(f"section of {self.where}", name, self.sections, f"`## {name}` in {self.where}")
        return self.sections[name]

    def slots(self, name: str) -> set[str]:
        return set(SLOT.findall(self.raw(name)))

    def fill(self, name: str, /, **slots: object) -> Markup:
        """A section with its slots filled: all of them, and with nothing left over."""
        return self.fill_all([name], slots)[name]

    def fill_all(self, names: Iterable[str], slots: Mapping[str, object], optional: Mapping[str, str] | None = None) -> dict[str, Markup]:
        """Several sections from one set of slots: each must be used by at least one of them. `optional` may be used, or not."""
        names = list(names)
        needed = {name: self.slots(name) for name in names}
        given = {**(optional or {}), **slots}
        values = {**self.premises, **{key: value if isinstance(value, Markup) else plain(_text(value)) for key, value in given.items()}}
        for name, needs in needed.items():
            missing = sorted(needs - values.keys())
            if missing:
                raise BadRegistry(f"{self.where} [{name}]: no value for {_list(missing)}; return it from the act, or take the slot out")
        unused = sorted(slots.keys() - set().union(*needed.values()))
        if unused:
            raise BadRegistry(f"{self.where} {_list(names, '[{}]')}: nothing uses {_list(unused)}; write the slot, or don't return it")
        self.used.update(names)
        return {name: Markup(SLOT.sub(lambda match: values[match[1]], self.sections[name])) for name in names}


def load(path: Path, premises: Mapping[str, str] | None = None) -> Words:
    """One words.md, its grammar checked."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise BadRegistry(f"{path.parent.name} has no {path.name}; write one with `## id` sections, as labs/_template has") from None
    where = f"{path.parent.name}/{path.name}"
    sections: dict[str, str] = {}
    headings = list(HEADING.finditer(text))
    for i, heading in enumerate(headings):
        name, end = heading[1], headings[i + 1].start() if i + 1 < len(headings) else len(text)
        if name in sections:
            raise BadRegistry(f"{where}: two sections [{name}]; give one of them another id")
        sections[name] = text[heading.end() : end].strip()
        if BRACES.search(SLOT.sub("", sections[name])):
            raise BadRegistry(f"{where} [{name}]: a slot that can't be read; write {{{{ small_letters }}}} and close it")
    if not sections:
        raise BadRegistry(f"{where} has no sections; begin one with `## id`")
    return Words(sections, premises, where)


def _text(value: object) -> str:
    """A count as it is read: 1,152. What is not a count, such as a year, comes as text."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _list(names: Iterable[str], form: str = "{}") -> str:
    return ", ".join(form.format(name) for name in names)
