"""The check of a lab's words: no hard-coded figure, no hedges, no formula that cannot be read, no premise that nothing uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ironlaw.errors import BadRegistry
from ironlaw.kit.lab_words import Words
from ironlaw.kit.prose import LATEX, formula
from ironlaw.slots import ASIDE, SLOT, hard_coded_figures

HEDGES = re.compile(r"\bsimply\b|!(?!\[)", re.IGNORECASE)


def prose(words: Words, names: Iterable[str] = ()) -> Iterator[str]:
    for name, text in words.sections.items():
        where = f"{words.where} [{name}]"
        for figure in hard_coded_figures(text, names):
            yield (
                f"{where}: {figure!r} is hard-coded; write a {{{{ slot }}}} and let the engine or the registry fill it"
                " ([given] of questions.toml fills a model's name or a premise of the story)"
            )
        for match in LATEX.finditer(SLOT.sub(" x ", text)):
            try:
                formula(match)
            except BadRegistry as error:
                yield f"{where}: {error}"
        for match in HEDGES.finditer(ASIDE.sub(" ", text)):
            yield f"{where}: {match[0]!r}; say it plainly"
    for name, value in words.premises.items():
        if not any(name in SLOT.findall(text) for text in words.sections.values()):
            yield f"{words.where}: nothing uses [given] {name} = {value!r}; write the slot, or take it out"
