"""What `ironlaw cluster` prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ironlaw.cli.show import draw
from ironlaw.report.cost_words import sources
from ironlaw.units import show, significant

PARTS = {
    "compute": "forward and backward", "recompute": "recomputed", "tensor": "tensor collectives", "context": "context collectives",
    "expert": "expert all-to-all", "pipeline": "sends between stages", "bubble": "pipeline bubble", "data": "gradients, not hidden",
    "update": "optimiser",
}  # fmt: skip
BASES = {
    "calibrated": "ops as measured on this device", "transferred": "≈ ops from what other devices taught",
    "bound": "ops at the datasheet's figures: a bound",
}  # fmt: skip


def share(value: float) -> str:
    return f"{significant(100 * value)} %"


def report(result: Mapping[str, Any]) -> None:
    sizes = f"{draw.plural(result['batch'], 'sequence')} of {result['seq']:,} tokens a step"
    draw.heading(result["model"], f"{result['devices']:,} × {result['hardware']} in {result['box']}, {sizes}")
    rows = [_layout(row) for row in result["layouts"]]
    draw.table(["layout", "pieces", "micro", "redo", "step", "MFU", "memory"], rows, left=("layout", "redo"))
    draw.say("pieces: of each stage; micro: sequences of a micro-batch; redo: what is recomputed in the backward pass", draw.DIM)
    best, many = result["layouts"][0], result["layouts_that_fit"]
    if many > len(rows):
        draw.say(f"{many:,} layouts divide and fit; the fastest {len(rows)} are shown.", draw.DIM)
    if not best["fits"]:
        over = show(best["memory_bytes"] - result["usable_bytes"], "B")
        draw.say(f"! it does not fit: {over} more than a device's {show(result['usable_bytes'], 'B')}", draw.BAD)
    _parts(best)
    _traffic(result["traffic"])
    _outlook(result, best)


def _layout(row: Mapping[str, Any]) -> tuple[Any, ...]:
    memory = show(row["memory_bytes"], "B")
    return (
        row["label"], f"{row['virtual']}", f"{row['micro']}", row["recompute"], (show(row["step_s"], "s"), draw.STRONG),
        share(row["mfu"]), memory if row["fits"] else (memory, draw.BAD),
    )  # fmt: skip


def _parts(best: Mapping[str, Any]) -> None:
    draw.heading("the first one's step", best["label"])
    rows = [
        (PARTS[name], show(seconds, "s"), draw.percent(seconds / best["step_s"])) for name, seconds in best["parts_s"].items() if seconds
    ]
    draw.table(["", "time", "of the step"], rows, left=("",))
    held = ", ".join(f"{name} {show(size, 'B')}" for name, size in best["memory"].items())
    draw.say(f"memory of the fullest device: {held}", draw.DIM)


def _traffic(traffic: Sequence[Mapping[str, Any]]) -> None:
    if not traffic:
        return
    rows = [
        (row["parallelism"], row["wire"], "in the box" if row["inside_box"] else "between boxes", show(row["bytes"], "B"))
        for row in traffic
    ]
    draw.table(["parallelism", "wire", "where", "sent by a device"], rows, left=("parallelism", "wire", "where"))


def _outlook(result: Mapping[str, Any], best: Mapping[str, Any]) -> None:
    stops, more = result["failures"], result["doubling"]
    low, high = result["published_over_predicted"]
    unit = f"{significant(stops['unit_mtbf_s'] / 3600)} h a device"
    state = f"a checkpoint of {show(stops['state_bytes'], 'B')} takes {show(stops['save_s'], 's')}"
    rest = f"writing {share(stops['writing'])}, lost work {share(stops['lost'])}, restarts {share(stops['restart'])}"
    draw.pairs([
        ("throughput", f"{significant(best['tokens_per_s'])} tokens/s; MFU {share(best['mfu'])}, HFU {share(best['hfu'])}"),
        ("failures", f"one every {show(stops['mtbf_s'], 's')} ({unit}); {state}"),
        ("save every", show(stops["interval_s"], "s")),
        ("goodput", f"{share(stops['goodput'])}; {rest}"),
        ("a day", f"{significant(stops['tokens_per_day'] / 1e9)} billion tokens; MFU with failures {share(stops['mfu'])}"),
        ("costs", _costs(result["costs"])),
        ("the next doubling", _next(more)),
        ("rests on", f"{BASES[result['basis']]}; published runs took {low:g} to {high:g} × what is predicted for them"),
    ])  # fmt: skip


def _costs(about: Mapping[str, Any]) -> str:
    power = f"energy {show(about['joules_per_million_tokens'], 'J')} a million tokens at most ({about['energy']})"
    if about["dollars_per_hour"] is None:
        return f"no price is known: give --price {about['unpriced'][0]}=…; {power}"
    a_day, each = (significant(value) for value in (24 * about["dollars_per_hour"], about["dollars_per_million_tokens"]))
    return f"${a_day} a day, ${each} a million tokens with failures; {power}. {sources(about)}"


def _next(more: Mapping[str, Any] | None) -> str:
    if more is None:
        return "twice as many devices do not divide this batch; give a larger --batch-tokens"
    gain = f"{show(more['step_s'], 's')} a step, {significant(more['speedup'])} × as fast, MFU {share(more['mfu'])}"
    return f"{more['devices']:,} devices: {gain} ({more['label']})"
