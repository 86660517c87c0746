"""Dials read off the fields of a setting, a setting read off its dials, and the banner of the limit that it hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from ironlaw.kit.banner import banner
from ironlaw.kit.prose import html
from ironlaw.systems.fields import Parameter, parameters, words
from ironlaw.systems.limits import Limit, hit
from ironlaw.widget import dials as widget
from ironlaw.widget.dials import Dial

S = TypeVar("S")


def dials(setting: type, names: Sequence[str] = (), **changes: Mapping[str, Any] | Dial) -> list[Dial]:
    """A dial for each field that has one, in their order (or for those named).

    `changes`: what depends on the lab and on the other dials, as `nics={"value": 4, "help": "…"}`; `options` there are those of the list
    that are offered (a mapping has their words, or `shown`), `disabled` says why some can't be chosen.
    """
    declared = parameters(setting)
    listed = [declared[name] for name in names] if names else [one for one in declared.values() if one.dial]
    return [_dial(one, dict(changes.get(one.name, {}))) for one in listed]


def _dial(one: Parameter, change: dict[str, Any]) -> Dial:
    value = change.pop("value", None)
    value = one.start if value is None else value
    more = {**one.more, **change}
    label = str(more.pop("label", one.label))
    if one.dial == "switch":
        return {**widget.switch(one.name, label, bool(value)), **more}
    if one.dial == "span":
        low, high = more.pop("low", one.low), more.pop("high", one.high)
        unit = "" if one.unit == "/s" and "per second" in label else one.unit  # said once
        return widget.span(one.name, label, low, high, value, unit=unit, **more)
    offered = more.pop("options", tuple(one.options() if one.options else ()))
    shown = more.pop("shown", offered if isinstance(offered, Mapping) else one.shown)
    make = widget.select if one.dial == "select" else widget.choice
    return make(one.name, label, [(option, words(shown, option)) for option in offered], value, more.pop("disabled", None), **more)


def read(setting: type[S], values: Mapping[str, Any], /, **fixed: Any) -> S:
    """The setting at which the dials stand. `fixed`: fields that are not dials, or that follow from several."""
    turned = {name: one.take(values[name]) for name, one in parameters(setting).items() if name in values and name not in fixed}
    return setting(**turned, **fixed)


def values(setting: Any, *names: str) -> dict[str, Any]:
    """What the setting has under these names: readouts that are fields or answers as they are."""
    return {name: getattr(setting, name) for name in names}


def verdict(lab: Any, act: str, limits: Sequence[Limit], setting: Any, **slots: object) -> dict[str, Any]:
    """The banner of the first limit that the setting hits: its sentence is `act.<limit>` in words.md. `slots`: those of every sentence."""
    limit = hit(limits, setting)
    return banner(limit.tone, limit.title, html(lab.fill(f"{act}.{limit.name}", **limit.slots(setting), **slots)))


def broken(limits: Sequence[Limit], setting: Any) -> str | None:
    """The limit that it fails, for the ledger; None where it hits none or only a warning."""
    limit = hit(limits, setting)
    return limit.name if limit.tone == "fail" else None
