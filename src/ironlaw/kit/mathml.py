"""LaTeX -> MathML, which browsers draw themselves: no script, the same on every page, and read aloud as a formula.

mathml(r"\\frac{D}{BW}")    '<math …><mfrac>…</mfrac></math>'
"""

from __future__ import annotations

import re
from functools import lru_cache
from xml.etree import ElementTree

from ironlaw.errors import BadRegistry

CHILDREN = {"mfrac": 2, "msub": 2, "msup": 2, "msubsup": 3, "munder": 2, "mover": 2, "munderover": 3, "mroot": 2}
NAMED = re.compile(r"<m[io]>(\w{2,})</m[io]>")  # max, log: upright, and without the space of an operator
TIGHT = re.compile(r"<mo(?: stretchy=\"false\")?>(&#x000(?:2F|7C);)</mo>")  # a slash and the bars of a size stand close
HALF = re.compile(r"<mi>(&#x0230[89AB];)</mi>")  # the next whole number is a pair of brackets, not a name
WIDE = r"\qquad"  # between formulas that share a line where there is room
NAMESPACE = re.compile(r"\{.*\}")


@lru_cache(maxsize=512)
def mathml(latex: str, block: bool = False) -> str:
    """A formula as an element <math>; BadRegistry where it cannot be read."""
    # read here because its table of symbols takes longer than a lab without formulas should wait
    from latex2mathml.converter import convert

    try:
        text = NAMED.sub(r'<mi mathvariant="normal">\1</mi>', convert(latex, display="block" if block else "inline"))
        text = TIGHT.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', text)
        text = HALF.sub(r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', text)
        tree = ElementTree.fromstring(text)
    except Exception as error:  # the library has a class for each mistake, and a bare < or & is one of XML's
        raise _unreadable(latex, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).lower()) from None
    for element in tree.iter():
        name, words = NAMESPACE.sub("", element.tag), element.text or ""
        if len(element) != CHILDREN.get(name, len(element)):
            raise _unreadable(latex, f"a part of a fraction or an index is missing ({name})")
        if fault := re.search(r"\\\w*|[{}&]", words):
            raise _unreadable(latex, f"{fault[0]} is not understood")
    return text


def line(latex: str) -> str:
    """A line of its own: formulas with a wide space between them come under each other on a phone."""
    parts = latex.split(WIDE)
    if any(part.count("{") != part.count("}") for part in parts):
        parts = [latex]
    return f'<span class="il-formulas">{"".join(mathml(part.strip(), block=True) for part in parts)}</span>'


def _unreadable(latex: str, why: str) -> BadRegistry:
    return BadRegistry(f"the formula ${latex}$ cannot be read: {why}; write the LaTeX of a formula, with every brace closed")
