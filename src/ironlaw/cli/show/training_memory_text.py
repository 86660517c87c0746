"""What `ironlaw memory` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.engine.device.memory import WIDE_MARGIN
from ironlaw.engine.training.adapters import RANK
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.setup import LABELS, SHARDED
from ironlaw.units import show, significant

OPTIONS = {
    "lora": f"LoRA of rank {RANK} (--lora {RANK})",
    "qlora": "the usual QLoRA (--qlora)",
    "offload": "optimiser state in the host's memory (--offload)",
    "zero": f"ZeRO 3 over {SHARDED} devices (--zero 3 --devices {SHARDED})",
}

NAMES = {
    "weights": "weights",
    "master": "FP32 master copy",
    "optimiser": "optimiser state",
    "gradients": "gradients",
    "kept": "saved for backward",
    "head": "output head and loss",
    "passing": "temporary",
}
PHASES = {
    "forward": "the forward pass",
    "between": "between passes",
    "again": "recomputing",
    "backward": "the backward pass",
    "update": "the optimiser's update",
}


def batches(variants: Sequence[Mapping[str, Any]]) -> None:
    """Several batches side by side."""
    if not variants:
        return
    machines = list(variants[0]["fits"])
    rows = []
    for one in variants:
        fits = [("fits", draw.GOOD) if one["fits"][slug] else ("does not fit", draw.BAD) for slug in machines]
        rows.append([f"{one['batch']:,}", show(one["peak_bytes"], "B"), show(one["kept_bytes"], "B"), *fits])
    draw.heading("batches", "one training step of each")
    draw.table(["batch", "peak", "saved for backward", *machines], rows)


def report(result: Mapping[str, Any]) -> None:
    sizes = f"batch {result['batch']:,}" + (f" × {result['seq']:,} tokens" if result["seq"] else "")
    formats = RECIPES[result["recipe"]].label
    if result["lora"]:
        formats = f"{'QLoRA' if result['four_bits'] else 'LoRA'} of rank {result['lora']}"
    draw.heading(result["target"], f"one training step: {sizes}, {formats}, {OPTIMISERS[result['optimiser']].label}")
    peak = result["peak_bytes"]
    rows = [
        (NAMES[row["row"]], show(row["at_peak_bytes"], "B"), draw.percent(row["at_peak_bytes"] / peak), show(row["most_bytes"], "B"))
        for row in result["rows"]
        if row["most_bytes"] > 0
    ]
    draw.say(_peak(result), draw.STRONG)
    draw.table(
        ["", "at the peak", "share", "at its own peak"],
        [*rows, ("total", (show(peak, "B"), draw.STRONG), "", "")],
        left=("",),
        sections=[len(rows) - 1],
    )
    if result["lora"]:
        adapters(result)
    if result["machines"]:
        machines(result)
    batches(result["variants"])
    phases = ", ".join(f"{show(most, 'B')} in {PHASES[name]}" for name, most in result["phases"].items() if name != "between")
    draw.say(f"Peak of each phase: {phases}.", draw.DIM)
    levers(result)


def adapters(result: Mapping[str, Any]) -> None:
    """What is trained, and what that takes for granted."""
    share = draw.percent(result["trained"] / (result["parameters"] + result["trained"]))
    form = RECIPES[result["recipe"]].dtype.upper()
    stored = f"Their weights lie in NF4 with double quantisation (bitsandbytes), all others in {form}. " if result["four_bits"] else ""
    draw.say(f"Trained: {result['trained']:,.0f} parameters ({share}), an adapter on every linear layer but the output head.")
    moved = "Optimiser state of large adapters is paged: it moves to the host when memory is short, and isn't counted."
    paged = f" {moved}" if result["optimiser"].startswith("paged") else ""
    draw.say(f"{stored}We assume adapters in {form}, as TRL trains them, without dropout.{paged}", draw.DIM)


def _peak(result: Mapping[str, Any]) -> str:
    times = significant(result["peak_bytes"] / result["weight_bytes"])
    phase = result["peak_phase"]
    where = f"in {PHASES[phase]}" + (f", at {result['peak_op']}" if phase != "update" else "")
    return f"Memory peaks at {show(result['peak_bytes'], 'B')}, {times}× the weights, {where}."


def machines(result: Mapping[str, Any]) -> None:
    rows = []
    for one in result["machines"]:
        room = one["headroom_bytes"]
        verdict = (f"fits, {show(room, 'B')} to spare", draw.GOOD) if one["fits"] else (f"{show(-room, 'B')} too much", draw.BAD)
        largest = {None: "not known", 0: "none: not even one"}.get(one["largest_batch"], f"{one['largest_batch'] or 0:,}")
        rows.append((one["hardware"], show(one["usable_bytes"], "B"), verdict, largest))
    draw.table(["machine", "usable", "this step", "largest microbatch"], rows, left=("machine", "this step"))
    draw.say(f"This counts tensors alone. PyTorch's allocator needs more than they do: leave {WIDE_MARGIN:.0%} free.", draw.DIM)
    for one in result["machines"]:
        if not one["static_fits"]:
            static = f"{show(result['static_bytes'], 'B')} of weights, gradients and optimiser state"
            draw.say(f"! {one['hardware']}: {static} don't fit at any batch size", draw.BAD)


def levers(result: Mapping[str, Any]) -> None:
    if not result["levers"]:
        return
    draw.heading("what each change would free", "on its own, from this setup")
    rows = [(_label(result, one["lever"]), show(one["peak_bytes"], "B"), _freed(one["frees_bytes"])) for one in result["levers"]]
    draw.table(["change", "peak", "frees"], rows, left=("change",))


def _label(result: Mapping[str, Any], lever: str) -> str:
    if lever == "zero" and result["devices"] > 1:
        return f"ZeRO 3 over the {result['devices']} devices (--zero 3)"
    return (LABELS | OPTIONS)[lever]


def _freed(count: float) -> draw.Cell:
    if count > 0:
        return show(count, "B")
    return (f"adds {show(-count, 'B')}" if count else "nothing", draw.DIM)
