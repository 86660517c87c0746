"""Curves as a file holds them -> Calibration's arguments, every figure checked: a user's file may be damaged, or another version's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import chain
from math import isnan
from typing import Any

from ironlaw.calibration.curve import Curve
from ironlaw.calibration.neighbours import Family
from ironlaw.engine.device.host import DEFAULT, Host
from ironlaw.engine.device.uncertainty import Scatter

LARGEST = 1e30  # beyond any rate, time or size
RENAMED = {"fused_dear": "fused_transcendental"}  # curves that earlier versions stored under another name
DIVISORS = ("cache", "main", "rate", "cache_bytes", "slower")  # what times are divided by or scaled with
FIGURES = ("cache_bytes", "graph_gap", "slower", "among", "compile_kernel_s", "stand_in", "common")
POWERS = (1, 2, 4)
HOST_FIGURES, HOST_TEXTS = ("entry", "graph_start"), ("slug", "name", "source", "date", "method", "why")


def arguments(data: Mapping[str, Any]) -> dict[str, Any]:
    """ValueError, KeyError or TypeError where something is not what it should be."""
    out: dict[str, Any] = {key: figure(key, data[key]) for key in FIGURES if key in data}
    out["curves"] = {RENAMED.get(name, name): curve(name, values) for name, values in data["curves"].items()}
    out["host"] = host(data["host"] if isinstance(data.get("host"), Mapping) else {**data, "name": text("host", data.get("host", ""))})
    out["scatter"] = {
        mode: Scatter(signed(mode, bias), *(figure(mode, v) for v in rest)) for mode, (bias, *rest) in data.get("scatter", {}).items()
    }
    out["families"] = {name: family(name, values) for name, values in data.get("families", {}).items()}
    out["sources"] = tuple(text("a source", source) for source in data.get("sources", ()))
    return out | {key: text(key, data[key]) for key in ("backend",) if key in data}


def host(data: Mapping[str, Any]) -> Host:
    """A host of its own table; files of earlier versions have its figures beside the curves."""
    launches = {text("launch", kind): figure(f"the launch of {kind}", seconds) for kind, seconds in data["launches"].items()}
    if DEFAULT not in launches:
        raise ValueError(f"there is no {DEFAULT} launch")
    figures: dict[str, Any] = {key: figure(key, data[key]) for key in HOST_FIGURES if key in data}
    texts: dict[str, Any] = {key: text(key, data[key]) for key in HOST_TEXTS if key in data}
    caveats = tuple(text("a caveat", caveat) for caveat in data.get("caveats", ()))
    switches: dict[str, Any] = {key: bool(data.get(key, False)) for key in ("estimate", "in_model")}
    return Host(launches, **figures, **texts, **switches, caveats=caveats)


def host_json(one: Host) -> dict[str, Any]:
    """A host as a file holds it: what is empty is left out."""
    return {key: value for key, value in asdict(one).items() if value}


def curve(name: str, values: Mapping[str, Any]) -> Curve:
    checked: dict[str, Any] = {key: figure(f"{key} of {name}", value, key) for key, value in values.items()}
    if checked.get("p", POWERS[-1]) not in POWERS:
        raise ValueError(f"p of {name} is {checked['p']!r}, and not one of {POWERS}")
    return Curve(**checked)


def family(name: str, values: Mapping[str, Any]) -> Family:
    for key in ("noise", "signal", "widen"):
        if not figure(f"{key} of {name}", values[key]):
            raise ValueError(f"{key} of {name} is 0")
    numbers = [*values["scales"], *values["residuals"], *values.get("extras", ()), *chain.from_iterable(values["places"])]
    valid = {int, float}.issuperset(map(type, numbers)) and max(map(abs, numbers)) <= LARGEST and not isnan(sum(numbers))
    if not valid or min(values["scales"]) <= 0:
        raise ValueError(f"{name} has a value that is not a valid number")
    if len(values["places"]) != len(values["residuals"]) or not values["residuals"]:
        raise ValueError(f"{name} has {len(values['places'])} places and {len(values['residuals'])} residuals")
    return Family.from_json(values)


def figure(where: str, value: Any, key: str = "") -> float:
    """A number, finite and not negative; above 0 where it divides."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= LARGEST
    if not good or (value == 0 and (key or where) in DIVISORS):
        raise ValueError(f"{where} is {value!r:.60}, not a valid number")
    number: float = value  # a whole number stays one
    return number


def signed(where: str, value: Any) -> float:
    """A number, finite, of either sign."""
    number = figure(where, abs(value) if isinstance(value, (int, float)) else value)
    return number if value >= 0 else -number


def text(where: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where} is {value!r:.60}, not text")
    return value
