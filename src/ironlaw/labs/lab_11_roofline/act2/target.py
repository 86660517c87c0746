"""The throughput target: how many tokens per second one card makes with a design of five dials, and where memory ends.

Every sequence of a batch brings keys and values of its own, which no other sequence shares. So the rate levels off as the batch grows,
and the level depends on the bytes of a cached token, not on the weights.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from ironlaw.labs.lab_11_roofline.act2.layer import Case
from ironlaw.registry.machines import hardware

TARGET = 12_000  # tokens per second; questions.toml asks for the same
DEVICE, BATCH, CONTEXT = "h100_sxm", 32, 2048  # as it is served today
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
ENDLESS = 1 << 14  # sequences: by then the weights' share of a pass is gone
# option -> what it changes besides the batch
WAYS: dict[str, dict[str, Any]] = {
    "batch": {}, "kernels": {"fusion": "all", "tiled": True}, "weights": {"weights": "fp8"}, "cache": {"cache": "fp8"},
}  # fmt: skip
BEST: dict[str, Any] = {"fusion": "all", "tiled": True, "weights": "int4", "cache": "fp8"}  # everything at once, for the ends of the axis


Setting = tuple[str, str, str, bool]  # weights, cache, fusion, tiled: what of a design is not its batch


@lru_cache(maxsize=1)
def today() -> Case:
    return Case(hardware(DEVICE), phase="decode", batch=BATCH, context=CONTEXT)


def setting(design: Case) -> Setting:
    return design.weights, design.cache, design.fusion, design.tiled


def of(chosen: Setting, batch: int) -> Case:
    weights, cache, fusion, tiled = chosen
    return replace(today(), batch=batch, weights=weights, cache=cache, fusion=fusion, tiled=tiled)


@lru_cache(maxsize=128)
def curve(chosen: Setting) -> tuple[tuple[int, float], ...]:
    """(batch, tokens per second); memory is not asked."""
    return tuple((batch, of(chosen, batch).rate) for batch in BATCHES)


@lru_cache(maxsize=128)
def at_most(chosen: Setting) -> Case:
    """The design with as many sequences as fit."""
    return of(chosen, of(chosen, BATCH).largest_batch)


@lru_cache(maxsize=128)
def ceiling(chosen: Setting) -> float:
    """Tokens per second that no batch exceeds, were memory endless: what one more sequence adds to a long pass."""
    one, two = (of(chosen, n).seconds for n in (ENDLESS, 2 * ENDLESS))
    return ENDLESS / (two - one)


def after(way: str) -> Case:
    """Today's design with one change and the largest batch that then fits."""
    return at_most(setting(replace(today(), **WAYS[way])))


def top() -> float:
    """The most that any design of the dials makes: the end of the axis, which stays while they turn."""
    return at_most(setting(replace(today(), **BEST))).rate


def met(design: Case) -> bool:
    return bool(design.footprint.fits) and design.rate >= TARGET
