"""Which limit a design hits, by how much, and what to change."""

from __future__ import annotations

from bisect import bisect_left
from math import floor, log2
from typing import Any

from ironlaw import kit
from ironlaw.engine.training import setup as setups
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.recompute import recompute
from ironlaw.labs.lab_08_ledger import step
from ironlaw.labs.lab_08_ledger.step import Case

STATIC, KEPT, HEAD, IDLE, VANISH, WORKS = "static", "kept", "head", "idle", "vanish", "works"
FAILS = (STATIC, KEPT, HEAD)
UPDATE = 64  # sequences an update
ENOUGH = 0.95  # of the memory: below it nothing needs to be recomputed
WEIGHT = 0.02  # a typical weight of a trained network
SIGNIFICAND = 8  # bits of BF16, the hidden one included


def judge(case: Case, usable: float) -> str:
    """The state of a design: a failure, a warning, or that it works."""
    now = case.ledger
    if now.static.total >= usable or now.update.total > usable:
        return STATIC
    if now.peak > usable:  # the head is the wall where all else would fit
        return HEAD if now.at_peak("head") >= now.peak - usable else KEPT
    if case.setup.checkpoint and case.with_(checkpoint=0).peak <= ENOUGH * usable:
        return IDLE
    return VANISH if case.setup.recipe == "pure" else WORKS


def vanishing(weight: float = WEIGHT) -> float:
    """The largest step that BF16 rounds to nothing: half the distance to the next number."""
    return float(2.0 ** (floor(log2(weight)) - SIGNIFICAND))


def banner(lab: kit.Lab, case: Case, usable: float, verdict: str) -> dict[str, Any]:
    tone, title = TITLES[verdict]
    return kit.banner(tone, title, kit.html(lab.fill(f"act2.{verdict}", **SLOTS[verdict](lab, case, usable))))


TITLES = {
    STATIC: ("fail", "No batch helps"),
    KEPT: ("fail", "Kept too much"),
    HEAD: ("fail", "The head is the wall"),
    IDLE: ("warn", "It fits, and does not pay"),
    VANISH: ("warn", "Updates that vanish"),
    WORKS: ("good", "It fits"),
}


def _bytes(value: float) -> str:
    return kit.amount(float(value), "B")


def _static(lab: kit.Lab, case: Case, usable: float) -> dict[str, object]:
    now = case.ledger
    needed = max(float(now.static.total), float(now.update.total))
    ways = [
        f"{RECIPES[recipe].label} with {OPTIMISERS[optimiser].label}"
        for recipe in RECIPES
        for optimiser in OPTIMISERS
        if (recipe, optimiser) != (case.setup.recipe, case.setup.optimiser)
        and case.with_(batch=1, recipe=recipe, optimiser=optimiser).update < usable
    ]
    way = lab.fill("act2.static_way", ways="; ".join(ways[:3])) if ways else lab.fill("act2.static_none")
    return {"needed": _bytes(needed), "usable": _bytes(usable), "over": _bytes(needed - usable), "way": way}


def _freed(case: Case) -> str:
    words = []
    for name, other in setups.levers(case.graph, case.setup):
        if name in ("checkpoint", "loss_chunks", "fused_attention"):
            freed = case.peak - Case(case.model, case.seq, other).peak
            words.append(f"{setups.LABELS[name]} {_bytes(freed)}")
    return kit.Markup(", ".join(words) or "nothing more")


def _kept(lab: kit.Lab, case: Case, usable: float) -> dict[str, object]:
    now = case.ledger
    largest = case.largest(usable)
    return {
        "op": step.plain(now.peak_at.op), "phase": step.PHASES[now.peak_at.phase], "peak": _bytes(now.peak), "usable": _bytes(usable),
        "over": _bytes(float(now.peak) - usable), "largest": f"{largest:,}" if largest else "none", "freed": _freed(case),
    }  # fmt: skip


def _head(lab: kit.Lab, case: Case, usable: float) -> dict[str, object]:
    more = [n for n in step.CHUNKS if n > case.setup.loss_chunks]
    place = bisect_left(more, True, key=lambda n: case.with_(loss_chunks=n).peak <= usable)  # the smaller a chunk, the lower the peak
    enough = more[place] if place < len(more) else None
    way = lab.fill("act2.head_chunks", chunks=str(enough)) if enough else lab.fill("act2.head_more")
    return {**_kept(lab, case, usable), "way": way, "head": _bytes(case.ledger.at_peak("head"))}


def _idle(lab: kit.Lab, case: Case, usable: float) -> dict[str, object]:
    twice = float(recompute(case.graph, case.setup.checkpoint))
    without = case.with_(checkpoint=0).peak
    return {"without": _bytes(without), "share": kit.share(without, usable), "wasted": kit.share(twice / (1 + twice), 1.0)}


def _vanish(lab: kit.Lab, case: Case, usable: float) -> dict[str, object]:
    return {"weight": str(WEIGHT), "step": kit.amount(vanishing()), "room": _bytes(usable - case.peak)}


def _works(lab: kit.Lab, case: Case, usable: float) -> dict[str, object]:
    tokens = f"{UPDATE * case.seq:,} tokens" if case.seq else f"{UPDATE} samples"
    largest = case.largest(usable)
    return {"room": _bytes(usable - case.peak), "tokens": tokens, "count": str(case.setup.accumulate), "micro": str(case.setup.batch),
            "largest": f"{largest:,}"}  # fmt: skip


SLOTS = {STATIC: _static, KEPT: _kept, HEAD: _head, IDLE: _idle, VANISH: _vanish, WORKS: _works}
