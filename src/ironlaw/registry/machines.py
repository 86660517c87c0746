"""registry/hardware/*.toml -> Hardware, and the machine that was measured here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.engine.types import Figure, Hardware, Level
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry import this
from ironlaw.registry.curves import calibration
from ironlaw.registry.loader import figure, folder, normal, quantity, read, slugs

KINDS = ("gpu", "cpu", "tpu", "npu", "mcu")
BACKENDS = ("cuda", "rocm", "xla", "coreml", "cpu", "bare")
CONTEXTS = ("cloud", "edge", "mobile", "tiny", "desktop")


@cache
def aliases() -> dict[str, str]:
    """Every name that people may type -> slug. Two machines can't share one."""
    names = dict.fromkeys(this.NAMES, this.SLUG)
    for slug in slugs("hardware"):
        for name in (slug, *read(folder("hardware") / f"{slug}.toml").get("aliases", ())):
            other = names.setdefault(normal(name), slug)
            if other != slug:
                raise BadRegistry(f"alias {name!r} of hardware {slug} belongs to {other} already; give it another")
    return {name: slug for name, slug in names.items() if slug != this.SLUG}


def hardware(name: str) -> Hardware:
    """A machine by slug or alias (`"h100_sxm"`, `"h100"`), or the one that was measured here (`"this"`)."""
    return this.hardware() if this.is_this(name) else registered(name)


@cache
def registered(name: str) -> Hardware:
    if normal(name) in slugs("hardware"):
        return load(folder("hardware") / f"{normal(name)}.toml")
    slug = aliases().get(normal(name))
    if slug is None:
        names = (*aliases(), *this.NAMES[:1])
        raise unknown("hardware", name, names, f"registry/hardware/{normal(name)}.toml with its figures and their sources")
    return registered(slug)


def machines() -> tuple[str, ...]:
    """The slugs of all machines; the one that was measured here comes last."""
    return (*slugs("hardware"), this.SLUG) if this.known() else slugs("hardware")


def load(path: Path) -> Hardware:
    """One machine from one file, every figure checked."""
    data, slug = read(path), path.stem
    figures: dict[str, Figure] = {}
    for key, unit in (("memory", "B"), ("bandwidth", "B/s"), ("power", "W"), ("launch", "s")):
        if key not in data:
            raise BadRegistry(f"hardware {slug} has no [{key}]; add it with value, source and date to {path.name}")
        figures[key] = figure(f"{path.name} [{key}]", data[key], unit)
    for group in ("peak", "sparse", "vector"):
        for fmt, table in data.get(group, {}).items():
            figures[f"{group}.{fmt}"] = figure(f"{path.name} [{group}.{fmt}]", table, "FLOP/s", fmt)
    if not data.get("peak"):
        raise BadRegistry(f"hardware {slug} has no peak; add [peak.fp16] (or another format) with value, source and date to {path.name}")
    if not isinstance(data.get("aliases", []), list):
        raise BadRegistry(f'{path.name}: aliases is {data["aliases"]!r}; write a list, such as ["h100"]')
    for key, allowed in (("kind", KINDS), ("backend", BACKENDS), ("context", CONTEXTS)):
        if data.get(key) not in allowed:
            raise BadRegistry(f"{path.name}: {key} is {data.get(key)!r}; choose one of {', '.join(allowed)}")
    return Hardware(
        slug, data.get("name", slug), _rates(figures, "peak"), figures["bandwidth"].value, figures["memory"].value,
        figures["power"].value, figures["launch"].value, data["kind"], data["backend"], data["context"],
        _rates(figures, "sparse"), _rates(figures, "vector"), _levels(path, data), _units(path, data.get("units", {})), figures,
        tuple(data.get("aliases", ())), data.get("note", ""), None if slug == this.SLUG else calibration(slug),
    )  # fmt: skip


def _rates(figures: dict[str, Figure], group: str) -> dict[str, float]:
    return {f.format: f.value for key, f in figures.items() if key.startswith(group + ".")}


def _levels(path: Path, data: dict[str, Any]) -> tuple[Level, ...]:
    levels = []
    for table in data.get("level", ()):
        if not table.get("name"):
            raise BadRegistry(f"{path.name}: a [[level]] has no name; add `name = …` there (registers, shared, l2, main)")
        where = f"{path.name} [[level]] {table['name']}"
        sized = figure(where, {**table, "value": table.get("size", "")}, "B")
        speed = quantity(f"{where} bandwidth", table.get("bandwidth"), "B/s")
        levels.append(
            Level(table["name"], table.get("label", table["name"]), sized.value, speed, sized.source, sized.date, sized.estimate, sized.why)
        )
    return tuple(levels)


def _units(path: Path, table: dict[str, Any]) -> dict[str, float]:
    found = {}
    for key, value in table.items():
        where = f"{path.name} [units] {key}"
        if (isinstance(value, (int, float)) and not 0 < value < float("inf")) or not isinstance(value, (int, float, str)):
            raise BadRegistry(f"{where} is {value!r}; write a number above 0, or a text with its unit")
        found[key] = quantity(where, value, "Hz") if isinstance(value, str) else float(value)
    return found
