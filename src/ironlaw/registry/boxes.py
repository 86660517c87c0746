"""registry/box/*.toml -> Box: devices, the wires between them, and what their collectives were seen to take."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.engine.cluster.links import Box, Interconnect
from ironlaw.errors import BadRegistry, UnknownName, unknown
from ironlaw.registry import own_files
from ironlaw.registry.interconnects import interconnect
from ironlaw.registry.loader import figure, folder, normal, read, require_texts, slugs
from ironlaw.registry.machine_names import aliases as machines

WIRES = ("link", "bridge", "nic")
SOURCED = ("start", "bus", "network_start", "sums", "host_memory", "host_bytes")
NAMED = ("name", "device", "source", "date")


def boxes() -> tuple[str, ...]:
    """The slugs of all boxes."""
    return slugs("box")


@cache
def aliases() -> dict[str, str]:
    """Every name that people may type -> slug. Two boxes can't share one."""
    names: dict[str, str] = {}
    for slug in boxes():
        for name in (slug, *read(folder("box") / f"{slug}.toml").get("aliases", ())):
            if names.setdefault(normal(name), slug) != slug:
                raise BadRegistry(f"alias {name!r} of box {slug} belongs to {names[normal(name)]} already; give it another")
    return names


def box(name: str) -> Box:
    """A box by slug or alias: `box("dgx_h100")`; or one of the user's own, by its slug, alias or path."""
    if own_files.is_path(name):
        return load(own_files.checked("box", own_files.named_by_path("box", name)))
    slug = aliases().get(normal(name))
    if slug is not None:
        return _registered(slug)
    own = own_files.find("box", name)
    if own is None:
        raise unknown("box", name, (*aliases(), *own_files.own("box")), own_files.how("box", normal(name)))
    return load(own_files.checked("box", own))


@cache
def _registered(slug: str) -> Box:
    return load(folder("box") / f"{slug}.toml")


def box_with(device: str) -> Box | None:
    """The largest box of this machine, the user's own before the registry's; of two that are as large, the one with the faster wires."""
    own = [load(own_files.checked("box", slug)) for slug, path in own_files.own("box").items() if _device(path) == device]
    able = own or [each for each in map(_registered, boxes()) if each.device == device]
    return max(able, key=lambda each: (each.devices, each.link.achieved if each.link else 0.0), default=None)


def load(path: Path) -> Box:
    """One box from one file: its device and wires must be in the registry, its figures sourced."""
    data = read(path)
    require_texts(path.name, data, NAMED)
    device = _device(path)
    if device is None:
        raise BadRegistry(f"{path.name}: device is {data['device']!r}; name a machine, as `ironlaw hardware` lists them")
    devices = _count(path, data, "devices")
    group = _count(path, data, "group", devices)
    if devices % group:
        raise BadRegistry(f"{path.name}: {devices} devices are not groups of {group}; give a divisor")
    wires = {key: _wire(path, data, key) for key in WIRES}
    if bool(wires["nic"]) != bool(data.get("nics")):
        raise BadRegistry(f"{path.name}: nic and nics go together; give the port's kind and how many")
    link = wires["link"]
    if group > 1 and link is None:
        raise BadRegistry(f"{path.name}: a group of {group} devices without a link; add `link = …`, or group = 1")
    bus = _figure(path, data, "bus", "B/s")
    if link is not None and bus > link.per_direction:
        raise BadRegistry(f"{path.name}: [bus] is above what {link.slug} is built for; fit again with that limit")
    sums = _figure(path, data, "sums", "B/s")
    if sums and (link is None or sums > link.per_direction):
        raise BadRegistry(f"{path.name}: [sums] needs a link rated for as much; add one, or leave [sums] out")
    if ("host_memory" in data) != ("host_bytes" in data):
        raise BadRegistry(f"{path.name}: [host_memory] and [host_bytes] go together; give how fast the host's memory is, and how large")
    memory, room = _figure(path, data, "host_memory", "B/s"), _figure(path, data, "host_bytes", "B")
    hosts = _count(path, data, "hosts", 1)
    if devices % hosts:
        raise BadRegistry(f"{path.name}: {devices} devices are not shared by {hosts} hosts evenly; give a divisor of {devices}")
    return Box(
        path.stem, data["name"], device, devices, group, link, wires["bridge"], wires["nic"],
        _count(path, data, "nics", 0), _figure(path, data, "start", "s"), bus, _figure(path, data, "network_start", "s"), sums,
        _sources(data), memory, room, hosts,
    )  # fmt: skip


def _device(path: Path) -> str | None:
    """The slug of the machine that a box holds; None where there is none."""
    name = str(read(path).get("device", ""))
    return machines().get(normal(name)) or own_files.find("hardware", name)


def _count(path: Path, data: dict[str, Any], key: str, usual: int | None = None) -> int:
    value = data.get(key, usual)
    if not isinstance(value, int) or isinstance(value, bool) or value < (1 if usual != 0 else 0):
        raise BadRegistry(f"{path.name}: {key} is {value!r}; write a whole number, such as 8")
    return value


def _wire(path: Path, data: dict[str, Any], key: str) -> Interconnect | None:
    if key not in data:
        return None
    try:
        return interconnect(str(data[key]))
    except UnknownName as error:
        raise BadRegistry(f"{path.name}: {key}: {error}") from None


def _figure(path: Path, data: dict[str, Any], key: str, unit: str) -> float:
    return figure(f"{path.name} [{key}]", data[key], unit).value if key in data else 0.0


@cache
def fitted(name: str) -> dict[str, float]:
    """Mean errors of a box's two numbers: `alone` (other figures in their place), `opened` and `held_out` rows; empty without a fit."""
    return dict(read(folder("box") / f"{box(name).slug}.toml").get("fit", {}))


def _sources(data: dict[str, Any]) -> tuple[str, ...]:
    tables = [f"{key}: {data[key]['source']}, {data[key]['date']}" for key in SOURCED if key in data]
    return (f"{data['source']}, {data['date']}", *tables)
