"""What the dials can be set to: the registry's machines and workloads, as plain JSON values in SI."""

from __future__ import annotations

import inspect
from functools import cache, lru_cache
from typing import Any

from ironlaw.calibration import local_machine
from ironlaw.engine.device.machine import MODES, Plan
from ironlaw.engine.device.types import FORMATS
from ironlaw.registry.families import FAMILIES
from ironlaw.registry.hosts import hosts, registered
from ironlaw.registry.machine_files import CONTEXTS
from ironlaw.registry.machines import hardware, machines
from ironlaw.registry.workloads import about, workloads

DISPATCHES = ("queued", "synchronous")
PHASES = ("prefill", "decode")
SETTINGS = ("batch", "seq", "context", "phase", "dtype")
# family -> the group it is listed in, and what one input is called; a family missing here still works
KINDS = {
    "resnet": ("vision", "image"), "preact": ("vision", "image"), "mobilenet": ("vision", "image"), "vit": ("vision", "image"),
    "unet": ("vision", "image"),
    "ds_cnn": ("audio", "clip"), "bert": ("language", "token"), "gpt2": ("language", "token"), "llama": ("language", "token"),
    "moe": ("language", "token"),
}  # fmt: skip
MOST_TOKENS = 32768


def choices() -> dict[str, Any]:
    """Everything the page needs before the first prediction."""
    return _choices(local_machine.state())


@lru_cache(maxsize=2)
def _choices(_: local_machine.Stamp) -> dict[str, Any]:
    listed = [_machine(slug) for slug in machines()]
    formats = [fmt for fmt in FORMATS if any(fmt in machine["formats"] for machine in listed)]
    return {
        "machines": sorted(listed, key=lambda m: (CONTEXTS.index(m["context"]), m["name"])),
        "workloads": sorted((_workload(slug) for slug in workloads()), key=lambda w: (w["group"] == "other", w["group"], w["params"])),
        "formats": formats,
        "modes": list(MODES),
        "dispatches": list(DISPATCHES),
        "phases": list(PHASES),
        "hosts": [{"slug": slug, "name": registered(slug).label, "launch": registered(slug).default} for slug in hosts()],
    }


def _machine(slug: str) -> dict[str, Any]:
    machine = hardware(slug)
    return {
        "slug": slug,
        "name": machine.name,
        "context": machine.context,
        "kind": machine.kind,
        "note": machine.note,
        "formats": list(machine.peaks),
        "memory": machine.capacity,
        "usable": machine.usable,
        "basis": machine.basis(Plan()),
        "queued": machine.dispatch == "queued",
    }


@cache
def settings(slug: str) -> dict[str, Any]:
    """The settings that a workload takes, with their defaults."""
    data = about(slug)
    takes = inspect.signature(FAMILIES[data["family"]]).parameters
    defaults = data.get("params", {}) | data.get("defaults", {})
    return {key: defaults.get(key, takes[key].default) for key in SETTINGS if key in takes}


def _workload(slug: str) -> dict[str, Any]:
    data = about(slug)
    group, unit = kind(slug)
    params = data.get("params", {})
    return {
        "slug": slug,
        "name": data["name"],
        "group": group,
        "unit": unit,
        "params": float(data.get("check", {}).get("parameters", 0)),
        "takes": settings(slug),
        "most_tokens": params.get("max_positions", params.get("positions", MOST_TOKENS)),
    }


def kind(slug: str) -> tuple[str, str]:
    """The group a workload is listed in, and what one input of it is called."""
    return KINDS.get(about(slug)["family"], ("other", "sample"))
