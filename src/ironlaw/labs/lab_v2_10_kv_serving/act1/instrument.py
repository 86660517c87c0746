"""Act I: model, devices, formats and contexts to the requests that fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_10_kv_serving.act1 import figures
from ironlaw.labs.lab_v2_10_kv_serving.act1.memory import BLOCKS, CACHES, FIXED, LAWS, MODELS, WEIGHTS, Setting, setting_of
from ironlaw.labs.lab_v2_10_kv_serving.machine_of_context import machine_of
from ironlaw.labs.tables import scrolling_table
from ironlaw.registry.workloads import about
from ironlaw.systems.serving.kv_capacity import token_bytes
from ironlaw.widget.figure import tabbed

CLAIMS = (
    "one_request_at_128k", "a_decode_step_reads_everything", "whole_reservations_waste", "blocks_waste_little",
    "no_cache_costs_the_context",
)  # fmt: skip
FOLLOWS = ("devices", "context")


def dials(lab: kit.Lab) -> Any:
    return lambda values: [
        kit.select("model", "Model", [(name, about(name)["name"]) for name in MODELS]),
        kit.span("devices", "Devices", 1, 8, 8, whole=True),
        kit.choice("weights", "Weights in", list(WEIGHTS.items())),
        kit.choice("cache", "Cache in", list(CACHES.items())),
        kit.span("context", "Tokens of a request, at most", figures.CONTEXTS[0], figures.CONTEXTS[-1], figures.ASKED, log=True, whole=True,
                 steps=list(figures.CONTEXTS)),
        kit.choice("law", "Requests are", list(LAWS.items()), FIXED),
        kit.select("block", "Cache is handed out in", list(BLOCKS.items()), 16),
        kit.span("share", "Memory the engine may take", 50, 100, 100, step=5, unit="%"),
    ]  # fmt: skip


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    setting = setting_of(machine_of(lab), values)
    own = figures.here(lab)
    return kit.View(
        figures=[
            tabbed(figures.memory(setting), "Memory"), tabbed(figures.by_context(lab, setting), "Slots by context"),
            tabbed(figures.step(setting), "A decode step"), *([tabbed(own, "Measured here")] if own else []),
        ],
        cards=cards(setting),
        formula=formula(setting),
        banner=banner(lab, setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            "model": setting.model, "machine": setting.machine.slug, "devices": setting.devices,
            "weights": setting.weights or setting.dtype,
            "cache": setting.dtype, "block": setting.block, "context_tokens": setting.context, "slots": setting.slots,
            "cache_bytes": round(max(0.0, setting.room)),
        },
        after=table(),
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    used = setting.paging
    return [
        kit.card("Requests that fit", setting.slots, "", tone="good" if setting.slots else "bad"),
        kit.card("Cache of a token", setting.shape.token_bytes, "B"),
        kit.card("Left for the cache", max(0.0, setting.room), "B"),
        kit.card("Of what they hold, in use", 100 * used.share_used if setting.slots else 0.0, "%", note="the rest is reserved"),
    ]


def formula(setting: Setting) -> str:
    one = setting.decoder
    kept = line(
        "a token keeps", f"2 × {one.layers} layers × {one.kv_heads} heads × {one.head_dim} × {bytes_per_element(setting.dtype):g} B =",
        kit.amount(setting.shape.token_bytes, "B"),
    )  # fmt: skip
    memory = kit.amount(setting.share * setting.total, "B"), kit.amount(setting.weight_bytes, "B")
    fit = line(
        "<i>slots</i> =", fraction("<i>memory</i> − <i>weights</i>", "<i>tokens</i> × <i>bytes a token</i>"), "=",
        fraction(f"{memory[0]} − {memory[1]}", f"{setting.context:,} × {kit.amount(setting.shape.token_bytes, 'B')}"), "=",
        kit.amount(setting.fit(setting.shape, setting.context), ""),
    )  # fmt: skip
    return kept + fit


def banner(lab: kit.Lab, setting: Setting) -> dict[str, object] | None:
    if setting.slots:
        return None
    slots: dict[str, object]
    if setting.room <= 0:
        usable = setting.share * setting.total
        slots = {
            "weights": kit.amount(setting.weight_bytes, "B"),
            "usable": kit.amount(usable, "B"),
            "over": kit.amount(-setting.room, "B"),
        }
        return kit.banner("fail", "The weights do not fit", kit.html(lab.fill("act1.too_large", **slots)))
    needed = setting.context * setting.shape.token_bytes
    slots = {"room": kit.amount(setting.room, "B"), "needed": kit.amount(needed, "B"), "context": f"{setting.context:,}"}
    return kit.banner("fail", "Not one request fits", kit.html(lab.fill("act1.no_slot", **slots)))


def notes(lab: kit.Lab, setting: Setting) -> str:
    texts = [lab.fill("act1.own_machine")] if lab.current_context.slug == LOCAL else []
    if figures.chats(setting):
        texts.append(lab.fill("act1.chats"))
    if setting.law != FIXED:
        texts.append(lab.fill("act1.trace", context=f"{setting.context:,}"))
    return "\n\n".join(texts)


def table() -> str:
    """What models keep of a token."""
    rows = []
    for name in MODELS:
        kept, every = token_bytes(name), token_bytes(name, heads=_heads(name))
        rows.append((about(name)["name"], kit.amount(kept, "B"), kit.amount(every, "B"), kit.times(every / kept)))
    return scrolling_table("What a token costs, 16 bits", ("model", "as built", "with every head", "groups save"), rows)


def _heads(name: str) -> int:
    return int(about(name)["params"]["heads"])
