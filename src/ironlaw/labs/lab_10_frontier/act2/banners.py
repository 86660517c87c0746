"""The verdict in words: which limit was hit, by how much, and what to change."""

from __future__ import annotations

from typing import Any

from ironlaw import kit
from ironlaw.labs.lab_10_frontier import llama
from ironlaw.labs.lab_10_frontier.act2.case import DOMINATED, FLOOR, GOOD, LATE, OOM, SLOWER, TONES, UNSURE, DigitCase, LlamaCase, tested
from ironlaw.units import significant

TITLES = {
    OOM: "It does not fit", FLOOR: "Below the floor", SLOWER: "Smaller, and slower", LATE: "Too slow", DOMINATED: "Off the frontier",
    UNSURE: "Can't tell yet", GOOD: "Worth having",
}  # fmt: skip


def banner(lab: kit.Lab, case: LlamaCase | DigitCase) -> dict[str, Any]:
    verdict = case.verdict
    kind = "llama" if isinstance(case, LlamaCase) else "reader"
    section = f"act2.{verdict}_{kind}" if f"act2.{verdict}_{kind}" in lab.words else f"act2.{verdict}"
    slots = llama_slots(case) if isinstance(case, LlamaCase) else reader_slots(case)
    slots |= {"winner": case.winner.name if case.winner else ""}
    asked = lab.words.slots(section)
    text = lab.fill(section, **{name: value for name, value in slots.items() if name in asked})
    return kit.banner(TONES[verdict], TITLES[verdict], kit.html(text))


def llama_slots(case: LlamaCase) -> dict[str, object]:
    need = case.footprint
    value, low, high = llama.perplexity(case.name)
    smaller = [p for p in case.best if llama.footprint(p.name, case.context, case.machine).fits]
    best = min(smaller, key=lambda p: p.harm, default=None)
    return {
        "file": kit.amount(float(need.weights), "B"), "cache": kit.amount(float(need.kv_cache), "B"),
        "over": kit.amount(-float(need.headroom), "B"), "required": kit.amount(float(need.total), "B"),
        "available": kit.dress(kit.capacity(float(need.usable))), "room": kit.amount(float(need.headroom), "B"),
        "harm": significant(value, 4), "low": significant(low, 4), "high": significant(high, 4), "limit": significant(case.most_ppl),
        "seconds": kit.amount(case.seconds(), "s"), "plain": kit.amount(case.plain_s, "s"), "allowed": kit.amount(case.limit_s, "s"),
        "instead": best.name if best else "none of the table", "name": case.name,
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
