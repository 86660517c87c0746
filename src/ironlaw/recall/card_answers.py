"""A typed answer -> a number in SI: `read("3,5 microseconds", "s") -> (3.5e-6,)`.

Decimal points and commas, thousands separators and the ordinary spellings of units are understood. A comma before exactly three
digits can mean either (`1,024`): then both readings are returned, thousands first.
"""

from __future__ import annotations

import math
import re

from ironlaw.errors import BadValue
from ironlaw.recall.card_words import SYMBOLS, UNIT_OPTIONAL, expected_input, plural
from ironlaw.units import UNITS, parse

GAP = "[ \u00a0\u2009\u202f'’_]"  # between groups of three digits
DIGITS = rf"(?:\d{{1,3}}(?:{GAP}\d{{3}})+|\d+)"
NUMBER = re.compile(
    rf"^\s*(?:~|≈|=|about |ca\.? |roughly )?\s*(?P<sign>[+-]?)\s*(?P<number>(?:{DIGITS}|(?=[.,]\d))(?:[.,]\d+)*[.,]?)"
    r"\s*(?:[eE](?P<exponent>[+-]?\d+)(?![a-z])|[x×·*]\s*10\s*(?:\^|\*\*)\s*(?P<power>[+-]?\d+))?\s*(?P<unit>.*?)\s*\.?\s*$"
)
SCALES = {
    "thousand": 1e3, "million": 1e6, "millions": 1e6, "mio": 1e6, "mn": 1e6, "billion": 1e9, "billions": 1e9, "bn": 1e9,
    "trillion": 1e12,
}  # fmt: skip
LETTERS = {"k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9}  # of a count: 25.6M
PREFIXES = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P", "kibi": "Ki", "mebi": "Mi", "gibi": "Gi", "tebi": "Ti"}
SMALL = {"milli": "m", "micro": "u", "nano": "n", "pico": "p"}
TIMES = {
    "s": "s", "sec": "s", "secs": "s", "second": "s", "seconds": "s", "min": "min", "mins": "min", "minute": "min",
    "minutes": "min", "h": "h", "hr": "h", "hrs": "h", "hour": "h", "hours": "h", "d": "d", "day": "d", "days": "d",
}  # fmt: skip
OTHER_NAMES = {
    "%": ("percent", "per cent", "pct", "percents"), "×": ("x", "X", "times", "fold", "-fold", "*"),
    "t": ("tonne", "tonnes", "ton", "tons"), "g/kWh": ("g", "gram", "grams", "g per kWh", "grams per kWh"),
}  # fmt: skip


def read(text: str, unit: str) -> tuple[float, ...]:
    """The readings of an answer in SI, the likelier first. BadValue says what to type."""
    match = NUMBER.match(text.replace("−", "-").replace("–", "-"))
    if match is None:
        if unit == "×" and re.match(r"\s*[x×]\s*\d", text):
            return read(text.strip()[1:], unit)
        raise BadValue(f"{text.strip()!r} is not a number; type {expected_input(unit)}")
    scale = _scale(match["unit"], unit, text.strip())
    exponent = int(match["exponent"] or match["power"] or 0)
    numbers = (float(f"{match['sign']}{number}e{exponent}") for number in _numbers(match["number"]))
    # by a power of ten rather than by its inexact inverse: 10 us is 1e-05
    values = tuple(number * scale if scale >= 1 else number / round(1 / scale) for number in numbers)
    if not all(map(math.isfinite, values)):
        raise BadValue(f"{text.strip()!r} is not a finite number; type {expected_input(unit)}")
    return values


def _numbers(digits: str) -> list[str]:
    """What the digits can mean: `1,024` is 1024 or 1.024; `3,5` is 3.5; `1.024,5` is 1024.5."""
    digits = re.sub(GAP, "", digits).rstrip(".,")
    points, commas = digits.count("."), digits.count(",")
    if points and commas:  # the last one is the decimal sign
        decimal = "," if digits.rfind(",") > digits.rfind(".") else "."
        return [digits.replace("." if decimal == "," else ",", "").replace(",", ".")]
    if points > 1 or commas > 1:
        return [digits.replace(".", "").replace(",", "")]
    if not commas:
        return [digits]
    grouped = re.fullmatch(r"[1-9]\d{0,2},\d{3}", digits)
    decimal = digits.replace(",", ".")
    return [digits.replace(",", ""), decimal] if grouped else [decimal]


def _scale(typed: str, unit: str, text: str) -> float:
    """What one of the typed unit is in the answer's."""
    word, _, rest = typed.partition(" ")
    scale = SCALES.get(word.lower(), 1.0)
    typed = rest.strip() if word.lower() in SCALES else typed
    if unit in UNITS:
        if not typed:
            if unit in UNIT_OPTIONAL or (scale != 1.0 and unit == "FLOP"):
                return scale
            raise BadValue(f"{text!r} has no unit; type {expected_input(unit)}")
        try:
            stored = UNITS[unit][0]
            return scale * parse(f"1 {spelled(typed, stored)}", stored)
        except BadValue:
            raise BadValue(f"{typed!r} in {text!r} is not a unit of this answer; type {expected_input(unit)}") from None
    if unit not in SYMBOLS and typed[:1] in LETTERS and (len(typed) == 1 or typed[1] == " "):
        scale, typed = LETTERS[typed[0]], typed[1:].strip()
    if typed.lower() in _names(unit):
        return scale
    raise BadValue(f"{typed!r} is not a unit of this answer; type {expected_input(unit)}")


def _names(unit: str) -> set[str]:
    """How a plain unit may be written: `kernel`, `kernels`; `%`, `percent`; nothing at all."""
    if unit in SYMBOLS:
        return {"", unit.lower(), *(name.lower() for name in OTHER_NAMES[unit])}
    names = {
        unit,
        plural(unit),
        unit.partition(" of ")[0],
        plural(unit).partition(" of ")[0],
        unit.rsplit(" ", maxsplit=1)[-1],
        plural(unit).split(" ")[-1],
    }
    return {"", *(name.lower() for name in names)} if unit else {""}


def spelled(typed: str, unit: str) -> str:
    """The unit as `ironlaw.units` spells it: `microseconds` -> `us`, `TFLOPS` -> `TFLOP/s`, `gb per second` -> `GB/s`."""
    text = re.sub(r"\s*\bper\b\s*", "/", typed.strip()).replace("·s^-1", "/s").replace(" s^-1", "/s").replace(" ", "")
    head, slash, below = text.partition("/")
    if unit == "s":
        return _time(head) if not slash else text
    if unit in ("B/s", "FLOP/s") and not slash and re.search(r"(?i)(b|byte|flop|op)ps$", head):
        head, slash, below = head[:-2], "/", "s"  # GBps, Gflopps
    if unit == "FLOP/s" and not slash and re.search(r"(?i)ops$", head):
        head, slash, below = head[:-1], "/", "s"  # TFLOPS, TOPS
    if below.lower() in TIMES:
        below = TIMES[below.lower()]
    if below.lower() in ("b", "byte", "bytes"):
        below = "B"
    return _size(head) + slash + below


def _time(word: str) -> str:
    low = word.lower().replace("μ", "µ")
    for name, prefix in SMALL.items():
        if low.startswith(name) and low[len(name) :] in TIMES:
            return prefix + "s"
    if low in TIMES:
        return TIMES[low]
    prefix, rest = low[:1], low[1:]
    return {"µ": "u"}.get(prefix, prefix) + "s" if prefix in "mµunp" and TIMES.get(rest) == "s" else word


def _size(word: str) -> str:
    """Bytes and operations with their prefixes. A lone small b, as in `Gb`, stays: it would be bits."""
    low = word.lower()
    for name, prefix in PREFIXES.items():
        if low.startswith(name):
            return prefix + _base(low[len(name) :])
    base = re.search(r"(?i)(bytes?|flops?|operations?|ops?|b)$", word)
    if base is None:
        return word
    prefix = word[: base.start()]
    if base[0] == "b" and prefix and prefix not in ("k", *"mgtp", "ki", "mi", "gi", "ti"):
        return word
    fixed = {"m": "M", "g": "G", "t": "T", "p": "P", "ki": "Ki", "mi": "Mi", "gi": "Gi", "ti": "Ti"}.get(prefix, prefix)
    return fixed + _base(base[0].lower())


def _base(name: str) -> str:
    return {
        "b": "B",
        "byte": "B",
        "bytes": "B",
        "flop": "FLOP",
        "flops": "FLOP",
        "op": "FLOP",
        "ops": "FLOP",
        "operation": "FLOP",
        "operations": "FLOP",
    }.get(name, name)
