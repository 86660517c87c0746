"""The one place with prefixes: `parse("3.35 TB/s") -> 3.35e12`, `show(3.35e12, "B/s") -> "3.35 TB/s"`.

SI floats inside: bytes, FLOP, seconds, watts, hertz. GB is 10**9 and GiB 2**30.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache

from ironlaw.errors import BadValue

DECIMAL = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
SMALL = {"": 1.0, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "n": 1e-9, "p": 1e-12}
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
LARGE, TINY = 1e4, 1e-3  # a ratio from here on, or under that, is written as a power of ten
SIGNS = ("%", "×")  # written right after their number: 24%, 4×
LONG_TIMES = {"min": 60.0, "h": 3600.0, "d": 86400.0}

# unit as written -> (unit it is stored in, prefixes that may precede it)
UNITS: dict[str, tuple[str, dict[str, float]]] = {
    "B": ("B", DECIMAL | BINARY),
    "B/s": ("B/s", DECIMAL | BINARY),
    "FLOP": ("FLOP", DECIMAL),
    "OP": ("FLOP", DECIMAL),
    "FLOP/s": ("FLOP/s", DECIMAL),
    "FLOPS": ("FLOP/s", DECIMAL),
    "OP/s": ("FLOP/s", DECIMAL),
    "OPS": ("FLOP/s", DECIMAL),
    "FLOP/B": ("FLOP/B", DECIMAL),
    "OP/B": ("FLOP/B", DECIMAL),
    "s": ("s", SMALL),
    "W": ("W", SMALL | DECIMAL),
    "J": ("J", SMALL | DECIMAL),
    "Hz": ("Hz", DECIMAL),
    "USD": ("USD", {"": 1.0}),
}
LONGEST = 100  # characters of a figure: the pattern takes the cube of its length where it does not fit
_TEXT = re.compile(r"^\s*([+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)\s*$")


def _scale(unit: str) -> tuple[str, float] | None:
    """`"TB/s"` -> `("B/s", 1e12)`; None for an unknown unit."""
    if unit in LONG_TIMES:
        return "s", LONG_TIMES[unit]
    for base in sorted(UNITS, key=len, reverse=True):
        if unit.endswith(base):
            base_unit, prefixes = UNITS[base]
            factor = prefixes.get(unit[: -len(base)])
            if factor is not None:
                return base_unit, factor
    return None


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:  # a whole number with hundreds of digits
        return math.inf


def parse(text: str | float, unit: str | None = None) -> float:
    """A figure in SI. `unit` is what it must be (`"B/s"`); a bare number is taken to be in that unit."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        value, written = _float(text), ""
    else:
        match = _TEXT.match(str(text)) if len(str(text)) <= LONGEST else None
        if match is None:
            raise BadValue(f"cannot read {text!r:.200} as a figure; write a number and a unit, such as '3.35 TB/s' or '10 us'")
        value, written = float(match[1].replace(",", "").replace("_", "")), match[2]
    if not math.isfinite(value):
        raise BadValue(f"{text!r:.80} is not a finite number; give a finite one")
    if not written:
        if unit is None and not isinstance(text, (int, float)):
            raise BadValue(f"{text!r} has no unit; write one of {', '.join(UNITS)} after it, optionally with a prefix")
        return value
    scale = _scale(written)
    if scale is None:
        raise BadValue(
            f"unknown unit {written!r} in {text!r}; units are {', '.join(UNITS)} with prefixes like k, M, G, T, Ki, Mi, Gi, m, u, n"
        )
    base_unit, factor = scale
    if unit is not None and base_unit != unit:
        raise BadValue(f"{text!r} is in {base_unit}, but {unit} is expected here; give a figure in {unit}")
    # divide by a power of ten rather than multiply by its inexact inverse: 10 us is 1e-05, not 9.999…e-06
    return value * factor if factor >= 1 else value / round(1 / factor)


def show(value: float, unit: str = "", digits: int = 3) -> str:
    """A figure to read: three significant digits and the prefix that keeps the number between 1 and 1000."""
    value = float(value)
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "never" if unit == "s" else "∞" if value > 0 else "-∞"
    if unit == "×":
        return _show_ratio(value, digits)
    if unit == "s" and abs(value) >= 120:
        return _show_long(value, digits)
    if unit and unit != "%" and unit not in UNITS and 0 < abs(value) < TINY:
        exponent = math.floor(math.log10(float(f"{abs(value):.{digits - 1}e}")))
        return f"{significant(value / 10.0**exponent, digits)} × {power_of_ten(exponent)} {unit}"
    steps = _steps(unit)
    prefix, factor = steps[0]
    if value == 0:
        prefix, factor = "", 1.0
    for p, f in steps:
        if abs(value) >= f * (1 - 0.5 * 10.0**-digits):
            prefix, factor = p, f
    return joined(significant(value / factor, digits), prefix + unit)


def show_between(value: float, low: float, high: float, unit: str = "") -> str:
    """A simulated figure with as many digits as its run is sure of: `46.4 ms`, `about 46 ms`; where not even one is, `0.6–1 s`."""
    if not math.isfinite(value) or not value:
        return show(value, unit)
    off = max(value - low, high - value)
    digits = next((digits for digits in (3, 2, 1) if off <= _last_place(value, digits)), 0)
    if digits == 3:
        return show(value, unit)
    if digits == 2 or (digits and _last_place(value, 1) <= 2 * off):  # one digit may say less than is known
        return f"about {show(value, unit, digits)}"
    digits = next(digits for digits in (1, 2, 3) if _last_place(high, digits) <= (high - low) / 2 or digits == 3)
    number, name = parted(show(high, unit, digits))
    factor = parse(f"1 {name}") if unit in UNITS else 1.0
    return joined(f"{significant(low / factor, digits)}–{number}", name)


def _last_place(value: float, digits: int) -> float:
    """What the last of so many digits stands for."""
    return float(10.0 ** (math.floor(math.log10(abs(value))) - digits + 1))


def joined(number: str, unit: str, gap: str = " ") -> str:
    """A number with its unit: `60 ms` and `2 million ×` with a gap, `24%` and `4×` without."""
    close = not unit or (unit in SIGNS and not number[-1:].isalpha())
    return f"{number}{'' if close else gap}{unit}"


def parted(text: str) -> tuple[str, str]:
    """A figure as `show` writes it, in two: `60 ms` -> `("60", "ms")`, `24%` -> `("24", "%")`, `7` -> `("7", "")`."""
    number, _, unit = text.partition(" ")
    return (number[:-1], number[-1]) if not unit and number.endswith(SIGNS) else (number, unit)


@cache
def _steps(unit: str) -> list[tuple[str, float]]:
    """The prefixes that a figure may be shown with, the smallest first."""
    if unit not in UNITS and unit != "":
        return [("", 1.0)]
    prefixes = UNITS[unit][1] if unit in UNITS else DECIMAL
    steps = [(p, f) for p, f in prefixes.items() if p not in BINARY and p not in ("K", "u", "μ")]
    return sorted(((p, f) for p, f in steps if unit != "s" or f <= 1.0), key=lambda step: step[1])


def power_of_ten(exponent: int) -> str:
    """`10⁶`."""
    return f"10{str(exponent).translate(SUPERSCRIPT)}"


def _show_ratio(ratio: float, digits: int) -> str:
    """`98.9×`, `9.89 × 10⁵`, `4.88 × 10⁻⁴`; in full, `989,000×`, where so many digits are asked for that they reach."""
    size = abs(float(f"{ratio:.{digits - 1}e}"))
    if size == 0 or TINY <= size < max(LARGE, 10.0**digits if digits > 3 else 0.0):
        return f"{significant(ratio, digits)}×"
    exponent = math.floor(math.log10(size))
    return f"{significant(ratio / 10.0**exponent, digits)} × {power_of_ten(exponent)}"


_POWER = re.compile("(\\d) × 10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)|10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_PLAIN = {raised: plain for plain, raised in SUPERSCRIPT.items()}


def spoken(text: str) -> str:
    """A text as it is read out: `9.89 × 10⁵` is "9.89 times 10 to the power of 5". Raised digits alone are passed over or misread."""

    def words(match: re.Match[str]) -> str:
        before = f"{match[1]} times " if match[1] else ""
        return f"{before}10 to the power of {(match[2] or match[3]).translate(_PLAIN).replace('-', 'minus ')}"

    return _POWER.sub(words, text)


def enumerated(words: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(part for part in (", ".join(words[:-1]), words[-1]) if part)


def counted(number: float, word: str) -> str:
    """`1 call`, `2,400 calls`, `1.5 calls`."""
    text = significant(number, max(3, len(str(round(abs(number))))))
    return f"{text} {word}{'' if text == '1' else 's'}"


def show_capacity(value: float) -> str:
    """A memory's size as its maker counts it: `512 KiB` or `80 GiB` where it is a round binary number, `25.2 GB` where it is not."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= factor and value % factor == 0 and value % 1000:
            return f"{value / factor:,.0f} {unit}"
    return show(value, "B")


def show_binary(value: float) -> str:
    """A memory's size in powers of two, round or not: `80 GiB`, `7.63 GiB`. For what is compared with such sizes."""
    unit, factor = next(((name, size) for name, size in reversed(BINARY.items()) if value >= size), ("", 1.0))
    return f"{significant(value / factor)} {unit}B"


def show_usable(capacity: float, usable: float) -> str:
    """`84.4 GB usable of 80 GiB`: what a model can have, in the units of what it needs, and what the maker sells."""
    capacity, usable = float(capacity), float(usable)
    return show_capacity(capacity) if usable == capacity else f"{show(usable, 'B')} usable of {show_capacity(capacity)}"


def _show_long(seconds: float, digits: int) -> str:
    for name, factor in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if abs(seconds) >= 2 * factor:
            return f"{significant(seconds / factor, digits)} {name}"
    return f"{significant(seconds, digits)} s"  # pragma: no cover - callers come with two minutes or more


def significant(value: float, digits: int = 3) -> str:
    """`significant(1234.5) -> "1,230"`, `significant(0.012345) -> "0.0123"`, `significant(5.68e-9) -> "5.68 × 10⁻⁹"`; no trailing zeros."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if abs(value) < ZEROS and digits <= READ:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{significant(float(mantissa), digits)} × {power_of_ten(int(power))}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, places)
    text = f"{rounded:,.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


ZEROS = 1e-4  # under which nobody counts the zeros
READ = 4  # digits of a figure that is read; one with more is to be exact


def percent(share: float, digits: int = 3) -> str:
    """`percent(0.1234) -> "12.3%"`."""
    return f"{significant(100 * share, digits)}%"
