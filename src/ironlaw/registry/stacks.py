"""registry/stack/*.toml -> Stack: what training software takes beside the device and hides of its wires, each figure with its reason."""

from __future__ import annotations

from functools import cache
from typing import Any

from ironlaw.engine.cluster.stacks import MODES, Overlap, Pace, Stack
from ironlaw.engine.cluster.working_memory import Working
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry.loader import figure, folder, normal, read, require, require_texts, slugs

IDEAL = Stack("ideal", "the device alone")  # its best fused kernels, and nothing beside them
NEEDED = ("work", "eight", "traffic_eager", "traffic_compiled", "spread")
USUAL = {"scores": 0.0, "tensor": 1.0, "context": 1.0, "expert": 1.0, "pipeline": 1.0, "beside": 0.0, "asynchronous": 1.0}
MOST = 1e5  # of any figure


@cache
def stacks() -> tuple[str, ...]:
    return slugs("stack")


def stack(name: str) -> Stack:
    """A training stack by slug or alias: `stack("torchtitan")`."""
    slug = _names().get(normal(name))
    if slug is None:
        raise unknown("training stack", name, stacks(), "registry/stack/x.toml with its figures and their sources", field="stack")
    return _stack(slug)


@cache
def _names() -> dict[str, str]:
    return {normal(name): slug for slug in stacks() for name in (slug, *read(folder("stack") / f"{slug}.toml").get("aliases", ()))}


@cache
def _stack(slug: str) -> Stack:
    file = f"{slug}.toml"
    data = read(folder("stack") / file)
    require_texts(file, data, ("name", "version"))
    require(file, data, (*NEEDED, "step", "zero", "recompute", "logit"))
    step = figure(f"{file} [step]", data["step"], "s")
    given = {key: _number(file, data, key) for key in (*NEEDED, *USUAL) if key in data}
    v = USUAL | given
    paces = tuple(Pace(v["work"], v["eight"], v["scores"], v[f"traffic_{mode}"]) for mode in ("eager", "compiled"))
    rests: dict[str, list[str]] = {}
    for key in ("step", *given):
        rests.setdefault(f"{data[key]['source']}, {data[key]['date']}", []).append(key)
    working = Working(float(data["logit"]), bool(data.get("whole_gradients", False)))
    sources = tuple(f"{data['name']} ({', '.join(keys)}): {source}" for source, keys in rests.items())
    return Stack(
        slug, f"{data['name']} {data['version']}", (paces[0], paces[1]), float(step.value),
        Overlap(v["tensor"], v["context"], v["expert"], v["pipeline"], v["beside"]), v["asynchronous"], int(data.get("pad", 1)),
        bool(data.get("dropout", False)), v["spread"], str(data.get("mode", MODES[-1])), tuple(data["zero"]), tuple(data["recompute"]),
        tuple(data.get("parallel", ())), bool(data.get("hsdp", False)), working, sources,
    )  # fmt: skip


def _number(file: str, data: dict[str, Any], key: str) -> float:
    """A plain figure of a file, with why, source and date."""
    table = data[key]
    try:
        value = float(table["value"])
        require_texts(f"{file} [{key}]", table, ("why", "source", "date"))
    except (KeyError, TypeError, ValueError):
        raise BadRegistry(f'{file} [{key}] is {table!r:.60}; write value = "1.2", with why, source and date') from None
    if not 0.0 <= value <= MOST:
        raise BadRegistry(f"{file} [{key}] is {value:g}; give a number from 0 to {MOST:g}")
    return value
