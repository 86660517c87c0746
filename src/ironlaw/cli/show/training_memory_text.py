"""What `ironlaw memory` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.engine.training.recipes import OPTIMISERS, RECIPES
from ironlaw.engine.training.setup import LABELS
from ironlaw.units import show, significant

NAMES = {
    "weights": "weights",
    "master": "FP32 master copy",
    "optimiser": "optimiser's state",
    "gradients": "gradients",
    "kept": "kept for backward",
    "head": "head and loss",
    "passing": "passing through",
}
PHASES = {"forward": "forward", "between": "between", "again": "recomputing", "backward": "backward", "update": "the update"}


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
    draw.table(["batch", "peak", "kept for the backward pass", *machines], rows)


def report(result: Mapping[str, Any]) -> None:
    sizes = f"batch {result['batch']:,}" + (f" × {result['seq']:,} tokens" if result["seq"] else "")
    draw.heading(
        result["target"], f"one training step: {sizes}, {RECIPES[result['recipe']].label}, {OPTIMISERS[result['optimiser']].label}"
    )
    peak = result["peak_bytes"]
    rows = [
        (NAMES[row["row"]], show(row["at_peak_bytes"], "B"), draw.percent(row["at_peak_bytes"] / peak), show(row["most_bytes"], "B"))
        for row in result["rows"]
        if row["most_bytes"] > 0
    ]
    draw.table(
        ["", "at the peak", "of it", "at most"],
        [*rows, ("together", (show(peak, "B"), draw.STRONG), "", "")],
        left=("",),
        sections=[len(rows) - 1],
    )
    batches(result["variants"])
    times = significant(peak / result["weight_bytes"])
    draw.say(f"peak: {show(peak, 'B')}, {times} × the weights, in {PHASES[result['peak_phase']]} at {result['peak_op']}", draw.STRONG)
    draw.say(
        "by phase: " + ", ".join(f"{PHASES[name]} {show(most, 'B')}" for name, most in result["phases"].items() if name != "between"),
        draw.DIM,
    )
    if result["machines"]:
        machines(result)
    levers(result)


def machines(result: Mapping[str, Any]) -> None:
    rows = []
    for one in result["machines"]:
        room = one["headroom_bytes"]
        verdict = (f"fits, {show(room, 'B')} to spare", draw.GOOD) if one["fits"] else (f"{show(-room, 'B')} too much", draw.BAD)
        largest = {None: "not known", 0: "none: not even one"}.get(one["largest_batch"], f"{one['largest_batch'] or 0:,}")
        rows.append((one["hardware"], show(one["usable_bytes"], "B"), verdict, largest))
    draw.table(["machine", "usable", "this step", "largest micro-batch"], rows, left=("machine", "this step"))
    for one in result["machines"]:
        if not one["static_fits"]:
            draw.say(
                f"! {one['hardware']}: {show(result['static_bytes'], 'B')} of weights, gradients and optimiser don't fit: no batch helps",
                draw.BAD,
            )


def levers(result: Mapping[str, Any]) -> None:
    if not result["levers"]:
        return
    draw.heading("what one change frees", "each alone, from here")
    rows = [
        (
            LABELS[one["lever"]],
            show(one["peak_bytes"], "B"),
            ("nothing", draw.DIM) if one["frees_bytes"] <= 0 else show(one["frees_bytes"], "B"),
        )
        for one in result["levers"]
    ]
    draw.table(["change", "peak", "frees"], rows, left=("change",))
