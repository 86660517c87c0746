"""What people write, read once for the command line, studies, design files and dials: whole numbers, figures, shares, lists.

A reader gives the value, or refuses what was written and says what to write instead; a value that it made it gives back as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ironlaw import units
from ironlaw.errors import BadValue, unknown

LARGEST = 10**12  # sizes beyond any model; keeps products of them within a float
HUGE = 1e30  # the same for figures
Read = Callable[[Any], Any]


def read_whole(value: Any, least: int = 1, most: int = LARGEST) -> int:
    try:
        number = int(value) if isinstance(value, str) else value
    except ValueError:
        if short := re.fullmatch(r"\s*(\d{1,9})[kK]\s*", value):
            count = int(short[1])
            raise BadValue(f"{value!r} may mean {1000 * count:,} or {1024 * count:,}; write the number") from None
        number = None
    if isinstance(number, bool) or not isinstance(number, int):
        raise BadValue(f"{value!r} is not a whole number; write one such as {max(8, least)}")
    if not least <= number <= most:
        raise BadValue(f"{value!r} is out of range; give a whole number from {least} to {most:,}")
    return number


def read_figure(value: Any, unit: str = "", zero: bool = False, example: str = "", most: float = HUGE) -> float:
    """A finite number above 0, or from 0 on; with a unit as text too."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadValue(f"{value!r} is not a number; write one such as {example or 2.5}")
    number = units.parse(value, unit) if unit else _bare(value, example)
    if not (0 < number <= most or (zero and number == 0)):
        least = "of at least" if zero else "above"
        such = example or EXAMPLES.get(unit, "2.5")
        wanted = f"figure {least} 0, such as {such!r}" if most == HUGE else f"finite number {least} 0, at most {most:,}"
        raise BadValue(f"{value!r} is out of range; give a {wanted}")
    return float(number)


EXAMPLES = {"s": "10 us", "B": "51 MB", "B/s": "2 TB/s", "FLOP": "8.2 GFLOP"}


def _bare(value: float | str, example: str) -> float:
    try:
        return float(value.replace(",", "") if isinstance(value, str) else value)  # commas may separate thousands
    except (ValueError, OverflowError):  # a whole number with hundreds of digits
        raise BadValue(f"{value!r:.200} is not a number; write one such as {example or 1450}") from None


def read_share(value: Any, above: bool = False, below: bool = False) -> float:
    """A share from 0 to 1, as text also a percentage. `above`: 0 is excluded; `below`: 1 is excluded."""
    text = value.strip() if isinstance(value, str) else ""
    number: Any
    try:
        number = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0) if text else value
    except ValueError:
        number = None
    able = isinstance(number, (int, float)) and not isinstance(number, bool) and 0 <= number <= 1
    if not able or (above and number == 0) or (below and number == 1):
        ends = "above 0 and at most 1" if above else "from 0 to below 1" if below else "from 0 to 1"
        raise BadValue(f"{value!r} is not a share; write one {ends}, such as 0.15 or 15%")
    return float(number)


def read_flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValue(f"{value!r} is not a switch; write true or false")
    return value


def read_option(value: Any, options: Sequence[Any], what: str = "option") -> Any:
    if value not in options or isinstance(value, bool) != any(isinstance(option, bool) for option in options):
        raise unknown(what, value, [str(option) for option in options])
    return value


def read_several(value: Any, read: Read, commas: bool = True, what: str = "name") -> tuple[Any, ...]:
    """One or more, each once; text is cut at its commas."""
    if isinstance(value, str) and commas:
        value = [part.strip() for part in value.split(",")]
        if not all(value):
            example = "1,8" if what == "number" else "a,b"
            raise BadValue(f"{','.join(value)!r} has an empty {what}; put one comma between {what}s, such as '{example}'")
    several = value if isinstance(value, (list, tuple)) else [value]
    made = [read(one) for one in several]
    names = [getattr(one, "slug", one) for one in made]
    return tuple(one for i, one in enumerate(made) if not commas or names[i] not in names[:i])


def read_numbered(value: str | Mapping[Any, Any], wanted: str) -> Iterator[tuple[str, int, Any]]:
    """`1:95 s,2:51 s`, or a mapping -> each entry with its whole number and what stands after it. `wanted`: what an entry is."""
    if isinstance(value, Mapping):
        value = ",".join(f"{count}:{one}" for count, one in value.items())
    for entry in filter(None, (part.strip() for part in value.split(","))):
        count, colon, after = entry.partition(":")
        if not colon or not count.strip().isdigit() or int(count) < 1:
            raise BadValue(f"{entry!r} is not {wanted}")
        yield entry, int(count), after.strip()
