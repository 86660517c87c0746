"""Act I: model, devices, formats and contexts to the requests that fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ironlaw import kit
from ironlaw.engine.device.types import bytes_per_element
from ironlaw.kit import settings
from ironlaw.kit.context import LOCAL
from ironlaw.kit.formula import fraction, line
from ironlaw.labs.lab_v2_10_kv_serving import warming
from ironlaw.labs.lab_v2_10_kv_serving.act1 import figures
from ironlaw.labs.lab_v2_10_kv_serving.act1.memory import FIXED, MODELS, Setting
from ironlaw.labs.lab_v2_10_kv_serving.machine_of_context import machine_of
from ironlaw.labs.tables import scrolling_table
from ironlaw.registry.workloads import about
from ironlaw.systems.limits import fail
from ironlaw.systems.serving.kv_capacity import token_bytes
from ironlaw.widget.figure import tabbed

CLAIMS = ("a_decode_step_reads_everything", "whole_reservations_waste", "no_cache_costs_the_context")
FOLLOWS = ("devices", "context")
MORE = ("block", "share")  # dials in the fold


def dials(lab: kit.Lab) -> Any:
    return lambda values: settings.dials(Setting)


def view(lab: kit.Lab, values: Mapping[str, Any]) -> kit.View:
    warming.warm()
    setting = settings.read(Setting, values, machine=machine_of(lab))
    own = figures.here(lab)
    return kit.View(
        figures=[
            tabbed(figures.by_context(lab, setting), "How many fit"), tabbed(figures.memory(setting), "Memory"),
            tabbed(figures.step(setting), "A decode step"), *([tabbed(own, "Measured here")] if own else []),
        ],
        cards=cards(setting),
        formula=formula(setting),
        banner=None if setting.slots else settings.verdict(lab, "act1", LIMITS, setting),
        note=kit.html(notes(lab, setting)),
        readouts={
            **settings.values(setting, "model", "devices", "block", "slots"), "machine": setting.machine.slug,
            "weights": setting.weights or setting.dtype, "cache": setting.dtype, "context_tokens": setting.context,
            "cache_bytes": round(max(0.0, setting.room)),
        },
        after=table(),
    )  # fmt: skip


def cards(setting: Setting) -> list[dict[str, Any]]:
    return [
        {"label": "Requests that fit", "value": f"{setting.slots:,}", "unit": "", "tone": "good" if setting.slots else "bad"},
        kit.card("Cache per token", setting.shape.token_bytes, "B"),
        kit.card("Free for the cache", max(0.0, setting.room), "B"),
        kit.card("Cache in use", 100 * setting.used if setting.slots else 0.0, "%", note="the rest is reserved"),
    ]


def formula(setting: Setting) -> str:
    one = setting.decoder
    kept = line(
        "bytes per token =", f"2 × {one.layers} layers × {one.kv_heads} heads × {one.head_dim} × {bytes_per_element(setting.dtype):g} B =",
        kit.amount(setting.shape.token_bytes, "B"),
    )  # fmt: skip
    memory = kit.amount(setting.share * setting.total, "B"), kit.amount(setting.weight_bytes, "B")
    fit = line(
        "<i>slots</i> =", fraction("<i>memory</i> − <i>weights</i>", "<i>tokens</i> × <i>bytes per token</i>"), "=",
        fraction(f"{memory[0]} − {memory[1]}", f"{setting.each:,.0f} × {kit.amount(setting.shape.token_bytes, 'B')}"), "=",
        f"{setting.fit(setting.shape, setting.each):,.1f}",
    )  # fmt: skip
    return kept + fit


def _too_large(setting: Setting) -> dict[str, object]:
    return {
        "weights": kit.amount(setting.weight_bytes, "B"), "usable": kit.amount(setting.share * setting.total, "B"),
        "over": kit.amount(-setting.room, "B"),
    }  # fmt: skip


def _no_slot(setting: Setting) -> dict[str, object]:
    needed = setting.context * setting.shape.token_bytes
    return {"room": kit.amount(setting.room, "B"), "needed": kit.amount(needed, "B"), "context": f"{setting.context:,}"}


# of a setting in which nothing fits
LIMITS = (
    fail("too_large", "The weights don't fit", lambda setting: setting.room <= 0, _too_large),
    fail("no_slot", "Not even one request fits", slots=_no_slot),
)


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
    return scrolling_table("Cache per token, at 16 bits", ("model", "as built", "a pair per head", "sharing saves"), rows)


def _heads(name: str) -> int:
    return int(about(name)["params"]["heads"])
