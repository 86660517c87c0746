"""Dials of an instrument, as the widget takes them. A value that can't be chosen is disabled and says why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.widget import pins

Dial = dict[str, Any]


def choice(
    name: str, label: str, options: Iterable[tuple[Any, str]], value: Any = None, disabled: Mapping[Any, str] | None = None, **more: Any
) -> Dial:
    """A few options side by side, (value, label) each. `disabled`: value -> the reason."""
    return _among("choice", name, label, options, value, disabled or {}, more)


def select(
    name: str, label: str, options: Iterable[tuple[Any, str]], value: Any = None, disabled: Mapping[Any, str] | None = None, **more: Any
) -> Dial:
    """The same as a menu."""
    return _among("select", name, label, options, value, disabled or {}, more)


def span(
    name: str, label: str, low: float, high: float, value: float, *, step: float = 1, unit: str = "", log: bool = False, **more: Any
) -> Dial:
    """A number from low to high; `log` for one whose steps are factors.

    `presets`: values with a button of their own. `steps`: where the slider stops. `hidden`: not shown while something else
    makes it idle; where it stands is kept.
    """
    if not low <= value <= high:
        raise BadValue(f"dial {name!r}: {value!r} is outside {low!r} to {high!r}; start it inside")
    kind = "log" if log else "range"
    return {"id": name, "type": kind, "label": label, "value": value, "min": low, "max": high, "step": step, "unit": unit, **more}


def switch(name: str, label: str, value: bool = False, help: str = "") -> Dial:
    return {"id": name, "type": "switch", "label": label, "value": value, "help": help}


def chain(name: str, label: str, palette: Iterable[tuple[str, str]], value: Sequence[str], most: int = 8) -> Dial:
    """Pieces of a palette, (value, label) each, put in a row: added, dragged to another place, taken out."""
    listed = [{"value": v, "label": text, "disabled": None} for v, text in palette]
    dial = {"id": name, "type": "chain", "label": label, "value": list(value), "options": listed, "most": most}
    reason = why_not(dial, dial["value"])
    if reason:
        raise BadValue(f"dial {name!r} can't start at {list(value)!r}: {reason}")
    return dial


def _among(
    kind: str, name: str, label: str, options: Iterable[tuple[Any, str]], value: Any, disabled: Mapping[Any, str], more: Any
) -> Dial:
    listed = [{"value": v, "label": text, "disabled": disabled.get(v)} for v, text in options]
    usable = [o["value"] for o in listed if not o["disabled"]]
    if not usable:
        raise BadValue(f"dial {name!r} has no option that can be chosen; enable one")
    return {"id": name, "type": kind, "label": label, "value": value if value in usable else usable[0], "options": listed, **more}


def why_not(dial: Mapping[str, Any], value: Any) -> str | None:
    """Why a dial can't stand at a value; None where it can."""
    if dial["type"] in ("choice", "select"):
        for option in dial["options"]:
            if option["value"] == value:
                return str(option["disabled"]) if option["disabled"] else None
        return f"{dial['label']} has no {value!r}"
    if dial["type"] == "chain":
        known = [option["value"] for option in dial["options"]]
        good = isinstance(value, (list, tuple)) and 1 <= len(value) <= dial["most"] and all(item in known for item in value)
        return None if good else f"{dial['label']} takes 1 to {dial['most']} of {', '.join(known)}"
    if dial["type"] == "pins":
        return pins.why_not(dial, value)
    if dial["type"] == "switch":
        return None if isinstance(value, bool) else f"{dial['label']} is on or off"
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and dial["min"] <= value <= dial["max"]
    return None if good else f"{dial['label']} goes from {dial['min']} to {dial['max']}"


def settled(dials: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Where the dials stand, each at a value it can have, and why some could not stay: (values, dial -> reason)."""
    stand, moved = {}, {}
    for dial in dials:
        value = values.get(dial["id"])
        reason = why_not(dial, value)
        if reason is None:
            stand[dial["id"]] = value
            continue
        stand[dial["id"]] = dial["value"]
        if value is not None:
            moved[dial["id"]] = reason
    return stand, moved
