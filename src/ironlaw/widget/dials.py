"""Dials of an instrument, as the widget takes them. A value that can't be chosen is disabled and says why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.widget.dial_schema import LONGEST_NAME, SCHEMA, conforms

Dial = dict[str, Any]


def choice(
    name: str, label: str, options: Iterable[tuple[Any, str]], value: Any = None, disabled: Mapping[Any, str] | None = None, **more: Any
) -> Dial:
    """A few options side by side, (value, label) each. `disabled`: value -> the reason."""
    return _among("choice", name, label, options, value, disabled or {}, more)


def select(
    name: str, label: str, options: Iterable[tuple[Any, str]], value: Any = None, disabled: Mapping[Any, str] | None = None, **more: Any
) -> Dial:
    """A choice shown as a menu."""
    return _among("select", name, label, options, value, disabled or {}, more)


def span(
    name: str, label: str, low: float, high: float, value: float, *, step: float = 1, unit: str = "", log: bool = False, **more: Any
) -> Dial:
    """A number from low to high; `log` for one whose steps are factors.

    `play`: seconds that a run from end to end takes, for a dial that is time: it gets a play button and one for each single step.
    `presets`: values with a button of their own. `steps`: where the slider stops. `whole`: no fractions. `hidden`: not shown while
    something else makes it idle; where it stands is kept. `shows`: the picture that it changes alone, by id; it then comes to the front.
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


def pins(name: str, label: str, of: Sequence[str], suggest: str = "", most: int = 8) -> Dial:
    """Points that the learner keeps: a list of named settings of the dials in `of`. `suggest`: what a new one is called at first.

    The browser adds one where the dials stand, renames, drags and removes them; Python draws them. Like every dial they are kept
    through a reload and go along in a link to the view.
    """
    return {"id": name, "type": "pins", "label": label, "value": [], "of": list(of), "suggest": suggest, "most": most}


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
    if conforms(SCHEMA[dial["type"]], dial, value):
        return None
    return REASONS[dial["type"]](dial, value)


def _no_option(dial: Mapping[str, Any], value: Any) -> str:
    barred = next((option["disabled"] for option in dial["options"] if option["value"] == value), None)
    return str(barred) if barred else f"{dial['label']} has no {value!r}"


def _no_number(dial: Mapping[str, Any], value: Any) -> str:
    if dial.get("whole"):
        return f"{dial['label']} is {str(value)[:40]!r}; give a whole number from {dial['min']:,} to {dial['max']:,}"
    return f"{dial['label']} goes from {dial['min']} to {dial['max']}"


def _no_chain(dial: Mapping[str, Any], value: Any) -> str:
    return f"{dial['label']} takes 1 to {dial['most']} of {', '.join(option['value'] for option in dial['options'])}"


def _no_pins(dial: Mapping[str, Any], value: Any) -> str:
    if not isinstance(value, (list, tuple)) or len(value) > dial["most"]:
        return f"{dial['label']} holds a list of at most {dial['most']}"
    return f"{dial['label']}: a pin has a name of at most {LONGEST_NAME} letters and settings of {', '.join(dial['of'])}"


# the words for a refusal, by the type of the dial
REASONS: dict[str, Callable[[Mapping[str, Any], Any], str]] = {
    "choice": _no_option, "select": _no_option, "range": _no_number, "log": _no_number, "chain": _no_chain, "pins": _no_pins,
    "switch": lambda dial, value: f"{dial['label']} is on or off",
}  # fmt: skip


def settle(dials: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Where the dials stand, each at a value it can have, and why some could not stay: (values, dial -> reason)."""
    stand, refusals = {}, {}
    for dial in dials:
        value = values.get(dial["id"])
        reason = why_not(dial, value)
        if reason is None:
            stand[dial["id"]] = value
            continue
        stand[dial["id"]] = dial["value"]
        if value is not None:
            refusals[dial["id"]] = reason
    return stand, refusals
