"""Words with `{{ slots }}` that code fills, and the figures that were typed where a slot belongs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ironlaw.errors import BadRegistry

SLOT = re.compile(r"\{\{\s*([a-z][a-z0-9_]*)\s*\}\}")
BRACES = re.compile(r"\{\{|\}\}")
# Numbers that are names: parts of a word (H100, FP16, INT8, Cortex-M7), "Lab 07", "batch 1", "PCIe 5", "Llama 3 8B", and what follows a
# hyphen (ResNet-50).
NAMES = re.compile(
    r"\b[Ll]abs? \d+\b|\b[Bb]atch 1\b|\bPCIe \d\b|\bLlama \d(?:\.\d)? \d+B\b|[A-Za-z][\w.]*(?:-\d+\w*)+|\b(?=\w*[A-Za-z])(?!\d)\w+\b"
)
NUMBER = re.compile(r"[$€]?\s?\d+(?:[.,]\d+)*|[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
WORDY = re.compile(
    r"\b(hundreds?|thousands?|millions?|billions?|trillions?|dozens?) (of )?(times|bytes|parameters|kernels|operations|FLOPs?)\b",
    re.IGNORECASE,
)
LATEX = re.compile(r"\$\$.+?\$\$|\$(?!\s)[^$\n]+?(?<!\s)\$", re.DOTALL)
ASIDE = re.compile(r"<!--.*?-->|`[^`]*`|\[[^\]]*\]\([^)]*\)|<[^>]+>|^\s*\d+\.\s|&#?\w+;", re.DOTALL | re.MULTILINE)


def fill(text: str, values: Mapping[str, str], where: str) -> str:
    """A text with its slots filled: all of them, and with no value left over."""
    names = set(SLOT.findall(text))
    if missing := sorted(names - values.keys()):
        raise BadRegistry(f"{where}: no value for the slot {', '.join(missing)}; add it under `slots`, or take the slot out")
    if unused := sorted(values.keys() - names):
        raise BadRegistry(f"{where}: no slot uses {', '.join(unused)}; write {{{{ {unused[0]} }}}}, or take the value out")
    if BRACES.search(SLOT.sub("", text)):
        raise BadRegistry(f"{where}: a slot cannot be read; write {{{{ small_letters }}}} and close it")
    return SLOT.sub(lambda match: values[match[1]], text)


def numbers(text: str) -> list[str]:
    """The numbers of a text that are not part of a name."""
    return [match[0].strip() for match in NUMBER.finditer(NAMES.sub(" ", text))]


def hard_coded_figures(text: str, names: Iterable[str] = ()) -> list[str]:
    """Hard-coded numbers: with a unit, or standing alone as a result. Slots, names and code are not figures."""
    bare = ASIDE.sub(" ", SLOT.sub(" ", text))
    for name in names:  # a device may have a number in its name
        bare = bare.replace(name, " ")
    formulas = " ".join(LATEX.findall(bare))
    # a formula may have its small whole numbers (log_10, 2N); a figure in it has a point or more digits
    figures = numbers(LATEX.sub(" ", bare)) + re.findall(r"\d+\.\d+|\d{3,}", formulas)
    return [*figures, *(match[0] for match in WORDY.finditer(bare))]
