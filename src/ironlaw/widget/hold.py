"""Which dial a mark of a picture stands for: dragged, or moved with the arrow keys, it turns that dial.

    mark("point", x=case.rate, y=case.p99, drag=hold("rate"))
    mark("rule", x=target / 1e3, drag=hold("target", per=1e-3))    the dial counts milliseconds, the axis seconds
    mark("point", x=share, y=high, drag=(hold("share"), hold("high", "y")))

Everything else follows in the browser: the arrow heads or the knob that show it, the slider that a screen reader finds, touch and keys. A
mark whose dial is hidden, locked or not there can't be moved and does not look as if it could.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ironlaw.errors import BadValue, unknown

AXES = ("x", "y")
MOVABLE = ("point", "rule")  # marks that stand at one place

Hold = dict[str, Any]


def hold(dial: str, axis: str = "x", *, per: float = 1.0, stops: Iterable[Sequence[Any]] = (), pin: int | None = None) -> Hold:
    """`per`: how much of the axis one of the dial is. `stops`: (place on the axis, value of the dial), where they are not in proportion.
    `pin`: the number of the pin whose dial it is, in an instrument that has pins."""
    if axis not in AXES:
        raise unknown("axis", axis, AXES)
    if not per > 0:
        raise BadValue(f"a mark that stands for {dial!r} has `per={per}`; give how much of the axis one of the dial is, above 0")
    out: Hold = {"dial": dial, "axis": axis}
    if per != 1.0:
        out["per"] = per
    if listed := [list(stop) for stop in stops]:
        out["stops"] = listed
    if pin is not None:
        out["pin"] = pin
    return out


def holds(drag: Any) -> tuple[Hold, ...]:
    """The holds of a mark's `drag`: one, several or none."""
    return () if drag is None else (drag,) if isinstance(drag, dict) else tuple(drag)


def place(one: Hold, value: Any) -> float | None:
    """Where on its axis the mark stands when its dial has this value; None where there is no stop for it."""
    if "stops" in one:
        return next((float(at) for at, stop in one["stops"] if stop == value), None)
    return float(value) * float(one.get("per", 1.0))
