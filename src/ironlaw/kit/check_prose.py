"""The check of a lab's words: no hard-coded figure, no hedges, no premise that nothing uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ironlaw.kit.words import SLOT, Words

HEDGES = re.compile(r"\bsimply\b|!(?!\[)", re.IGNORECASE)
# Numbers that are names: parts of a word (H100, FP16, INT8, Cortex-M7), "Lab 07", "batch 1", and what follows a hyphen (ResNet-50).
NAMES = re.compile(r"\b[Ll]abs? \d+\b|\b[Bb]atch 1\b|[A-Za-z][\w.]*-\d+\w*|\b(?=\w*[A-Za-z])(?!\d)\w+\b")
NUMBER = re.compile(r"[$€]?\s?\d+(?:[.,]\d+)*|[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
WORDY = re.compile(
    r"\b(hundreds?|thousands?|millions?|billions?|trillions?|dozens?) (of )?(times|bytes|parameters|kernels|operations|FLOPs?)\b",
    re.IGNORECASE,
)
LATEX = re.compile(r"\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$", re.DOTALL)
ASIDE = re.compile(r"<!--.*?-->|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]+>|^\s*\d+\.\s|&#?\w+;", re.DOTALL | re.MULTILINE)


def hard_coded_figures(text: str, names: Iterable[str] = ()) -> list[str]:
    """Hard-coded numbers: with a unit, or standing alone as a result. Slots, names and code are not figures."""
    bare = ASIDE.sub(" ", SLOT.sub(" ", text))
    for name in names:  # a device may have a number in its name
        bare = bare.replace(name, " ")
    formulas = " ".join(LATEX.findall(bare))
    figures = [match[0].strip() for match in NUMBER.finditer(NAMES.sub(" ", LATEX.sub(" ", bare)))]
    # a formula may have its small whole numbers (log_10, 2N); a figure in it has a point or more digits
    figures += re.findall(r"\d+\.\d+|\d{3,}", formulas)
    return [*figures, *(match[0] for match in WORDY.finditer(bare))]


def prose(words: Words, names: Iterable[str] = ()) -> Iterator[str]:
    for name, text in words.sections.items():
        where = f"{words.where} [{name}]"
        for figure in hard_coded_figures(text, names):
            yield f"{where}: {figure!r} is hard-coded; write a {{{{ slot }}}} and let the engine or the registry fill it"
        for match in HEDGES.finditer(ASIDE.sub(" ", text)):
            yield f"{where}: {match[0]!r}; say it plainly"
    for name, value in words.premises.items():
        if not any(name in SLOT.findall(text) for text in words.sections.values()):
            yield f"{words.where}: nothing uses [given] {name} = {value!r}; write the slot, or take it out"
