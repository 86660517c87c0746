"""Figures as the report writes them."""

from __future__ import annotations

from ironlaw.report.markup import text
from ironlaw.units import significant

NONE = "–"
MINUS = "\u2212"
NARROW = "\u202f"


def percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def of(hits: int, n: int) -> str:
    return f"{hits:,} of {n:,}"


def minutes(seconds: float) -> str:
    """`0:45`, `12:30`, `1 h 05`: to the second, or beyond an hour to the minute."""
    if seconds < 3600:
        whole = round(seconds)
        if whole < 3600:
            return f"{whole // 60}:{whole % 60:02d}"
    whole = round(seconds / 60)
    return f"{whole // 60}{NARROW}h{NARROW}{whole % 60:02d}"


def signed(value: float) -> str:
    rounded = f"{abs(value):.2f}"
    return rounded if value >= 0 or float(rounded) == 0 else f"{MINUS}{rounded}"


def factor(orders: float) -> str:
    """How far off, as a factor: 10 to the power of the distance."""
    return significant(10.0 ** abs(orders), 3 if abs(orders) < 1 else 2)


def people(n: int) -> str:
    return f"{n:,} learner{'' if n == 1 else 's'}"


def bar(share: float, label: str, value: str, kind: str = "", note: str = "") -> str:
    """One line of a picture in text: a label, a bar, a figure. The figure says what the bar shows."""
    about = f'<span class="note">{text(note)}</span>' if note else ""
    return (
        f'<li class="{text(kind)}"><span class="what">{text(label)}{about}</span>'
        f'<span class="track" aria-hidden="true"><i style="width:{100 * min(1.0, max(0.0, share)):.1f}%"></i></span>'
        f'<span class="much">{text(value)}</span></li>'
    )
