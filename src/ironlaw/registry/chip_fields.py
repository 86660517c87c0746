"""What a hardware file says of the chip beside its rates: the process it is made in, and its links."""

from __future__ import annotations

from typing import Any

from ironlaw.engine.device.machine import Link
from ironlaw.errors import BadRegistry
from ironlaw.registry.loader import figure


def links(where: str, data: dict[str, Any]) -> tuple[Link, ...]:
    """[[link]] tables: NVLink, Infinity Fabric, PCI Express; bandwidths are of one direction."""
    tables = data.get("link", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadRegistry(f"{where}: link is {tables!r:.60}; write each as a table under [[link]]")
    found = []
    for table in tables:
        name = table.get("name")
        if not isinstance(name, str) or not name:
            raise BadRegistry(f"{where}: a [[link]] has no name; add `name = …` there (NVLink 4, PCI Express 5.0 x16)")
        one = figure(f"{where} [[link]] {name}", {**table, "value": table.get("per_direction", "")}, "B/s")
        found.append(Link(name, one.value, one.source, one.date, one.estimate, one.why))
    return tuple(found)


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
