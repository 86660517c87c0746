"""registry/engine/*.toml -> Engine: what a serving engine adds to the device's time, each figure with what it rests on."""

from __future__ import annotations

from functools import cache
from typing import Any

from ironlaw.engine.serving.llm.engines import Engine
from ironlaw.errors import BadRegistry, unknown
from ironlaw.registry.loader import figure, folder, normal, read, require, require_texts, slugs

PLAIN = Engine("plain", "plain")  # the device alone
TIMES = ("step", "request", "first", "start")
COUNTS = ("budget", "small_budget", "sequences")


@cache
def engines() -> tuple[str, ...]:
    return (*slugs("engine"), PLAIN.slug)


def engine(name: str) -> Engine:
    """By slug or alias: `engine("vllm")`; `engine("plain")` adds nothing."""
    if normal(name) == PLAIN.slug:
        return PLAIN
    slug = _names().get(normal(name))
    if slug is None:
        raise unknown("serving engine", name, engines(), "registry/engine/x.toml with its times and their sources")
    return _engine(slug)


@cache
def _names() -> dict[str, str]:
    return {normal(name): slug for slug in slugs("engine") for name in (slug, *read(folder("engine") / f"{slug}.toml").get("aliases", ()))}


@cache
def _engine(slug: str) -> Engine:
    file = f"{slug}.toml"
    data = read(folder("engine") / file)
    require_texts(file, data, ("name", "version"))
    require(file, data, ("step", "first", "start", "spread", "scheduler"))
    figures = {key: figure(f"{file} [{key}]", data[key], "s") for key in TIMES if key in data}
    spread = _number(file, data, "spread")
    plan: dict[str, Any] = data["scheduler"]
    require(f"{file} [scheduler]", plan, (*COUNTS, "memory", "source", "date"))
    rest = [f"{key}: {one.source}, {one.date}" for key, one in figures.items()]
    step, request, first, start = (float(figures[key].value) if key in figures else 0.0 for key in TIMES)
    budget, small, sequences = (int(plan[key]) for key in COUNTS)
    return Engine(
        slug, f"{data['name']} {data['version']}", step, request, first, start, spread, budget, small, sequences, float(plan["memory"]),
        bool(plan["whole_prompts"]), (*rest, f"scheduler: {plan['source']}, {plan['date']}"),
    )  # fmt: skip


def _number(file: str, data: dict[str, Any], key: str) -> float:
    try:
        return float(data[key]["value"])
    except (KeyError, TypeError, ValueError):
        raise BadRegistry(f'{file} [{key}] is {data.get(key)!r:.60}; write value = "0.5", with its source') from None
