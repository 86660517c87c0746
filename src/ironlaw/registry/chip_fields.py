"""What a hardware file says of the chip beside its rates: the process it is made in, and its links."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.machine import Figure, Link
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import figure


def links(where: str, data: dict[str, Any]) -> tuple[Link, ...]:
    """[[link]] tables: NVLink, Infinity Fabric, PCI Express; bandwidths are of one direction."""
    tables = data.get("link", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadRegistry(f"{where}: link is {tables!r:.60}; write each as a table under [[link]]")
    wires = []
    for table in tables:
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise BadRegistry(f"{where}: a [[link]] has no name; add `name = …` there (NVLink 4, PCI Express 5.0 x16)")
        one = figure(f"{where} [[link]] {name}", {**table, "value": table.get("per_direction", "")}, "B/s")
        wires.append(Link(name, one.value, one.source, one.date, one.estimate, one.why))
    return tuple(wires)


def achieved(where: str, data: dict[str, Any], figures: dict[str, Figure]) -> dict[str, Figure]:
    """[achieved.bandwidth] and [achieved.FORMAT]: what a long stream and a large product were seen to reach; never above the datasheet."""
    table = data.get("achieved", {})
    if not isinstance(table, dict):
        raise BadRegistry(f"{where}: achieved is {table!r:.60}; write tables, [achieved.bandwidth] and [achieved.fp16]")
    limits = {}
    for name, one in table.items():
        place, known = f"{where} [achieved.{name}]", "bandwidth" if name == "bandwidth" else f"peak.{name}"
        if known not in figures:
            rates = [key.removeprefix("peak.") for key in figures if key.startswith("peak.")]
            raise BadRegistry(f"{place}: the file has no rate of that name; choose bandwidth or one of {', '.join(rates)}")
        seen = figure(place, one, figures[known].unit if name == "bandwidth" else "FLOP/s", "" if name == "bandwidth" else name)
        if seen.value > figures[known].value:
            raise BadRegistry(f"{place} is above [{known}]; check both")
        limits[f"achieved.{name}"] = seen
    return limits


def process(where: str, data: dict[str, Any]) -> str:
    """[chip] process, with the source that says so."""
    table = data.get("chip", {})
    if not isinstance(table, dict):
        raise BadRegistry(f"{where}: chip is {table!r:.60}; write a table, [chip]")
    if not table:
        return ""
    for key in ("process", "source", "date"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise BadRegistry(f"{where} [chip] has no {key}; add `{key} = …` there (every figure carries its source)")
    return str(table["process"])
