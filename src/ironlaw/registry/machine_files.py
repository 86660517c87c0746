"""One file of machines -> Hardware, every figure checked (the grammar is in registry/hardware/b200.toml)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ironlaw.backends import find, names
from ironlaw.calibration import local_machine
from ironlaw.engine.device.machine import SCHEDULES, Figure, Hardware, Level, Link
from ironlaw.errors import BadRegistry
from ironlaw.registry.calibrations import calibration
from ironlaw.registry.loader import figure, quantity, read

KINDS = ("gpu", "cpu", "tpu", "npu", "mcu")
WITHOUT_BACKEND = ("rocm", "xpu", "xla", "coreml", "bare")  # what a file may name beside ironlaw.backends: such machines get a bound
NO_BACKEND = "bound: ironlaw does not know how libraries run on {backend} ({slug}), so datasheet figures are all there is"
CONTEXTS = ("cloud", "edge", "mobile", "tiny", "desktop")


def load(path: Path) -> Hardware:
    """One machine from one file, every figure checked."""
    data, slug = read(path), path.stem
    figures: dict[str, Figure] = {}
    for key, unit in (("memory", "B"), ("bandwidth", "B/s"), ("power", "W"), ("launch", "s")):
        if key not in data:
            raise BadRegistry(f"hardware {slug} has no [{key}]; add it with value, source and date to {path.name}")
        figures[key] = figure(f"{path.name} [{key}]", data[key], unit)
        if key == "memory" and "reserved" in data:
            figures["reserved"] = _reserved(path, data["reserved"], figures["memory"])
    if "flash" in data:
        figures["flash"] = figure(f"{path.name} [flash]", data["flash"], "B")
    for group in ("peak", "sparse", "vector"):
        for fmt, table in _table(path, data, group).items():
            figures[f"{group}.{fmt}"] = figure(f"{path.name} [{group}.{fmt}]", table, "FLOP/s", fmt)
    if not data.get("peak"):
        raise BadRegistry(f"hardware {slug} has no peak; add [peak.fp16] (or another format) with value, source and date to {path.name}")
    figures |= achieved(path.name, data, figures)
    if not isinstance(data.get("aliases", []), list) or not all(isinstance(name, str) for name in data.get("aliases", ())):
        raise BadRegistry(f'{path.name}: aliases is {data["aliases"]!r}; write a list, such as ["h100"]')
    for key, allowed in (("kind", KINDS), ("backend", (*names(), *WITHOUT_BACKEND)), ("context", CONTEXTS)):
        if data.get(key) not in allowed:
            raise BadRegistry(f"{path.name}: {key} is {data.get(key)!r}; choose one of {', '.join(allowed)}")
    backend = find(data["backend"])
    return Hardware(
        slug=slug, name=text(path.name, data, "name", slug), peaks=_rates(figures, "peak"), bandwidth=figures["bandwidth"].value,
        capacity=figures["memory"].value, power=figures["power"].value, launch=figures["launch"].value, kind=data["kind"],
        backend=data["backend"], context=data["context"], sparse=_rates(figures, "sparse"), vector=_rates(figures, "vector"),
        levels=_levels(path, data), units=_units(path, _table(path, data, "units")), figures=figures,
        aliases=tuple(data.get("aliases", ())), note=text(path.name, data, "note"),
        dispatch=_dispatch(path, data, backend.dispatch if backend else "queued"),
        caveats=() if backend else (NO_BACKEND.format(slug=slug, backend=data["backend"]),),
        calibration=calibration(slug) if backend and slug != local_machine.SLUG else None,
        narrowed=backend.narrowed if backend else {},
        reserved=figures["reserved"].value if "reserved" in figures else 0.0,
        flash=figures["flash"].value if "flash" in figures else 0.0, activations=_activations(path, data),
        links=links(path.name, data), process=process(path.name, data),
    )  # fmt: skip


def _table(path: Path, data: dict[str, Any], key: str) -> dict[str, Any]:
    table = data.get(key, {})
    if not isinstance(table, dict):
        raise BadRegistry(f"{path.name}: {key} is {table!r:.60}; write a table, [{key}]")
    return table


def text(where: str, table: dict[str, Any], key: str, usual: str = "") -> str:
    value = table.get(key, usual)
    if not isinstance(value, str):
        raise BadRegistry(f"{where}: {key} is {value!r:.60}; write text")
    return value


def _reserved(path: Path, table: Any, memory: Figure) -> Figure:
    kept = figure(f"{path.name} [reserved]", table, "B")
    if kept.value >= memory.value:
        raise BadRegistry(f"{path.name} [reserved] is {table['value']!r}, which leaves nothing of [memory]; give what the system keeps")
    return kept


def _activations(path: Path, data: dict[str, Any]) -> str:
    """The level that holds activations where weights stay in flash."""
    level, known = text(path.name, data, "activations"), [str(table.get("name")) for table in data.get("level", ())]
    if bool(level) != ("flash" in data):
        if "flash" in data:
            raise BadRegistry(
                f'{path.name} has [flash] alone; add activations = "sram", or another [[level]] that holds what is not a weight'
            )
        raise BadRegistry(f"{path.name} has activations alone; add [flash], which holds the weights then")
    if level and level not in known:
        raise BadRegistry(f"{path.name}: activations is {level!r}; name one of its levels: {', '.join(known)}")
    return level


def _dispatch(path: Path, data: dict[str, Any], usual: str) -> str:
    dispatch = data.get("dispatch", usual)
    if dispatch not in SCHEDULES:
        raise BadRegistry(f"{path.name}: dispatch is {dispatch!r}; choose one of {', '.join(SCHEDULES)}, or leave it out")
    return str(dispatch)


def _rates(figures: dict[str, Figure], group: str) -> dict[str, float]:
    return {f.format: f.value for key, f in figures.items() if key.startswith(group + ".")}


def _levels(path: Path, data: dict[str, Any]) -> tuple[Level, ...]:
    levels = []
    tables = data.get("level", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadRegistry(f"{path.name}: level is {tables!r:.60}; write each as a table under [[level]]")
    for table in tables:
        if not text(path.name, table, "name"):
            raise BadRegistry(f"{path.name}: a [[level]] has no name; add `name = …` there (registers, shared, l2, main)")
        where = f"{path.name} [[level]] {table['name']}"
        sized = figure(where, {**table, "value": table.get("size", "")}, "B")
        speed = quantity(f"{where} bandwidth", table.get("bandwidth"), "B/s")
        levels.append(
            Level(
                table["name"],
                text(where, table, "label", table["name"]),
                sized.value,
                speed,
                sized.source,
                sized.date,
                sized.estimate,
                sized.why,
            )
        )
    return tuple(levels)


def _units(path: Path, table: dict[str, Any]) -> dict[str, float]:
    units = {}
    for key, value in table.items():
        where = f"{path.name} [units] {key}"
        if (isinstance(value, (int, float)) and not 0 < value < float("inf")) or not isinstance(value, (int, float, str)):
            raise BadRegistry(f"{where} is {value!r}; write a number above 0, or a text with its unit")
        units[key] = quantity(where, value, "Hz" if key.endswith("clock") else "B") if isinstance(value, str) else float(value)
    return units


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
