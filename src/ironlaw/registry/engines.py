"""registry/engine/*.toml -> Engine: what a serving engine adds to the device's time, each figure with what it rests on."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from ironlaw.engine.serving.llm.engines import Engine
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry import own_files
from ironlaw.registry.loader import figure, folder, normal, read, require, require_texts, slugs

PLAIN = Engine("plain", "plain")  # the device alone
TIMES = ("step", "request", "first", "start")
MOST = 10**9  # tokens per step, or sequences
COUNTS = ("budget", "small_budget", "sequences")


@cache
def engines() -> tuple[str, ...]:
    return (*slugs("engine"), PLAIN.slug)


def engine(name: str) -> Engine:
    """A serving engine by slug or alias, or one of the user's own, also by its path: `engine("vllm")`; `engine("plain")` adds nothing."""
    if own_files.is_path(name):
        return load(own_files.checked("engine", own_files.named_by_path("engine", name)))
    if normal(name) == PLAIN.slug:
        return PLAIN
    slug = _names().get(normal(name))
    if slug is not None:
        return _engine(slug)
    own = own_files.find("engine", name)
    if own is None:
        raise unknown("serving engine", name, (*engines(), *own_files.own("engine")), own_files.how("engine", normal(name)))
    return load(own_files.checked("engine", own))


@cache
def _names() -> dict[str, str]:
    return {normal(name): slug for slug in slugs("engine") for name in (slug, *read(folder("engine") / f"{slug}.toml").get("aliases", ()))}


@cache
def _engine(slug: str) -> Engine:
    return load(folder("engine") / f"{slug}.toml")


def load(path: Path) -> Engine:
    """One engine from one file, every figure checked."""
    slug, file, data = path.stem, path.name, read(path)
    require_texts(file, data, ("name", "version"))
    require(file, data, ("step", "first", "start", "spread", "scheduler"))
    figures = {key: figure(f"{file} [{key}]", data[key], "s") for key in TIMES if key in data}
    spread = _number(file, data, "spread")
    plan: dict[str, Any] = data["scheduler"]
    require(f"{file} [scheduler]", plan, (*COUNTS, "memory", "source", "date"))
    if not isinstance(plan.get("whole_prompts"), bool):
        raise BadRegistry(f"{file} [scheduler]: write whole_prompts = true where a whole prompt stops decoding, or false")
    starts = str(data.get("starts", slug))
    if starts not in ("", slug, *slugs("engine")):
        raise BadRegistry(f"{file}: starts is {starts!r:.60}; name the engine whose command starts it: {', '.join(slugs('engine'))}")
    mixed: dict[str, Any] = data.get("mixed", {})
    ungrouped = tuple(mixed.get("gpus", ()))
    if mixed:
        require(f"{file} [mixed]", mixed, ("gpus", "source", "date"))
        if not isinstance(mixed["gpus"], list) or not all(isinstance(one, str) and one for one in ungrouped):
            raise BadRegistry(f'{file} [mixed]: gpus is {mixed["gpus"]!r:.60}; write how slugs of such GPUs begin, such as ["l4"]')
    rest = [f"{key}: {one.source}, {one.date}" for key, one in figures.items()]
    step, request, first, start = (float(figures[key].value) if key in figures else 0.0 for key in TIMES)
    budget, small, sequences = (_count(file, plan, key) for key in COUNTS)
    return Engine(
        slug, f"{data['name']} {data['version']}", step, request, first, start, spread, budget, small, sequences,
        _share(file, plan, "memory"),
        plan["whole_prompts"] is True, _share(file, plan, "kept") if "kept" in plan else 0.0,
        (*rest, *(f"{key}: {data[key]['source']}, {data[key]['date']}" for key in ("mixed", "scheduler") if key in data)),
        starts, ungrouped, plan.get("free_memory") is True, _count(file, plan, "small_sequences") if "small_sequences" in plan else 0,
    )  # fmt: skip


def _count(file: str, plan: dict[str, Any], key: str) -> int:
    value = plan[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < MOST:
        raise BadRegistry(f"{file} [scheduler]: {key} is {value!r:.60}; write a whole number, such as {key} = 256")
    return value


def _share(file: str, plan: dict[str, Any], key: str) -> float:
    value = plan[key]
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value <= 1:
        raise BadRegistry(f"{file} [scheduler]: {key} is {value!r:.60}; write a share above 0 and at most 1, such as {key} = 0.9")
    return float(value)


def _number(file: str, data: dict[str, Any], key: str) -> float:
    try:
        value = float(data[key]["value"])
    except (KeyError, TypeError, ValueError, OverflowError):
        value = -1.0
    if not 0 <= value < MOST:
        raise BadRegistry(f'{file} [{key}] is {data.get(key)!r:.60}; write value = "0.5", with its source')
    return value
