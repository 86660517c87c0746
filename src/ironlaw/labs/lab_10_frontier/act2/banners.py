"""The verdict in words: which limit was hit, by how much, and what to change."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act2.case import DigitCase, LlamaCase, tested
from ironlaw.systems.limits import fail, good, hit, warn
from ironlaw.units import significant

LIMITS = (
    fail("oom", "It does not fit", lambda case: not case.fits),
    fail("floor", "Below the floor", lambda case: case.is_worse),
    fail("slower", "Smaller, but slower", lambda case: case.is_slower),
    fail("late", "Too slow", lambda case: case.is_late),
    warn("dominated", "Off the frontier", lambda case: case.winner is not None),
    warn("unsure", "Too close to tell", lambda case: case.is_unsure),
    good("good", "Worth shipping"),
)


def banner(lab: kit.Lab, case: LlamaCase | DigitCase) -> dict[str, Any]:
    limit = hit(LIMITS, case)
    kind = "llama" if isinstance(case, LlamaCase) else "reader"
    own = f"act2.{limit.name}_{kind}"
    section = own if own in lab.words else f"act2.{limit.name}"
    slots = llama_slots(case) if isinstance(case, LlamaCase) else reader_slots(case)
    slots |= {"winner": case.winner.name if case.winner else ""}
    asked = lab.words.slots(section)
    slots |= {name: str(slots[name]).replace(", imatrix", " with imatrix") for name in ("name", "winner")}  # as one says it
    text = lab.fill(section, **{name: value for name, value in slots.items() if name in asked})
    return kit.banner(limit.tone, limit.title, kit.html(text))


def llama_slots(case: LlamaCase) -> dict[str, object]:
    need = case.footprint
    value, low, high = llama.perplexity(case.name)
    return {
        "file": kit.amount(float(need.weights), "B"), "cache": kit.amount(float(need.kv_cache), "B"),
        "over": kit.amount(-float(need.headroom), "B"), "required": kit.amount(float(need.total), "B"),
        "available": kit.dress(kit.capacity(float(need.usable))), "room": kit.amount(float(need.headroom), "B"),
        "harm": significant(value, 4), "low": significant(low, 4), "high": significant(high, 4), "limit": significant(case.most_ppl),
        "seconds": kit.amount(case.seconds(), "s"), "plain": kit.amount(case.plain_s, "s"), "allowed": kit.amount(case.limit_s, "s"),
        "name": case.name,
    }  # fmt: skip


def reader_slots(case: DigitCase) -> dict[str, object]:
    share = case.setting.answers.accuracy
    needed = case.images_needed
    return {
        "file": kit.amount(case.setting.bytes, "B"), "available": kit.amount(case.room, "B"),
        "over": kit.amount(case.setting.bytes - case.room, "B"), "room": kit.amount(case.room - case.setting.bytes, "B"),
        "harm": kit.amount(100 * share.value, "%"), "low": kit.amount(100 * share.low, "%"), "high": kit.amount(100 * share.high, "%"),
        "limit": kit.amount(100 * case.floor, "%"), "seconds": kit.amount(case.seconds(), "s"), "plain": kit.amount(case.plain_s, "s"),
        "images": tested(), "needed": f"{needed:,.0f}" if needed < 1e9 else "any number of", "name": case.name,
    }  # fmt: skip
