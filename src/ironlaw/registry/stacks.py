"""registry/stack/*.toml -> Stack: what training software takes beside the device and hides of its wires, each figure with its reason."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.engine.cluster.layouts import ON_HOST
from ironlaw.engine.cluster.shapes import RECOMPUTE
from ironlaw.engine.cluster.stacks import MODES, PARALLEL, Overlap, Pace, Stack
from ironlaw.engine.cluster.working_memory import Working
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry import own_files
from ironlaw.registry.loader import figure, folder, normal, read, require, require_texts, slugs

IDEAL = Stack("ideal", "the device alone")  # its best fused kernels, and nothing beside them
NEEDED = ("work", "eight", "traffic_eager", "traffic_compiled", "spread")
USUAL = {"scores": 0.0, "tensor": 1.0, "context": 1.0, "expert": 1.0, "pipeline": 1.0, "beside": 0.0, "asynchronous": 1.0}
NARROW = ("fp8", "int8", "fp4")  # formats of products alone
MOST = 1e5  # of any figure


@cache
def stacks() -> tuple[str, ...]:
    return slugs("stack")


def stack(name: str) -> Stack:
    """A training stack by slug or alias, or one of the user's own, also by its path: `stack("torchtitan")`."""
    if own_files.is_path(name):
        return load(own_files.checked("stack", own_files.named_by_path("stack", name)))
    slug = _names().get(normal(name))
    if slug is not None:
        return _stack(slug)
    own = own_files.find("stack", name)
    if own is None:
        add = own_files.how("stack", normal(name))
        raise unknown("training stack", name, (*stacks(), *own_files.own("stack")), add, field="stack")
    return load(own_files.checked("stack", own))


@cache
def _names() -> dict[str, str]:
    return {normal(name): slug for slug in stacks() for name in (slug, *read(folder("stack") / f"{slug}.toml").get("aliases", ()))}


@cache
def _stack(slug: str) -> Stack:
    return load(folder("stack") / f"{slug}.toml")


def load(path: Path) -> Stack:
    """One stack from one file, every figure checked."""
    slug, file, data = path.stem, path.name, read(path)
    require_texts(file, data, ("name", "version"))
    require(file, data, (*NEEDED, "step", "zero", "recompute", "logit"))
    step = figure(f"{file} [step]", data["step"], "s")
    given = {key: _number(file, data, key) for key in (*NEEDED, *USUAL) if key in data}
    v = USUAL | given
    paces = tuple(Pace(v["work"], v["eight"], v["scores"], v[f"traffic_{mode}"]) for mode in ("eager", "compiled"))
    rests: dict[str, list[str]] = {}
    for key in ("step", *given):
        rests.setdefault(f"{data[key]['source']}, {data[key]['date']}", []).append(key)
    starts = str(data.get("starts", slug))
    if starts not in ("", slug, *stacks()):
        raise BadRegistry(f"{file}: starts is {starts!r:.60}; name the stack whose options start it: {', '.join(stacks())}")
    mode, pad, logit = data.get("mode", MODES[-1]), data.get("pad", 1), data["logit"]
    if mode not in MODES:
        raise BadRegistry(f"{file}: mode is {mode!r:.60}; write one of {', '.join(MODES)}")
    if not isinstance(pad, int) or not 0 < pad <= MOST or not isinstance(logit, int) or not 0 < logit <= MOST:
        raise BadRegistry(f"{file}: pad is {pad!r:.60} and logit {logit!r:.60}; write whole numbers, such as pad = 128 and logit = 8")
    split = data.get("split_logit", 0)
    if not isinstance(split, int) or not 0 <= split <= MOST:
        raise BadRegistry(f"{file}: split_logit is {split!r:.60}; write a whole number of bytes, such as split_logit = 16")
    working = Working(
        float(logit),
        bool(data.get("whole_gradients", False)),
        float(split),
        bool(data.get("whole_inputs", False)),
        bool(data.get("whole_sends", False)),
        bool(data.get("whole_keys", False)),
    )
    sources = tuple(f"{data['name']} ({', '.join(keys)}): {source}" for source, keys in rests.items())
    return Stack(
        slug, f"{data['name']} {data['version']}", (paces[0], paces[1]), float(step.value),
        Overlap(v["tensor"], v["context"], v["expert"], v["pipeline"], v["beside"]), v["asynchronous"], pad,
        bool(data.get("dropout", False)), v["spread"], mode, _some_of(file, data, "zero", (0, 1, 2, 3)),
        _some_of(file, data, "recompute", RECOMPUTE), _some_of(file, {"parallel": [], **data}, "parallel", PARALLEL),
        bool(data.get("hsdp", False)), working,
        _some_of(file, {"offload": [], **data}, "offload", ON_HOST),
        _some_of(file, {"offload_zero": [], **data}, "offload_zero", (0, 1, 2, 3)), sources, starts,
        _some_of(file, {"narrow": ["fp8", "int8"], **data}, "narrow", NARROW), _some_of(file, {"waits": [], **data}, "waits", NARROW),
    )  # fmt: skip


def _some_of(file: str, data: dict[str, Any], key: str, known: tuple[Any, ...]) -> tuple[Any, ...]:
    """A list of a stack's traits."""
    given = data[key]
    if not isinstance(given, list) or any(one not in known for one in given):
        raise BadRegistry(f"{file}: {key} is {given!r:.80}; write a list of some of {', '.join(map(str, known))}")
    return tuple(given)


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
