"""Act I's words: truth, distance and slots, for the prediction's own case."""

from __future__ import annotations

from dataclasses import replace

from ironlaw import kit
from ironlaw.labs.lab_v2_10_kv_serving.act1.memory import CHAT_LAW, premise
from ironlaw.registry.publications import published
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.kv_capacity import kv_room, kv_slots, token_bytes

PLANNED = 16  # users that the lead planned for
SERVED = 0.9  # of the memory, as engines take by default


def _model() -> str:
    return str(about(premise().model)["name"])


def message() -> dict[str, object]:
    return {"model": _model(), "devices": premise().devices, "context": f"{premise().context:,}", "planned": PLANNED}


def lock() -> dict[str, object]:
    one = premise()
    return {
        "model": _model(), "devices": one.devices, "context": f"{one.context:,}", "memory": kit.amount(float(one.machine.capacity), "B"),
        "layers": one.decoder.layers, "heads": one.decoder.heads, "width": one.decoder.head_dim,
    }  # fmt: skip


def truth(lab: kit.Lab) -> str:
    return f"{lab.question('act1').answer:g} requests"


def distance(lab: kit.Lab) -> str:
    option = lab.choice("act1")
    return kit.off(kit.Distance(float(option.value), float(lab.question("act1").answer))) if option else ""


def _figures() -> dict[str, object]:
    one = premise()
    shape, every = one.shape, token_bytes(one.model, heads=one.decoder.heads)
    return {
        "room": kit.amount(one.room, "B"), "weights": kit.amount(one.weight_bytes, "B"), "token": kit.amount(shape.token_bytes, "B"),
        "every": kit.amount(every, "B"), "request": kit.amount(one.context * shape.token_bytes, "B"), "slots": one.slots,
        "kv_heads": one.decoder.kv_heads, "heads": one.decoder.heads, "total": kit.amount(one.total, "B"),
        "share": kit.amount(100 * one.weight_bytes / one.total, "%", 2), "every_slots": _slots(heads=one.decoder.heads),
        "single_slots": _slots(heads=1), "groups": kit.times(one.decoder.heads / one.decoder.kv_heads),
    }  # fmt: skip


def _slots(**settings: object) -> int:
    one = premise()
    return kv_slots(one.model, one.machine.slug, one.devices, one.context, **settings)  # type: ignore[arg-type]


def reveal() -> dict[str, object]:
    one = premise()
    chats = replace(one, law=CHAT_LAW, share=SERVED, context=16_384)
    row = max(published("ml_energy").where(model=one.model), key=lambda each: float(each["batch"]))
    needed = float(row["batch"]) * float(row["output"]) / 2 * token_bytes(one.model, heads=one.decoder.heads)
    return {
        **_figures(), "fp8": _slots(cache="fp8"), "paged": f"{chats.slots:,}", "whole": replace(chats, block=0).slots,
        "used": kit.amount(100 * replace(chats, block=0).used, "%"),
        "measured": kit.amount(float(row["batch"]), ""), "few": int(row["devices"]), "needed": kit.amount(needed, "B"),
        "there": kit.amount(kv_room(one.model, one.machine.slug, int(row["devices"]), memory=SERVED), "B"),
    }  # fmt: skip


def reflection() -> dict[str, object]:
    one = premise()
    return {
        "before": one.slots, "int4": _slots(weights="int4"), "fp8": _slots(cache="fp8"), "context": f"{one.context:,}",
        "saved": kit.amount(one.weight_bytes - replace(one, weights="int4").weight_bytes, "B"),
        "narrow": kit.amount(one.context * replace(one, cache="fp8").shape.token_bytes, "B"),
        "request": kit.amount(one.context * one.shape.token_bytes, "B"), "share": kit.amount(100 * one.weight_bytes / one.total, "%", 2),
    }  # fmt: skip


def peek() -> dict[str, object]:
    one = premise()
    return {
        "model": _model(), "layers": one.decoder.layers, "kv_heads": one.decoder.kv_heads, "width": one.decoder.head_dim,
        "token": kit.amount(one.shape.token_bytes, "B"), "context": f"{one.context:,}", "slots": one.slots,
        "request": kit.amount(one.context * one.shape.token_bytes, "B"), "room": kit.amount(one.room, "B"), "block": one.block,
        "wasted": f"{(one.block - 1) / 2:g}", "waste_bytes": kit.amount((one.block - 1) / 2 * one.shape.token_bytes, "B"),
    }  # fmt: skip
