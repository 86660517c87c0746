"""What a card's key is computed from: the figures of machines, models and evidence that an expression reads, as it reads them.

`watch()` puts watched copies of the registries before the expressions. A figure can be scaled, to see whether a key hinges on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pytest

from ironlaw import claims
from ironlaw.engine.device.machine import Hardware
from ironlaw.recall import card_expressions
from ironlaw.registry import machines, workloads

PLAIN = {"bandwidth": "B/s", "capacity": "B", "usable": "B", "power": "W", "launch": "s"}
GRAPH = {"flops": "FLOP", "bytes": "B", "read": "B", "written": "B", "weight_bytes": "B", "params": "parameter"}
ROW = {"wall_s": "s", "busy_s": "s", "compile_s": "s", "kernels": "kernel"}


@dataclass(frozen=True)
class Read:
    """One figure: whose, which, how large, in what unit; `instead`: figures from which it follows, one of the groups being enough."""

    owner: str
    name: str
    value: float
    unit: str
    instead: tuple[tuple[Read, ...], ...] = ()


@dataclass
class Log:
    reads: dict[tuple[str, str], Read] = field(default_factory=dict)
    scales: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def figure(self, owner: str, name: str, value: Any, unit: str, *instead: tuple[Read, ...]) -> float:
        self.reads.setdefault((owner, name), Read(owner, name, float(value), unit, instead))
        return float(value) * self.scales.get((owner, name), 1.0)


class Machine(Hardware):
    """A machine that says what is read of it."""

    __module__ = "ironlaw.test"  # expressions read attributes of our own values alone

    def __getattribute__(self, name: str) -> Any:
        data = object.__getattribute__(self, "__dict__")
        if name in PLAIN and "log" in data:
            value = data["whole"].usable if name == "usable" else getattr(data["whole"], name)
            return data["log"].figure(data["slug"], name, value, PLAIN[name])
        return object.__getattribute__(self, name)

    def peak(self, fmt: str, sparse: bool = False) -> float:
        kind = "sparse" if sparse else "peak"
        return self.log.figure(self.slug, f"{kind}.{fmt}", self.whole.peak(fmt, sparse), "FLOP/s")

    def vector_peak(self, fmt: str) -> float:
        return self.log.figure(self.slug, f"vector.{fmt}", self.whole.vector_peak(fmt), "FLOP/s")

    def level(self, name: str) -> Any:
        if name == "main":
            return Level(self.log, self.slug, self.whole.level(name), {"size": "capacity", "bandwidth": "bandwidth"})
        return Level(self.log, self.slug, self.whole.level(name), {"size": f"{name}.size", "bandwidth": f"{name}.bandwidth"})

    @property
    def levels(self) -> tuple[Any, ...]:
        return tuple(self.level(level.name) for level in self.whole.levels)


class Level:
    __module__ = "ironlaw.test"  # expressions read attributes of our own values alone

    def __init__(self, log: Log, slug: str, level: Any, names: Mapping[str, str]) -> None:
        self.log, self.slug, self.whole, self.names, self.name, self.label = log, slug, level, names, level.name, level.label

    @property
    def size(self) -> float:
        return self.log.figure(self.slug, self.names["size"], self.whole.size, "B")

    @property
    def bandwidth(self) -> float:
        return self.log.figure(self.slug, self.names["bandwidth"], self.whole.bandwidth, "B/s")


class Figures:
    """A graph, its work, or a row of evidence: attributes that are figures are noted, the others passed on."""

    __module__ = "ironlaw.test"  # expressions read attributes of our own values alone

    def __init__(self, log: Log, owner: str, whole: Any, units: Mapping[str, str]) -> None:
        self.log, self.owner, self.whole, self.units = log, owner, whole, units

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.whole, name)
        if name == "work":
            return Figures(self.log, self.owner, value, self.units)
        if name == "intensity":
            parts = tuple(Read(self.owner, part, float(getattr(self.whole, part)), GRAPH[part]) for part in ("flops", "bytes"))
            return self.log.figure(self.owner, name, value, "FLOP/B", parts)
        if name not in self.units:
            return value
        instead = ()
        if name == "flops":
            instead = ((Read(self.owner, "multiply-adds", value / 2, "multiply-add"),),)
        elif name == "weight_bytes":  # with the format, which another test asks for
            instead = ((Read(self.owner, "parameters", self.whole.params, "parameter"),),)
        return self.log.figure(self.owner, name, value, self.units[name], *instead)

    def value(self, name: str) -> float:
        return self.log.figure(self.owner, name, self.whole.value(name), ROW[name])


@cache
def graph(name: str, settings: frozenset[tuple[str, Any]]) -> Any:
    return workloads.workload(name, **dict(settings))


@contextmanager
def watch(scales: Mapping[tuple[str, str], float] | None = None) -> Iterator[Log]:
    log = Log(scales=scales or {})

    def hardware(name: str) -> Machine:
        whole, machine = machines.hardware(name), object.__new__(Machine)
        machine.__dict__.update(whole.__dict__)
        machine.__dict__.update(log=log, whole=whole)
        return machine

    def workload(name: str, **settings: Any) -> Figures:
        return Figures(log, f"{name} {settings}", graph(name, frozenset(settings.items())), GRAPH)

    def row(file: str, /, **wanted: Any) -> Figures:
        return Figures(log, f"{file} {wanted}", claims.row(file, **wanted), ROW)

    def kv_cache(model: str, **settings: Any) -> float:
        token = Read(model, "cache of a token", workloads.kv_cache(model, dtype=settings.get("dtype", "fp16")), "B")
        heads = workloads.about(model)["params"]
        width = heads.get("head_dim", heads["hidden"] // heads["heads"])
        shape = (Read(model, "layers", heads["layers"], "layer"), Read(model, "pairs", heads["kv_heads"], "pair of keys and values"),
                 Read(model, "width", width, ""))  # fmt: skip
        return log.figure(model, f"kv {settings}", workloads.kv_cache(model, **settings), "B", (token,), shape)

    watched = {"hardware": hardware, "workload": workload, "row": row, "kv_cache": kv_cache}
    with pytest.MonkeyPatch.context() as patch:
        for name, function in watched.items():
            patch.setitem(claims.NAMESPACE, name, function)
            patch.setitem(card_expressions.EXTRA_NAMES, name, function)
            patch.setattr(card_expressions, "cached_workload" if name == "workload" else name, function)
        yield log


def compute(expression: str, values: Mapping[str, Any], scales: Mapping[tuple[str, str], float] | None = None) -> tuple[Any, Log]:
    """The expression's value, and what it read; nothing comes from a cache."""
    with watch(scales) as log:
        return claims.compute(expression, "here", {**card_expressions.EXTRA_NAMES, **values}), log
