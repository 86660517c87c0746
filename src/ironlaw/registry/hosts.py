"""registry/host/*.toml -> Host, and the one that was measured here.

host("bare_metal").default        8.1e-06
host("here")                      what `ironlaw measure --host` stored, or `ironlaw measure` on a machine with a GPU
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.calibration import local_machine, stored_curves
from ironlaw.engine.device.host import Host
from ironlaw.errors import BadRegistry, BadValue, UnknownName, unknown
from ironlaw.registry import own_files
from ironlaw.registry.loader import folder, normal, read, require_texts, slugs

NAMED = ("name", "source", "date", "method")  # texts that every file has
FIGURES = ("entry", "graph_start")


def host(name: str) -> Host:
    """A host by slug or alias (`"xeon_vm"`, `"bare"`), or the one that was measured here (`"here"`)."""
    if not isinstance(name, str):
        raise BadValue(f"a host has a name, such as 'bare', and this is {name!r}; il.hosts() lists them")
    if own_files.is_path(name):
        return load(own_files.checked("host", own_files.named_by_path("host", name)))
    if normal(name) in local_machine.NAMES:
        return local()
    slug = aliases().get(normal(name))
    if slug is not None:
        return registered(slug)
    own = own_files.find("host", name)
    if own is None:
        add = f"{own_files.how('host', normal(name))}; or measure your own (ironlaw measure --host)"
        raise unknown("host", name, (*aliases(), *own_files.own("host"), "here"), add)
    return load(own_files.checked("host", own))


def hosts() -> tuple[str, ...]:
    """The slugs of all hosts of the registry."""
    return slugs("host")


@cache
def aliases() -> dict[str, str]:
    """Every name that people may type -> slug. Two hosts can't share one."""
    names: dict[str, str] = {}
    for slug in hosts():
        for name in (slug, *read(folder("host") / f"{slug}.toml").get("aliases", ())):
            if names.setdefault(normal(name), slug) != slug:
                raise BadRegistry(f"alias {name!r} of host {slug} belongs to {names[normal(name)]} already; give it another")
    return names


@cache
def registered(slug: str) -> Host:
    return load(folder("host") / f"{slug}.toml")


@cache
def measured_with(machine: str) -> Host | None:
    """The host that a machine of the registry was measured with; None where its calibration has its own."""
    slug = next((slug for slug in hosts() if read(folder("host") / f"{slug}.toml").get("measured_with") == machine), None)
    return registered(slug) if slug else None


def local() -> Host:
    """What launching costs here. Not measured yet, or a file that can't be read: an error with the next step."""
    stored = local_machine.host()
    if stored is None:
        raise UnknownName(local_machine.FIRST_HOST)
    return stored


def load(path: Path) -> Host:
    """One host from one file, every figure checked."""
    data = read(path)
    require_texts(path.name, data, NAMED)
    if ("like" in data) == ("launches" in data):
        raise BadRegistry(f"{path.name}: give either [launches], or the host it is `like` and a `factor`")
    if data.get("estimate") and not data.get("why"):
        raise BadRegistry(f"{path.name} is an estimate without a reason; add `why = …` there")
    try:
        if "like" in data:
            return _like(path, data)
        return stored_curves.host({**_texts(data), **_figures(data), "launches": data["launches"], "slug": path.stem})
    except (ValueError, TypeError, AttributeError) as error:
        raise BadRegistry(f"{path.name}: {error}; write seconds, such as add = 1.1e-05") from None


def _like(path: Path, data: dict[str, Any]) -> Host:
    """The other host, so many times as slow; figures of its own stand in place of scaled ones."""
    if data["like"] not in hosts() or data["like"] == path.stem:
        raise BadRegistry(f"{path.name}: like is {data['like']!r}; name another file of registry/host: {', '.join(hosts())}")
    if not data.get("estimate"):
        raise BadRegistry(f"{path.name} is derived from another host, so it is an estimate; add `estimate = true` and `why = …` there")
    scaled = registered(data["like"]).scaled(stored_curves.figure("factor", data.get("factor"), "cache"))
    own: dict[str, Any] = {key: stored_curves.text(key, data[key]) for key in (*NAMED, "why")}
    return replace(scaled, **own, **_figures(data), slug=path.stem, estimate=True, in_model=data.get("in_model") is True)


def _texts(data: dict[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in (*NAMED, "why", "estimate") if key in data}


def _figures(data: dict[str, Any]) -> dict[str, Any]:
    return {key: stored_curves.figure(key, data[key]) for key in FIGURES if key in data}
