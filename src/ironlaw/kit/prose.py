"""Markdown -> HTML, with the figures and the terms of the Iron Law styled as they are everywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from threading import local

from markdown import Markdown
from markdown.extensions.sane_lists import SaneListExtension
from markdown.extensions.tables import TableExtension

from ironlaw.units import joined, parted, show, show_between, show_capacity, significant, spoken
from ironlaw.units import power_of_ten as raised
from ironlaw.widget.glossary_words import mark
from ironlaw.widget.quantities import THIN, in_one_unit

NARROW = "\u202f"  # a thin space that does not break: the number stays with its unit
ABOUT = "about "  # before a figure with few digits
# after a number that the words spell out
UNIT = re.compile(r"(?<=\d) (?=(?:USD\b|points\b|dB\b|min\b|h\b|(?:[kMGTP]i?|[mµn])?(?:FLOP|OP|Hz|B|s|Wh?|J)\b))")
# and a number with the word after it that says what it counts
COUNT = re.compile(r"(?<=\d) (?=(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|percent|million|billion)\b)")
EQUALS = re.compile(r"(?<=[\w>]) ([=≤≥]) (?=[\w<])")  # "N = 4,096" stays on one line
# a lab, a network, a date, a model: no line ends inside
NAMES = re.compile(r"\b(?:Llama \d(?:\.\d)? \d+B|PCI Express|V2-\d\d|WideResNet-\d+-\d+|\d{4}-\d\d(?:-\d\d)?)\b(?![^<]*>)")
PARAGRAPH = re.compile(r"\A<p>((?:(?!</?p\b).)*)</p>\Z", re.DOTALL)
# A term keeps its colour in sentences too.
TERMS = (("D/BW", "memory"), ("O/R", "compute"), ("<em>L</em>", "overhead"))
# [Double the GPU speed](set:act1?speed=2#gpu): a sentence that turns the dials of an instrument; kit/links.py
SETTING = re.compile(r'<a href="set:([\w.]+)(?:@(\w+))?\?([^"#]*)(?:#([\w-]+))?">(.*?)</a>([.,;:?!]?)', re.DOTALL)
BUTTON = '<button type="button" class="il-set" data-set="{}" data-context="{}" data-dials="{}" data-picture="{}">{}</button>'
ONE_LINE = 32  # characters of such a sentence that a phone has room for
LATEX = re.compile(r"\$\$(.+?)\$\$|\$(?!\s)([^$\n]+?)(?<!\s)\$", re.DOTALL)
RAISED = re.compile('(?<!aria-hidden="true">)(?<![\\w\u202f])10[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+')  # not what `dress` has written already
DISGUISE = 0xE100  # private-use characters, one for each of ASCII
DISGUISED = re.compile("[\ue100-\ue17f]")
OWN = re.compile("[\ue000\ue001\ue100-\ue17f]")  # characters that mean something here, and nothing in a text from elsewhere
SPECIAL = re.compile(r"[<>&\"'`*_\[\]!$|\\]")  # what begins a tag, an entity, emphasis, code, a link, a picture, a formula or a cell
PLACEHOLDER = re.compile("(\\(?)\ue000(\\d+)\ue001([).,;:]*)")  # private-use characters: Markdown reserves the control characters


HELD = re.compile("[\ue000\ue001]")


class Markup(str):
    """HTML, or Markdown of our own: a slot takes it as it is. Any other text is escaped on its way into a slot."""

    __slots__ = ()


def plain(text: str) -> Markup:
    """A text that will be shown as it stands. What means something to Markdown or HTML passes Markdown in disguise, code spans too."""
    return Markup(SPECIAL.sub(lambda match: chr(DISGUISE + ord(match[0])), OWN.sub("", text)))


@lru_cache(maxsize=4096)
def html(markdown: str) -> Markup:
    """HTML of a Markdown text, a passage: terms of the glossary are marked where it uses them first, and no line ends before a unit."""
    return Markup(mark(whole_names(COUNT.sub("\u00a0", UNIT.sub(NARROW, _html(markdown))))))


def whole_names(text: str) -> str:
    return NAMES.sub(r'<span class="il-together">\g<0></span>', text)


class _Own(local):  # of a thread: to make a converter takes as long as to use it
    def __init__(self) -> None:
        self.converter = Markdown(extensions=[TableExtension(), SaneListExtension()])


_own = _Own()


@lru_cache(maxsize=4096)
def _html(markdown: str) -> Markup:
    """Formulas bypass Markdown."""
    formulas: list[str] = []

    def hold(match: re.Match[str]) -> str:
        formulas.append(formula(match))
        return f"\ue000{len(formulas) - 1}\ue001"

    text = _own.converter.reset().convert(LATEX.sub(hold, HELD.sub("", markdown))).strip()
    text = EQUALS.sub("\u00a0\\1\u00a0", SETTING.sub(_button, text))
    text = RAISED.sub(lambda match: _read_out(match[0], spoken(match[0])), text)
    for symbol, term in TERMS:
        text = text.replace(symbol, f'<span class="il-term il-{term}">{symbol}</span>')
    text = PLACEHOLDER.sub(lambda match: _together(match[1], formulas[int(match[2])], match[3]), text)  # `hold` wrote every one of them
    return Markup(DISGUISED.sub(lambda match: escape(chr(ord(match[0]) - DISGUISE)), text))


def _button(match: re.Match[str]) -> str:
    """It never parts from the full stop after it. Where it takes two lines, what follows begins a third, so the stop goes inside."""
    *where, words, stop = (part or "" for part in match.groups())
    if not stop or len(words) > ONE_LINE:
        return BUTTON.format(*where, f"{words}{stop}")
    return f'<span class="il-together">{BUTTON.format(*where, words)}{stop}</span>'


def _together(before: str, formula: str, after: str) -> str:
    """A formula never parts from the bracket before it or the full stop after it."""
    alone = formula.startswith("<span") or not (before or after)
    return f"{before}{formula}{after}" if alone else f'<span class="il-together">{before}{formula}{after}</span>'


def formula(match: re.Match[str]) -> str:
    """MathML of what LATEX has found: a line of its own, or a part of one."""
    from ironlaw.kit.mathml import line, mathml  # here: most of what a page begins with has no formula

    return line(match[1].strip()) if match[1] else mathml(match[2])


def inline(markdown: str) -> Markup:
    """HTML of a line: one paragraph loses its <p>, so that it fits into a button or a heading. There no term is marked."""
    text = _html(markdown)
    match = PARAGRAPH.match(text)
    return Markup(match[1]) if match else text


def amount(value: float, unit: str = "", digits: int = 3, exact: str = "") -> Markup:
    """A figure for a sentence: `3.35 TB/s`, its unit in a lighter tone; hovering gives the exact one."""
    return dress(show(value, unit, digits), exact)


def simulated(value: float, between: tuple[float, float], unit: str = "") -> Markup:
    """A simulated figure for a sentence, with as many digits as its run is sure of: `about 46 ms`, `0.6–1 s`."""
    text = show_between(value, *between, unit)
    figure = text.removeprefix(ABOUT)
    return Markup(f"{ABOUT if figure != text else ''}{dress(figure)}")


def percent(share: float) -> Markup:
    """A share as `amount` writes it: `percent(0.1234)` is 12.3%."""
    return amount(100 * share, "%")


def amounts(values: Sequence[float], unit: str) -> list[Markup]:
    """Figures that are added or compared, all with the prefix of the largest: `16.1 GB`, `0.537 GB`."""
    write = in_one_unit(values, unit)
    return [dress(write(value).replace(THIN, " ")) for value in values]


def times(ratio: float, digits: int = 3) -> Markup:
    """A factor: `98.9×`, `9.89 × 10⁵`; with more digits in full, `163,840×`, where exactness is the point."""
    return dress(show(ratio, "×", digits))


def dress(text: str, exact: str = "") -> Markup:
    title = f' title="{escape(exact)}"' if exact else ""
    words = spoken(text)
    if words != text:
        return Markup(f'<span class="il-num"{title}>{_read_out(text.replace(" ", NARROW), words)}</span>')
    number, unit = parted(text)
    number = f"−{number[1:]}" if number[:1] == "-" else number
    light = f'<span class="il-unit">{joined("", escape(unit), NARROW)}</span>' if unit else ""
    return Markup(f'<span class="il-num"{title}>{escape(number)}{light}</span>')


def _read_out(seen: str, heard: str) -> str:
    """One text for the eye and another for the ear."""
    return f'<span aria-hidden="true">{escape(seen)}</span><span class="il-hearing">{escape(heard)}</span>'


def power_of_ten(value: float) -> str:
    """10² for 100.0; the value itself where it is not a power of ten."""
    text = f"{value:.0e}"
    digit, _, exponent = text.partition("e")
    if float(text) != value or digit != "1":
        return significant(value)
    return raised(int(exponent))


def capacity(value: float) -> str:
    """A memory's size as its maker counts it: `512 KiB`, `80 GiB`."""
    return show_capacity(value)
